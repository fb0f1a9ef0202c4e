# libtransport: remote memory, by operations that are posted and polled. Programs that
# link it need $(NETTLE_LIBS) behind it.
noinst_LIBRARIES += libtransport.a
libtransport_a_SOURCES = \
	src/transport/hello.c src/transport/hello.h src/transport/transport.h
libtransport_a_CPPFLAGS = $(AM_CPPFLAGS) $(NETTLE_CFLAGS)
