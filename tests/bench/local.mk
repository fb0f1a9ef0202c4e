# resex-bench: what ./dev bench runs; not part of make all.
EXTRA_PROGRAMS = resex-bench
EXTRA_DIST += tests/bench/run.sh
resex_bench_SOURCES = tests/bench/bench.c
resex_bench_LDADD = $(RESEXD_LIBS)
CLEANFILES += resex-bench
