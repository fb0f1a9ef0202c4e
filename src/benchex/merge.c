// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * merge: add up the results of several runs and print the sum as one result.
 *
 *	files -> lines of JSON -> checked, one at a time -> added up -> text, JSON
 *
 * A line is read by the key tables that result.c writes by. It is added whole or
 * not at all, and only if bx_result_print() could have printed it. Rates, means and
 * percentiles are computed again from the sums.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "resex/exit.h"
#include "src/benchex/result_keys.h"
#include "src/util/cmdline.h"
#include "src/util/utf8.h"

enum { LINE_BYTES_MAX = 16 << 20, MERGED_QPS_MAX = 1 << 20, WORDS = 160 };

#define TIME_MAX_NS 4000000000000000000ull /* 4e9 s */

static const char SEVERAL[] = "several";

/* The place of a value, for the sentence about what is wrong with it. */
struct place {
	const char *file;
	uint64_t line;
	const char *part; /* "latency.total", "qps[]"; "": the result itself */
};

struct merge {
	struct bx_conf conf; /* role only, and seed */
	struct bx_result sum, one;
	uint64_t one_merged; /* results that the line read last holds */
	json_t *asked;	     /* "conf" of all results; NULL: they differ */
	bool seed_differs, parallel;
	bool total, parts; /* of a server: of all its clients, of one */
	uint64_t merged;   /* results */
	size_t qps_space;  /* of sum.qp */
};

/* --- reading one value --- */

__attribute__((format(printf, 2, 3))) static int bad_value(const struct place *at, const char *fmt,
							   ...)
{
	char file[WORDS];
	va_list ap;

	utf8_escape(at->file, file, sizeof(file));
	fprintf(stderr, "benchex: %s:%" PRIu64 ": %s%s", file, at->line, at->part,
		*at->part ? ": " : "");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputs(": merge lines that benchex printed with --json\n", stderr);
	return -EINVAL;
}

static int read_count(const struct place *at, const char *key, const json_t *v, uint64_t max,
		      uint64_t *out)
{
	json_int_t n = json_integer_value(v);

	if (n < 0 || (uint64_t)n > max)
		return bad_value(at, "\"%s\" is %" JSON_INTEGER_FORMAT ", not within 0 .. %" PRIu64,
				 key, n, max);
	*out = (uint64_t)n;
	return 0;
}

static int read_u32(const struct place *at, const char *key, const json_t *v, uint32_t *out)
{
	uint64_t n = 0;
	int rc = read_count(at, key, v, UINT32_MAX, &n);

	if (!rc)
		*out = (uint32_t)n;
	return rc;
}

/* 4e9 s are 127 years, and in nanoseconds they fit 62 bits: sums of two cannot overflow. */
static int read_seconds(const struct place *at, const char *key, const json_t *v, uint64_t *ns)
{
	if (json_number_value(v) < 0 || json_number_value(v) > 4e9)
		return bad_value(at, "\"%s\" is %g, not within 0 .. 4e9", key,
				 json_number_value(v));
	*ns = (uint64_t)llround(json_number_value(v) * 1e9);
	return 0;
}

/* Digits in a string: a number that may pass 2^63, or that JSON readers would round. */
static int check_digits(const struct place *at, const char *key, const char *s)
{
	if (!*s || strlen(s) > 60 || strspn(s, "0123456789") != strlen(s))
		return bad_value(at, "\"%s\" is not a whole number in text", key);
	return 0;
}

static int read_sum(const struct place *at, const char *key, const char *s, uint64_t *out)
{
	int rc = check_digits(at, key, s);

	if (!rc && bx_number(s, strlen(s), (struct bx_bounds){ 0, UINT64_MAX }, out))
		rc = bad_value(at, "\"%s\" is larger than 64 bits hold", key);
	return rc;
}

static int read_sumsq(const struct place *at, const char *key, const char *s, long double *out)
{
	int rc = check_digits(at, key, s);

	if (!rc)
		*out = strtold(s, NULL);
	return rc;
}

static int wrong_type(const struct place *at, const char *key, json_type wanted)
{
	static const char *const types[] = {
		[JSON_OBJECT] = "an object", [JSON_ARRAY] = "an array",
		[JSON_STRING] = "text",	     [JSON_INTEGER] = "a whole number",
		[JSON_REAL] = "a number",
	};

	return bad_value(at, "\"%s\" is not %s", key, types[wanted]);
}

static int unknown_key(const struct place *at, const char *key)
{
	char shown[WORDS];

	utf8_escape(key, shown, sizeof(shown));
	return bad_value(at, "\"%s\" is not known here", shown);
}

static int read_keys(const struct place *at, const json_t *o, const struct bx_key *keys,
		     void *record, struct merge *m);

/* --- one histogram --- */

/* Does bucket b count values like v? */
static bool falls_into(uint64_t v, uint32_t b)
{
	return v <= hist_top(b) && (!b || v > hist_top(b - 1));
}

/*
 * Could these extremes and sums come from these buckets? A file may have been edited, or be
 * of another program. Figures that contradict each other are refused: a sum of them would
 * look right. The bounds of the squares have some slack for rounding.
 */
static int check_exact(const struct place *at, const struct hist *h)
{
	uint32_t first = 0, last = HIST_BUCKETS - 1;
	long double n = (long double)h->n, sum = (long double)h->sum;
	unsigned __int128 least = (unsigned __int128)h->min * h->n,
			  most = (unsigned __int128)h->max * h->n;

	if (!h->n)
		return h->min || h->max || h->sum || h->sumsq > 0
			       ? bad_value(at, "\"exact\" has values where \"n\" is 0")
			       : 0;
	while (!h->bucket[first])
		first++;
	while (!h->bucket[last])
		last--;
	if (!falls_into(h->min, first) || !falls_into(h->max, last))
		return bad_value(at, "\"min_ns\" or \"max_ns\" is not what the histogram has");
	if (h->sum < least || h->sum > most)
		return bad_value(at, "\"sum_ns\" cannot be with these extremes");
	if (h->sumsq * n < sum * sum * 0.999999L ||
	    h->sumsq > (long double)h->max * (long double)h->max * n * 1.000001L)
		return bad_value(at, "\"sumsq_ns2\" cannot be with this sum");
	return 0;
}

/* The last key of a histogram: all others are read and can be checked. */
static int read_buckets(const struct place *at, const json_t *list, struct hist *h)
{
	uint32_t b = 0, last = 0;
	uint64_t seen = 0;
	json_t *pair;
	size_t i;

	json_array_foreach(list, i, pair) {
		const json_t *top = json_array_get(pair, 0), *n = json_array_get(pair, 1);

		if (json_array_size(pair) != 2 || !json_is_integer(top) || !json_is_integer(n) ||
		    json_integer_value(top) < 0 || json_integer_value(n) < 1)
			return bad_value(at, "histogram[%zu] is not [highest ns, count]", i);
		while (b < HIST_BUCKETS && hist_top(b) < (uint64_t)json_integer_value(top))
			b++;
		if (b == HIST_BUCKETS || hist_top(b) != (uint64_t)json_integer_value(top) ||
		    (i && b == last))
			return bad_value(at, "histogram[%zu] is not of a bucket, or not in order",
					 i);
		last = b;
		h->bucket[b] = (uint64_t)json_integer_value(n);
		seen += h->bucket[b];
		if (seen > h->n)
			break;
	}
	return seen == h->n ? check_exact(at, h)
			    : bad_value(at, "the histogram's counts do not add up to \"n\"");
}

/* The same keys for each histogram; errors name the one. */
static int read_hist(const struct place *whole, const char *key, const json_t *o, struct hist *h,
		     struct merge *m)
{
	char part[32];
	struct place at = { whole->file, whole->line, part };

	snprintf(part, sizeof(part), "latency.%s", key);
	return read_keys(&at, o, bx_hist_keys, h, m);
}

/* --- one queue pair --- */

static int read_completed(const struct place *at, json_t *o, struct bx_qp *q)
{
	const char *name;
	json_t *v;
	int rc = 0;

	json_object_foreach(o, name, v) {
		int op = 0;

		while (op < BX_OPS && strcmp(bx_op_name((enum bx_op)op), name) != 0)
			op++;
		if (op == BX_OPS)
			return unknown_key(at, name);
		if (!json_is_integer(v))
			return wrong_type(at, name, JSON_INTEGER);
		rc = read_count(at, name, v, INT64_MAX, &q->completed[op]);
		if (rc)
			break;
	}
	return rc;
}

/*
 * Read behind the queue pairs of sum, which counts them once the whole line is right. Space
 * grows to twice what is needed: many files with few queue pairs are not copied each time.
 */
static int read_qps(const struct place *whole, const json_t *list, struct merge *m)
{
	struct place at = { whole->file, whole->line, "qps[]" };
	struct bx_result *sum = &m->sum;
	size_t i, n = sum->qps + json_array_size(list);
	json_t *o;
	int rc;

	if (n > MERGED_QPS_MAX)
		return bad_value(whole, "over %d queue pairs in all are too many", MERGED_QPS_MAX);
	if (n > m->qps_space) {
		struct bx_qp *more = realloc(sum->qp, 2 * n * sizeof(*more));

		if (!more)
			return -ENOMEM;
		sum->qp = more;
		m->qps_space = 2 * n;
	}
	json_array_foreach(list, i, o) {
		sum->qp[sum->qps + i] = (struct bx_qp){ 0 };
		rc = read_keys(&at, o, bx_qp_keys, &sum->qp[sum->qps + i], m);
		if (rc)
			return rc;
	}
	m->one.qps = i;
	return 0;
}

/* --- one result --- */

static int read_role(const struct place *at, const char *s, struct merge *m)
{
	char file[WORDS];
	int role = 0;

	while (role < BX_ROLES && strcmp(bx_role_names[role], s) != 0)
		role++;
	if (role == BX_ROLES)
		return bad_value(at, "\"role\" is not server, client or bulk");
	if (m->merged && role != (int)m->conf.role) {
		utf8_escape(at->file, file, sizeof(file));
		fprintf(stderr,
			"benchex: %s:%" PRIu64 ": a result of %s, but those before it are of %s: "
			"merge the results of one role at a time\n",
			file, at->line, bx_role_names[role], bx_role_names[m->conf.role]);
		return -EINVAL;
	}
	m->conf.role = (enum bx_role)role;
	return 0;
}

static int read_peer(const struct place *at, const json_t *v, struct bx_result *r)
{
	if (json_string_length(v) >= sizeof(r->peer))
		return bad_value(at, "\"peer\" is longer than an address");
	snprintf(r->peer, sizeof(r->peer), "%s", json_string_value(v));
	return 0;
}

static int read_ended(const struct place *at, const char *s, struct bx_result *r)
{
	static const char *const ends[] = {
		"time", "requests", "signal", "peer", "error", SEVERAL
	};

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (!strcmp(ends[i], s))
			r->ended = ends[i];
	return r->ended
		       ? 0
		       : bad_value(
				 at,
				 "\"ended\" is not time, requests, signal, peer, error or several");
}

/* Number of results that this one is the sum of. */
static int read_merged(const struct place *at, const char *key, const json_t *v, struct merge *m)
{
	int rc = read_count(at, key, v, 1ull << 40, &m->one_merged);

	if (!rc && !m->one_merged)
		rc = bad_value(at, "\"%s\" is 0, not within 1 .. %llu", key, 1ull << 40);
	return rc;
}

/* One value of a checked type into record. */
static int read_value(const struct place *at, const struct bx_key *k, json_t *v, void *record,
		      struct merge *m)
{
	void *member = (char *)record + k->offset;

	switch (k->kind) {
	case KEY_COUNT:
		return read_count(at, k->name, v, INT64_MAX, member);
	case KEY_U32:
		return read_u32(at, k->name, v, member);
	case KEY_SECONDS:
		return read_seconds(at, k->name, v, member);
	case KEY_SUM:
		return read_sum(at, k->name, json_string_value(v), member);
	case KEY_SUMSQ:
		return read_sumsq(at, k->name, json_string_value(v), member);
	case KEY_ROLE:
		return read_role(at, json_string_value(v), m);
	case KEY_PEER:
		return read_peer(at, v, record);
	case KEY_ENDED:
		return read_ended(at, json_string_value(v), record);
	case KEY_LATENCY:
		return read_keys(at, v, bx_latency_keys(m->conf.role), &m->one.lat, m);
	case KEY_HIST:
		return read_hist(at, k->name, v, member, m);
	case KEY_EXACT:
		return read_keys(at, v, bx_exact_keys, record, m);
	case KEY_BUCKETS:
		return read_buckets(at, v, record);
	case KEY_QPS:
		return read_qps(at, v, m);
	case KEY_COMPLETED:
		return read_completed(at, v, record);
	case KEY_MERGED:
		return read_merged(at, k->name, v, m);
	default: /* figures for people; seed and conf, which add_conf() compares */
		return 0;
	}
}

/*
 * The JSON type of each kind of key. A whole number is a real one, too. Checked before any
 * value is read: the readers below rely on it.
 */
static int check_type(const struct place *at, const struct bx_key *k, const json_t *v)
{
	static const json_type types[KEY_KINDS] = {
		[KEY_COUNT] = JSON_INTEGER,    [KEY_U32] = JSON_INTEGER,
		[KEY_SECONDS] = JSON_REAL,     [KEY_SUM] = JSON_STRING,
		[KEY_SUMSQ] = JSON_STRING,     [KEY_US] = JSON_REAL,
		[KEY_QUANTILE] = JSON_REAL,    [KEY_MEAN] = JSON_REAL,
		[KEY_DEVIATION] = JSON_REAL,   [KEY_CPU_PERCENT] = JSON_REAL,
		[KEY_REQUESTS_S] = JSON_REAL,  [KEY_MB_S] = JSON_REAL,
		[KEY_ROLE] = JSON_STRING,      [KEY_PEER] = JSON_STRING,
		[KEY_ENDED] = JSON_STRING,     [KEY_LATENCY] = JSON_OBJECT,
		[KEY_HIST] = JSON_OBJECT,      [KEY_EXACT] = JSON_OBJECT,
		[KEY_BUCKETS] = JSON_ARRAY,    [KEY_QPS] = JSON_ARRAY,
		[KEY_COMPLETED] = JSON_OBJECT, [KEY_MERGED] = JSON_INTEGER,
	};
	json_type wanted = types[k->kind];

	if (k->kind == KEY_SEED || k->kind == KEY_CONF || json_typeof(v) == wanted ||
	    (wanted == JSON_REAL && json_is_integer(v)))
		return 0;
	return wrong_type(at, k->name, wanted);
}

/* An object into record: each key of the table, and no other. */
static int read_keys(const struct place *at, const json_t *o, const struct bx_key *keys,
		     void *record, struct merge *m)
{
	const struct bx_key *k;
	const char *name;
	json_t *v;
	int rc = 0;

	if (!json_is_object(o))
		return bad_value(at, "not an object");
	json_object_foreach((json_t *)o, name, v) {
		for (k = keys; k->name && strcmp(k->name, name) != 0; k++)
			;
		if (!k->name)
			return unknown_key(at, name);
	}
	for (k = keys; !rc && k->name; k++) {
		v = json_object_get(o, k->name);
		if (v)
			rc = check_type(at, k, v);
		else if (k->kind != KEY_MERGED)
			rc = bad_value(at, "\"%s\" is missing", k->name);
		if (!rc && v)
			rc = read_value(at, k, v, record, m);
	}
	return rc;
}

/* --- adding up --- */

static void same_or_several(struct bx_result *sum, const struct bx_result *one)
{
	if (strcmp(sum->peer, one->peer) != 0)
		snprintf(sum->peer, sizeof(sum->peer), "%s", SEVERAL);
	if (strcmp(sum->ended, one->ended) != 0)
		sum->ended = SEVERAL;
}

/* Check that the sums of latencies and times still fit a result. */
static int check_sums(const struct place *at, const struct bx_result *sum,
		      const struct bx_result *one)
{
	const struct hist *a[] = { &sum->lat.ctime, &sum->lat.wtime, &sum->lat.ptime,
				   &sum->lat.total };
	const struct hist *b[] = { &one->lat.ctime, &one->lat.wtime, &one->lat.ptime,
				   &one->lat.total };

	for (size_t i = 0; i < sizeof(a) / sizeof(a[0]); i++)
		if (b[i]->n > INT64_MAX - a[i]->n || b[i]->sum > UINT64_MAX - a[i]->sum)
			return bad_value(
				at, "the latencies' number or sum is too large for one result");
	if (one->elapsed_ns > TIME_MAX_NS - sum->elapsed_ns ||
	    one->cpu_ns > TIME_MAX_NS - sum->cpu_ns)
		return bad_value(at, "the sum of \"elapsed_s\" or \"cpu_s\" passes 4e9");
	return 0;
}

static uint64_t *count_of(struct bx_result *r, const struct bx_key *k)
{
	return (uint64_t *)(void *)((char *)r + k->offset);
}

/* Add counts and times, or refuse a sum that a result cannot hold. */
static int add_counts(const struct place *at, struct merge *m)
{
	struct bx_result *sum = &m->sum, *one = &m->one;
	int rc = check_sums(at, sum, one);

	if (rc)
		return rc;
	for (const struct bx_key *k = bx_result_keys; k->name; k++) {
		if (k->kind != KEY_COUNT)
			continue;
		if (*count_of(one, k) > INT64_MAX - *count_of(sum, k))
			return bad_value(at, "the sum of \"%s\" passes 2^63", k->name);
		*count_of(sum, k) += *count_of(one, k);
	}
	sum->cpu_ns += one->cpu_ns;
	if (!m->parallel)
		sum->elapsed_ns += one->elapsed_ns;
	else if (one->elapsed_ns > sum->elapsed_ns)
		sum->elapsed_ns = one->elapsed_ns;
	return 0;
}

/*
 * Keep "conf" and the seed while all results have the same. A sum of runs with other
 * options has no options of its own: "conf" is null then.
 */
static void add_conf(struct merge *m, const json_t *root)
{
	json_t *conf = json_object_get(root, "conf"), *seed = json_object_get(root, "seed");

	if (!m->merged) {
		m->asked = json_incref(conf);
		m->conf.seed = (uint64_t)json_integer_value(seed);
	} else if (m->asked && !json_equal(m->asked, conf)) {
		json_decref(m->asked);
		m->asked = NULL;
	}
	if (!json_is_integer(seed) || (uint64_t)json_integer_value(seed) != m->conf.seed)
		m->seed_differs = true;
}

/* Refuse to add a server's total to parts of it: each client's result and the total. */
static int check_total(const struct place *at, struct merge *m)
{
	if (m->conf.role != BX_SERVER)
		return 0;
	if (!strcmp(m->one.peer, "all"))
		m->total = true;
	else
		m->parts = true;
	if (!m->total || !m->parts)
		return 0;
	return bad_value(at,
			 "totals of servers already contain the results of single clients: give "
			 "one kind, as the last line of each server");
}

/* Read one result, then add it: nothing is added of a wrong one. */
static int add_result(const struct place *at, const json_t *root, struct merge *m)
{
	struct bx_result *sum = &m->sum, *one = &m->one;
	int rc;

	memset(one, 0, sizeof(*one));
	one->conf = &m->conf;
	m->one_merged = 1;
	rc = read_keys(at, root, bx_result_keys, one, m);
	if (!rc)
		rc = check_total(at, m);
	if (!rc)
		rc = add_counts(at, m);
	if (rc)
		return rc;
	if (!m->merged) {
		memcpy(sum->peer, one->peer, sizeof(sum->peer));
		sum->ended = one->ended;
	}
	same_or_several(sum, one);
	add_conf(m, root);
	hist_merge(&sum->lat.ctime, &one->lat.ctime);
	hist_merge(&sum->lat.wtime, &one->lat.wtime);
	hist_merge(&sum->lat.ptime, &one->lat.ptime);
	hist_merge(&sum->lat.total, &one->lat.total);
	sum->qps += one->qps;
	m->merged += m->one_merged;
	return 0;
}

/* --- files --- */

/*
 * Read a line, without its newline, of *len bytes. 1; 0: the end of the file; -errno. Not
 * getline(): it would read a line of any length into memory before it could be refused.
 */
static int read_line(FILE *f, char **line, size_t *space, size_t *len)
{
	int c;

	for (*len = 0; (c = getc(f)) != EOF && c != '\n'; (*line)[(*len)++] = (char)c) {
		if (*len == LINE_BYTES_MAX)
			return -EFBIG;
		if (*len == *space) {
			size_t more = *space ? 2 * *space : 4096;
			char *p = realloc(*line, more);

			if (!p)
				return -ENOMEM;
			*line = p;
			*space = more;
		}
	}
	if (ferror(f))
		return errno ? -errno : -EIO;
	return c == EOF && !*len ? 0 : 1;
}

static bool is_blank(const char *s, size_t len)
{
	size_t i = 0;

	while (i < len && strchr(" \t\r", s[i]) && s[i])
		i++;
	return i == len;
}

static int add_line(const struct place *at, const char *line, size_t len, struct merge *m)
{
	char said[WORDS];
	json_error_t e;
	json_t *root;
	int rc;

	if (is_blank(line, len))
		return 0;
	root = json_loadb(line, len, JSON_REJECT_DUPLICATES, &e);
	if (!root) {
		utf8_escape(e.text, said, sizeof(said));
		return bad_value(at, "not JSON (%s, column %d)", said, e.column);
	}
	rc = add_result(at, root, m);
	json_decref(root);
	return rc;
}

/* One bad line ends the whole merge: a sum without it would look complete. */
static int add_stream(FILE *f, const char *name, struct merge *m)
{
	struct place at = { name, 1, "" };
	size_t space = 0, len;
	char *line = NULL;
	int rc;

	while ((rc = read_line(f, &line, &space, &len)) == 1) {
		rc = add_line(&at, line, len, m);
		if (rc)
			break;
		at.line++;
	}
	if (rc == -EFBIG)
		rc = bad_value(&at, "a line of more than %d bytes", LINE_BYTES_MAX);
	free(line);
	return rc;
}

static int add_file(const char *name, struct merge *m)
{
	char shown[WORDS];
	FILE *f = stdin;
	int rc;

	if (!strcmp(name, "-")) {
		rc = add_stream(f, "standard input", m);
	} else {
		f = fopen(name, "re");
		rc = f ? add_stream(f, name, m) : -errno;
		if (f)
			fclose(f);
	}
	if (!rc || rc == -EINVAL)
		return rc ? RESEX_BAD_CONFIG : RESEX_OK;
	utf8_escape(name, shown, sizeof(shown));
	fprintf(stderr, "benchex: %s: cannot be read (%s): check its name and permissions\n", shown,
		strerror(-rc));
	return RESEX_FAILURE;
}

/* --- the whole --- */

static int print_json(const struct merge *m)
{
	json_t *o = bx_result_json(&m->sum);
	int rc = o ? 0 : -ENOMEM;

	if (!rc && json_object_set_new(o, "conf", m->asked ? json_incref(m->asked) : json_null()))
		rc = -ENOMEM;
	if (!rc && m->seed_differs && json_object_set_new(o, "seed", json_null()))
		rc = -ENOMEM;
	if (!rc && json_object_set_new(o, "merged", json_integer((json_int_t)m->merged)))
		rc = -ENOMEM;
	if (!rc)
		rc = bx_json_line(stdout, o);
	json_decref(o);
	return rc;
}

/* The exit code after printing; rc: 0 or -errno of printing. */
static int exit_code(int rc)
{
	if (rc)
		fprintf(stderr, "benchex: output: %s\n", strerror(-rc));
	return rc ? RESEX_FAILURE : RESEX_OK;
}

static int print_sum(const struct merge *m, bool json)
{
	if (json)
		return exit_code(print_json(m));
	printf("%" PRIu64 " results, %s%s\n", m->merged,
	       m->parallel ? "counted as run at the same time"
			   : "counted as run one after the other",
	       m->asked ? "" : "; not all had the same options");
	return exit_code(bx_result_text(stdout, &m->sum));
}

static int print_help(void)
{
	puts("Usage: benchex merge [-j] [--parallel] FILE...\n"
	     "Adds up results that benchex printed with --json; - is standard "
	     "input. See benchex(1).");
	return exit_code(bx_flush(stdout));
}

static int merge_files(struct merge *m, bool json, int argc, char **argv)
{
	int rc = 0;

	m->sum.conf = &m->conf;
	for (int i = 0; !rc && i < argc; i++)
		rc = add_file(argv[i], m);
	if (!rc && !m->merged) {
		fprintf(stderr,
			"benchex: merge: the files have no result: run benchex with --json\n");
		rc = RESEX_BAD_CONFIG;
	}
	if (!rc)
		rc = print_sum(m, json);
	json_decref(m->asked);
	free(m->sum.qp);
	return rc;
}

/* struct merge is large (two results with histograms), so it is allocated. */
int bx_merge(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "parallel", no_argument, NULL, 'P' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	bool json = false, parallel = false;
	struct cmdline line = {
		.argc = argc, .argv = argv, .longs = longs, .help = "benchex merge --help"
	};
	struct merge *m;
	char error[256];
	int letter, rc;

	cmdline_begin(&line);
	while ((letter = cmdline_next(&line, error, sizeof(error))) >= 0) {
		if (letter == 'h')
			return print_help();
		json |= letter == 'j';
		parallel |= letter == 'P';
	}
	if (letter == CMDLINE_WRONG) {
		fprintf(stderr, "benchex: %s\n", error);
		return RESEX_USAGE;
	}
	if (optind == argc) {
		fputs("benchex: merge: a file is missing: give benchex merge [-j] [--parallel] "
		      "FILE...\n",
		      stderr);
		return RESEX_USAGE;
	}
	m = calloc(1, sizeof(*m));
	if (!m) {
		fputs("benchex: merge: there is no memory: end other programs\n", stderr);
		return RESEX_FAILURE;
	}
	m->parallel = parallel;
	rc = merge_files(m, json, argc - optind, argv + optind);
	free(m);
	return rc;
}
