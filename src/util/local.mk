# libutil: small services: clock, log, configuration, sequence-guarded reads.
noinst_LIBRARIES += libutil.a
libutil_a_SOURCES = \
	src/util/bytes.h \
	src/util/clock.c src/util/clock.h \
	src/util/cmdline.c src/util/cmdline.h \
	src/util/conf.c src/util/conf.h src/util/conf_parts.h \
	src/util/conf_place.c src/util/conf_value.c \
	src/util/conf_schema.c src/util/conf_schema.h \
	src/util/file.c src/util/file.h src/util/kept_file.c src/util/kept_file.h \
	src/util/guard.c src/util/guard.h src/util/guard_priv.h \
	src/util/guard_open.c \
	src/util/hist.c src/util/hist.h \
	src/util/log.c src/util/log.h \
	src/util/netlink.c src/util/netlink.h \
	src/util/notify.c src/util/notify.h \
	src/util/plugin_elf.c \
	src/util/plugin_file.c src/util/plugin_file.h \
	src/util/plugin_seal.c \
	src/util/seqread.h \
	src/util/utf8.c src/util/utf8.h
