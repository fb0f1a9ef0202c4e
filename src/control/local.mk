# libcontrol: the server of the control protocol.
noinst_LIBRARIES += libcontrol.a
libcontrol_a_SOURCES = \
	src/control/balance.c \
	src/control/hosts.c \
	src/control/nodes.c \
	src/control/reload.c \
	src/control/methods.c src/control/methods.h \
	src/control/methods_priv.h \
	src/control/override.c \
	src/control/policy.c \
	src/control/proto.c src/control/proto.h \
	src/control/put.c \
	src/control/reconf.c \
	src/control/server.c src/control/server.h \
	src/control/set.c \
	src/control/show.c \
	src/control/trace.c \
	src/control/why.c
