# libresex-rings.so: the library that is preloaded into an application and lists its queues for
# resex-agent. Without a sanitizer, since programs have none. It links neither libibverbs nor
# libmlx5 and libmlx4: a program without them does not load them. Once loaded, it stays (nodelete).
EXTRA_DIST += ibmon/rings/rings.map
if VERBS
ringsdir = $(libdir)
rings_PROGRAMS = libresex-rings.so
libresex_rings_so_SOURCES = include/resex/agent_socket.h include/resex/guest_abi.h include/resex/queue_table.h \
	ibmon/rings/notify.c ibmon/rings/notify.h \
	ibmon/rings/preload.c \
	ibmon/rings/queue_list.c ibmon/rings/queue_list.h \
	ibmon/rings/queue_memory.c ibmon/rings/queue_memory.h
libresex_rings_so_CFLAGS = -std=gnu11 $(OPT) $(WARN) -fPIC -fvisibility=hidden
libresex_rings_so_LDFLAGS = -shared -Wl,-soname,libresex-rings.so -Wl,-z,nodelete,-z,now \
	-Wl,--version-script=$(srcdir)/ibmon/rings/rings.map
EXTRA_libresex_rings_so_DEPENDENCIES = ibmon/rings/rings.map
endif
