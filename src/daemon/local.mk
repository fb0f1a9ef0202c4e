# resexd.
# What resexd is made of, but main: tests and benches link it, too.
DAEMON_LIBS = liblab.a libengine.a libcontrol.a libcluster.a libguests.a libconf.a libtick.a $(UUID_LIBS)

# What hosts share, and by what they read it.
CLUSTER_LIBS = libload.a libreconf.a libshared.a libtransport.a $(NETTLE_LIBS) $(ISAL_LIBS) $(QUORUM_LIBS) $(RDMACM_LIBS) $(VERBS_LIBS)

RESEXD_LIBS = $(DAEMON_LIBS) libibmon.a libhv.a libcounters.a libsim.a libpolicies.a $(CLUSTER_LIBS) libutil.a libcore.a \
	$(XEN_LIBS) $(JANSSON_LIBS) $(EVENT_LIBS)

sbin_PROGRAMS += resexd
resexd_SOURCES = \
	src/daemon/configured.c \
	src/daemon/lockfiles.c src/daemon/lockfiles.h \
	src/daemon/main.c \
	src/daemon/modes.h \
	src/daemon/options.c src/daemon/options.h \
	src/daemon/scenario.c \
	src/daemon/schema.c
resexd_LDADD = $(RESEXD_LIBS)
