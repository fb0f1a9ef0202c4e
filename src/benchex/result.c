// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * result: print a result as a table for people, or as one line of JSON.
 *
 * The JSON holds all that merge needs to add results up exactly: counts,
 * histograms, and under "exact" sums and extremes in nanoseconds. Rates, means and
 * percentiles are printed beside them for people; merge computes them again.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "src/benchex/result_keys.h"
#include "src/util/utf8.h"

/* People read a few lines of text; the JSON has all queue pairs. */
enum { QPS_SHOWN = 8 };

/* JSON integers are signed here; no real count comes near INT64_MAX. */
static json_t *whole(uint64_t v)
{
	return json_integer(v > INT64_MAX ? INT64_MAX : (json_int_t)v);
}

/* JSON has no NaN and no infinity: 0 in their place. */
static json_t *real(double v)
{
	return json_real(isfinite(v) ? v : 0);
}

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

static double us(uint64_t ns)
{
	return (double)ns / 1e3;
}

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

/* --- keys --- */

#define RESULT(member)	offsetof(struct bx_result, member)
#define QP(member)	offsetof(struct bx_qp, member)
#define HIST(member)	offsetof(struct hist, member)
#define LATENCY(member) offsetof(struct bx_latency, member)

/* merge.c reads by the same tables what is written by them here. */
const struct bx_key bx_result_keys[] = {
	{ "role", KEY_ROLE, 0 },
	{ "peer", KEY_PEER, 0 },
	{ "ended", KEY_ENDED, 0 },
	{ "elapsed_s", KEY_SECONDS, RESULT(elapsed_ns) },
	{ "cpu_s", KEY_SECONDS, RESULT(cpu_ns) },
	{ "cpu_percent", KEY_CPU_PERCENT, 0 },
	{ "requests", KEY_COUNT, RESULT(requests) },
	{ "requests_s", KEY_REQUESTS_S, 0 },
	{ "bytes", KEY_COUNT, RESULT(bytes) },
	{ "MB_s", KEY_MB_S, 0 },
	{ "late", KEY_COUNT, RESULT(late) },
	{ "lost", KEY_COUNT, RESULT(lost) },
	{ "control_rounds", KEY_COUNT, RESULT(control_rounds) },
	{ "reported", KEY_COUNT, RESULT(reported) },
	{ "report_dropped", KEY_COUNT, RESULT(report_dropped) },
	{ "seed", KEY_SEED, 0 },
	{ "latency", KEY_LATENCY, 0 },
	{ "qps", KEY_QPS, 0 },
	{ "conf", KEY_CONF, 0 },
	{ "merged", KEY_MERGED, 0 },
	{ NULL, 0, 0 },
};

const struct bx_key bx_qp_keys[] = {
	{ "qpn", KEY_U32, QP(qpn) },
	{ "peer_qpn", KEY_U32, QP(peer_qpn) },
	{ "path_mtu", KEY_U32, QP(path_mtu) },
	{ "cq_entries", KEY_U32, QP(cq_entries) },
	{ "completed", KEY_COMPLETED, 0 },
	{ "errors", KEY_COUNT, QP(errors) },
	{ "outstanding", KEY_COUNT, QP(outstanding) },
	{ "bytes_sent", KEY_COUNT, QP(bytes_sent) },
	{ "bytes_recv", KEY_COUNT, QP(bytes_recv) },
	{ "mtus_sent", KEY_COUNT, QP(mtus_sent) },
	{ "mtus_recv", KEY_COUNT, QP(mtus_recv) },
	{ NULL, 0, 0 },
};

const struct bx_key bx_hist_keys[] = {
	{ "n", KEY_COUNT, HIST(n) },
	{ "mean_us", KEY_MEAN, 0 },
	{ "deviation_us", KEY_DEVIATION, 0 },
	{ "min_us", KEY_US, HIST(min) },
	{ "p50_us", KEY_QUANTILE, 500 },
	{ "p90_us", KEY_QUANTILE, 900 },
	{ "p99_us", KEY_QUANTILE, 990 },
	{ "p999_us", KEY_QUANTILE, 999 },
	{ "max_us", KEY_US, HIST(max) },
	{ "exact", KEY_EXACT, 0 },
	{ "histogram", KEY_BUCKETS, 0 }, /* last: it is checked against the other keys */
	{ NULL, 0, 0 },
};

const struct bx_key bx_exact_keys[] = {
	{ "min_ns", KEY_COUNT, HIST(min) },
	{ "max_ns", KEY_COUNT, HIST(max) },
	{ "sum_ns", KEY_SUM, HIST(sum) },
	{ "sumsq_ns2", KEY_SUMSQ, HIST(sumsq) },
	{ NULL, 0, 0 },
};

const struct bx_key *bx_latency_keys(enum bx_role role)
{
	static const struct bx_key keys[] = {
		{ "ctime", KEY_HIST, LATENCY(ctime) },
		{ "wtime", KEY_HIST, LATENCY(wtime) },
		{ "ptime", KEY_HIST, LATENCY(ptime) },
		{ "total", KEY_HIST, LATENCY(total) },
		{ NULL, 0, 0 },
	};

	/* A server measures all, a client the total, bulk nothing. */
	return &keys[role == BX_SERVER ? 0 : role == BX_CLIENT ? 3 : 4];
}

/* --- JSON --- */

static json_t *keys_json(const struct bx_key *keys, const void *record, int *rc);

/* Only buckets that have samples, each by its upper bound: a reader needs no table of bounds. */
static json_t *buckets_json(const struct hist *h, int *rc)
{
	json_t *list = json_array();

	for (uint32_t i = 0; h->n && i < HIST_BUCKETS; i++) {
		json_t *pair;

		if (!h->bucket[i])
			continue;
		pair = json_array();
		if (json_array_append_new(pair, whole(hist_top(i))) ||
		    json_array_append_new(pair, whole(h->bucket[i])) ||
		    json_array_append_new(list, pair))
			*rc = -ENOMEM;
	}
	return list;
}

static json_t *completed_json(const struct bx_qp *q, int *rc)
{
	json_t *o = json_object();

	for (int op = 0; op < BX_OPS; op++)
		if (q->completed[op] &&
		    json_object_set_new(o, bx_op_name((enum bx_op)op), whole(q->completed[op])))
			*rc = -ENOMEM;
	return o;
}

static json_t *qps_json(const struct bx_result *r, int *rc)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->qps; i++)
		if (json_array_append_new(list, keys_json(bx_qp_keys, &r->qp[i], rc)))
			*rc = -ENOMEM;
	return list;
}

/*
 * The peer's address: any bytes, with or without an end. merge reads this from a file:
 * jansson refuses text that is not UTF-8.
 */
static json_t *peer_json(const struct bx_result *r)
{
	char peer[sizeof(r->peer) + 1] = "";

	memcpy(peer, r->peer, sizeof(r->peer));
	return bx_text_json(peer);
}

/* One value; NULL: no memory. */
static json_t *value_json(const struct bx_key *k, const void *record, int *rc)
{
	const void *member = (const char *)record + k->offset;
	const struct bx_result *r = record;
	char digits[64];

	switch (k->kind) {
	case KEY_COUNT:
		return whole(*(const uint64_t *)member);
	case KEY_U32:
		return whole(*(const uint32_t *)member);
	case KEY_SECONDS:
		return real(seconds(*(const uint64_t *)member));
	/* As text: JSON readers may keep numbers as doubles, which hold 53 bits. */
	case KEY_SUM:
		snprintf(digits, sizeof(digits), "%" PRIu64, *(const uint64_t *)member);
		return json_string(digits);
	case KEY_SUMSQ:
		snprintf(digits, sizeof(digits), "%.0Lf", *(const long double *)member);
		return json_string(digits);
	case KEY_US:
		return real(us(*(const uint64_t *)member));
	case KEY_QUANTILE:
		return real(us(hist_quantile(record, (uint32_t)k->offset)));
	case KEY_MEAN:
		return real(us(hist_mean(record)));
	case KEY_DEVIATION:
		return real(us(hist_deviation(record)));
	case KEY_CPU_PERCENT:
		return real(100 * ratio(seconds(r->cpu_ns), seconds(r->elapsed_ns)));
	case KEY_REQUESTS_S:
		return real(ratio((double)r->requests, seconds(r->elapsed_ns)));
	case KEY_MB_S:
		return real(ratio((double)r->bytes / 1e6, seconds(r->elapsed_ns)));
	case KEY_ROLE:
		return json_string(bx_role_names[r->conf->role]);
	case KEY_PEER:
		return peer_json(r);
	case KEY_ENDED:
		return bx_text_json(r->ended ? r->ended : "error");
	case KEY_SEED:
		return whole(r->conf->seed);
	case KEY_LATENCY:
		return keys_json(bx_latency_keys(r->conf->role), &r->lat, rc);
	case KEY_HIST:
		return keys_json(bx_hist_keys, member, rc);
	case KEY_EXACT:
		return keys_json(bx_exact_keys, record, rc);
	case KEY_BUCKETS:
		return buckets_json(record, rc);
	case KEY_QPS:
		return qps_json(r, rc);
	case KEY_COMPLETED:
		return completed_json(record, rc);
	case KEY_CONF:
		return bx_conf_json(r->conf);
	case KEY_MERGED: /* merge.c adds it */
	case KEY_KINDS:
		break;
	}
	return NULL;
}

/* The record as an object; *rc is set when memory ran out. */
static json_t *keys_json(const struct bx_key *keys, const void *record, int *rc)
{
	json_t *o = json_object();

	for (const struct bx_key *k = keys; k->name; k++)
		if (k->kind != KEY_MERGED &&
		    json_object_set_new(o, k->name, value_json(k, record, rc)))
			*rc = -ENOMEM;
	return o;
}

json_t *bx_result_json(const struct bx_result *r)
{
	int rc = 0;
	json_t *o = keys_json(bx_result_keys, r, &rc);

	if (rc) {
		json_decref(o);
		return NULL;
	}
	return o;
}

/* ferror() also has errors of earlier writes. */
int bx_flush(FILE *stream)
{
	if (fflush(stream))
		return errno ? -errno : -EIO;
	return ferror(stream) ? -EIO : 0;
}

int bx_json_line(FILE *stream, const json_t *o)
{
	if (json_dumpf(o, stream, JSON_COMPACT | JSON_REAL_PRECISION(15)))
		return errno ? -errno : -EIO;
	fputc('\n', stream);
	return bx_flush(stream);
}

/* --- text --- */

static void print_hist(FILE *f, const char *name, const struct hist *h)
{
	if (!h->n) {
		fprintf(f, "%-10s %9d          -\n", name, 0);
		return;
	}
	fprintf(f, "%-10s %9" PRIu64 " %10.1f %10.1f %10.1f %10.1f %10.1f %10.1f %10.1f %10.1f\n",
		name, h->n, us(hist_mean(h)), us(hist_deviation(h)), us(h->min),
		us(hist_quantile(h, 500)), us(hist_quantile(h, 900)), us(hist_quantile(h, 990)),
		us(hist_quantile(h, 999)), us(h->max));
}

static void print_latency(FILE *f, const struct bx_result *r)
{
	if (r->conf->role == BX_BULK)
		return;
	fprintf(f, "\n%-10s %9s %10s %10s %10s %10s %10s %10s %10s %10s\n", "us", "N", "MEAN",
		"DEVIATION", "MIN", "P50", "P90", "P99", "P99.9", "MAX");
	print_hist(f, "latency", &r->lat.total);
	if (r->conf->role == BX_CLIENT)
		return;
	print_hist(f, "CTime", &r->lat.ctime);
	print_hist(f, "WTime", &r->lat.wtime);
	print_hist(f, "PTime", &r->lat.ptime);
}

/* "write 812, read 4": the number of successful work requests of each operation. */
static void show_completed(const struct bx_qp *q, char *buf, size_t size)
{
	size_t n = 0;

	snprintf(buf, size, "none");
	for (int op = 0; op < BX_OPS; op++)
		if (q->completed[op] && n < size)
			n += (size_t)snprintf(buf + n, size - n, "%s%s %" PRIu64, n ? ", " : "",
					      bx_op_name((enum bx_op)op), q->completed[op]);
}

static void print_qp(FILE *f, const struct bx_qp *q)
{
	char completed[256];

	show_completed(q, completed, sizeof(completed));
	fprintf(f, "%-8u %-8u %5u %12" PRIu64 " %12" PRIu64 " %7" PRIu64 " %11" PRIu64 "  %s\n",
		q->qpn, q->peer_qpn, q->path_mtu, q->mtus_sent, q->mtus_recv, q->errors,
		q->outstanding, completed);
}

/* The rest is summed up, so that counts on the screen are complete. */
static void print_qps(FILE *f, const struct bx_result *r)
{
	struct bx_qp rest = { 0 };

	if (!r->qps)
		return;
	fprintf(f, "\n%-8s %-8s %5s %12s %12s %7s %11s  %s\n", "QP", "PEER", "MTU", "MTUS-SENT",
		"MTUS-RECV", "ERRORS", "OUTSTANDING", "COMPLETED");
	for (size_t i = 0; i < r->qps && i < QPS_SHOWN; i++)
		print_qp(f, &r->qp[i]);
	if (r->qps <= QPS_SHOWN)
		return;
	for (size_t i = 0; i < r->qps; i++) {
		for (int op = 0; op < BX_OPS; op++)
			rest.completed[op] += r->qp[i].completed[op];
		rest.errors += r->qp[i].errors;
		rest.outstanding += r->qp[i].outstanding;
		rest.mtus_sent += r->qp[i].mtus_sent;
		rest.mtus_recv += r->qp[i].mtus_recv;
	}
	fprintf(f, "%zu more; all %zu together:\n", r->qps - QPS_SHOWN, r->qps);
	print_qp(f, &rest);
}

static void print_head(FILE *f, const struct bx_result *r)
{
	static const char *const heads[BX_ROLES] = { "server, clients from", "client of",
						     "bulk, to or from" };
	bool bulk = r->conf->role == BX_BULK;
	const char *unit = bulk ? "messages" : "requests";
	double s = seconds(r->elapsed_ns);
	char peer[sizeof(r->peer) + 1] = "";

	memcpy(peer, r->peer, sizeof(r->peer));
	utf8_mend(peer);
	utf8_tame(peer);
	fprintf(f, "%s %s: %" PRIu64 " %s in %.3f s, ended by %s\n", heads[r->conf->role],
		*peer ? peer : "-", r->requests, unit, s, r->ended ? r->ended : "error");
	fprintf(f, "%.1f %s/s, %.3f MB/s, CPU %.1f %%", ratio((double)r->requests, s), unit,
		ratio((double)r->bytes / 1e6, s), 100 * ratio(seconds(r->cpu_ns), s));
	if (r->late)
		fprintf(f, ", %" PRIu64 " late", r->late);
	if (r->lost)
		fprintf(f, ", %" PRIu64 " lost", r->lost);
	if (r->control_rounds)
		fprintf(f, ", %" PRIu64 " control rounds", r->control_rounds);
	if (r->reported || r->report_dropped)
		fprintf(f, ", %" PRIu64 " reported, %" PRIu64 " dropped", r->reported,
			r->report_dropped);
	fputc('\n', f);
}

int bx_result_text(FILE *stream, const struct bx_result *r)
{
	print_head(stream, r);
	print_latency(stream, r);
	print_qps(stream, r);
	return bx_flush(stream);
}

int bx_result_print(FILE *stream, const struct bx_result *r)
{
	json_t *o;
	int rc;

	if (!r->conf->json)
		return bx_result_text(stream, r);
	o = bx_result_json(r);
	rc = o ? bx_json_line(stream, o) : -ENOMEM;
	json_decref(o);
	return rc;
}
