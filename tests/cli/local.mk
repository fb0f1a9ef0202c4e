# tests/cli: the programs as people use them.
CLI_TESTS = tests/cli/test_benchex.sh tests/cli/test_cache.py tests/cli/test_cli.sh tests/cli/test_cluster.sh tests/cli/test_doctor.py tests/cli/test_lab.sh tests/cli/test_peek.sh tests/cli/test_report.py \
	tests/cli/test_scenario.sh tests/cli/test_schema.py tests/cli/test_top.py tests/cli/test_trace.sh tests/cli/test_two_hosts.sh
TESTS += $(CLI_TESTS)
EXTRA_DIST += $(CLI_TESTS) tests/cli/checks.sh tests/cli/httplog.txt tests/cli/members.py tests/cli/foe.py

# A host that dies with a lock.
check_PROGRAMS += takelock
takelock_SOURCES = tests/cli/takelock.c
takelock_LDADD = $(DAEMON_LIBS) $(CLUSTER_LIBS) libutil.a libcore.a $(JANSSON_LIBS)

# A cached host that does nothing.
check_PROGRAMS += servecache
servecache_SOURCES = tests/cli/servecache.c
servecache_LDADD = $(DAEMON_LIBS) $(CLUSTER_LIBS) libutil.a libcore.a $(JANSSON_LIBS)

# The example of resex_report(3), built as its reader would.
check_PROGRAMS += report-example
report_example_SOURCES = etc/examples/report.c
report_example_LDADD = libresex-report.a
