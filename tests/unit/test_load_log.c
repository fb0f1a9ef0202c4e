// SPDX-License-Identifier: GPL-2.0-or-later
/* load_log: a log of HAProxy as a trace: what counts of a line, and what is said of a wrong one. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/lab/load_log.h"
#include "tests/unit/unit.h"

#define MS NS_PER_MS

static struct load_log log_;
static char error[256];

static int parse(const char *text)
{
	size_t len = strlen(text);
	char *exact = malloc(len ? len : 1); /* so that reading on is seen */
	int rc;

	assert_non_null(exact);
	memcpy(exact, text, len);
	error[0] = '\0';
	rc = load_log_parse(&log_, "f", exact, len, 2, error);
	free(exact);
	return rc;
}

/* A line of Debian's HAProxy 2.6; DATE, TIMES and CONNECTIONS are given. */
#define LINE(date, times, conns)                                                                   \
	"10.0.0.9:33317 [" date "] www web/n1 " times " 200 2750 - - ---- " conns                  \
	" 0/0 \"GET /a HTTP/1.1\"\n"
#define AT(ms) "26/Nov/2026:03:15:09." ms

static void assert_first(int64_t cpu_ns)
{
	assert_int_equal(log_.n, 1);
	assert_int_equal(log_.arrival[0].at_ns, 0);
	assert_int_equal(log_.arrival[0].cpu_ns, cpu_ns);
	assert_int_equal(log_.bytes, 2750);
	load_log_free(&log_);
}

/* --- what is read ------------------------------------------------------------------ */

static const struct taken {
	const char *name, *text;
	int64_t cpu_ns;
} taken[] = {
	{ "line: Tr and half a ms are the CPU time", LINE(AT("655"), "10/0/30/69/109", "1/1/1/1/0"),
	  69 * MS + MS / 2 },
	{ "line: Tr below 1 ms", LINE(AT("655"), "0/0/0/0/0", "1/1/1/1/0"), MS / 2 },
	{ "line: as many requests on the server as CPUs", LINE(AT("655"), "0/0/0/9/9", "8/8/8/1/0"),
	  9 * MS + MS / 2 },
	{ "line: more of them share the CPUs", LINE(AT("655"), "0/0/0/9/9", "8/8/8/4/0"),
	  (9 * MS + MS / 2) * 2 / 5 },
	{ "line: so many that nothing is left", LINE(AT("655"), "0/0/0/0/0", "1/1/1/1000000/0"),
	  1 },
	{ "line: retries and logasap have a plus",
	  "[" AT("655") "] www~ web/n1 10/0/30/69/+109 200 +2750 - - ---- 1/1/1/1/+2 0/0\n",
	  69 * MS + MS / 2 },
	{ "line: the time, host and process of syslog",
	  "Nov 26 03:15:09 lb1 haproxy[812]: " LINE(AT("655"), "0/0/0/3/3", "1/1/1/1/0"),
	  3 * MS + MS / 2 },
	{ "line: another one, with brackets",
	  "<134>1 2026-11-26T03:15:09.7Z lb1 [a@1 b=\"[\"] " LINE(AT("655"), "0/0/0/3/3",
								  "1/1/1/1/0"),
	  3 * MS + MS / 2 },
	{ "line: without its end", "[" AT("655") "] w b/s 0/0/0/1/1 200 2750 - - ---- 1/1/1/1/0",
	  MS + MS / 2 },
};

static void run_taken(void **state)
{
	const struct taken *row = *state;

	assert_int_equal(parse(row->text), 0);
	assert_int_equal(log_.others + log_.unanswered, 0);
	assert_first(row->cpu_ns);
}
TEST_ROWS(taken, run_taken)

TEST(log__lines_in_the_order_of_their_ends__are_sorted_by_arrival)
{
	assert_int_equal(parse(LINE(AT("700"), "5/0/0/1/6", "1/1/1/1/0")
				       LINE(AT("650"), "10/0/0/2/400", "1/1/1/1/0")
					       LINE(AT("700"), "5/0/0/3/9", "1/1/1/1/0")),
			 0);
	assert_int_equal(log_.n, 3);
	assert_int_equal(log_.bytes, 3 * 2750);
	assert_int_equal(log_.arrival[0].cpu_ns, 2 * MS + MS / 2);
	assert_int_equal(log_.arrival[1].at_ns, 45 * MS);
	assert_int_equal(log_.arrival[1].cpu_ns, MS + MS / 2);
	assert_int_equal(log_.arrival[2].at_ns, 45 * MS);
	assert_int_equal(log_.arrival[2].cpu_ns, 3 * MS + MS / 2);
	load_log_free(&log_);
}

TEST(log__other_lines_and_requests_without_an_answer__are_counted)
{
	assert_int_equal(
		parse("Proxy www started.\n\n[WARNING] (9) : Server web/n1 is DOWN\n" LINE(
			AT("655"), "0/0/0/1/1", "1/1/1/1/0") LINE(AT("656"), "0/0/0/-1/9",
								  "1/1/1/1/0")
			      LINE(AT("657"), "-1/-1/-1/-1/0", "1/1/0/0/0") "x:1 [" AT(
				      "658") "] www web/<NOSRV> 0/-1/-1/-1/0 503 0 - - SC-- "
					     "1/1/0/0/0 0/0 \"GET / HTTP/1.1\"\n"
					     "x:1 [" AT(
						     "659") "] www www/<STATS> 0/0/0/0/0 200 9 - - "
							    "LR-- "
							    "1/1/0/0/0 0/0 \"GET /s HTTP/1.1\"\n"),
		0);
	assert_int_equal(log_.others, 3);
	assert_int_equal(log_.unanswered, 4);
	assert_first(MS + MS / 2);
}

/* The 24 h from 28 February to 1 March of a year without a leap day, and the 48 h of one with. */
TEST(log__dates__are_of_the_calendar)
{
	static const struct {
		const char *from, *to;
		int64_t hours;
	} rows[] = {
		{ "28/Feb/2025:23:59:59.999", "01/Mar/2025:00:30:00.000", 0 },
		{ "31/Dec/2026:23:45:00.000", "01/Jan/2027:00:44:00.000", 0 },
		{ "28/Feb/2024:23:59:59.999", "01/Mar/2024:00:30:00.000", 24 },
		{ "29/Feb/2000:23:30:00.000", "01/Mar/2000:00:00:00.000", 0 },
		{ "28/Feb/2100:23:30:00.000", "01/Mar/2100:00:00:00.000", 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[512];

		snprintf(text, sizeof(text),
			 "[%s] w b/s 0/0/0/1/1 200 1 - - -- 1/1/1/1/0\n[%s] w b/s 0/0/0/1/1 200 1 "
			 "- - -- 1/1/1/1/0\n",
			 rows[i].from, rows[i].to);
		if (rows[i].hours) {
			assert_int_equal(parse(text), -EINVAL);
			assert_non_null(strstr(error, "f:2: it came 88200 s after the first"));
			continue;
		}
		assert_int_equal(parse(text), 0);
		assert_in_range(log_.arrival[1].at_ns, 1800 * NS_PER_S, 3540 * NS_PER_S);
		load_log_free(&log_);
	}
}

/* --- what is refused --------------------------------------------------------------- */

#define FIRST LINE(AT("655"), "0/0/0/1/1", "1/1/1/1/0")

static const struct refused {
	const char *name, *text, *error;
} refused[] = {
	{ "refused: nothing", "", "f: there is no answered request in it" },
	{ "refused: another file", "a,b,c\n1,2,3\n", "f: there is no answered request" },
	{ "refused: only unanswered", LINE(AT("655"), "0/0/0/-1/1", "1/1/1/1/0"),
	  "f: there is no answered request" },
	{ "refused: no server", FIRST "[" AT("655") "] www\n", "f:2: no BACKEND/SERVER" },
	{ "refused: tcplog", FIRST "[" AT("655") "] www web/n1 0/0/5007 212 -- 0/0/0/0/3 0/0\n",
	  "f:2: its times are not TR/Tw/Tc/Tr/Ta" },
	{ "refused: no times", "[" AT("655") "] www web/n1\n", "f:1: its times are not" },
	{ "refused: a time of an hour", LINE(AT("655"), "0/0/0/3600000/1", "1/1/1/1/0"),
	  "f:1: its times are not" },
	{ "refused: a time that needs 64 bits",
	  LINE(AT("655"), "0/0/0/99999999999999999999/1", "1/1/1/1/0"), "f:1: its times are not" },
	{ "refused: a time of -2", LINE(AT("655"), "0/0/0/-2/1", "1/1/1/1/0"),
	  "f:1: its times are not" },
	{ "refused: a sixth time", LINE(AT("655"), "0/0/0/1/1/1", "1/1/1/1/0"),
	  "f:1: its times are not" },
	{ "refused: a status of four digits",
	  "[" AT("655") "] w b/s 0/0/0/1/1 2000 1 - - -- 1/1/1/1/0\n", "f:1: its status" },
	{ "refused: no bytes", "[" AT("655") "] w b/s 0/0/0/1/1 200 - - - -- 1/1/1/1/0\n",
	  "f:1: its bytes" },
	{ "refused: no connections", "[" AT("655") "] w b/s 0/0/0/1/1 200 1 - - --\n",
	  "f:1: its connections" },
	{ "refused: too many connections", LINE(AT("655"), "0/0/0/1/1", "1/1/1/1000001/0"),
	  "f:1: its connections" },
};

static void run_refused(void **state)
{
	const struct refused *row = *state;

	assert_int_equal(parse(row->text), -EINVAL);
	assert_int_equal(strncmp(error, row->error, strlen(row->error)), 0);
	assert_null(log_.arrival);
}
TEST_ROWS(refused, run_refused)

/* Such a line is of no request. */
TEST(log__what_is_nearly_a_date__is_none)
{
	static const char *const dates[] = {
		"26/Nov/2026:03:15:09.655]",  "26/Nov/2026:03:15:09.655) ",
		"26/Nov/2026:03:15:09,655] ", "00/Nov/2026:03:15:09.655] ",
		"32/Nov/2026:03:15:09.655] ", "26/Nou/2026:03:15:09.655] ",
		"26/Nov 2026:03:15:09.655] ", "26/Nov/1969:03:15:09.655] ",
		"26/Nov/2026:24:15:09.655] ", "26/Nov/2026:03:60:09.655] ",
		"26/Nov/2026:03:15:61.655] ", "26/Nov/2026:03:15:09.6x5] ",
		"26/Nov/2201:03:15:09.655] ", "",
	};

	for (size_t i = 0; i < sizeof(dates) / sizeof(dates[0]); i++) {
		char text[512];

		snprintf(text, sizeof(text), FIRST "x [%s", dates[i]);
		assert_int_equal(parse(text), 0);
		assert_int_equal(log_.others, 1);
		load_log_free(&log_);
	}
}

TEST(log__a_line_without_an_end__is_refused)
{
	size_t len = LOAD_LOG_LINE_MAX + 2;
	char *text = malloc(len);

	assert_non_null(text);
	memset(text, '[', len);
	text[0] = '\n';
	assert_int_equal(load_log_parse(&log_, "f", text, len, 1, error), -EINVAL);
	assert_int_equal(strncmp(error, "f:2: it has over 65536 characters", 33), 0);
	assert_int_equal(load_log_parse(&log_, "f", text, len - 1, 1, error), -EINVAL);
	assert_int_equal(strncmp(error, "f: there is no", 14), 0);
	free(text);
}

TEST(read__no_file__says_why)
{
	assert_int_equal(load_log_read(&log_, "/nonexistent", 1, error), -ENOENT);
	assert_string_equal(error, "/nonexistent: No such file or directory");
	assert_int_equal(load_log_read(&log_, "/", 1, error), -EINVAL);
	assert_string_equal(error, "/: it is not a file");
}
