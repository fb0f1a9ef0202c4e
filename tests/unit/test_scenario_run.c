// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * scenario_run: whole runs, from a text to the summary. They are the same each
 * time, events happen, the summary agrees with what happened; and the quantiles
 * behind the summary.
 */
#include "src/lab/run.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>

#include "src/lab/record.h"
#include "src/hv/backends.h"
#include "tests/unit/tmpdir.h"
#include "tests/unit/unit.h"

#define SERVER "{\"name\": \"server\", \"apps\": [{\"kind\": \"server\"}]}"
#define BULK   "{\"name\": \"bulk\", \"apps\": [{\"kind\": \"sender\", \"size\": \"2MiB\"}]}"
#define PAIR   "\"guests\": [" SERVER ", " BULK "]"

struct fixture {
	struct scenario *sc;
	struct log log;
	struct scenario_opts o;
	struct tmpdir dir; /* as TMPDIR */
	json_t *summary;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->sc = calloc(1, sizeof(*f->sc));
	assert_non_null(f->sc);
	log_init(&f->log, "test", LOG_LVL_INFO);
	f->log.fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	f->o = (struct scenario_opts){ .hv = &hv_sim, .log = &f->log };
	tmp_open(&f->dir);
	setenv("TMPDIR", f->dir.path, 1);
	*state = f;
	return 0;
}

/* Nothing may be left in TMPDIR. */
static int teardown(void **state)
{
	struct fixture *f = *state;

	unsetenv("TMPDIR");
	assert_int_equal(rmdir(f->dir.path), 0);
	json_decref(f->summary);
	close(f->log.fd);
	scenario_free(f->sc);
	free(f->sc);
	free(f);
	return 0;
}

static const json_t *run(struct fixture *f, const char *text)
{
	struct conf_error e = { 0 };

	json_decref(f->summary);
	f->summary = NULL;
	scenario_free(f->sc);
	if (scenario_parse(f->sc, "f", text, strlen(text), &e) ||
	    scenario_run(f->sc, &f->o, &f->summary, &e))
		fail_msg("%s", e.text);
	return f->summary;
}

/* A value of the summary: "guests.1.cap.p50". */
static const json_t *at(const struct fixture *f, const char *path)
{
	const json_t *v = f->summary;
	char part[64];

	while (v && *path) {
		size_t n = strcspn(path, ".");

		snprintf(part, sizeof(part), "%.*s", (int)n, path);
		v = json_is_array(v) ? json_array_get(v, strtoul(part, NULL, 10))
				     : json_object_get(v, part);
		path += n + (path[n] == '.');
	}
	if (!v)
		fail_msg("the summary holds no %s", part);
	return v;
}

static double number(const struct fixture *f, const char *path)
{
	const json_t *v = at(f, path);

	if (!json_is_number(v))
		fail_msg("%s is not a number", path);
	return json_number_value(v);
}

static const char *text_at(const struct fixture *f, const char *path)
{
	const char *s = json_string_value(at(f, path));

	return s ? s : "";
}

/* --- determinism ------------------------------------------------------------------ */

static char *dump(struct fixture *f, const char *text)
{
	char *s = json_dumps(run(f, text), JSON_COMPACT);

	assert_non_null(s);
	return s;
}

RIG_TEST(same_file__gives_the_same_summary_and_another_seed_another)
{
	static const char format[] =
		"{\"duration\": \"2500ms\", \"series\": \"100ms\", \"seed\": %d, " PAIR ","
		" \"events\": [{\"at\": \"700ms\", \"do\": \"reboot\", \"guest\": \"bulk\"},"
		" {\"at\": \"1500ms\", \"do\": \"policy\", \"policy\": \"null\"},"
		" {\"at\": \"1500ms\", \"do\": \"policy\", \"policy\": \"freemarket\"}]}";
	char text[1024], *once, *again, *other;

	snprintf(text, sizeof(text), format, 5);
	once = dump(*state, text);
	again = dump(*state, text);
	snprintf(text, sizeof(text), format, 6);
	other = dump(*state, text);
	assert_string_equal(once, again);
	assert_string_not_equal(once, other);
	free(once);
	free(again);
	free(other);
}

/* --- the summary is what happened ------------------------------------------------ */

RIG_TEST(null__caps_nobody__and_all_that_was_sent_is_seen)
{
	struct fixture *f = *state;

	run(f, "{\"name\": \"n\", \"duration\": \"2s\", \"policy\": \"null\", " PAIR "}");
	assert_true(json_is_true(at(f, "simulated")));
	assert_true(json_is_true(at(f, "complete")));
	assert_string_equal(text_at(f, "name"), "n");
	assert_string_equal(text_at(f, "clock"), "simulated");
	assert_string_equal(text_at(f, "policy"), "null");
	assert_int_equal(number(f, "duration_s"), 2);
	assert_int_equal(number(f, "ticks"), 2000);
	assert_int_equal(number(f, "late_ticks"), 0);
	for (int i = 0; i < 2; i++) {
		char path[32];

		snprintf(path, sizeof(path), "guests.%d.cap.p1", i);
		assert_int_equal(number(f, path), 100);
		snprintf(path, sizeof(path), "guests.%d.cap.changes", i);
		assert_int_equal(number(f, path), 0);
	}
	assert_int_equal(number(f, "guests.0.mtus_sent"), number(f, "guests.0.true.mtus"));
	assert_int_equal(number(f, "guests.1.mtus_sent"), number(f, "guests.1.true.mtus"));
	assert_int_equal(number(f, "guests.1.wrs"), number(f, "guests.1.true.apps.0.wrs"));
}

RIG_TEST(run__ends__at_the_tick_it_should)
{
	struct fixture *f = *state;

	run(f, "{\"duration\": \"15ms\", " PAIR "}");
	assert_true(number(f, "duration_s") == 0.015);
	assert_int_equal(number(f, "ticks"), 15);
}

RIG_TEST(freemarket__caps_the_sender__and_the_server_answers_sooner)
{
	struct fixture *f = *state;
	double interfered;

	run(f, "{\"duration\": \"3s\", \"policy\": \"null\", " PAIR "}");
	interfered = number(f, "guests.0.true.apps.0.latency.mean_us");
	run(f, "{\"duration\": \"3s\", " PAIR "}");
	assert_int_equal(number(f, "guests.1.cap.lowest"), 1);
	assert_int_equal(number(f, "guests.1.cap.p1"), 1);
	assert_int_equal(number(f, "guests.1.cap.p90"), 100);
	assert_true(number(f, "guests.1.cap.uncapped") > 0.5);
	assert_true(number(f, "guests.1.cap.uncapped") < 0.9);
	assert_true(json_is_null(at(f, "guests.0.cap.lowest")));
	assert_true(number(f, "guests.0.true.apps.0.latency.mean_us") < interfered * 0.95);
	/* three epochs, the first of them from the second tick on */
	assert_true(number(f, "guests.1.resos.allocated") > 3 * 624288 - 2000);
	assert_true(number(f, "guests.1.resos.allocated") <= 3 * 624288);
	assert_true(number(f, "guests.1.resos.spent") <= number(f, "guests.1.resos.allocated"));
	assert_true(number(f, "guests.1.resos.overdraft") > 0);
}

RIG_TEST(latencies__as_reported__are_the_true_ones_unless_the_server_lies)
{
	struct fixture *f = *state;
	double all;

	run(f, "{\"duration\": \"1s\", \"guests\": [" SERVER "]}");
	all = number(f, "guests.0.latency.n");
	assert_true(all > 4700 && all <= number(f, "guests.0.true.apps.0.latency.n"));
	assert_int_equal(number(f, "guests.0.latency.mean_us"), 209);
	assert_int_equal(number(f, "guests.0.true.apps.0.latency.mean_us"), 209);
	run(f, "{\"duration\": \"1s\", \"guests\": [{\"name\": \"s\", \"apps\": [{\"kind\":"
	       " \"server\", \"report\": 2000, \"report_stop\": \"500ms\"}]}]}");
	assert_int_equal(number(f, "guests.0.latency.mean_us"), 418);
	assert_int_equal(number(f, "guests.0.true.apps.0.latency.mean_us"), 209);
	assert_true(number(f, "guests.0.latency.n") < all * 0.51);
	assert_true(number(f, "guests.0.latency.n") > all * 0.49);
}

/* The daemon looks once a second for caps that others set. */
RIG_TEST(cap__held_for_half_the_time__is_half_of_the_percentiles)
{
	struct fixture *f = *state;

	run(f, "{\"duration\": \"2s\", \"policy\": \"null\", \"guests\": [{\"name\": \"b\","
	       " \"vcpus\": 2, \"apps\": [{\"kind\": \"burner\"}]}], \"events\": ["
	       "{\"at\": \"0s\", \"do\": \"cap\", \"guest\": \"b\", \"cap\": 30}]}");
	assert_int_equal(number(f, "guests.0.cap.p1"), 30);
	assert_int_equal(number(f, "guests.0.cap.p10"), 30);
	assert_int_equal(number(f, "guests.0.cap.p90"), 200);
	assert_int_equal(number(f, "guests.0.cap.lowest"), 30);
	assert_int_equal(number(f, "guests.0.cap.last"), 30);
	assert_true(number(f, "guests.0.cap.uncapped") > 0.49);
	assert_true(number(f, "guests.0.cap.uncapped") < 0.51);
	assert_in_range((uint64_t)number(f, "guests.0.cpu_ns"), 580 * NS_PER_MS, 630 * NS_PER_MS);
}

RIG_TEST(series__of_100_ms__says_what_happened_in_each)
{
	struct fixture *f = *state;
	double sum = 0, mtus = 0;
	char path[64];

	run(f, "{\"duration\": \"2s\", \"series\": \"100ms\", " PAIR "}");
	assert_true(number(f, "series_step_s") == 0.1);
	assert_int_equal(json_array_size(at(f, "guests.0.series.true_latency_us")), 20);
	assert_int_equal(json_array_size(at(f, "guests.1.series.cap")), 20);
	assert_true(json_is_null(at(f, "guests.1.series.cap.0")));
	assert_int_equal(number(f, "guests.1.series.cap.9"), 1);
	/* Its balance only falls within an epoch, is nearly whole at the begin of the next. */
	assert_true(number(f, "guests.1.series.balance.0") >
		    number(f, "guests.1.series.balance.8"));
	assert_int_equal(number(f, "guests.1.series.balance.8"), 0);
	assert_true(number(f, "guests.1.series.balance.10") > 500000);
	assert_true(json_is_null(at(f, "guests.1.series.true_latency_us.0")));
	for (int i = 0; i < 20; i++) {
		snprintf(path, sizeof(path), "guests.1.series.mtus.%d", i);
		mtus += number(f, path);
		snprintf(path, sizeof(path), "guests.0.series.true_latency_us.%d", i);
		sum += number(f, path);
	}
	assert_int_equal(mtus, number(f, "guests.1.mtus_sent"));
	assert_true(sum / 20 > 209 && sum / 20 < 280);
	assert_true(json_is_null(at(f, "guests.1.series.latency_us.0")));
	for (int i = 1; i < 20; i++) { /* what is reported lags a little behind */
		double heard;

		snprintf(path, sizeof(path), "guests.0.series.latency_us.%d", i);
		heard = number(f, path);
		snprintf(path, sizeof(path), "guests.0.series.true_latency_us.%d", i);
		assert_true(heard > number(f, path) - 1 && heard < number(f, path) + 1);
	}
}

RIG_TEST(histogram__asked_for__has_each_request_in_one_bucket)
{
	struct fixture *f = *state;
	double n = 0, last = 0, latency;
	char path[80];

	run(f,
	    "{\"duration\": \"1s\", \"histogram\": true, \"guests\": [{\"name\": \"s\", \"apps\":"
	    " [{\"kind\": \"server\"}]}]}");
	for (size_t i = 0; i < json_array_size(at(f, "guests.0.true.apps.0.latency.histogram"));
	     i++) {
		snprintf(path, sizeof(path), "guests.0.true.apps.0.latency.histogram.%zu.0", i);
		latency = number(f, path);
		assert_true(latency > last);
		last = latency;
		snprintf(path, sizeof(path), "guests.0.true.apps.0.latency.histogram.%zu.1", i);
		n += number(f, path);
	}
	assert_true(n == number(f, "guests.0.true.apps.0.latency.n"));
	assert_true(n > 3000);
	assert_true(last >= number(f, "guests.0.true.apps.0.latency.max_us"));
	run(f, "{\"duration\": \"100ms\", \"guests\": [{\"name\": \"s\", \"apps\": [{\"kind\": "
	       "\"server\"}]}]}");
	assert_null(json_object_get(at(f, "guests.0.true.apps.0.latency"), "histogram"));
}

/* --- ablations --------------------------------------------------------------------- */

RIG_TEST(blind__its_rings_are_not_seen__and_cpu_alone_is_charged)
{
	struct fixture *f = *state;

	run(f, "{\"duration\": \"1s\", \"guests\": [{\"name\": \"bulk\", \"blind\": true,"
	       " \"apps\": [{\"kind\": \"sender\", \"size\": \"2MiB\"}]}]}");
	assert_int_equal(number(f, "guests.0.mtus_sent"), 0);
	assert_true(number(f, "guests.0.true.mtus") > 500000);
	assert_true(number(f, "guests.0.resos.spent") <= 100000);
}

RIG_TEST(blind__for_seconds__its_counter_tells_when_and_the_others_nothing)
{
	struct fixture *f = *state;

	run(f, "{\"duration\": \"4s\", \"guests\": [{\"name\": \"bulk\", \"blind\": true,"
	       " \"apps\": [{\"kind\": \"sender\", \"size\": \"2MiB\"}]}, {\"name\": \"seen\","
	       " \"apps\": [{\"kind\": \"sender\", \"size\": \"1MiB\"}]}]}");
	assert_in_range((uintmax_t)number(f, "guests.0.diverged_at_s"), 2, 4);
	assert_true(json_is_null(at(f, "guests.1.diverged_at_s")));
}

RIG_TEST(swapped__the_other_one_is_capped)
{
	struct fixture *f = *state;

	run(f, "{\"duration\": \"2s\", \"swap\": [\"server\", \"bulk\"], " PAIR "}");
	assert_true(json_is_null(at(f, "guests.1.cap.lowest")));
	assert_int_equal(number(f, "guests.0.cap.lowest"), 1);
}

RIG_TEST(observing__decides_and_sets_nothing)
{
	struct fixture *f = *state;

	f->o.observe = true;
	run(f, "{\"duration\": \"2s\", " PAIR "}");
	assert_true(json_is_true(at(f, "observe")));
	assert_int_equal(number(f, "guests.1.cap.changes"), 0);
	assert_true(number(f, "guests.1.resos.overdraft") > 0);
}

/* --- events ------------------------------------------------------------------------ */

RIG_TEST(guest__destroyed_created_and_rebooted__is_counted_over_its_lives)
{
	struct fixture *f = *state;
	int i;

	run(f, "{\"duration\": \"2s\", \"series\": \"500ms\", \"policy\": \"null\", " PAIR ","
	       " \"events\": [{\"at\": \"500ms\", \"do\": \"destroy\", \"guest\": \"bulk\"},"
	       " {\"at\": \"600ms\", \"do\": \"destroy\", \"guest\": \"bulk\"},"
	       " {\"at\": \"1s\", \"do\": \"create\", \"guest\": \"bulk\"},"
	       " {\"at\": \"1100ms\", \"do\": \"create\", \"guest\": \"bulk\"},"
	       " {\"at\": \"1500ms\", \"do\": \"reboot\", \"guest\": \"server\"}]}");
	assert_int_equal(json_array_size(at(f, "events")), 5);
	for (i = 0; i < 5; i++) {
		char path[32];

		snprintf(path, sizeof(path), "events.%d.error", i);
		assert_int_equal(json_is_null(at(f, path)), i != 1 && i != 3);
	}
	assert_non_null(strstr(text_at(f, "events.1.error"), "does not exist"));
	assert_non_null(strstr(text_at(f, "events.3.error"), "exists already"));
	assert_true(number(f, "events.0.at_s") == 0.5);
	assert_string_equal(text_at(f, "events.0.do"), "destroy");
	assert_string_equal(text_at(f, "events.0.guest"), "bulk");
	assert_int_equal(number(f, "guests.0.lives"), 2);
	assert_int_equal(number(f, "guests.1.lives"), 2);
	assert_true(json_is_null(at(f, "guests.1.series.rate.1"))); /* not there */
	assert_true(number(f, "guests.1.series.mtus.0") > 200000);
	assert_int_equal(number(f, "guests.1.series.mtus.1"), 0);
	assert_true(number(f, "guests.1.series.mtus.2") > 200000);
	assert_true(number(f, "guests.1.true.mtus") >= number(f, "guests.1.mtus_sent"));
	/* what was posted when it died, and its first ms, cannot be known */
	assert_true(number(f, "guests.1.true.mtus") - number(f, "guests.1.mtus_sent") < 8192);
	assert_true(number(f, "guests.0.true.apps.0.latency.n") > 7900); /* both lives */
}

RIG_TEST(guest__of_later__comes_with_its_event)
{
	struct fixture *f = *state;

	run(f, "{\"duration\": \"1s\", \"series\": \"250ms\", \"guests\": [{\"name\": \"l\","
	       " \"later\": true, \"apps\": [{\"kind\": \"burner\"}]}], \"events\":"
	       " [{\"at\": \"500ms\", \"do\": \"create\", \"guest\": \"l\"}]}");
	assert_true(json_is_null(at(f, "guests.0.series.rate.0")));
	assert_true(number(f, "guests.0.series.rate.2") == 1);
	assert_in_range((uint64_t)number(f, "guests.0.cpu_ns"), 490 * NS_PER_MS, 500 * NS_PER_MS);
}

RIG_TEST(guest__of_later__cannot_be_capped_or_released_before)
{
	struct fixture *f = *state;

	run(f, "{\"duration\": \"1s\", \"guests\": [{\"name\": \"l\", \"later\": true}, {\"name\": "
	       "\"0\"}],"
	       " \"events\": [{\"at\": \"500ms\", \"do\": \"cap\", \"guest\": \"l\", \"cap\": 50},"
	       " {\"at\": \"500ms\", \"do\": \"release\", \"guest\": \"l\"}]}");
	assert_non_null(strstr(text_at(f, "events.0.error"), "does not exist"));
	assert_non_null(strstr(text_at(f, "events.1.error"), "does not exist"));
}

RIG_TEST(policies__changed_twice_at_once__are_both_in_force_in_turn)
{
	struct fixture *f = *state;

	run(f, "{\"duration\": \"3s\", \"series\": \"500ms\", \"policy\": \"null\", " PAIR ","
	       " \"events\": [{\"at\": \"1s\", \"do\": \"policy\", \"policy\": \"null\"},"
	       " {\"at\": \"1s\", \"do\": \"policy\", \"policy\": \"freemarket\"}]}");
	assert_string_equal(text_at(f, "policy"), "null");
	assert_string_equal(text_at(f, "events.0.policy"), "null");
	assert_string_equal(text_at(f, "events.1.policy"), "freemarket");
	assert_true(number(f, "events.1.at_s") > 1);
	assert_true(number(f, "events.1.at_s") < 1.01);
	assert_true(json_is_null(at(f, "guests.1.series.cap.1")));
	assert_int_equal(number(f, "guests.1.series.cap.3"), 1);
}

RIG_TEST(guest__released_and_taken_back__is_capped_only_then)
{
	struct fixture *f = *state;

	run(f, "{\"duration\": \"4s\", \"series\": \"1s\", \"host\": {\"epoch\": \"4s\"}, " PAIR ","
	       " \"policy\": {\"policy\": \"freemarket\", \"params\": {\"low\": 990}},"
	       " \"events\": [{\"at\": \"1s\", \"do\": \"release\", \"guest\": \"bulk\"},"
	       " {\"at\": \"3s\", \"do\": \"retake\", \"guest\": \"bulk\"},"
	       " {\"at\": \"3500ms\", \"do\": \"destroy\", \"guest\": \"server\"},"
	       " {\"at\": \"3600ms\", \"do\": \"release\", \"guest\": \"server\"}]}");
	assert_true(number(f, "guests.1.series.cap.0") < 100);
	assert_true(json_is_null(at(f, "guests.1.series.cap.1")));
	assert_true(number(f, "guests.1.series.cap.3") < 100);
	assert_non_null(strstr(text_at(f, "events.3.error"), "does not exist"));
}

RIG_TEST(guests__paused_resumed_and_set__are_treated_so)
{
	struct fixture *f = *state;

	run(f, "{\"duration\": \"6s\", \"series\": \"1s\", \"host\": {\"epoch\": \"6s\"}, " PAIR ","
	       " \"policy\": {\"policy\": \"freemarket\", \"params\": {\"low\": 990}},"
	       " \"events\": [{\"at\": \"1s\", \"do\": \"pause\"},"
	       " {\"at\": \"1500ms\", \"do\": \"resume\", \"guest\": \"bulk\"},"
	       " {\"at\": \"2s\", \"do\": \"resume\"},"
	       " {\"at\": \"3s\", \"do\": \"guest-set\", \"guest\": \"bulk\","
	       "  \"set\": {\"min_cap\": 30}},"
	       " {\"at\": \"4s\", \"do\": \"pause\", \"guest\": \"bulk\"},"
	       " {\"at\": \"5s\", \"do\": \"resume\", \"guest\": \"bulk\"}]}");
	assert_int_equal(number(f, "guests.1.series.cap.0"), 1);
	assert_true(json_is_null(at(f, "guests.1.series.cap.1")));
	assert_int_equal(number(f, "guests.1.series.cap.2"), 1);
	assert_int_equal(number(f, "guests.1.series.cap.3"), 30);
	assert_true(json_is_null(at(f, "guests.1.series.cap.4")));
	assert_int_equal(number(f, "guests.1.series.cap.5"), 30);
	assert_null(json_object_get(at(f, "events.0"), "guest"));
	assert_string_equal(text_at(f, "events.1.error"), "all guests are paused");
}

/* --- any scenario ------------------------------------------------------------------ */

static void add(char *text, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void add(char *text, size_t size, const char *fmt, ...)
{
	size_t n = strlen(text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text + n, size - n, fmt, ap);
	va_end(ap);
}

static void add_app(struct prop *p, char *text, size_t size)
{
	static const char *const kinds[] = { "idle", "sender", "server", "burner" };
	static const char *const ops[] = { "write", "send", "read" };
	uint64_t kind = prop_range(p, 0, 3);

	add(text, size, "{\"kind\": \"%s\"", kinds[kind]);
	if (kind == 1 || kind == 2)
		add(text, size, ", \"size\": %d, \"depth\": %d, \"post\": \"%dns\"",
		    1 << prop_range(p, 0, 22), (int)prop_range(p, 1, 70),
		    (int)prop_range(p, 100, 90000));
	if (kind == 1)
		add(text, size, ", \"op\": \"%s\", \"queue_pairs\": %d", ops[prop_range(p, 0, 2)],
		    (int)prop_range(p, 1, 5));
	if (kind == 1 && prop_one_in(p, 2))
		add(text, size, ", \"rate\": %d, \"burst\": %d", (int)prop_range(p, 1, 50000),
		    (int)prop_range(p, 1, 50));
	if (kind == 2)
		add(text, size, ", \"clients\": %d, \"compute\": \"%dns\", \"report\": %d",
		    (int)prop_range(p, 1, 9), (int)prop_range(p, 0, 90000),
		    (int)prop_range(p, 0, 3000));
	if (prop_one_in(p, 2))
		add(text, size, ", \"start\": \"%dms\", \"stop\": \"%dms\"",
		    (int)prop_range(p, 0, 60), (int)prop_range(p, 61, 150));
	add(text, size, "}");
}

static void add_guests(struct prop *p, int guests, char *text, size_t size)
{
	for (int i = 0; i < guests; i++) {
		add(text, size,
		    "%s{\"name\": \"g%d\", \"vcpus\": %d, \"later\": %s, \"cap\": %d,"
		    " \"weight\": %d, \"apps\": [",
		    i ? "," : "", i, (int)prop_range(p, 1, 4), prop_one_in(p, 4) ? "true" : "false",
		    prop_one_in(p, 3) ? (int)prop_range(p, 1, 100) : 0,
		    (int)prop_range(p, 1, 65535));
		for (uint64_t n = prop_range(p, 0, 3), k = 0; k < n; k++) {
			add(text, size, "%s", k ? "," : "");
			add_app(p, text, size);
		}
		add(text, size, "]}");
	}
}

static void add_events(struct prop *p, int guests, char *text, size_t size)
{
	static const char *const what[] = { "destroy", "create", "reboot", "release",
					    "retake",  "pause",	 "resume" };
	static const char *const policies[] = { "null", "freemarket", "ratio", "ioshares", "slo" };

	for (uint64_t n = prop_range(p, 0, 20), k = 0; k < n; k++) {
		add(text, size, "%s{\"at\": \"%dms\", ", k ? "," : "", (int)prop_range(p, 0, 100));
		if (prop_one_in(p, 4))
			add(text, size, "\"do\": \"policy\", \"policy\": \"%s\"}",
			    policies[prop_range(p, 0, 4)]);
		else
			add(text, size, "\"do\": \"%s\", \"guest\": \"g%d\"}",
			    what[prop_range(p, 0, 6)], (int)prop_range(p, 0, (uint64_t)guests - 1));
	}
}

/* The daemon sees no more than there is. */
static void check_seen(struct fixture *f, struct prop *p, int step, int guests)
{
	for (int i = 0; i < guests; i++) {
		char seen[64], is[64];

		snprintf(seen, sizeof(seen), "guests.%d.wrs", i);
		snprintf(is, sizeof(is), "guests.%d.true.wrs", i);
		prop_assert(p, step, number(f, seen) <= number(f, is));
		snprintf(seen, sizeof(seen), "guests.%d.cpu_ns", i);
		snprintf(is, sizeof(is), "guests.%d.true.cpu_ns", i);
		prop_assert(p, step, number(f, seen) <= number(f, is));
	}
}

RIG_TEST(any_scenario__runs_the_same_twice_and_sees_no_more_than_there_is)
{
	struct fixture *f = *state;
	size_t size = 1 << 15;
	char *text = malloc(size);
	struct prop p;

	assert_non_null(text);
	prop_start(&p);
	for (int i = 0; i < 25; i++) {
		int guests = (int)prop_range(&p, 1, 6);
		char *once, *again;

		text[0] = 0;
		add(text, size,
		    "{\"duration\": \"100ms\", \"series\": \"20ms\", \"seed\": %d,"
		    " \"host\": {\"scheduler\": \"%s\", \"epoch\": \"20ms\"}, \"guests\": [",
		    (int)prop_range(&p, 0, 99), prop_one_in(&p, 2) ? "credit" : "credit2");
		add_guests(&p, guests, text, size);
		add(text, size, "], \"events\": [");
		add_events(&p, guests, text, size);
		add(text, size, "]}");
		once = dump(f, text);
		again = dump(f, text);
		if (strcmp(once, again) != 0)
			print_error("%s\n", text);
		prop_assert(&p, i, !strcmp(once, again));
		check_seen(f, &p, i, guests);
		free(once);
		free(again);
	}
	free(text);
}

/* --- the life of a run ------------------------------------------------------------- */

RIG_TEST(real_clock__runs_the_threads_for_as_long_as_it_says)
{
	struct fixture *f = *state;

	run(f, "{\"duration\": \"300ms\", \"clock\": \"real\", \"series\": \"100ms\", " PAIR ","
	       " \"events\": [{\"at\": \"100ms\", \"do\": \"destroy\", \"guest\": \"bulk\"}]}");
	assert_string_equal(text_at(f, "clock"), "real");
	assert_true(json_is_true(at(f, "complete")));
	assert_true(number(f, "duration_s") >= 0.3);
	assert_true(number(f, "ticks") > 0);
	assert_int_equal(json_array_size(at(f, "guests.0.series.cap")), 3);
	assert_true(json_is_null(at(f, "events.0.error")));
	assert_true(number(f, "guests.0.true.apps.0.latency.n") > 500);
}

/* As when a turn on the real clock comes so late that the run is over. */
RIG_TEST(event__due_in_the_last_turn__is_carried_out)
{
	struct fixture *f = *state;

	run(f, "{\"duration\": \"300ms\", " PAIR ","
	       " \"events\": [{\"at\": \"300ms\", \"do\": \"destroy\", \"guest\": \"bulk\"}]}");
	assert_true(json_is_null(at(f, "events.0.error")));
}

RIG_TEST(signal__during_a_run__ends_it_and_the_summary_says_so)
{
	struct fixture *f = *state;
	sigset_t term, old;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, &old);
	raise(SIGTERM);
	run(f, "{" PAIR "}");
	sigprocmask(SIG_SETMASK, &old, NULL);
	assert_true(json_is_false(at(f, "complete")));
	assert_int_equal(number(f, "ticks"), 0);
}

static int lists_until_term;

/* At least once a tick: control lists domains, too. */
static int list_and_raise(struct hv_sched *s, struct hv_dom *doms, size_t max)
{
	if (!--lists_until_term)
		raise(SIGTERM);
	return hv_sim.sched->list(s, doms, max);
}

/* Ticks of a run in which SIGTERM comes in this list of domains. */
static double ticks_until_term(struct fixture *f, int lists, const char *text)
{
	struct hv_sched_ops ops = *hv_sim.sched;
	struct hv_backend hv = hv_sim;

	ops.list = list_and_raise;
	hv.sched = &ops;
	f->o.hv = &hv;
	lists_until_term = lists;
	run(f, text);
	f->o.hv = &hv_sim;
	assert_true(lists_until_term <= 0);
	return number(f, "ticks");
}

RIG_TEST(signal__is_looked_for_each_100_ms_of_the_run)
{
	struct fixture *f = *state;
	double n = ticks_until_term(f, 250, "{\"duration\": \"2s\", " PAIR "}");

	assert_true(json_is_false(at(f, "complete")));
	assert_in_range(n, 150, 350);
	assert_int_equal((int)n % 100, 99); /* the tick after it is not recorded */
	n = ticks_until_term(f, 8,
			     "{\"duration\": \"20s\", " PAIR ","
			     " \"host\": {\"interval\": \"200ms\", \"epoch\": \"1s\"}}");
	assert_true(json_is_false(at(f, "complete")));
	assert_in_range(n, 5, 8);
}

RIG_TEST(signal__after_the_last_look__leaves_the_summary_whole)
{
	struct fixture *f = *state;

	assert_int_equal(ticks_until_term(f, 150, "{\"duration\": \"160ms\", " PAIR "}"), 160);
	assert_true(json_is_true(at(f, "complete")));
}

static char *many_guests(uint32_t n)
{
	size_t size = 64 + (size_t)n * 160, at;
	char *text = malloc(size);

	assert_non_null(text);
	at = (size_t)snprintf(text, size,
			      "{\"duration\": \"300ms\", \"policy\": \"null\", "
			      "\"guests\": [");
	for (uint32_t i = 0; i < n; i++)
		at += (size_t)snprintf(text + at, size - at,
				       "%s{\"name\": \"g%u\", \"apps\": [{\"kind\": \"sender\", "
				       "\"size\": \"16KiB\", \"depth\": 4, \"rate\": 100}]}",
				       i ? ", " : "", i);
	snprintf(text + at, size - at, "]}");
	return text;
}

RIG_TEST(guests__256__are_each_counted)
{
	struct fixture *f = *state;
	char *text = many_guests(SIM_GUESTS_MAX);

	run(f, text);
	assert_int_equal(json_array_size(at(f, "guests")), FLOW_GUESTS_MAX);
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++) {
		char seen[48], true_[48];

		snprintf(seen, sizeof(seen), "guests.%u.wrs", i);
		snprintf(true_, sizeof(true_), "guests.%u.true.wrs", i);
		assert_true(number(f, seen) > 20);
		assert_true(number(f, true_) - number(f, seen) <= 1);
	}
	free(text);
}

RIG_TEST(no_directory__for_its_files__is_said_with_the_remedy)
{
	static const char text[] = "{" PAIR "}";
	struct fixture *f = *state;
	struct conf_error e = { 0 };

	setenv("TMPDIR", "/nowhere", 1);
	assert_int_equal(scenario_parse(f->sc, "f", text, strlen(text), &e), 0);
	assert_int_equal(scenario_run(f->sc, &f->o, &f->summary, &e), -ENOENT);
	assert_non_null(strstr(e.text, "/nowhere"));
	assert_non_null(strstr(e.text, "TMPDIR"));
	assert_null(f->summary);
}

/* --- quantiles ------------------------------------------------------------------- */

TEST(held__figures__count_by_the_time_they_were_held)
{
	struct held_list l = { 0 };

	assert_int_equal(held_quantile(&l, 500), 0);
	held_add(&l, 100, 50);
	held_add(&l, 100, 40);
	held_add(&l, 5, 0); /* for no time */
	held_add(&l, 1, 9);
	held_add(&l, 50, 1);
	held_add(&l, 100, 100);
	assert_int_equal(l.n, 4); /* neighbours that are equal are one */
	assert_int_equal(held_time(&l), 200);
	held_sort(&l);
	assert_int_equal(held_quantile(&l, 0), 1);
	assert_int_equal(held_quantile(&l, 45), 1);
	assert_int_equal(held_quantile(&l, 46), 50);
	assert_int_equal(held_quantile(&l, 50), 50);
	assert_int_equal(held_quantile(&l, 51), 100);
	assert_int_equal(held_quantile(&l, 1000), 100);
	free(l.at);
}
