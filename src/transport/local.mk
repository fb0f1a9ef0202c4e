# libtransport: remote memory, by operations that are posted and polled. Programs that
# link it need $(NETTLE_LIBS), and with verbs $(RDMACM_LIBS) $(VERBS_LIBS), behind it.
noinst_LIBRARIES += libtransport.a
libtransport_a_SOURCES = \
	src/transport/backends.c \
	src/transport/front.h \
	src/transport/hello.c src/transport/hello.h \
	src/transport/shm.h \
	src/transport/shm_call.c \
	src/transport/shm_exec.c \
	src/transport/shm_region.c \
	src/transport/shm_serve.c \
	src/transport/shm_socket.c \
	src/transport/tcp.h src/transport/tcp_call.c src/transport/tcp_conn.c \
	src/transport/tcp_serve.c src/transport/tcp_wire.c \
	src/transport/transport.c src/transport/transport.h src/transport/transport_priv.h \
	src/transport/transport_address.c \
	src/transport/transport_events.c \
	src/transport/transport_link.c \
	src/transport/transport_shm.c src/transport/transport_shm.h \
	src/transport/transport_tcp.c
libtransport_a_CPPFLAGS = $(AM_CPPFLAGS) $(NETTLE_CFLAGS) $(VERBS_CFLAGS) $(RDMACM_CFLAGS)
if VERBS
libtransport_a_SOURCES += \
	src/transport/transport_verbs.c src/transport/transport_verbs.h \
	src/transport/transport_verbs_call.c \
	src/transport/transport_verbs_conn.c \
	src/transport/transport_verbs_event.c \
	src/transport/transport_verbs_serve.c
endif
