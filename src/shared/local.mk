# libshared: what hosts share: region, records, leases, peers, membership. Programs that link it need
# libutil.a and $(ISAL_LIBS) behind it, and for member_corosync $(QUORUM_LIBS).
noinst_LIBRARIES += libshared.a
libshared_a_SOURCES = \
	include/resex/region_abi.h \
	src/shared/lease.c src/shared/lease.h \
	src/shared/member.c src/shared/member.h \
	src/shared/nodes_file.c src/shared/nodes_file.h \
	src/shared/peers.c src/shared/peers.h \
	src/shared/record.c src/shared/record.h \
	src/shared/region.c src/shared/region.h
if COROSYNC
libshared_a_SOURCES += src/shared/member_corosync.c
endif
