# libibmon: guest rings -> samples -> usage.
noinst_LIBRARIES += libibmon.a
libibmon_a_SOURCES = \
	include/resex/guest_abi.h \
	ibmon/guest.c ibmon/guest.h ibmon/guest_priv.h \
	ibmon/guest_latency.c ibmon/guest_load.c ibmon/guest_map.c ibmon/guest_back.c ibmon/guest_kept.c ibmon/guest_missed.c ibmon/guest_missed.h ibmon/guest_show.c \
	ibmon/latency.c ibmon/latency.h \
	ibmon/ring/mtu.c ibmon/ring/mtu.h \
	ibmon/registry.c ibmon/registry.h \
	ibmon/ring/open.c ibmon/ring/ring_priv.h \
	ibmon/ring/ring.c ibmon/ring/ring.h ibmon/ring/ops.h \
	ibmon/ring/rxe.c ibmon/ring/rxe.h ibmon/ring/rxe_sq.h \
	ibmon/ring/mlx_sq.c ibmon/ring/mlx_sq.h ibmon/ring/mlx_cq.c ibmon/ring/mlx_cq.h ibmon/ring/mlx_cq_sample.h \
	ibmon/ring/mlx4.c ibmon/ring/mlx4.h ibmon/ring/mlx4_sq.h ibmon/ring/mlx4_wqe.c ibmon/ring/mlx4_cq.c \
	ibmon/ring/mlx5.c ibmon/ring/mlx5.h ibmon/ring/mlx5_sq.h ibmon/ring/mlx5_wqe.c ibmon/ring/mlx5_cq.c \
	ibmon/ring/rxe_cq.c ibmon/ring/rxe_psn.c ibmon/ring/rxe_run.c \
	ibmon/scan.c ibmon/scan.h ibmon/scan_load.c \
	ibmon/totals.c
