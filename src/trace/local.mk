# Traces: their records, which the 1 ms path writes, and their files. Link $(ISAL_LIBS) behind
# libtick.a for frame.
libtick_a_SOURCES += \
	src/trace/file.c src/trace/file.h \
	src/trace/format.c src/trace/format.h \
	src/trace/frame.c \
	src/trace/ring.h
