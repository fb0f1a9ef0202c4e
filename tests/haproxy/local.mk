# tests/haproxy: act_haproxy and act_agent, and moves by resexd of nodes of both kinds, against Debian's
# HAProxy.
check_PROGRAMS += tests/haproxy/agent tests/haproxy/client
tests_haproxy_agent_SOURCES = tests/haproxy/agent.c
tests_haproxy_agent_LDADD = libreconf.a libutil.a
tests_haproxy_client_SOURCES = tests/haproxy/client.c
tests_haproxy_client_LDADD = libreconf.a libutil.a

TESTS += tests/haproxy/live.py tests/haproxy/moves.py tests/haproxy/switch.py
EXTRA_DIST += tests/haproxy/common.py tests/haproxy/live.py tests/haproxy/moves.py tests/haproxy/relay.py \
	tests/haproxy/switch.py tests/haproxy/tools.py
