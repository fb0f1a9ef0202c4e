# libcounters: what guests and ports sent, by counters no guest can forge. Programs
# that link it need libsim.a and libcore.a behind it.
noinst_LIBRARIES += libcounters.a
libcounters_a_SOURCES = \
	src/counters/counter_port.c \
	src/counters/counter_sim.c \
	src/counters/counter_vf.c \
	src/counters/counter_vif.c \
	src/counters/counters.c src/counters/counters.h src/counters/counters_priv.h
