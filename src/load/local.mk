# libload: what nodes carry: sources of load records, and the index of two of them. Link libshared.a
# and $(ISAL_LIBS) behind it for claim.
noinst_LIBRARIES += libload.a
libload_a_SOURCES = \
	include/resex/load_abi.h \
	include/resex/loadmon_abi.h \
	src/load/agree.c src/load/agree.h \
	src/load/btf.c src/load/btf.h \
	src/load/choose.c \
	src/load/claim.c src/load/claim.h \
	src/load/fill.c \
	src/load/hv.c \
	src/load/index.c src/load/index.h \
	src/load/kmod.c src/load/kmod.h \
	src/load/load.h \
	src/load/proc.c \
	src/load/proc_text.c \
	src/load/sample.c \
	src/load/wait.c
