# tests/transport: checks each backend against transport.h. Backends that need no device run here;
# verbs runs on machines that have one (contract verbs ADDRESS-A ADDRESS-B).
if CMOCKA
CONTRACT_TESTS = tests/transport/contract_shm.sh tests/transport/contract_tcp.sh \
	tests/transport/contract_far.sh
check_PROGRAMS += tests/transport/contract
TESTS += $(CONTRACT_TESTS)
EXTRA_DIST += $(CONTRACT_TESTS) tests/transport/mutants.sh
tests_transport_contract_SOURCES = \
	tests/transport/child.c \
	tests/transport/contract.c \
	tests/transport/far.c tests/transport/far.h \
	tests/transport/far_serve.c \
	tests/transport/proc.c tests/transport/proc.h \
	tests/transport/referee.c tests/transport/referee.h \
	tests/transport/rig.c tests/transport/rig.h \
	tests/transport/rig_ops.c \
	tests/transport/suite.h \
	tests/transport/t_client.c \
	tests/transport/t_fail.c \
	tests/transport/t_link.c \
	tests/transport/t_many.c \
	tests/transport/t_open.c \
	tests/transport/t_ops.c \
	tests/transport/t_part.c \
	tests/transport/t_send.c \
	tests/transport/t_sleep.c \
	tests/transport/t_stats.c \
	tests/transport/t_trust.c \
	tests/unit/prop.h
# The linker puts far.c between the tests and the transport.
tests_transport_contract_LDFLAGS = -Wl,--wrap=transport_close,--wrap=transport_table,--wrap=transport_part \
	-Wl,--wrap=transport_add,--wrap=transport_remove,--wrap=transport_link \
	-Wl,--wrap=transport_post,--wrap=transport_poll,--wrap=transport_fd \
	-Wl,--wrap=transport_arm,--wrap=transport_stats
tests_transport_contract_LDADD = libtransport.a libutil.a libcore.a $(CMOCKA_LIBS) $(NETTLE_LIBS) \
	$(RDMACM_LIBS) $(VERBS_LIBS)
endif
