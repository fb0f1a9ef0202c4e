# tests/cache/vt: the protocol of src/cache in virtual time.
check_LIBRARIES += libcachevt.a
libcachevt_a_SOURCES = tests/cache/vt/db.c tests/cache/vt/db.h tests/cache/vt/run.c tests/cache/vt/run.h \
	tests/cache/vt/run_priv.h tests/cache/vt/run_app.c tests/cache/vt/run_call.c tests/cache/vt/run_draw.c \
	tests/cache/vt/run_fill.c tests/cache/vt/run_proxy.c tests/cache/vt/run_record.c $(WORLD)
check_PROGRAMS += tests/cache/vt/vt
TESTS += tests/cache/vt/vt
tests_cache_vt_vt_SOURCES = tests/cache/vt/vt.c
tests_cache_vt_vt_LDADD = libcachevt.a libcache.a libshared.a libutil.a

# Programs with one broken rule of rules.txt: the files that have its name are compiled with
# -DBROKEN_RULE, and linked before the libraries. broken.sh builds those that it runs.
PLANTED += tests/cache/vt/broken.sh
EXTRA_DIST += tests/cache/vt/plant.sh tests/cache/vt/rules.txt tests/cache/vt/unreached.txt
tests/cache/vt/planted/%.o: OPT = -O1
tests/cache/vt/planted/%.o: tests/cache/vt/plant.sh $(libcache_a_SOURCES) $(libcachevt_a_SOURCES)
	$(AM_V_GEN)$(SHELL) $(top_srcdir)/tests/cache/vt/plant.sh $* $@ $(COMPILE)
tests/cache/vt/planted/vt-%: tests/cache/vt/planted/%.o $(tests_cache_vt_vt_OBJECTS) $(tests_cache_vt_vt_DEPENDENCIES)
	$(AM_V_CCLD)$(LINK) $(tests_cache_vt_vt_OBJECTS) $< $(tests_cache_vt_vt_LDADD) $(LIBS)
