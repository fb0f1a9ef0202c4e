# libguests: the guests of the control thread.
noinst_LIBRARIES += libguests.a
libguests_a_SOURCES = \
	src/guests/conf.c \
	src/guests/crosscheck.c \
	src/guests/event_log.c \
	src/guests/events.c \
	src/guests/give_back.c \
	src/guests/guest.c \
	src/guests/guests.c src/guests/guests.h \
	src/guests/guests_priv.h \
	src/guests/journal.c src/guests/journal.h \
	src/guests/operator.c \
	src/guests/own.c \
	src/guests/place.c \
	src/guests/restore.c src/guests/restore.h \
	src/guests/restore_file.c src/guests/restore_priv.h \
	src/guests/rings.c \
	src/guests/set.c \
	src/guests/stopped.c \
	src/guests/trace.c \
	src/guests/unheard.c \
	src/guests/view.c
