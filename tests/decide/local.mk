# tests/decide: whether the reasons of decide() are true, by a second implementation in Python.
check_PROGRAMS += tests/decide/replay
tests_decide_replay_SOURCES = tests/decide/replay.c
tests_decide_replay_LDADD = libreconf.a

TESTS += tests/decide/compare.py
EXTRA_DIST += tests/decide/compare.py tests/decide/second.py
