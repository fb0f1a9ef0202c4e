# libshared: what hosts share: records, locks, counters. Programs that link it need
# libutil.a and $(ISAL_LIBS) behind it, and for member_corosync $(QUORUM_LIBS).
noinst_LIBRARIES += libshared.a
libshared_a_SOURCES = \
	include/resex/region_abi.h \
	src/shared/broken.h \
	src/shared/choose.c \
	src/shared/counter.c src/shared/counter.h \
	src/shared/lock.c src/shared/lock.h \
	src/shared/member.c src/shared/member.h \
	src/shared/move.c src/shared/move.h src/shared/move_priv.h \
	src/shared/move_locks.c src/shared/move_nodes.c \
	src/shared/peers.c src/shared/peers.h \
	src/shared/put.h \
	src/shared/record.c src/shared/record.h \
	src/shared/region.c src/shared/region.h \
	src/shared/runner.c src/shared/runner.h \
	src/shared/step.h
if COROSYNC
libshared_a_SOURCES += src/shared/member_corosync.c
endif
