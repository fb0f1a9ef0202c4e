# What ./dev bench runs; not part of make all.
EXTRA_PROGRAMS = resex-bench resex-bench-report
MEASURE = tests/bench/measure.c tests/bench/measure.h
EXTRA_DIST += tests/bench/run.sh tests/bench/top.py tests/bench/cache.py tests/bench/cache_bench.py tests/bench/cache.gp
resex_bench_SOURCES = tests/bench/bench.c tests/bench/tick_host.c tests/bench/tick_host.h
resex_bench_LDADD = $(RESEXD_LIBS)
resex_bench_report_SOURCES = tests/bench/bench_report.c
resex_bench_report_LDADD = libresex-report.a
CLEANFILES += resex-bench resex-bench-report

if VERBS
EXTRA_PROGRAMS += resex-bench-rings
resex_bench_rings_SOURCES = tests/bench/bench_rings.c tests/fakeverbs/fakeverbs.c tests/fakeverbs/fakeverbs.h \
	tests/fakeverbs/fakeverbs_priv.h tests/fakeverbs/mlx4.c tests/fakeverbs/mlx5.c $(MEASURE)
resex_bench_rings_LDFLAGS = $(AM_LDFLAGS) -Wl,--export-dynamic
resex_bench_rings_LDADD = $(VERBS_LIBS)
EXTRA_resex_bench_rings_DEPENDENCIES = libresex-rings.so
CLEANFILES += resex-bench-rings
endif

EXTRA_PROGRAMS += resex-bench-transport
EXTRA_DIST += tests/bench/onesided.gp
resex_bench_transport_SOURCES = tests/bench/bench_transport.c tests/bench/transport_pause.c \
	tests/bench/transport_pause.h $(MEASURE)
resex_bench_transport_LDADD = libtransport.a libutil.a libcore.a $(NETTLE_LIBS) $(RDMACM_LIBS) $(VERBS_LIBS)
CLEANFILES += resex-bench-transport

EXTRA_PROGRAMS += resex-bench-recovery
EXTRA_DIST += tests/bench/recovery.gp
LOCK_HOST = tests/bench/lock_host.c tests/bench/lock_host.h
resex_bench_recovery_SOURCES = tests/bench/bench_recovery.c tests/bench/recovery_sim.c \
	tests/bench/recovery_sim.h $(LOCK_HOST)
resex_bench_recovery_LDADD = $(CLUSTER_LIBS) libutil.a
CLEANFILES += resex-bench-recovery

EXTRA_PROGRAMS += resex-bench-lock
EXTRA_DIST += tests/bench/lock.gp
resex_bench_lock_SOURCES = tests/bench/bench_lock.c $(LOCK_HOST) $(MEASURE)
resex_bench_lock_LDADD = $(CLUSTER_LIBS) libutil.a
CLEANFILES += resex-bench-lock

EXTRA_PROGRAMS += resex-bench-hosts
resex_bench_hosts_SOURCES = tests/bench/bench_hosts.c $(LOCK_HOST) $(MEASURE)
resex_bench_hosts_LDADD = $(CLUSTER_LIBS) libutil.a
CLEANFILES += resex-bench-hosts

EXTRA_PROGRAMS += resex-bench-beats
resex_bench_beats_SOURCES = tests/bench/bench_beats.c $(MEASURE)
resex_bench_beats_LDADD = libconf.a libpolicies.a $(CLUSTER_LIBS) libutil.a libcore.a $(JANSSON_LIBS)
CLEANFILES += resex-bench-beats
