# libhv: the hypervisor behind three ops structs. Programs that link libhv.a
# need libsim.a and libcore.a behind it, and $(XEN_LIBS) when built with Xen.
noinst_LIBRARIES += libhv.a
libhv_a_SOURCES = \
	src/hv/hv.c src/hv/hv.h src/hv/hv_backends.h \
	src/hv/hv_sim.c
libhv_a_CPPFLAGS = $(AM_CPPFLAGS) $(XEN_CFLAGS)
if XEN
libhv_a_SOURCES += src/hv/hv_xen.c src/hv/hv_xen.h src/hv/hv_xen_frames.c \
	src/hv/hv_xen_mem.c src/hv/hv_xen_p2m.c src/hv/hv_xen_sched.c src/hv/hv_xen_watch.c
endif
