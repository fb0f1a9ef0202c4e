# tests/member: membership by three real corosyncs, and resexds that go by it (./dev member).
EXTRA_DIST += tests/member/run.sh tests/member/cluster.py tests/member/daemons.py
if COROSYNC
noinst_PROGRAMS += tests/member/watch tests/member/watch-planted
tests_member_watch_SOURCES = tests/member/watch.c
tests_member_watch_LDADD = libreconf.a libshared.a libutil.a $(QUORUM_LIBS) $(ISAL_LIBS)
tests_member_watch_planted_SOURCES = tests/member/watch.c tests/member/plant.h \
	src/reconf/choose.c src/reconf/counter.c src/reconf/lock.c src/shared/lease.c src/reconf/move.c \
	src/reconf/move_locks.c src/reconf/move_nodes.c
tests_member_watch_planted_CPPFLAGS = $(AM_CPPFLAGS) -include $(top_srcdir)/tests/member/plant.h
tests_member_watch_planted_LDADD = libreconf.a libshared.a libutil.a $(QUORUM_LIBS) $(ISAL_LIBS)
endif
