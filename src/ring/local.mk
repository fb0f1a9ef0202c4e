# libresex-ring: the client's half of the ring by which Varnish asks resex-cached. libutil.a goes
# behind it. Position independent, so that shared objects can contain it.
noinst_LIBRARIES += libresex-ring.a
libresex_ring_a_SOURCES = \
	include/resex/cache_ring.h include/resex/life_abi.h \
	src/cache/place.c src/cache/place.h \
	src/ring/connect.c src/ring/connect.h \
	src/ring/direct.c src/ring/direct.h \
	src/ring/ring_client.c src/ring/ring_client.h \
	src/ring/ring_pool.c src/ring/ring_pool.h \
	src/ring/version_text.c src/ring/version_text.h
libresex_ring_a_CFLAGS = $(AM_CFLAGS) -fPIC
