# libbenchex: all of benchex that knows no verbs; built and tested everywhere.
noinst_LIBRARIES += libbenchex.a
libbenchex_a_SOURCES = \
	src/benchex/benchex.h src/benchex/parts.h \
	src/benchex/merge.c src/benchex/number.c \
	src/benchex/option_rows.c src/benchex/option_rows.h src/benchex/options.c \
	src/benchex/price.c src/benchex/profile.c src/benchex/result.c \
	src/benchex/trace.c
