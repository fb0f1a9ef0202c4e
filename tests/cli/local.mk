# tests/cli: the programs as people use them.
CLI_TESTS = tests/cli/test_benchex.sh tests/cli/test_cli.sh tests/cli/test_report.py tests/cli/test_scenario.sh
TESTS += $(CLI_TESTS)
EXTRA_DIST += $(CLI_TESTS) tests/cli/members.py

# The example of resex_report(3), built as its reader would.
check_PROGRAMS += report-example
report_example_SOURCES = etc/examples/report.c
report_example_LDADD = libresex-report.a
