# resex-peek: a client of the cluster's hosts: reads their regions, and serves nothing.
bin_PROGRAMS += resex-peek
resex_peek_SOURCES = \
	include/resex/exit.h \
	src/cli/quantity.c src/cli/quantity.h src/cli/table.c src/cli/table.h \
	src/peek/main.c \
	src/peek/options.c \
	src/peek/peek.h \
	src/peek/read.c \
	src/peek/read_cached.c \
	src/peek/show.c \
	src/peek/show_cached.c
resex_peek_LDADD = libconf.a libpolicies.a $(CLUSTER_LIBS) libutil.a libcore.a $(JANSSON_LIBS)
