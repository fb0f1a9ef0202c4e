# libconf: JSON files -> structs.
noinst_LIBRARIES += libconf.a
libconf_a_SOURCES = \
	src/conf/cluster.c src/conf/cluster.h \
	src/conf/cluster_agree.c \
	src/conf/cluster_balance.c \
	src/conf/cluster_cached.c \
	src/conf/cluster_change.c src/conf/cluster_change.h \
	src/conf/cluster_file.c \
	src/conf/cluster_find.c \
	src/conf/cluster_nodes.c \
	src/conf/cluster_parts.h \
	src/conf/cluster_reconf.c \
	src/conf/cluster_same.c \
	src/conf/cluster_text.h \
	src/conf/guest.c \
	src/conf/policy.c src/conf/policy.h \
	src/conf/settings.c src/conf/settings.h \
	src/conf/trial.c src/conf/trial.h
