// SPDX-License-Identifier: GPL-2.0-or-later
/* agent/options, node and proc: command line, the node's value, reading our own process. */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#include "ibmon/agent/node.h"
#include "ibmon/agent/options.h"
#include "ibmon/agent/proc.h"
#include "ibmon/registry.h"
#include "tests/unit/tmpdir.h"
#include "tests/unit/unit.h"

enum { ARGS_MAX = 8, SAID_MAX = 512 };

static char said[SAID_MAX];

static int parse(struct options *o, const char *line)
{
	char text[320] = "resex-agent ", *argv[ARGS_MAX], *save, *word;
	int argc = 0, rc;
	FILE *err;

	memset(said, 0, sizeof(said));
	err = fmemopen(said, sizeof(said) - 1, "w");
	assert_non_null(err);
	strcat(text, line);
	for (word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	rc = options_parse(o, argc, argv, err);
	fclose(err);
	return rc;
}

TEST(no_options__are_the_documented_ones)
{
	struct options o;

	assert_int_equal(parse(&o, ""), 0);
	assert_int_equal(o.scan_ms, 5);
	assert_int_equal(o.load_ns, 10000000);
	assert_string_equal(o.socket, "/run/resex/agent.sock");
	assert_null(o.file);
	assert_null(o.hook);
	assert_false(o.no_grant || o.once || o.json || o.verbose || o.help || o.version);
}

TEST(options__long_and_short)
{
	static char name[] = "resex-agent", no_xen[] = "--no-xen", file[] = "/tmp/f";
	char *argv[] = { name, no_xen, file, NULL };
	struct options o;

	assert_int_equal(parse(&o, "--foreground --scan-ms 20 --no-grant -v"), 0);
	assert_int_equal(o.scan_ms, 20);
	assert_true(o.no_grant && o.verbose);
	assert_int_equal(parse(&o, "-H /etc/role"), 0);
	assert_string_equal(o.hook, "/etc/role");
	assert_int_equal(parse(&o, "-1 -j"), 0);
	assert_true(o.once && o.json);
	assert_int_equal(options_parse(&o, 3, argv, stderr), 0);
	assert_ptr_equal(o.file, file);
}

TEST(hook__longer_than_a_path_can_be__is_refused)
{
	char line[300] = "-H /";
	struct options o;

	memset(line + 4, 'x', 254);
	assert_int_equal(parse(&o, line), 0);
	line[258] = 'x';
	assert_int_equal(parse(&o, line), RESEX_USAGE);
}

TEST(options__in_each_form_of_getopt_long__are_the_same)
{
	static const char *const forms[] = {
		"--socket=/s --scan-ms=20 --once --json --verbose",
		"--socket /s --scan-ms 20 --once --json --verbose",
		"-S/s -s20 -1 -j -v",
		"-S /s -s 20 -1jv",
		"-1jvS/s -s20",
		"-vj1s20 --sock=/s",
	};
	struct options o;

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (parse(&o, forms[i]))
			fail_msg("%s: said \"%s\"", forms[i], said);
		assert_string_equal(o.socket, "/s");
		assert_int_equal(o.scan_ms, 20);
		assert_true(o.once && o.json && o.verbose);
		assert_false(o.no_grant || o.help || o.version);
	}
}

TEST(load_period__is_a_time_or_off)
{
	static const struct {
		const char *line;
		int64_t ns;
	} row[] = {
		{ "--load-period 1ms", 1000000 },   { "-l10000ms", 10000000000 },
		{ "--load-period=2s", 2000000000 }, { "-l 10s", 10000000000 },
		{ "--load-period off", 0 },
	};
	struct options o;

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		if (parse(&o, row[i].line))
			fail_msg("%s: said \"%s\"", row[i].line, said);
		assert_int_equal(o.load_ns, row[i].ns);
	}
}

TEST(help_and_version__in_each_form__are_asked_for)
{
	struct options o;

	assert_int_equal(parse(&o, "--help"), 0);
	assert_true(o.help);
	assert_int_equal(parse(&o, "-vh"), 0);
	assert_true(o.help && o.verbose);
	assert_int_equal(parse(&o, "--version"), 0);
	assert_true(o.version);
	assert_int_equal(parse(&o, "-V"), 0);
	assert_true(o.version);
}

TEST(wrong_usage__is_one_sentence_with_the_value)
{
	static const struct {
		const char *line, *says;
	} wrong[] = {
		{ "--scan-ms 0", "--scan-ms takes 1 to 1000 milliseconds, not \"0\": see" },
		{ "--scan-ms 1001", "--scan-ms takes 1 to 1000 milliseconds, not \"1001\"" },
		{ "--scan-ms 5x", "--scan-ms takes 1 to 1000 milliseconds, not \"5x\"" },
		{ "--scan-ms=5x", "--scan-ms takes 1 to 1000 milliseconds, not \"5x\"" },
		{ "-s0", "--scan-ms takes 1 to 1000 milliseconds, not \"0\"" },
		{ "-l 0ms", "--load-period takes 1ms to 10s, or off, not \"0ms\": see" },
		{ "-l 11s", "--load-period takes 1ms to 10s, or off, not \"11s\"" },
		{ "-l 10001ms", "--load-period takes 1ms to 10s, or off, not \"10001ms\"" },
		{ "-l 10", "--load-period takes 1ms to 10s, or off, not \"10\"" },
		{ "-l 10us", "--load-period takes 1ms to 10s, or off, not \"10us\"" },
		{ "-l -1s", "--load-period takes 1ms to 10s, or off, not \"-1s\"" },
		{ "-l 99999999999999999999s", "or off, not \"99999999999999999999s\"" },
		{ "--hook role",
		  "--hook takes an absolute path of at most 255 bytes, not \"role\"" },
		{ "--hook=", "--hook needs a value" },
		{ "--scan-ms", "--scan-ms needs a value: see resex-agent --help" },
		{ "-1js", "-s needs a value: see resex-agent --help" },
		{ "--fast", "unknown option \"--fast\": see resex-agent --help" },
		{ "--fast=1", "unknown option \"--fast=1\": see resex-agent --help" },
		{ "-vq", "unknown option \"-q\": see resex-agent --help" },
		{ "--once=yes", "--once takes no value: see resex-agent --help" },
		{ "--no-xen=", "--no-xen needs a value: see resex-agent --help" },
		{ "--no", "\"--no\" may be several options: see resex-agent --help" },
		{ "now", "unexpected argument \"now\": see resex-agent --help" },
		{ "--json", "--json works only with --once: give both" },
	};
	struct options o;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(parse(&o, wrong[i].line), RESEX_USAGE);
		if (!strstr(said, wrong[i].says) || strchr(said, '\n') != said + strlen(said) - 1)
			fail_msg("%s: said \"%s\"", wrong[i].line, said);
	}
}

TEST(help__names_every_option)
{
	char text[4096] = "";
	FILE *f = fmemopen(text, sizeof(text) - 1, "w");

	assert_non_null(f);
	options_help(f);
	fclose(f);
	assert_non_null(strstr(text, "--scan-ms N"));
	assert_non_null(strstr(text, "--load-period TIME"));
	assert_non_null(strstr(text, "--no-grant"));
	assert_non_null(strstr(text, "--once"));
	assert_non_null(strstr(text, "--no-xen FILE"));
}

TEST(node_value__is_what_the_reader_parses)
{
	const struct guest_ref refs[] = { { GUEST_REF_GRANT, 0, 8 },
					  { GUEST_REF_GRANT, 0, UINT32_MAX },
					  { GUEST_REF_FRAME, 0, 10672 },
					  { GUEST_REF_FRAME, 0, UINT64_MAX } };
	char value[GUEST_ABI_NODE_MAX];
	struct guest_ref got;

	for (size_t i = 0; i < sizeof(refs) / sizeof(refs[0]); i++) {
		node_value(&refs[i], value);
		assert_int_equal(registry_node_parse(value, &got), 0);
		assert_int_equal(got.type, refs[i].type);
		assert_true(got.ref == refs[i].ref);
	}
	node_value(&refs[0], value);
	assert_string_equal(value, "2 grant 8");
}

TEST(node_file__is_written_and_removed)
{
	struct tmpdir dir;
	struct node *n;
	char buf[64];

	tmp_open(&dir);
	assert_int_equal(node_file.open(&n, tmp_at(&dir, "node")), 0);
	assert_int_equal(node_file.write(n, "2 frame 0"), 0);
	assert_string_equal(tmp_read(&dir, "node", buf, sizeof(buf)), "2 frame 0\n");
	assert_int_equal(node_file.remove(n), 0);
	assert_false(tmp_exists(&dir, "node"));
	assert_int_equal(node_file.remove(n), -ENOENT);
	node_file.close(n);
	tmp_close(&dir);
}

TEST(own_memory__is_read_like_that_of_others)
{
	const uint64_t here = 0x1122334455667788, *at = &here;
	struct maps_ring none;
	uint32_t files = 0;
	uint64_t got = 0;

	assert_int_equal(proc_read(getpid(), (uint64_t)(uintptr_t)at, &got, sizeof(got)), 0);
	assert_true(got == here);
	assert_int_equal(proc_read(getpid(), 0x10, &got, sizeof(got)), -EFAULT);
	assert_int_equal(proc_rings(getpid(), &none, 1), 0);
	assert_int_equal(proc_tgid(getpid()), getpid());
	assert_true(proc_one_thread(getpid()));
	assert_false(proc_has_uverbs(getpid(), &files));
	assert_true(files >= 3); /* its own, too */
}

TEST(process_that_is_gone__is_an_error_not_a_crash)
{
	struct maps_ring none;
	uint64_t got;
	char comm[16];
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(proc_rings(pid, &none, 1), -ESRCH);
	assert_int_equal(proc_frames(pid, 0x1000, 1, &got), -ESRCH);
	assert_int_equal(proc_read(pid, 0x1000, &got, sizeof(got)), -ESRCH);
	assert_int_equal(proc_tgid(pid), 0);
	assert_false(proc_one_thread(pid));
	proc_comm(pid, comm);
	assert_string_equal(comm, "?");
}

static int find_self(void *ctx, pid_t pid)
{
	*(bool *)ctx = *(bool *)ctx || pid == getpid();
	return 0;
}

static int stop_at_once(void *ctx, pid_t pid)
{
	(void)pid;
	(*(int *)ctx)++;
	return 7;
}

TEST(each_process__is_visited_until_told_to_stop)
{
	bool found = false;
	int calls = 0;

	assert_int_equal(proc_each(find_self, &found), 0);
	assert_true(found);
	assert_int_equal(proc_each(stop_at_once, &calls), 7);
	assert_int_equal(calls, 1);
}
