# libcluster: this host among others.
noinst_LIBRARIES += libcluster.a
libcluster_a_SOURCES = \
	src/cluster/adopt.c src/cluster/adopt.h src/cluster/agree.c src/cluster/agree.h \
	src/cluster/balance_turn.c src/cluster/balance_turn.h \
	src/cluster/balancer.c src/cluster/balancer.h \
	src/cluster/balances.c src/cluster/balances.h \
	src/cluster/cluster.c src/cluster/cluster.h \
	src/cluster/cluster_priv.h \
	src/cluster/exchange.c src/cluster/exchange.h \
	src/cluster/history.c src/cluster/history.h \
	src/cluster/history_line.c \
	src/cluster/locks.c \
	src/cluster/nodes.c \
	src/cluster/notices.c \
	src/cluster/order.c src/cluster/order.h \
	src/cluster/overrides.c src/cluster/overrides.h \
	src/cluster/publish.c \
	src/cluster/reconf.c src/cluster/reconf.h \
	src/cluster/roles.c src/cluster/roles.h \
	src/cluster/thread.c \
	src/cluster/told.h \
	src/cluster/worker.c \
	src/cluster/worker_claims.c \
	src/cluster/worker_guests.c \
	src/cluster/worker_hosts.c \
	src/cluster/worker_load.c \
	src/cluster/worker_open.c \
	src/cluster/worker_reload.c \
	src/cluster/worker_vcpus.c \
	src/cluster/worker_moves.c \
	src/cluster/worker_words.c \
	src/cluster/words.c
