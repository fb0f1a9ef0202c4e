# libcore: arithmetic only; links with libc alone.
noinst_LIBRARIES += libcore.a
libcore_a_SOURCES = \
	src/core/budget.c src/core/budget.h \
	src/core/caps.c src/core/caps.h \
	src/core/crosscheck.c src/core/crosscheck.h \
	src/core/flow.h \
	src/core/hostset.h \
	src/core/random.h \
	src/core/period.c src/core/period.h \
	src/core/resos.c src/core/resos.h \
	src/core/span.h \
	src/core/spsc.h \
	src/core/stats.c src/core/stats.h \
	src/core/units.h \
	src/core/usage.h \
	src/core/window.c src/core/window.h
