# libibmon: guest rings -> samples -> usage.
noinst_LIBRARIES += libibmon.a
libibmon_a_SOURCES = \
	include/resex/guest_abi.h \
	ibmon/guest.c ibmon/guest.h ibmon/guest_priv.h \
	ibmon/guest_latency.c ibmon/guest_load.c ibmon/guest_map.c ibmon/guest_back.c ibmon/guest_kept.c ibmon/guest_missed.c ibmon/guest_missed.h ibmon/guest_show.c \
	ibmon/latency.c ibmon/latency.h \
	ibmon/layout.c ibmon/layout.h \
	ibmon/public.c \
	ibmon/ring/mtu.c ibmon/ring/mtu.h \
	ibmon/registry.c ibmon/registry.h \
	ibmon/ring/open.c ibmon/ring/ring_priv.h \
	ibmon/ring/plug.c \
	ibmon/ring/ring.c ibmon/ring/ring.h ibmon/ring/ops.h \
	ibmon/ring/rxe.c ibmon/ring/rxe.h ibmon/ring/rxe_sq.h \
	ibmon/ring/mlx_sq.c ibmon/ring/mlx_sq.h ibmon/ring/mlx_cq.c ibmon/ring/mlx_cq.h ibmon/ring/mlx_cq_sample.h \
	ibmon/ring/mlx4.c ibmon/ring/mlx4.h ibmon/ring/mlx4_sq.h ibmon/ring/mlx4_wqe.c ibmon/ring/mlx4_cq.c \
	ibmon/ring/mlx5.c ibmon/ring/mlx5.h ibmon/ring/mlx5_sq.h ibmon/ring/mlx5_wqe.c ibmon/ring/mlx5_cq.c \
	ibmon/ring/rxe_cq.c ibmon/ring/rxe_psn.c ibmon/ring/rxe_run.c \
	ibmon/scan.c ibmon/scan.h ibmon/scan_load.c \
	ibmon/totals.c

# libibmon: the same rings for programs outside of ResEx (resex/ibmon.h). Without a sanitizer, since
# programs have none. The number is that of its soname: a change that programs notice needs another.
EXTRA_DIST += ibmon/libibmon.map ibmon/resex-ibmon.pc.in
sharedlibdir = $(libdir)
sharedlib_PROGRAMS = libibmon.so.0
libibmon_so_0_SOURCES = include/resex/ibmon.h ibmon/public.c ibmon/layout.c ibmon/layout.h \
	ibmon/ring/mlx4.c ibmon/ring/mlx4_cq.c ibmon/ring/mlx4_wqe.c \
	ibmon/ring/mlx5.c ibmon/ring/mlx5_cq.c ibmon/ring/mlx5_wqe.c \
	ibmon/ring/mlx_cq.c ibmon/ring/mlx_sq.c ibmon/ring/mtu.c \
	ibmon/ring/open.c ibmon/ring/plug.c ibmon/ring/ring.c \
	ibmon/ring/rxe.c ibmon/ring/rxe_cq.c ibmon/ring/rxe_psn.c ibmon/ring/rxe_run.c \
	src/util/plugin_elf.c src/util/plugin_file.c src/util/plugin_file.h src/util/plugin_seal.c
libibmon_so_0_CFLAGS = -std=gnu11 $(OPT) $(WARN) -fPIC
libibmon_so_0_LDFLAGS = -shared -Wl,-soname,libibmon.so.0 -Wl,-z,now,-z,defs \
	-Wl,--version-script=$(srcdir)/ibmon/libibmon.map
EXTRA_libibmon_so_0_DEPENDENCIES = ibmon/libibmon.map
install-data-hook:
	ln -sf libibmon.so.0 $(DESTDIR)$(libdir)/libibmon.so
uninstall-local:
	rm -f $(DESTDIR)$(libdir)/libibmon.so
resexincludedir = $(includedir)/resex
resexinclude_HEADERS = include/resex/ibmon.h
pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = resex-ibmon.pc
CLEANFILES += resex-ibmon.pc
resex-ibmon.pc: $(srcdir)/ibmon/resex-ibmon.pc.in Makefile
	$(AM_V_GEN)sed -e 's|[@]prefix[@]|$(prefix)|g' -e 's|[@]exec_prefix[@]|$(exec_prefix)|g' \
		-e 's|[@]libdir[@]|$(libdir)|g' -e 's|[@]includedir[@]|$(includedir)|g' \
		-e 's|[@]VERSION[@]|$(VERSION)|g' $(srcdir)/ibmon/resex-ibmon.pc.in >$@
