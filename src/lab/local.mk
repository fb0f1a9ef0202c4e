# liblab: scenarios on the simulated host.
noinst_LIBRARIES += liblab.a
liblab_a_SOURCES = \
	src/lab/record.c src/lab/record.h \
	src/lab/run.c src/lab/run.h \
	src/lab/scenario.c src/lab/scenario.h \
	src/lab/scenario_event.c \
	src/lab/scenario_find.c \
	src/lab/scenario_guest.c \
	src/lab/stat.c \
	src/lab/summary.c src/lab/summary.h
