# libtick: the 1 ms path, and what passes between the threads.
noinst_LIBRARIES += libtick.a
libtick_a_SOURCES = \
	src/tick/actor.c src/tick/actor.h \
	src/tick/apart.c src/tick/apart.h \
	src/tick/apart_open.c \
	src/tick/domains.c \
	src/tick/handover.c src/tick/handover.h \
	src/tick/handover_open.c \
	src/tick/loads.c src/tick/loads.h \
	src/tick/run.c \
	src/tick/sampler.c src/tick/sampler.h \
	src/tick/stages.c \
	src/tick/still.c src/tick/still.h \
	src/tick/tape.c src/tick/tape.h \
	src/tick/tape_encode.c \
	src/tick/tape_state.c \
	src/tick/tick.c \
	src/tick/unread.c \
	src/tick/written.h
