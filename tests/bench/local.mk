# What ./dev bench runs; not part of make all.
EXTRA_PROGRAMS = resex-bench resex-bench-report
EXTRA_DIST += tests/bench/run.sh
resex_bench_SOURCES = tests/bench/bench.c
resex_bench_LDADD = $(RESEXD_LIBS)
resex_bench_report_SOURCES = tests/bench/bench_report.c
resex_bench_report_LDADD = libresex-report.a
CLEANFILES += resex-bench resex-bench-report

EXTRA_PROGRAMS += resex-bench-transport
EXTRA_DIST += tests/bench/onesided.gp
resex_bench_transport_SOURCES = tests/bench/bench_transport.c
resex_bench_transport_LDADD = libtransport.a libutil.a libcore.a $(NETTLE_LIBS) $(RDMACM_LIBS) $(VERBS_LIBS)
CLEANFILES += resex-bench-transport
