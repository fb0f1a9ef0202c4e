# tests/policy: what the policies decide, against a second implementation in Python.
check_PROGRAMS += tests/policy/replay
tests_policy_replay_SOURCES = tests/policy/replay.c
tests_policy_replay_LDADD = libpolicies.a libcore.a

POLICY_TESTS = tests/policy/compare.py
TESTS += $(POLICY_TESTS)
PLANTED += tests/policy/planted.sh
EXTRA_DIST += $(POLICY_TESTS) tests/policy/ioshares.py tests/policy/ioshares_why.py tests/policy/plants.py tests/policy/plants.seeds \
	tests/policy/second.py tests/policy/slo.py tests/policy/traces.py tests/policy/wrong.py
