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
	src/conf/plugin.c src/conf/plugin.h \
	src/conf/plugin_table.c \
	src/conf/policy.c src/conf/policy.h \
	src/conf/policy_pages.c src/conf/policy_pages.h \
	src/conf/schema.h \
	src/conf/schema_cluster.c \
	src/conf/schema_policy.c \
	src/conf/schema_settings.c \
	src/conf/settings.c src/conf/settings.h \
	src/conf/trial.c src/conf/trial.h

# For policies that are built elsewhere: where the headers are, and where plug-ins go.
EXTRA_DIST += src/conf/resex-policy.pc.in
pkgconfig_DATA += resex-policy.pc
CLEANFILES += resex-policy.pc
resex-policy.pc: $(srcdir)/src/conf/resex-policy.pc.in Makefile
	$(AM_V_GEN)sed -e 's|[@]prefix[@]|$(prefix)|g' -e 's|[@]policydir[@]|$(pkglibdir)/policies|g' \
		-e 's|[@]libdir[@]|$(libdir)|g' -e 's|[@]includedir[@]|$(includedir)|g' \
		-e 's|[@]VERSION[@]|$(VERSION)|g' $(srcdir)/src/conf/resex-policy.pc.in >$@
