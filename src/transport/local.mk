# libtransport: remote memory, by operations that are posted and polled. Programs that
# link it need $(NETTLE_LIBS), and with verbs $(RDMACM_LIBS) $(VERBS_LIBS), behind it.
noinst_LIBRARIES += libtransport.a
libtransport_a_SOURCES = \
	include/resex/life_abi.h \
	src/transport/backends.c \
	src/transport/front/front.h \
	src/transport/front/hello.c src/transport/front/hello.h \
	src/transport/shm/shm.h \
	src/transport/shm/call.c \
	src/transport/shm/exec.c \
	src/transport/shm/life.c src/transport/shm/life.h \
	src/transport/shm/region.c \
	src/transport/shm/serve.c \
	src/transport/shm/socket.c \
	src/transport/tcp/tcp.h src/transport/tcp/call.c src/transport/tcp/conn.c \
	src/transport/tcp/serve.c src/transport/tcp/wire.c \
	src/transport/front/transport.c src/transport/transport.h src/transport/backend.h \
	src/transport/front/address.c \
	src/transport/front/events.c \
	src/transport/front/link.c \
	src/transport/front/part.c \
	src/transport/front/slot.c \
	src/transport/shm/shm.c src/transport/shm/faults.h \
	src/transport/sim/sim.c src/transport/sim/sim.h \
	src/transport/tcp/tcp.c
libtransport_a_CPPFLAGS = $(AM_CPPFLAGS) $(NETTLE_CFLAGS) $(VERBS_CFLAGS) $(RDMACM_CFLAGS)
if VERBS
libtransport_a_SOURCES += \
	src/transport/verbs/verbs.c src/transport/verbs/verbs.h \
	src/transport/verbs/call.c \
	src/transport/verbs/conn.c \
	src/transport/verbs/event.c \
	src/transport/verbs/reaper.c src/transport/verbs/reaper.h \
	src/transport/verbs/serve.c
endif
