# tests/member: membership by three real corosyncs, and resexds that use it (./dev member).
EXTRA_DIST += tests/member/run.sh tests/member/cluster.py tests/member/daemons.py
if COROSYNC
noinst_PROGRAMS += tests/member/watch tests/member/watch-planted
tests_member_watch_SOURCES = tests/member/watch.c
tests_member_watch_LDADD = libreconf.a libshared.a libutil.a $(QUORUM_LIBS) $(ISAL_LIBS)
# Its protocol continues without quorum.
tests_member_watch_planted_SOURCES = tests/member/watch.c
tests_member_watch_planted_LDADD = tests/shared/planted/MINORITY_DECIDES.o $(tests_member_watch_LDADD)
endif
