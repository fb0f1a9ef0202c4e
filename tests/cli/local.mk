# tests/cli: the programs as people use them.
CLI_TESTS = tests/cli/test_cli.sh tests/cli/test_scenario.sh
TESTS += $(CLI_TESTS)
EXTRA_DIST += $(CLI_TESTS) tests/cli/members.py
