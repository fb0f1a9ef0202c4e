# tests/shared: the protocols of src/reconf in virtual time, and the checker of their histories.
HISTORY = tests/shared/history.c tests/shared/history.h tests/shared/history_print.c
WORLD = tests/shared/world.c tests/shared/world.h tests/shared/world_priv.h \
	tests/shared/world_post.c tests/shared/world_queue.c tests/shared/world_faults.c \
	tests/shared/world_clock.c $(HISTORY)

if CMOCKA
check_PROGRAMS += tests/unit/test_history tests/unit/test_world tests/unit/test_world_sends
TESTS += tests/unit/test_history tests/unit/test_world tests/unit/test_world_sends
tests_unit_test_history_SOURCES = tests/unit/test_history.c tests/unit/prop.h tests/unit/steps.h $(HISTORY)
tests_unit_test_history_LDADD = $(UNIT_LIBS)
tests_unit_test_world_SOURCES = tests/unit/test_world.c tests/unit/prop.h $(WORLD)
tests_unit_test_world_LDADD = $(UNIT_LIBS)
tests_unit_test_world_sends_SOURCES = tests/unit/test_world_sends.c tests/unit/prop.h $(WORLD)
tests_unit_test_world_sends_LDADD = $(UNIT_LIBS)
endif

check_PROGRAMS += tests/shared/vt
TESTS += tests/shared/vt
tests_shared_vt_SOURCES = tests/shared/vt.c tests/shared/schedule.c \
	tests/shared/schedule.h tests/shared/schedule_priv.h tests/shared/schedule_draw.c \
	tests/shared/schedule_decide.c tests/shared/schedule_nodes.c $(WORLD)
tests_shared_vt_LDADD = libreconf.a libshared.a libutil.a

# Programs with one broken rule of rules.txt: the changed files of src/reconf are linked before
# libreconf.a. broken.sh builds those that it runs.
PLANTED += tests/shared/broken.sh
EXTRA_DIST += tests/shared/plant.sh tests/shared/rules.txt
tests/shared/planted/%.o: OPT = -O1
tests/shared/planted/%.o: tests/shared/plant.sh tests/shared/rules.txt $(libreconf_a_SOURCES)
	$(AM_V_GEN)$(SHELL) $(top_srcdir)/tests/shared/plant.sh $* $@ $(COMPILE)
tests/shared/planted/vt-%: tests/shared/planted/%.o $(tests_shared_vt_OBJECTS) $(tests_shared_vt_DEPENDENCIES)
	$(AM_V_CCLD)$(LINK) $(tests_shared_vt_OBJECTS) $< $(tests_shared_vt_LDADD) $(LIBS)
tests/shared/planted/move_hosts-%: tests/shared/planted/%.o $(move_hosts_OBJECTS) $(move_hosts_DEPENDENCIES)
	$(AM_V_CCLD)$(LINK) $(move_hosts_OBJECTS) $< $(move_hosts_LDADD) $(LIBS)
clean-local:
	rm -rf tests/shared/planted tests/cache/broken tests/cache/vt/planted

# Processes that move nodes, in real time, over shm with faults.
PLANTED += tests/shared/move_hosts.sh
EXTRA_DIST += tests/shared/move_hosts.py

# A lock that threads acquire, in real time.
check_PROGRAMS += tests/shared/threads
TESTS += tests/shared/threads
tests_shared_threads_SOURCES = tests/shared/threads.c tests/unit/tmpdir.h $(HISTORY)
tests_shared_threads_LDADD = $(CLUSTER_LIBS) libutil.a $(UNIT_LIBS)
