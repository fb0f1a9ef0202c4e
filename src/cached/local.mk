# libcached: resex-cached, but its main: settings, transport and region, database, fills and updates.
noinst_LIBRARIES += libcached.a
libcached_a_SOURCES = \
	include/resex/cache_ring.h \
	src/cached/api.c src/cached/api.h src/cached/api_body.c src/cached/api_body.h src/cached/api_call.c src/cached/api_priv.h src/cached/api_reply.c src/cached/api_wire.c \
	src/cached/app.c src/cached/app.h src/cached/app_priv.h \
	src/cached/app_fills.c src/cached/app_member.c src/cached/app_show.c src/cached/app_updates.c src/cached/app_util.c \
	src/cached/check.c src/cached/check.h \
	src/cached/conf.c src/cached/conf.h \
	src/cached/events.c src/cached/events.h \
	src/cached/floors.c \
	src/cached/jobs.c src/cached/jobs.h \
	src/cached/listen.c src/cached/listen.h \
	src/cached/node.c src/cached/node.h \
	src/cached/options.c src/cached/options.h \
	src/cached/outbox.c src/cached/outbox.h \
	src/cached/proxy.c src/cached/proxy.h \
	src/cached/ring.c src/cached/ring.h src/cached/ring_view.c src/cached/ring_view.h \
	src/cached/snapshot.c src/cached/snapshot.h \
	src/cached/tag.c src/cached/tag.h \
	src/cached/watch.c src/cached/watch.h

sbin_PROGRAMS += resex-cached
resex_cached_SOURCES = src/cached/main.c
resex_cached_LDADD = libcached.a libcache.a libsql.a libconf.a libpolicies.a $(CLUSTER_LIBS) libutil.a libcore.a \
	$(JANSSON_LIBS) $(EVHTTP_LIBS) $(POSTGRESQL_LIBS) $(SQLITE_LIBS)
