# tests/load: the index of load, against a second implementation in Python.
check_PROGRAMS += tests/load/replay
tests_load_replay_SOURCES = tests/load/replay.c
tests_load_replay_LDADD = libload.a

TESTS += tests/load/compare.py
EXTRA_DIST += tests/load/compare.py
