# resexd: libdaemon.a holds what has no folder of its own yet.
noinst_LIBRARIES += libdaemon.a
libdaemon_a_SOURCES = \
	include/resex/exit.h \
	src/daemon/scenario.c src/daemon/scenario.h \
	src/daemon/scenario_event.c \
	src/daemon/scenario_guest.c \
	src/daemon/scenario_record.c src/daemon/scenario_record.h \
	src/daemon/scenario_run.c src/daemon/scenario_run.h \
	src/daemon/scenario_stat.c \
	src/daemon/scenario_summary.c src/daemon/scenario_summary.h

# What resexd is of, but main: tests and benches link it, too.
DAEMON_LIBS = libdaemon.a libengine.a libcontrol.a libcluster.a libguests.a libconf.a libtick.a

# What hosts share, and by what they read it.
CLUSTER_LIBS = libshared.a libtransport.a $(NETTLE_LIBS) $(ISAL_LIBS) $(QUORUM_LIBS) $(RDMACM_LIBS) $(VERBS_LIBS)

RESEXD_LIBS = $(DAEMON_LIBS) libibmon.a libhv.a libcounters.a libsim.a libpolicies.a $(CLUSTER_LIBS) libutil.a libcore.a \
	$(XEN_LIBS) $(JANSSON_LIBS) $(EVENT_LIBS)

sbin_PROGRAMS += resexd
resexd_SOURCES = src/daemon/main.c
resexd_LDADD = $(RESEXD_LIBS)
