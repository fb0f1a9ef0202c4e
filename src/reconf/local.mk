# libreconf: the protocol by which nodes move: locks, counters, moves; balancing, and how a balancer is
# told. libshared.a goes behind it.
noinst_LIBRARIES += libreconf.a
libreconf_a_SOURCES = \
	src/reconf/act.h \
	src/reconf/act_agent.c src/reconf/act_agent.h \
	src/reconf/act_haproxy.c src/reconf/act_haproxy.h \
	src/reconf/balance.c src/reconf/balance.h \
	src/reconf/choose.c \
	src/reconf/counter.c src/reconf/counter.h \
	src/reconf/decide.c src/reconf/decide.h \
	src/reconf/decide_chain.c \
	src/reconf/decide_home.c \
	src/reconf/decide_past.c \
	src/reconf/decide_priv.h \
	src/reconf/decide_rules.c \
	src/reconf/haproxy_text.c src/reconf/haproxy_text.h \
	src/reconf/hook.h \
	src/reconf/hook_exec.c src/reconf/hook_exec.h \
	src/reconf/hook_guest.c src/reconf/hook_guest.h \
	src/reconf/keep.c src/reconf/keep.h \
	src/reconf/lock.c src/reconf/lock.h \
	src/reconf/move.c src/reconf/move.h \
	src/reconf/move_locks.c \
	src/reconf/move_nodes.c \
	src/reconf/move_ops.c \
	src/reconf/move_priv.h \
	src/reconf/put.h \
	src/reconf/role.c src/reconf/role.h \
	src/reconf/runner.c src/reconf/runner.h \
	src/reconf/step.h
