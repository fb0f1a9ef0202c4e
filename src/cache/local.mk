# libcache: coherent caching of dynamic pages: the protocol. libshared.a goes behind it.
noinst_LIBRARIES += libcache.a
libcache_a_SOURCES = \
	src/cache/cache.h \
	src/cache/fill.c src/cache/fill.h \
	src/cache/fresh.c src/cache/fresh.h \
	src/cache/home.c src/cache/home.h \
	src/cache/update.c src/cache/update.h
