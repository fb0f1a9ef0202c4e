# libbenchex: all of benchex that needs no verbs; built and tested everywhere.
noinst_LIBRARIES += libbenchex.a
libbenchex_a_SOURCES = \
	src/benchex/benchex.h src/benchex/parts.h \
	src/benchex/fifo.c src/benchex/fifo.h \
	src/benchex/hello.c src/benchex/hello.h \
	src/benchex/merge.c src/benchex/number.c \
	src/benchex/option_rows.c src/benchex/option_rows.h src/benchex/options.c \
	src/benchex/plan.c src/benchex/plan.h \
	src/benchex/price.c src/benchex/profile.c \
	src/benchex/result.c src/benchex/result_keys.h \
	src/benchex/trace.c \
	src/benchex/work.c src/benchex/work.h

if VERBS
bin_PROGRAMS += benchex
benchex_SOURCES = \
	src/benchex/bulk.c src/benchex/client.c \
	src/benchex/conn.c src/benchex/conn.h \
	src/benchex/main.c \
	src/benchex/net.c src/benchex/net.h \
	src/benchex/server.c src/benchex/server.h \
	src/benchex/server_conn.c src/benchex/server_serve.c src/benchex/server_session.c
benchex_CFLAGS = $(AM_CFLAGS) $(VERBS_CFLAGS) $(RDMACM_CFLAGS)
benchex_LDADD = libbenchex.a libresex-report.a libutil.a libcore.a $(RDMACM_LIBS) \
	$(VERBS_LIBS) $(JANSSON_LIBS)
endif
