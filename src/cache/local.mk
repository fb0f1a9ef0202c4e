# libcache: coherent caching of dynamic pages: the protocol. libshared.a goes behind it.
noinst_LIBRARIES += libcache.a
libcache_a_SOURCES = \
	src/cache/broken.h src/cache/cache.h \
	src/cache/fill.c src/cache/fill.h \
	src/cache/fresh.c src/cache/fresh.h \
	src/cache/home.c src/cache/home.h src/cache/home_ack.c src/cache/home_priv.h \
	src/cache/home_request.c \
	src/cache/hit.c src/cache/hit.h \
	src/cache/offer.c src/cache/offer.h \
	src/cache/place.c src/cache/place.h \
	src/cache/recover.c src/cache/recover.h \
	src/cache/update.c src/cache/update.h
