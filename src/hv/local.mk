# libhv: the hypervisor behind three ops structs. Programs that link libhv.a
# need libsim.a and libcore.a behind it, and $(XEN_LIBS) when built with Xen.
noinst_LIBRARIES += libhv.a
libhv_a_SOURCES = \
	src/hv/dom.h src/hv/hv.c src/hv/hv.h src/hv/backends.h \
	src/hv/store.c src/hv/store.h src/hv/sim.c
libhv_a_CPPFLAGS = $(AM_CPPFLAGS) $(XEN_CFLAGS)
if XEN
libhv_a_SOURCES += src/hv/xen/xen.c src/hv/xen/xen.h src/hv/xen/frames.c \
	src/hv/xen/mem.c src/hv/xen/p2m.c src/hv/xen/sched.c src/hv/xen/swap.c src/hv/xen/watch.c \
	src/hv/xen/xenstore.c
endif
