# tests/member: membership by three real corosyncs, and resexds that go by it (./dev member).
EXTRA_DIST += tests/member/run.sh tests/member/cluster.py tests/member/daemons.py
if COROSYNC
noinst_PROGRAMS += tests/member/watch tests/member/watch-planted
tests_member_watch_SOURCES = tests/member/watch.c
tests_member_watch_LDADD = libshared.a libutil.a $(QUORUM_LIBS) $(ISAL_LIBS)
tests_member_watch_planted_SOURCES = tests/member/watch.c tests/member/plant.h \
	src/shared/choose.c src/shared/counter.c src/shared/lock.c src/shared/move.c \
	src/shared/move_locks.c src/shared/move_nodes.c
tests_member_watch_planted_CPPFLAGS = $(AM_CPPFLAGS) -include $(top_srcdir)/tests/member/plant.h
tests_member_watch_planted_LDADD = libshared.a libutil.a $(QUORUM_LIBS) $(ISAL_LIBS)
endif
