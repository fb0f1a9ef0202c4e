# tests/cache: Varnish with vmod_resex, against a ring and an origin of the test's own.
check_PROGRAMS += tests/cache/ringd
tests_cache_ringd_SOURCES = tests/cache/ringd.c tests/fakes/fake_ringd.c tests/fakes/fake_ringd.h
EXTRA_DIST += tests/cache/varnish.py tests/cache/varnish_bed.py tests/cache/varnish_planted.sh \
	tests/cache/varnish_checks.py tests/cache/varnish_faults.py tests/cache/varnish_plants.py \
	tests/cache/vmod_mutants.sh
if VARNISH
TESTS += tests/cache/varnish.py
PLANTED += tests/cache/varnish_planted.sh
endif
# tests/cache: the checker of replies, in two languages; the auction and its clients.
TESTS += tests/cache/base.py tests/cache/doubt.py tests/cache/tags.py tests/cache/test_check.py
EXTRA_DIST += tests/cache/base.py tests/cache/check.py tests/cache/doubt.py tests/cache/histories.py tests/cache/rig.py \
	tests/cache/tags.py tests/cache/test_check.py
CLEANFILES += test_check.log

# tests/cache: a whole installation, and faults; ./dev cache runs it.
check_PROGRAMS += tests/cache/stall.so
tests_cache_stall_so_SOURCES = tests/cache/stall.c
tests_cache_stall_so_CFLAGS = -std=gnu11 $(OPT) $(WARN) -fPIC
tests_cache_stall_so_LDFLAGS = -shared
tests_cache_stall_so_LDADD =
EXTRA_DIST += tests/cache/anew.py tests/cache/breaks.py tests/cache/bounds.py tests/cache/faults.py tests/cache/hosts.py \
	tests/cache/kinds.py tests/cache/stall.py tests/cache/writes.py

# resex-cached with one broken rule (src/cache/broken.h), for tests that must notice it.
tests/cache/broken/resex-cached-%: $(resex_cached_OBJECTS) $(resex_cached_DEPENDENCIES) $(libcache_a_SOURCES)
	$(AM_V_GEN)mkdir -p tests/cache/broken/$* && \
	for f in $(filter %.c,$(libcache_a_SOURCES)); do \
		$(COMPILE) -DBROKEN_$* -c -o tests/cache/broken/$*/$$(basename $$f .c).o $(srcdir)/$$f || exit 1; \
	done && \
	$(LINK) $(resex_cached_OBJECTS) tests/cache/broken/$*/*.o $(filter-out libcache.a,$(resex_cached_LDADD)) $(LIBS)
