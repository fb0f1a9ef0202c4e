# tests/shared: the protocols of src/shared in virtual time, and their histories' checker.
HISTORY = tests/shared/history.c tests/shared/history.h
WORLD = tests/shared/world.c tests/shared/world.h tests/shared/world_priv.h \
	tests/shared/world_queue.c $(HISTORY)

if CMOCKA
check_PROGRAMS += tests/unit/test_history tests/unit/test_world
TESTS += tests/unit/test_history tests/unit/test_world
tests_unit_test_history_SOURCES = tests/unit/test_history.c tests/unit/prop.h $(HISTORY)
tests_unit_test_history_LDADD = $(CMOCKA_LIBS)
tests_unit_test_world_SOURCES = tests/unit/test_world.c tests/unit/prop.h $(WORLD)
tests_unit_test_world_LDADD = $(CMOCKA_LIBS)
endif

# The protocols are compiled once more, with a hook that can break each rule.
check_PROGRAMS += tests/shared/vt
TESTS += tests/shared/vt
PLANTED += tests/shared/broken.sh
tests_shared_vt_SOURCES = tests/shared/vt.c tests/shared/schedule.c tests/shared/schedule.h \
	tests/shared/hook.h $(WORLD) src/reconf/choose.c src/reconf/counter.c src/reconf/lock.c src/shared/lease.c \
	src/reconf/move.c src/reconf/move_locks.c src/reconf/move_nodes.c
tests_shared_vt_CPPFLAGS = $(AM_CPPFLAGS) -include $(top_srcdir)/tests/shared/hook.h
tests_shared_vt_LDADD = libutil.a

# Locks among threads, in real time.
check_PROGRAMS += tests/shared/threads
TESTS += tests/shared/threads
tests_shared_threads_SOURCES = tests/shared/threads.c tests/unit/tmpdir.h $(HISTORY)
tests_shared_threads_LDADD = $(CLUSTER_LIBS) libutil.a $(CMOCKA_LIBS)
