# resex: the command line; knows the control protocol and nothing of the daemon.
bin_PROGRAMS += resex
resex_SOURCES = \
	include/resex/exit.h \
	src/cli/client.c src/cli/client.h \
	src/cli/cmds.c src/cli/cmds_cluster.c src/cli/cmds_priv.h src/cli/cmdtable.h \
	src/cli/main.c \
	src/cli/table.c src/cli/table.h
resex_LDADD = libutil.a $(JANSSON_LIBS)
