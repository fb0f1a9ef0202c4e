# tests/system

# rdmaload: RDMA traffic over loopback that tells its truth at the end (see --help).
EXTRA_DIST += tests/system/record-golden.sh tests/golden/rxe

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

# ringrec: records the golden rings (record-golden.sh builds its own for the virtual machine).
noinst_PROGRAMS += ringrec
ringrec_SOURCES = \
	tests/system/src/load.h \
	tests/system/src/load_opt.c \
	tests/system/src/load_post.c \
	tests/system/src/load_truth.c \
	tests/system/src/load_verbs.c \
	tests/system/src/ringrec.c
ringrec_LDADD = $(VERBS_LIBS)
endif
