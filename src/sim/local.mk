# libsim: the simulated host. sim.h is for users, hyp.h for src/hv/sim.c.
noinst_LIBRARIES += libsim.a
libsim_a_SOURCES = \
	src/sim/agent.c \
	src/sim/conf.c \
	src/sim/cpu.c \
	src/sim/credit.c \
	src/sim/credit2.c \
	src/sim/demo.c \
	src/sim/dom.c \
	src/sim/host.c src/sim/sim.h \
	src/sim/hyp.c src/sim/hyp.h \
	src/sim/life.c \
	src/sim/link.c \
	src/sim/mem.c \
	src/sim/model.h \
	src/sim/ring.c \
	src/sim/sender.c \
	src/sim/client.c \
	src/sim/draw.c \
	src/sim/server.c \
	src/sim/task.c \
	src/sim/timer.c \
	src/sim/watch.c \
	src/sim/web.c src/sim/web.h src/sim/web_priv.h \
	src/sim/web_clock.c \
	src/sim/web_node.c \
	src/sim/web_work.c \
	src/sim/words.c src/sim/words.h
