# cache: coherent caching of dynamic pages: the protocol.
EXTRA_DIST += src/cache/cache.h
