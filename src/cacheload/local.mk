# resex-cacheload: clients of cached pages, and a checker of what they saw.
bin_PROGRAMS += resex-cacheload
noinst_LIBRARIES += libcacheload.a
libcacheload_a_SOURCES = \
	src/cacheload/check.c \
	src/cacheload/conn.c src/cacheload/conn.h \
	src/cacheload/history.c src/cacheload/history.h src/cacheload/history_priv.h \
	src/cacheload/history_torn.c \
	src/cacheload/http.c src/cacheload/http.h \
	src/cacheload/load.h src/cacheload/log.c \
	src/cacheload/net.c src/cacheload/net.h \
	src/cacheload/options.c src/cacheload/result.c src/cacheload/run.c \
	src/cacheload/trace.c src/cacheload/trace.h
resex_cacheload_SOURCES = src/cacheload/main.c
resex_cacheload_LDADD = libcacheload.a libutil.a libcore.a $(JANSSON_LIBS) -lm
