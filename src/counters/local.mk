# libcounters: what guests and ports sent, by counters no guest can forge. Programs
# that link it need libsim.a and libcore.a behind it.
noinst_LIBRARIES += libcounters.a
libcounters_a_SOURCES = \
	src/counters/port.c \
	src/counters/sim.c \
	src/counters/vf.c \
	src/counters/vif.c \
	src/counters/counters.c src/counters/counters.h src/counters/counters_priv.h
