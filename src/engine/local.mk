# libengine: one of everything: threads, loop, reload.
noinst_LIBRARIES += libengine.a
libengine_a_SOURCES = \
	src/engine/engine.c src/engine/engine.h src/engine/engine_priv.h \
	src/engine/loop.c \
	src/engine/reload.c \
	src/engine/simulated.c \
	src/engine/threads.c
