# libibmon: guest rings -> samples -> usage.
noinst_LIBRARIES += libibmon.a
libibmon_a_SOURCES = \
	include/resex/guest_abi.h \
	ibmon/guest.c ibmon/guest.h ibmon/guest_priv.h \
	ibmon/guest_latency.c ibmon/guest_map.c ibmon/guest_show.c \
	ibmon/latency.c ibmon/latency.h \
	ibmon/mtu.c ibmon/mtu.h \
	ibmon/registry.c ibmon/registry.h \
	ibmon/ring.c ibmon/ring.h ibmon/ring_ops.h \
	ibmon/ring_rxe.c ibmon/ring_rxe.h ibmon/ring_rxe_sq.h \
	ibmon/ring_rxe_cq.c ibmon/ring_rxe_psn.c \
	ibmon/scan.c ibmon/scan.h \
	ibmon/totals.c
