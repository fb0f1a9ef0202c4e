# libload: what nodes carry: sources of load records, and the index of two of them.
noinst_LIBRARIES += libload.a
libload_a_SOURCES = \
	include/resex/load_abi.h \
	src/load/index.c src/load/index.h \
	src/load/load.h \
	src/load/proc.c \
	src/load/proc_text.c
