// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * benchex/result and merge: printed results are those measured; merging loses nothing,
 * and refuses lines that benchex cannot have printed.
 */
#include <errno.h>
#include <fcntl.h>

#include "tests/unit/benchex_rig.h"
#include "tests/unit/unit.h"

enum { QPS = 3 };

struct fixture {
	struct bx_conf conf;
	struct bx_result r;
	struct bx_qp qp[QPS];
	struct hist all;
	struct tmpdir dir;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	tmp_open(&f->dir);
	f->conf = (struct bx_conf){ .role = BX_CLIENT,
				    .host = "10.0.0.1",
				    .port = BX_PORT,
				    .seed = 7,
				    .depth = 1,
				    .size = { 65536, 65536 },
				    .clients = 1,
				    .qps = 1,
				    .burst = 1 };
	f->r.conf = &f->conf;
	f->r.ended = "time";
	strcpy(f->r.peer, "10.0.0.1");
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	tmp_close(&f->dir);
	free(f);
	return 0;
}

/* A run of two seconds with three requests. */
static void measured(struct fixture *f)
{
	f->r.elapsed_ns = 2000000000;
	f->r.cpu_ns = 500000000;
	f->r.requests = 3;
	f->r.bytes = 3 * 65536;
	f->r.late = 1;
	f->r.lost = 2;
	hist_add(&f->r.lat.total, 100000);
	hist_add(&f->r.lat.total, 200000);
	hist_add(&f->r.lat.total, 300000);
	hist_add(&f->r.lat.ctime, 1000);
	hist_add(&f->r.lat.wtime, 2000);
	hist_add(&f->r.lat.ptime, 3000);
	f->qp[0] = (struct bx_qp){ .qpn = 17,
				   .peer_qpn = 18,
				   .path_mtu = 1024,
				   .cq_entries = 64,
				   .completed = { [BX_SEND] = 3 },
				   .errors = 2,
				   .outstanding = 1,
				   .bytes_sent = 192,
				   .bytes_recv = 8,
				   .mtus_sent = 3,
				   .mtus_recv = 4 };
	f->r.qp = f->qp;
	f->r.qps = 1;
}

static char *printed(struct fixture *f, bool json)
{
	char *text = NULL;
	size_t len = 0;
	FILE *m = open_memstream(&text, &len);

	assert_non_null(m);
	f->conf.json = json;
	assert_int_equal(bx_result_print(m, &f->r), 0);
	fclose(m);
	return text;
}

static json_t *printed_json(struct fixture *f)
{
	char *text = printed(f, true);
	json_t *o = json_loads(text, JSON_REJECT_DUPLICATES, NULL);

	assert_non_null(o);
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1); /* one line */
	free(text);
	return o;
}

static const json_t *at(const json_t *o, const char *path)
{
	char part[64], *s, *save;

	snprintf(part, sizeof(part), "%s", path);
	for (s = strtok_r(part, ".", &save); s; s = strtok_r(NULL, ".", &save))
		o = json_is_array(o) ? json_array_get(o, (size_t)atoi(s)) : json_object_get(o, s);
	if (!o)
		fail_msg("%s is missing", path);
	return o;
}

static double number(const json_t *o, const char *path)
{
	const json_t *v = at(o, path);

	assert_true(json_is_number(v));
	return json_number_value(v);
}

static const char *word(const json_t *o, const char *path)
{
	return json_string_value(at(o, path));
}

/* --- JSON --- */

RIG_TEST(client__as_json__has_its_figures_with_units)
{
	struct fixture *f = *state;
	json_t *o;

	measured(f);
	o = printed_json(f);
	assert_string_equal(word(o, "role"), "client");
	assert_string_equal(word(o, "peer"), "10.0.0.1");
	assert_string_equal(word(o, "ended"), "time");
	assert_true(number(o, "elapsed_s") == 2 && number(o, "cpu_s") == 0.5);
	assert_true(number(o, "cpu_percent") == 25);
	assert_true(number(o, "requests") == 3 && number(o, "requests_s") == 1.5);
	assert_true(number(o, "bytes") == 196608 && number(o, "MB_s") == 0.098304);
	assert_true(number(o, "late") == 1 && number(o, "lost") == 2 && number(o, "seed") == 7);
	assert_true(number(o, "latency.total.n") == 3);
	assert_true(number(o, "latency.total.mean_us") == 200);
	assert_true(number(o, "latency.total.deviation_us") == 81.649);
	assert_true(number(o, "latency.total.min_us") == 100);
	assert_true(number(o, "latency.total.max_us") == 300);
	assert_true(number(o, "latency.total.p999_us") == 300);
	assert_true(number(o, "latency.total.histogram.2.1") == 1);
	assert_string_equal(word(o, "latency.total.exact.sum_ns"), "600000");
	assert_string_equal(word(o, "latency.total.exact.sumsq_ns2"), "140000000000");
	assert_null(json_object_get(json_object_get(o, "latency"), "ctime"));
	assert_true(number(o, "qps.0.qpn") == 17 && number(o, "qps.0.completed.send") == 3);
	assert_true(number(o, "qps.0.errors") == 2 && number(o, "qps.0.outstanding") == 1);
	assert_true(number(o, "qps.0.mtus_sent") == 3 && number(o, "qps.0.mtus_recv") == 4);
	assert_true(number(o, "conf.size.1") == 65536);
	json_decref(o);
}

RIG_TEST(server__as_json__has_the_three_times_their_sum_and_reports)
{
	struct fixture *f = *state;
	json_t *o;

	measured(f);
	f->conf.role = BX_SERVER;
	f->r.reported = 5;
	f->r.report_dropped = 6;
	o = printed_json(f);
	assert_string_equal(word(o, "role"), "server");
	assert_true(number(o, "latency.ctime.mean_us") == 1);
	assert_true(number(o, "latency.wtime.mean_us") == 2);
	assert_true(number(o, "latency.ptime.mean_us") == 3);
	assert_true(number(o, "latency.total.mean_us") == 200);
	assert_true(number(o, "reported") == 5 && number(o, "report_dropped") == 6);
	json_decref(o);
}

/* 2.3 is 2.2999999999999998 to a machine, and 2.3 to people. */
RIG_TEST(figures__as_json__are_those_people_would_write)
{
	struct fixture *f = *state;
	char *text;

	measured(f);
	f->r.elapsed_ns = 2300000000;
	text = printed(f, true);
	assert_non_null(strstr(text, "\"elapsed_s\":2.3,"));
	free(text);
}

RIG_TEST(nothing_measured__figures_are_zero_and_none_is_nan)
{
	struct fixture *f = *state;
	char *text;
	json_t *o;

	for (int role = 0; role < BX_ROLES; role++) {
		f->conf.role = (enum bx_role)role;
		o = printed_json(f);
		assert_true(number(o, "requests_s") == 0 && number(o, "cpu_percent") == 0);
		json_decref(o);
		text = printed(f, false);
		assert_null(strstr(text, "nan"));
		assert_null(strstr(text, "inf"));
		assert_non_null(strstr(text, "0.0 "));
		free(text);
	}
}

RIG_TEST(peer__of_any_bytes__is_printed_as_text)
{
	struct fixture *f = *state;
	char *text;
	json_t *o;

	memset(f->r.peer, 0xff, sizeof(f->r.peer)); /* not ended either */
	o = printed_json(f);
	assert_true(!strncmp(word(o, "peer"), "\\xff\\xff", 8));
	json_decref(o);
	text = printed(f, false);
	assert_null(strchr(text, 0xff));
	free(text);
}

/* What a run of any size would print is JSON, and finite. */
RIG_TEST(any_result__as_json__is_good_and_exact)
{
	struct fixture *f = *state;
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < 200; i++) {
		uint64_t n = prop_range(&p, 0, 40), seen = 0;
		json_t *o, *pair;
		size_t k;

		memset(&f->r.lat, 0, sizeof(f->r.lat));
		for (uint64_t v = 0; v < n; v++)
			hist_add(&f->r.lat.total, prop_hostile(&p) >> prop_range(&p, 8, 40));
		f->r.elapsed_ns = prop_range(&p, 0, 1000000000000);
		f->r.requests = prop_hostile(&p) >> 1;
		f->r.bytes = prop_hostile(&p);
		o = printed_json(f);
		prop_assert(&p, i, number(o, "latency.total.n") == (double)n);
		json_array_foreach(at(o, "latency.total.histogram"), k, pair)
			seen += (uint64_t)json_integer_value(json_array_get(pair, 1));
		prop_assert(&p, i, seen == n);
		prop_assert(&p, i,
			    number(o, "latency.total.p50_us") <= number(o, "latency.total.p99_us"));
		prop_assert(&p, i,
			    strtoull(word(o, "latency.total.exact.sum_ns"), NULL, 10) ==
				    f->r.lat.total.sum);
		prop_assert(&p, i,
			    strtold(word(o, "latency.total.exact.sumsq_ns2"), NULL) ==
				    f->r.lat.total.sumsq);
		prop_assert(&p, i,
			    json_integer_value(at(o, "requests")) >= 0 &&
				    json_integer_value(at(o, "bytes")) >= 0);
		json_decref(o);
	}
}

RIG_TEST(output__that_does_not_arrive__is_an_error)
{
	struct fixture *f = *state;

	measured(f);
	for (int json = 0; json < 2; json++) {
		FILE *full = fopen("/dev/full", "w");

		assert_non_null(full);
		f->conf.json = json;
		assert_int_equal(bx_result_print(full, &f->r), -ENOSPC);
		fclose(full);
	}
}

/* --- text --- */

RIG_TEST(text__of_each_role__says_what_people_ask_first)
{
	struct fixture *f = *state;
	char *text;

	measured(f);
	text = printed(f, false);
	assert_non_null(strstr(text, "client of 10.0.0.1: 3 requests in 2.000 s, ended by time\n"));
	assert_non_null(strstr(text, "1.5 requests/s, 0.098 MB/s, CPU 25.0 %, 1 late, 2 lost\n"));
	assert_non_null(strstr(text, "\nlatency            3      200.0       81.6      100.0"));
	assert_non_null(strstr(text, "send 3\n"));
	free(text);
	f->conf.role = BX_SERVER;
	text = printed(f, false);
	assert_true(strstr(text, "\nlatency ") && strstr(text, "\nCTime ") &&
		    strstr(text, "\nWTime ") && strstr(text, "\nPTime "));
	free(text);
	f->conf.role = BX_BULK;
	f->r.control_rounds = 9;
	text = printed(f, false);
	assert_non_null(strstr(text, "3 messages in"));
	assert_non_null(strstr(text, "9 control rounds"));
	assert_null(strstr(text, "P99"));
	free(text);
}

RIG_TEST(text__of_many_queue_pairs__shows_some_and_the_sum)
{
	struct fixture *f = *state;
	struct bx_qp qp[20];
	char *text;

	measured(f);
	for (int i = 0; i < 20; i++) {
		qp[i] = f->qp[0];
		qp[i].qpn = 100 + (uint32_t)i;
	}
	f->r.qp = qp;
	f->r.qps = 20;
	text = printed(f, false);
	assert_true(strstr(text, "\n107 ") && !strstr(text, "\n108 "));
	assert_non_null(strstr(text, "12 more; all 20 together:\n"));
	assert_non_null(strstr(text, "send 60\n"));
	free(text);
}

/* --- merge --- */

static int merge(struct fixture *f, const char *line, struct caught *out)
{
	char words[1024], *args[RIG_ARGS], old[4096];
	int rc, argc;

	snprintf(words, sizeof(words), "merge %s", line);
	argc = rig_words(words, args);
	assert_non_null(getcwd(old, sizeof(old)));
	assert_int_equal(chdir(f->dir.path), 0);
	catch_begin(out);
	rc = bx_merge(argc, args);
	catch_end(out);
	assert_int_equal(chdir(old), 0);
	return rc;
}

static json_t *merged(struct fixture *f, const char *line)
{
	struct caught out;
	json_t *o;

	if (merge(f, line, &out) || *out.err)
		fail_msg("merge %s: %s", line, out.err);
	o = json_loads(out.out, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(o);
	caught_free(&out);
	return o;
}

static void save(struct fixture *f, const char *name)
{
	char *text = printed(f, true);

	tmp_write(&f->dir, name, text);
	free(text);
}

RIG_TEST(one_result__merged__is_itself)
{
	struct fixture *f = *state;

	measured(f);
	for (int role = 0; role < BX_ROLES; role++) {
		json_t *one, *o;

		f->conf.role = (enum bx_role)role;
		save(f, "a");
		one = printed_json(f);
		o = merged(f, "-j a");
		assert_true(number(o, "merged") == 1);
		json_object_del(o, "merged");
		assert_true(json_equal(o, one));
		json_decref(one);
		json_decref(o);
	}
}

/* Results of any runs, merged in any groups, are those of one run with all of it. */
RIG_TEST(any_results__merged__are_as_if_measured_at_once)
{
	struct fixture *f = *state;
	struct prop p;

	prop_start(&p);
	for (int i = 0; i < 30; i++) {
		json_t *o, *want, *again;

		measured(f);
		memset(&f->all, 0, sizeof(f->all));
		for (int file = 0; file < 3; file++) {
			char name[] = { (char)('a' + file), 0 };
			uint64_t n = prop_range(&p, 0, 200);

			memset(&f->r.lat, 0, sizeof(f->r.lat));
			while (n--) {
				uint64_t v = prop_range(&p, 1000, 70000000);

				hist_add(&f->r.lat.total, v);
				hist_add(&f->all, v);
			}
			save(f, name);
		}
		f->r.lat.total = f->all;
		want = printed_json(f);
		o = merged(f, "-j a b c");
		prop_assert(&p, i, json_equal(at(o, "latency"), at(want, "latency")));
		prop_assert(&p, i, number(o, "late") == 3 && number(o, "lost") == 6);
		prop_assert(&p, i, number(o, "elapsed_s") == 6 && number(o, "cpu_s") == 1.5);
		prop_assert(&p, i, number(o, "merged") == 3 && number(o, "requests") == 9);
		prop_assert(&p, i, json_array_size(at(o, "qps")) == 3);
		json_dump_file(o, tmp_at(&f->dir, "abc"), 0);
		again = merged(f, "-j abc a");
		prop_assert(&p, i, number(again, "merged") == 4);
		prop_assert(&p, i, number(again, "elapsed_s") == 8);
		json_decref(again);
		json_decref(want);
		json_decref(o);
	}
}

RIG_TEST(results__of_runs_at_the_same_time__take_the_longest)
{
	struct fixture *f = *state;
	json_t *o;

	measured(f);
	save(f, "a");
	f->r.elapsed_ns = 3000000000;
	save(f, "b");
	o = merged(f, "--json --parallel b a");
	assert_true(number(o, "elapsed_s") == 3 && number(o, "requests_s") == 2);
	json_decref(o);
}

RIG_TEST(results__that_differ_in_what_was_asked__say_so)
{
	struct fixture *f = *state;
	struct caught out;
	json_t *o;

	measured(f);
	save(f, "a");
	f->conf.depth = 2;
	f->conf.seed = 8;
	f->r.ended = "signal";
	strcpy(f->r.peer, "10.0.0.2");
	save(f, "b");
	o = merged(f, "-j a b");
	assert_true(json_is_null(at(o, "conf")) && json_is_null(at(o, "seed")));
	assert_string_equal(word(o, "ended"), "several");
	assert_string_equal(word(o, "peer"), "several");
	json_dump_file(o, tmp_at(&f->dir, "ab"), 0);
	json_decref(o);
	o = merged(f, "-j ab ab"); /* what merge printed can be merged */
	assert_true(json_is_null(at(o, "conf")) && json_is_null(at(o, "seed")));
	assert_true(number(o, "merged") == 4 && number(o, "requests") == 12);
	json_decref(o);
	assert_int_equal(merge(f, "a b", &out), 0);
	assert_non_null(strstr(out.out,
			       "2 results, counted as run one after the other; not all had "
			       "the same options\n"));
	assert_non_null(strstr(out.out, "client of several: 6 requests in 4.000 s"));
	caught_free(&out);
}

RIG_TEST(several_results__in_one_file_with_empty_lines__are_all_taken)
{
	struct fixture *f = *state;
	char *a, text[1 << 14];
	json_t *o;

	measured(f);
	a = printed(f, true);
	snprintf(text, sizeof(text), "\n%s \t\n%s", a, a);
	text[strlen(text) - 1] = 0; /* the last line needs no end */
	tmp_write(&f->dir, "a", text);
	o = merged(f, "-j a");
	assert_true(number(o, "merged") == 2);
	json_decref(o);
	free(a);
}

/* --- what merge refuses --- */

static void refused(struct fixture *f, const char *line, int code, const char *says)
{
	struct caught out;
	int rc = merge(f, line, &out);

	if (rc != code || *out.out || !one_sentence(out.err) || !strstr(out.err, says))
		fail_msg("merge %s: %d, said \"%s%s\", not %s", line, rc, out.out, out.err, says);
	caught_free(&out);
}

RIG_TEST(files__absent_empty_and_odd__are_refused)
{
	struct fixture *f = *state;

	measured(f);
	save(f, "good");
	tmp_write(&f->dir, "empty", "\n\n");
	tmp_write(&f->dir, "text", "\nclient of 10.0.0.1: 3 requests\n");
	tmp_write(&f->dir, "list", "[1]\n");
	tmp_write(&f->dir, "odd", "{\"role\": \"\xff\"}\n");
	refused(f, "absent", RESEX_FAILURE, "absent: cannot be read (No such file or directory)");
	refused(f, "good .", RESEX_FAILURE, ".: cannot be read (Is a directory)");
	refused(f, "empty", RESEX_BAD_CONFIG, "the files have no result");
	refused(f, "text", RESEX_BAD_CONFIG, "text:2: not JSON (");
	refused(f, "good list", RESEX_BAD_CONFIG, "list:1: not an object");
	refused(f, "odd", RESEX_BAD_CONFIG, "odd:1: not JSON (");
	refused(f, "-j", RESEX_USAGE, "a file is missing");
	refused(f, "--jsn good", RESEX_USAGE, "unknown option \"--jsn\": see benchex merge --help");
	refused(f, "--json=1 good", RESEX_USAGE, "--json takes no value: see benchex merge --help");
}

RIG_TEST(results__of_different_roles__are_refused_in_words)
{
	struct fixture *f = *state;

	measured(f);
	save(f, "a");
	f->conf.role = BX_BULK;
	save(f, "b");
	refused(f, "a b", RESEX_BAD_CONFIG,
		"b:1: a result of bulk, but those before it are of client: merge the results of "
		"one role at a time");
}

RIG_TEST(totals_of_servers__beside_what_they_hold__are_refused)
{
	struct fixture *f = *state;
	json_t *o;

	measured(f);
	f->conf.role = BX_SERVER;
	save(f, "client");
	strcpy(f->r.peer, "all");
	save(f, "total");
	refused(f, "client total", RESEX_BAD_CONFIG, "give one kind, as the last line of each");
	refused(f, "total client", RESEX_BAD_CONFIG, "give one kind");
	o = merged(f, "-j total total");
	assert_string_equal(word(o, "peer"), "all");
	json_decref(o);
}

static void refused_with(struct fixture *f, const json_t *root, const char *what)
{
	struct caught out;
	int rc;

	assert_int_equal(json_dump_file(root, tmp_at(&f->dir, "x"), JSON_COMPACT), 0);
	rc = merge(f, "x", &out);
	if (rc != RESEX_BAD_CONFIG || *out.out || !one_sentence(out.err) ||
	    !strstr(out.err, "x:1: "))
		fail_msg("%s: %d, said \"%s%s\"", what, rc, out.out, out.err);
	caught_free(&out);
}

/* Operations without completions are absent; every other key is required. */
static bool is_optional(const char *key)
{
	return !strcmp(key, "send");
}

/* In o, which hangs in root: take each key away, spoil each, add one that is unknown. */
static void spoil_object(struct fixture *f, json_t *root, json_t *o);

static void spoil_key(struct fixture *f, json_t *root, json_t *o, const char *key)
{
	json_t *v = json_incref(json_object_get(o, key));

	json_object_set_new(o, key, json_true());
	if (strcmp(key, "conf") != 0 && strcmp(key, "seed") != 0)
		refused_with(f, root, key);
	if (json_is_integer(v) && strcmp(key, "seed") != 0) {
		json_object_set_new(o, key, json_integer(-1));
		refused_with(f, root, key);
	}
	json_object_del(o, key);
	if (!is_optional(key))
		refused_with(f, root, key);
	json_object_set(o, key, v);
	if (json_is_object(v) && strcmp(key, "conf") != 0)
		spoil_object(f, root, v);
	if (json_is_object(json_array_get(v, 0)))
		spoil_object(f, root, json_array_get(v, 0));
	json_decref(v);
}

static void spoil_object(struct fixture *f, json_t *root, json_t *o)
{
	const char *key, *keys[32];
	json_t *v;
	size_t n = 0;

	json_object_foreach(o, key, v)
		keys[n++] = key;
	assert_true(n < 32);
	for (size_t i = 0; i < n; i++) {
		char name[32];

		snprintf(name, sizeof(name), "%s", keys[i]);
		spoil_key(f, root, o, name);
	}
	json_object_set_new(o, "more", json_integer(1));
	refused_with(f, root, "more");
	json_object_del(o, "more");
}

RIG_TEST(any_key__absent_wrong_or_unknown__is_refused)
{
	struct fixture *f = *state;

	measured(f);
	for (int role = 0; role < BX_ROLES; role++) {
		json_t *root, *o;

		f->conf.role = (enum bx_role)role;
		root = printed_json(f);
		spoil_object(f, root, root);
		json_dump_file(root, tmp_at(&f->dir, "x"), JSON_COMPACT);
		o = merged(f, "-j x"); /* all was put back */
		json_decref(o);
		json_decref(root);
	}
}

static json_t *find(json_t *root, const char *path)
{
	return (json_t *)(uintptr_t)at(root, path);
}

RIG_TEST(histograms__that_cannot_be__are_refused)
{
	static const struct {
		const char *path, *key, *value;
	} wrong[] = {
		{ "latency.total", "n", "4" },
		{ "latency.total", "n", "2" },
		{ "latency.total", "n", "0" },
		{ "latency.total", "histogram", "[]" },
		{ "latency.total", "histogram", "[[100095,3]]" },
		{ "latency.total", "histogram", "[[100095]]" },
		{ "latency.total", "histogram", "[[100351,0]]" },
		{ "latency.total", "histogram", "[[100351,1],[100351,2]]" },
		{ "latency.total", "histogram", "[[300031,1],[100351,2]]" },
		{ "latency.total", "histogram", "[[-1,3]]" },
		{ "latency.total", "histogram", "[[100351,9223372036854775807],[200703,4]]" },
		{ "latency.total.exact", "min_ns", "99" },
		{ "latency.total.exact", "max_ns", "400000" },
		{ "latency.total.exact", "sum_ns", "\"299999\"" },
		{ "latency.total.exact", "sum_ns", "\"900001\"" },
		{ "latency.total.exact", "sum_ns", "\"\"" },
		{ "latency.total.exact", "sum_ns", "\"6e5\"" },
		{ "latency.total.exact", "sum_ns", "\"99999999999999999999999\"" },
		{ "latency.total.exact", "sumsq_ns2", "\"100\"" },
		{ "latency.total.exact", "sumsq_ns2", "\"999999999999\"" },
		{ "latency.total.exact", "sumsq_ns2", "\"nan\"" },
	};
	struct fixture *f = *state;

	measured(f);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		json_t *root = printed_json(f), *o = find(root, wrong[i].path);
		json_t *v = json_loads(wrong[i].value, JSON_DECODE_ANY, NULL);

		assert_non_null(v);
		json_object_set_new(o, wrong[i].key, v);
		refused_with(f, root, wrong[i].value);
		json_decref(root);
	}
}

/* A thousand times 100 us, in one bucket: what only exact checks see. */
RIG_TEST(histograms__that_are_off_by_one__are_refused)
{
	static const struct {
		const char *path, *key, *value;
	} wrong[] = {
		{ "latency.total.exact", "sum_ns", "\"100000001\"" },
		{ "latency.total.exact", "sum_ns", "\"99999999\"" },
		{ "latency.total", "histogram", "[[100095,1],[100095,999]]" },
		{ "latency.total", "histogram", "[[100094,1000]]" },
	};
	struct fixture *f = *state;

	for (int i = 0; i < 1000; i++)
		hist_add(&f->r.lat.total, 100000);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		json_t *root = printed_json(f), *o = find(root, wrong[i].path);

		json_object_set_new(o, wrong[i].key,
				    json_loads(wrong[i].value, JSON_DECODE_ANY, NULL));
		refused_with(f, root, wrong[i].value);
		json_decref(root);
	}
	assert_int_equal(hist_quantile(&f->r.lat.total, 10), 100000);
}

RIG_TEST(keys__that_stand_twice__are_refused)
{
	struct fixture *f = *state;
	char *text, twice[1 << 14];

	measured(f);
	text = printed(f, true);
	snprintf(twice, sizeof(twice), "{\"role\":\"client\",%s", text + 1);
	tmp_write(&f->dir, "twice", twice);
	refused(f, "twice", RESEX_BAD_CONFIG, "twice:1: not JSON (duplicate object key");
	free(text);
}

RIG_TEST(counts__that_add_up_beyond_63_bits__are_refused)
{
	struct fixture *f = *state;

	measured(f);
	f->r.bytes = INT64_MAX;
	save(f, "a");
	refused(f, "a a", RESEX_BAD_CONFIG, "a:1: the sum of \"bytes\" passes 2^63");
	f->r.bytes = 0;
	f->r.elapsed_ns = 2500000000000000000ull;
	save(f, "a");
	refused(f, "a a", RESEX_BAD_CONFIG, "a:1: the sum of \"elapsed_s\" or \"cpu_s\" passes");
	f->r.elapsed_ns = 1;
	f->r.lat.total = (struct hist){ INT64_MAX, INT64_MAX, 1, 1, .sumsq = 0x1p63L };
	f->r.lat.total.bucket[1] = INT64_MAX;
	save(f, "a");
	refused(f, "a a", RESEX_BAD_CONFIG, "a:1: the latencies' number or sum is too large");
}

RIG_TEST(words__of_others__are_refused)
{
	struct fixture *f = *state;
	char peer[80];
	json_t *root;

	measured(f);
	root = printed_json(f);
	json_object_set_new(root, "ended", json_string("tired"));
	refused_with(f, root, "ended");
	json_object_set_new(root, "ended", json_string("peer"));
	memset(peer, 'p', 64);
	peer[64] = 0;
	json_object_set_new(root, "peer", json_string(peer));
	refused_with(f, root, "peer");
	json_object_set_new(root, "peer", json_string("p"));
	json_object_set_new(root, "merged", json_integer(0));
	refused_with(f, root, "merged");
	json_object_del(root, "merged");
	json_object_set_new(root, "role", json_string("trader"));
	refused_with(f, root, "role");
	json_decref(root);
}
