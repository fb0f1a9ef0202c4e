# tests/system

# rdmaload: RDMA traffic over loopback that tells its truth at the end (see --help).
if VERBS
noinst_PROGRAMS += rdmaload
rdmaload_SOURCES = \
	tests/system/src/load.h \
	tests/system/src/load_opt.c \
	tests/system/src/load_post.c \
	tests/system/src/load_truth.c \
	tests/system/src/load_verbs.c \
	tests/system/src/rdmaload.c
rdmaload_LDADD = $(VERBS_LIBS)
endif
