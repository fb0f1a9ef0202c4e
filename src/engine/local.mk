# libengine: one of everything: threads, loop, reload.
noinst_LIBRARIES += libengine.a
libengine_a_SOURCES = \
	src/engine/engine.c src/engine/engine.h
