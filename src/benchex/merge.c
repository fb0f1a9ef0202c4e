// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * merge: results of several runs, printed as one.
 *
 *	files -> lines of JSON -> checked, one at a time -> added up -> text, JSON
 *
 * A line is taken whole or not at all. Only what bx_result_print() may have
 * printed is taken; figures that follow from others are made anew.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "resex/exit.h"
#include "src/benchex/parts.h"
#include "src/util/utf8.h"

enum { LINE_BYTES_MAX = 16 << 20, MERGED_QPS_MAX = 1 << 20, WORDS = 160 };

#define TIME_MAX_NS 4000000000000000000ull /* 4e9 s */

static const char SEVERAL[] = "several";

/* Where we are, for the sentence about what is wrong there. */
struct place {
	const char *file;
	uint64_t line;
	const char *part; /* "latency.total", "qps[]"; "": the result itself */
};

struct merge {
	struct bx_conf conf; /* role only, and seed */
	struct bx_result sum, one;
	json_t *asked; /* conf of all; NULL: they differ */
	bool seed_differs, parallel;
	bool total, parts; /* of a server: of all its clients, of one */
	uint64_t merged;   /* results */
	size_t qps_space;  /* of sum.qp */
};

/* --- reading one value --- */

__attribute__((format(printf, 2, 3))) static int bad(const struct place *at, const char *fmt, ...)
{
	char file[WORDS];
	va_list ap;

	utf8_escape(at->file, file, sizeof(file));
	fprintf(stderr, "benchex: %s:%" PRIu64 ": %s%s", file, at->line, at->part,
		*at->part ? ": " : "");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputs("; merge lines that benchex printed with --json\n", stderr);
	return -EINVAL;
}

static int get(const struct place *at, const json_t *o, const char *key, json_type type,
	       json_t **out)
{
	static const char *const kinds[] = { "an object", "an array", "text",  "a whole number",
					     "a number",  "true",     "false", "null" };

	*out = json_object_get(o, key);
	if (!*out)
		return bad(at, "\"%s\" is missing", key);
	if (json_typeof(*out) != type && !(type == JSON_REAL && json_typeof(*out) == JSON_INTEGER))
		return bad(at, "\"%s\" is not %s", key, kinds[type]);
	return 0;
}

static int get_count(const struct place *at, const json_t *o, const char *key, uint64_t max,
		     uint64_t *out)
{
	json_t *v;
	int rc = get(at, o, key, JSON_INTEGER, &v);

	if (rc)
		return rc;
	if (json_integer_value(v) < 0 || (uint64_t)json_integer_value(v) > max)
		return bad(at, "\"%s\" is %" JSON_INTEGER_FORMAT ", not within 0 .. %" PRIu64, key,
			   json_integer_value(v), max);
	*out = (uint64_t)json_integer_value(v);
	return 0;
}

static int get_u32(const struct place *at, const json_t *o, const char *key, uint32_t *out)
{
	uint64_t v = 0;
	int rc = get_count(at, o, key, UINT32_MAX, &v);

	if (!rc)
		*out = (uint32_t)v;
	return rc;
}

/* Digits in a string: what may pass 2^63, or what readers of JSON would round. */
static int get_digits(const struct place *at, const json_t *o, const char *key, const char **out)
{
	const char *s;
	json_t *v;
	int rc = get(at, o, key, JSON_STRING, &v);

	if (rc)
		return rc;
	s = json_string_value(v);
	if (!*s || strlen(s) > 60 || strspn(s, "0123456789") != strlen(s))
		return bad(at, "\"%s\" is not a whole number in text", key);
	*out = s;
	return 0;
}

static int get_seconds(const struct place *at, const json_t *o, const char *key, uint64_t *ns)
{
	json_t *v;
	int rc = get(at, o, key, JSON_REAL, &v);

	if (rc)
		return rc;
	if (json_number_value(v) < 0 || json_number_value(v) > 4e9)
		return bad(at, "\"%s\" is %g, not within 0 .. 4e9", key, json_number_value(v));
	*ns = (uint64_t)llround(json_number_value(v) * 1e9);
	return 0;
}

/* No key but those. names ends with NULL. */
static int only(const struct place *at, const json_t *o, const char *const *names)
{
	char shown[WORDS];
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)o, key, v) {
		size_t i = 0;

		while (names[i] && strcmp(names[i], key) != 0)
			i++;
		utf8_escape(key, shown, sizeof(shown));
		if (!names[i])
			return bad(at, "\"%s\" is not known here", shown);
	}
	return 0;
}

/* Numbers that follow from others: there, and numbers. */
static int derived(const struct place *at, const json_t *o, const char *const *names)
{
	int rc = 0;

	for (json_t *v; !rc && *names; names++)
		rc = get(at, o, *names, JSON_REAL, &v);
	return rc;
}

/* --- one histogram --- */

/* Is v one of those that bucket b counts? */
static bool falls_into(uint64_t v, uint32_t b)
{
	return v <= hist_top(b) && (!b || v > hist_top(b - 1));
}

static int check_exact(const struct place *at, const struct hist *h, uint32_t first, uint32_t last)
{
	long double n = (long double)h->n, sum = (long double)h->sum;
	unsigned __int128 least = (unsigned __int128)h->min * h->n,
			  most = (unsigned __int128)h->max * h->n;

	if (!h->n)
		return h->min || h->max || h->sum || h->sumsq > 0
			       ? bad(at, "\"exact\" has values where \"n\" is 0")
			       : 0;
	if (!falls_into(h->min, first) || !falls_into(h->max, last))
		return bad(at, "\"min_ns\" or \"max_ns\" is not what the histogram has");
	if (h->sum < least || h->sum > most)
		return bad(at, "\"sum_ns\" cannot be with these extremes");
	if (h->sumsq * n < sum * sum * 0.999999L ||
	    h->sumsq > (long double)h->max * (long double)h->max * n * 1.000001L)
		return bad(at, "\"sumsq_ns2\" cannot be with this sum");
	return 0;
}

static int read_buckets(const struct place *at, const json_t *list, struct hist *h, uint32_t *first,
			uint32_t *last)
{
	uint64_t seen = 0;
	uint32_t b = 0;
	json_t *pair;
	size_t i;

	json_array_foreach(list, i, pair) {
		const json_t *top = json_array_get(pair, 0), *n = json_array_get(pair, 1);

		if (json_array_size(pair) != 2 || !json_is_integer(top) || !json_is_integer(n) ||
		    json_integer_value(top) < 0 || json_integer_value(n) < 1)
			return bad(at, "histogram[%zu] is not [highest ns, count]", i);
		while (b < HIST_BUCKETS && hist_top(b) < (uint64_t)json_integer_value(top))
			b++;
		if (b == HIST_BUCKETS || hist_top(b) != (uint64_t)json_integer_value(top) ||
		    (i && b == *last))
			return bad(at, "histogram[%zu] is not of a bucket, or not in order", i);
		if (!i)
			*first = b;
		*last = b;
		h->bucket[b] = (uint64_t)json_integer_value(n);
		seen += h->bucket[b];
		if (seen > h->n)
			break;
	}
	return seen == h->n ? 0 : bad(at, "the histogram's counts do not add up to \"n\"");
}

static int read_hist(const struct place *whole, const char *part, const json_t *o, struct hist *h)
{
	static const char *const keys[] = { "n",      "mean_us", "deviation_us", "min_us",
					    "p50_us", "p90_us",	 "p99_us",	 "p999_us",
					    "max_us", "exact",	 "histogram",	 NULL };
	static const char *const follow[] = { "mean_us", "deviation_us", "min_us",
					      "p50_us",	 "p90_us",	 "p99_us",
					      "p999_us", "max_us",	 NULL };
	static const char *const exacts[] = { "min_ns", "max_ns", "sum_ns", "sumsq_ns2", NULL };
	struct place at = { whole->file, whole->line, part };
	const char *sum = "", *sumsq = "";
	uint32_t first = 0, last = 0;
	json_t *exact, *buckets;

	if (only(&at, o, keys) || derived(&at, o, follow) ||
	    get_count(&at, o, "n", INT64_MAX, &h->n) || get(&at, o, "exact", JSON_OBJECT, &exact) ||
	    only(&at, exact, exacts) || get_count(&at, exact, "min_ns", INT64_MAX, &h->min) ||
	    get_count(&at, exact, "max_ns", INT64_MAX, &h->max) ||
	    get_digits(&at, exact, "sum_ns", &sum) || get_digits(&at, exact, "sumsq_ns2", &sumsq) ||
	    get(&at, o, "histogram", JSON_ARRAY, &buckets) ||
	    read_buckets(&at, buckets, h, &first, &last))
		return -EINVAL;
	if (bx_number(sum, strlen(sum), (struct bx_bounds){ 0, UINT64_MAX }, &h->sum))
		return bad(&at, "\"sum_ns\" is larger than 64 bits hold");
	h->sumsq = strtold(sumsq, NULL);
	return check_exact(&at, h, first, last);
}

static int read_latency(const struct place *at, const json_t *root, struct bx_result *r)
{
	static const struct {
		enum bx_role role;
		const char *name, *part;
		size_t offset;
	} hists[] = {
		{ BX_SERVER, "ctime", "latency.ctime", offsetof(struct bx_latency, ctime) },
		{ BX_SERVER, "wtime", "latency.wtime", offsetof(struct bx_latency, wtime) },
		{ BX_SERVER, "ptime", "latency.ptime", offsetof(struct bx_latency, ptime) },
		{ BX_SERVER, "total", "latency.total", offsetof(struct bx_latency, total) },
		{ BX_CLIENT, "total", "latency.total", offsetof(struct bx_latency, total) },
	};
	const char *names[sizeof(hists) / sizeof(hists[0]) + 1] = { NULL };
	json_t *lat, *o;
	size_t n = 0;
	int rc = get(at, root, "latency", JSON_OBJECT, &lat);

	for (size_t i = 0; !rc && i < sizeof(hists) / sizeof(hists[0]); i++) {
		if (hists[i].role != r->conf->role)
			continue;
		names[n++] = hists[i].name;
		rc = get(at, lat, hists[i].name, JSON_OBJECT, &o);
		if (!rc)
			rc = read_hist(at, hists[i].part, o,
				       (struct hist *)((char *)&r->lat + hists[i].offset));
	}
	return rc ? rc : only(at, lat, names);
}

/* --- one queue pair --- */

static int read_completed(const struct place *at, const json_t *o, struct bx_qp *q)
{
	const char *names[BX_OPS + 1] = { NULL };
	json_t *ops;
	int rc = get(at, o, "completed", JSON_OBJECT, &ops);

	for (int op = 0; !rc && op < BX_OPS; op++) {
		names[op] = bx_op_name((enum bx_op)op);
		if (json_object_get(ops, names[op]))
			rc = get_count(at, ops, names[op], INT64_MAX, &q->completed[op]);
	}
	return rc ? rc : only(at, ops, names);
}

static int read_qp(const struct place *at, const json_t *o, struct bx_qp *q)
{
	static const char *const keys[] = { "qpn",	  "peer_qpn",  "path_mtu",    "cq_entries",
					    "completed",  "errors",    "outstanding", "bytes_sent",
					    "bytes_recv", "mtus_sent", "mtus_recv",   NULL };

	*q = (struct bx_qp){ 0 };
	if (!json_is_object(o))
		return bad(at, "not an object");
	if (only(at, o, keys) || get_u32(at, o, "qpn", &q->qpn) ||
	    get_u32(at, o, "peer_qpn", &q->peer_qpn) || get_u32(at, o, "path_mtu", &q->path_mtu) ||
	    get_u32(at, o, "cq_entries", &q->cq_entries) || read_completed(at, o, q) ||
	    get_count(at, o, "errors", INT64_MAX, &q->errors) ||
	    get_count(at, o, "outstanding", INT64_MAX, &q->outstanding) ||
	    get_count(at, o, "bytes_sent", INT64_MAX, &q->bytes_sent) ||
	    get_count(at, o, "bytes_recv", INT64_MAX, &q->bytes_recv) ||
	    get_count(at, o, "mtus_sent", INT64_MAX, &q->mtus_sent) ||
	    get_count(at, o, "mtus_recv", INT64_MAX, &q->mtus_recv))
		return -EINVAL;
	return 0;
}

/* Behind those that sum has; they count once the whole line was found right. */
static int read_qps(const struct place *whole, const json_t *root, struct merge *m)
{
	struct place at = { whole->file, whole->line, "qps[]" };
	struct bx_result *sum = &m->sum;
	json_t *list, *o;
	size_t i, n;
	int rc = get(whole, root, "qps", JSON_ARRAY, &list);

	if (rc)
		return rc;
	n = sum->qps + json_array_size(list);
	if (n > MERGED_QPS_MAX)
		return bad(whole, "over %d queue pairs in all are too many", MERGED_QPS_MAX);
	if (n > m->qps_space) {
		struct bx_qp *more = realloc(sum->qp, 2 * n * sizeof(*more));

		if (!more)
			return -ENOMEM;
		sum->qp = more;
		m->qps_space = 2 * n;
	}
	json_array_foreach(list, i, o) {
		rc = read_qp(&at, o, &sum->qp[sum->qps + i]);
		if (rc)
			return rc;
	}
	m->one.qps = i;
	return 0;
}

/* --- one result --- */

static const struct {
	const char *name;
	size_t offset;
} counts[] = {
	{ "requests", offsetof(struct bx_result, requests) },
	{ "bytes", offsetof(struct bx_result, bytes) },
	{ "late", offsetof(struct bx_result, late) },
	{ "lost", offsetof(struct bx_result, lost) },
	{ "control_rounds", offsetof(struct bx_result, control_rounds) },
	{ "reported", offsetof(struct bx_result, reported) },
	{ "report_dropped", offsetof(struct bx_result, report_dropped) },
};

enum { COUNTS = sizeof(counts) / sizeof(counts[0]) };

static uint64_t *count_of(struct bx_result *r, size_t i)
{
	return (uint64_t *)(void *)((char *)r + counts[i].offset);
}

static int read_figures(const struct place *at, const json_t *root, struct bx_result *r)
{
	static const char *const follow[] = { "cpu_percent", "requests_s", "MB_s", NULL };
	int rc = derived(at, root, follow);

	for (size_t i = 0; !rc && i < COUNTS; i++)
		rc = get_count(at, root, counts[i].name, INT64_MAX, count_of(r, i));
	if (!rc)
		rc = get_seconds(at, root, "elapsed_s", &r->elapsed_ns);
	return rc ? rc : get_seconds(at, root, "cpu_s", &r->cpu_ns);
}

static int read_role(const struct place *at, const json_t *root, struct merge *m)
{
	char file[WORDS];
	const char *s;
	json_t *v;
	int role = 0, rc = get(at, root, "role", JSON_STRING, &v);

	if (rc)
		return rc;
	s = json_string_value(v);
	while (role < BX_ROLES && strcmp(bx_role_names[role], s) != 0)
		role++;
	if (role == BX_ROLES)
		return bad(at, "\"role\" is not server, client or bulk");
	if (m->merged && role != (int)m->conf.role) {
		utf8_escape(at->file, file, sizeof(file));
		fprintf(stderr,
			"benchex: %s:%" PRIu64 ": a result of %s, but those before it are of %s; "
			"merge the results of one role at a time\n",
			file, at->line, bx_role_names[role], bx_role_names[m->conf.role]);
		return -EINVAL;
	}
	m->conf.role = (enum bx_role)role;
	return 0;
}

static int read_words(const struct place *at, const json_t *root, struct bx_result *r)
{
	static const char *const ends[] = {
		"time", "requests", "signal", "peer", "error", SEVERAL
	};
	json_t *peer, *ended;
	size_t i = 0;

	if (get(at, root, "peer", JSON_STRING, &peer) ||
	    get(at, root, "ended", JSON_STRING, &ended))
		return -EINVAL;
	if (json_string_length(peer) >= sizeof(r->peer))
		return bad(at, "\"peer\" is longer than an address");
	while (i < sizeof(ends) / sizeof(ends[0]) && strcmp(ends[i], json_string_value(ended)) != 0)
		i++;
	if (i == sizeof(ends) / sizeof(ends[0]))
		return bad(at, "\"ended\" is not time, requests, signal, peer, error or several");
	snprintf(r->peer, sizeof(r->peer), "%s", json_string_value(peer));
	r->ended = ends[i];
	return 0;
}

static int read_result(const struct place *at, const json_t *root, struct merge *m)
{
	static const char *const keys[] = { "role",	      "peer",	    "ended",
					    "elapsed_s",      "cpu_s",	    "cpu_percent",
					    "requests",	      "requests_s", "bytes",
					    "MB_s",	      "late",	    "lost",
					    "control_rounds", "reported",   "report_dropped",
					    "seed",	      "latency",    "qps",
					    "conf",	      "merged",	    NULL };
	uint64_t merged = 1;

	memset(&m->one, 0, sizeof(m->one));
	m->one.conf = &m->conf;
	if (!json_is_object(root))
		return bad(at, "not an object");
	if (only(at, root, keys) || read_role(at, root, m) || read_words(at, root, &m->one) ||
	    read_figures(at, root, &m->one) || read_latency(at, root, &m->one))
		return -EINVAL;
	if (!json_object_get(root, "seed") || !json_object_get(root, "conf"))
		return bad(at, "\"seed\" or \"conf\" is missing");
	if (json_object_get(root, "merged") && get_count(at, root, "merged", 1ull << 40, &merged))
		return -EINVAL;
	if (!merged)
		return bad(at, "\"merged\" is 0, not within 1 .. %llu", 1ull << 40);
	return read_qps(at, root, m);
}

/* --- adding up --- */

static void same_or_several(struct bx_result *sum, const struct bx_result *one)
{
	if (strcmp(sum->peer, one->peer) != 0)
		snprintf(sum->peer, sizeof(sum->peer), "%s", SEVERAL);
	if (strcmp(sum->ended, one->ended) != 0)
		sum->ended = SEVERAL;
}

/* Latencies of all together, and times, as results print them. */
static int check_sums(const struct place *at, const struct bx_result *sum,
		      const struct bx_result *one)
{
	const struct hist *a[] = { &sum->lat.ctime, &sum->lat.wtime, &sum->lat.ptime,
				   &sum->lat.total };
	const struct hist *b[] = { &one->lat.ctime, &one->lat.wtime, &one->lat.ptime,
				   &one->lat.total };

	for (size_t i = 0; i < sizeof(a) / sizeof(a[0]); i++)
		if (b[i]->n > INT64_MAX - a[i]->n || b[i]->sum > UINT64_MAX - a[i]->sum)
			return bad(at, "the latencies' number or sum is too large for one result");
	if (one->elapsed_ns > TIME_MAX_NS - sum->elapsed_ns ||
	    one->cpu_ns > TIME_MAX_NS - sum->cpu_ns)
		return bad(at, "the sum of \"elapsed_s\" or \"cpu_s\" passes 4e9");
	return 0;
}

static int add_counts(const struct place *at, struct merge *m)
{
	struct bx_result *sum = &m->sum, *one = &m->one;
	int rc = check_sums(at, sum, one);

	if (rc)
		return rc;
	for (size_t i = 0; i < COUNTS; i++)
		if (*count_of(one, i) > INT64_MAX - *count_of(sum, i))
			return bad(at, "the sum of \"%s\" passes 2^63", counts[i].name);
	for (size_t i = 0; i < COUNTS; i++)
		*count_of(sum, i) += *count_of(one, i);
	sum->cpu_ns += one->cpu_ns;
	if (!m->parallel)
		sum->elapsed_ns += one->elapsed_ns;
	else if (one->elapsed_ns > sum->elapsed_ns)
		sum->elapsed_ns = one->elapsed_ns;
	return 0;
}

/* What the results were asked for, as long as all were asked for the same. */
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

/* A server prints a result as each client leaves, and in the end their total. */
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
	return bad(at, "totals of servers stand beside results of single clients, which they "
		       "hold: take one kind, as the last line of each server");
}

static int add_result(const struct place *at, const json_t *root, struct merge *m)
{
	struct bx_result *sum = &m->sum, *one = &m->one;
	json_t *of = json_object_get(root, "merged");
	int rc = read_result(at, root, m);

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
	m->merged += of ? (uint64_t)json_integer_value(of) : 1;
	return 0;
}

/* --- files --- */

/* A line without its end, *len bytes. 1, 0 at the end of the file, -errno. */
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

static bool blank(const char *s, size_t len)
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

	if (blank(line, len))
		return 0;
	root = json_loadb(line, len, JSON_REJECT_DUPLICATES, &e);
	if (!root) {
		utf8_escape(e.text, said, sizeof(said));
		return bad(at, "not JSON (%s, column %d)", said, e.column);
	}
	rc = add_result(at, root, m);
	json_decref(root);
	return rc;
}

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
		rc = bad(&at, "a line of more than %d bytes", LINE_BYTES_MAX);
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

/* The exit code when what was printed arrived, or did not (rc). */
static int arrived(int rc)
{
	if (rc)
		fprintf(stderr, "benchex: output: %s\n", strerror(-rc));
	return rc ? RESEX_FAILURE : RESEX_OK;
}

static int print(const struct merge *m, bool json)
{
	if (json)
		return arrived(print_json(m));
	printf("%" PRIu64 " results, %s%s\n", m->merged,
	       m->parallel ? "taken as at the same time" : "taken one after the other",
	       m->asked ? "" : "; not all were asked for the same");
	return arrived(bx_result_text(stdout, &m->sum));
}

static int usage(const char *word, const char *what)
{
	char shown[WORDS];

	utf8_escape(word, shown, sizeof(shown));
	fprintf(stderr, "benchex: %s: %s; write benchex merge [-j] [--parallel] FILE...\n", shown,
		what);
	return RESEX_USAGE;
}

static int merge_files(struct merge *m, bool json, int argc, char **argv)
{
	int rc = 0;

	m->sum.conf = &m->conf;
	for (int i = 0; !rc && i < argc; i++)
		rc = add_file(argv[i], m);
	if (!rc && !m->merged) {
		fprintf(stderr,
			"benchex: merge: no result stands there; run benchex with --json\n");
		rc = RESEX_BAD_CONFIG;
	}
	if (!rc)
		rc = print(m, json);
	json_decref(m->asked);
	free(m->sum.qp);
	return rc;
}

int bx_merge(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "parallel", no_argument, NULL, 'P' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	bool json = false, parallel = false;
	struct merge *m;
	int c, rc;

	optind = 0;
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":jPh", longs, NULL)) != -1) {
		char letter[] = { '-', (char)optopt, 0 };

		if (c == 'h') {
			puts("Usage: benchex merge [-j] [--parallel] FILE...\n"
			     "Adds up results that benchex printed with --json; - is standard "
			     "input. See benchex(1).");
			return arrived(bx_flush(stdout));
		}
		json |= c == 'j';
		parallel |= c == 'P';
		if (c == '?' && (optopt == 'j' || optopt == 'P' || optopt == 'h'))
			return usage(argv[optind - 1], "it takes no value");
		if (c != 'j' && c != 'P')
			return usage(optopt ? letter : argv[optind - 1], "no such option of merge");
	}
	if (optind == argc)
		return usage("merge", "a file is missing");
	m = calloc(1, sizeof(*m));
	if (!m)
		return RESEX_FAILURE;
	m->parallel = parallel;
	rc = merge_files(m, json, argc - optind, argv + optind);
	free(m);
	return rc;
}
