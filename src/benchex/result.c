// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * result: what came out, as a table for people or as one line of JSON.
 *
 * The JSON holds all that merge needs to add results up exactly: counts,
 * histograms, and under "exact" sums and extremes in nanoseconds. What is
 * derived (rates, means, percentiles) stands beside them for readers.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "src/benchex/parts.h"
#include "src/util/utf8.h"

enum { QPS_SHOWN = 8 };

/* Values of JSON are signed here; no count comes near. */
static json_t *whole(uint64_t v)
{
	return json_integer(v > INT64_MAX ? INT64_MAX : (json_int_t)v);
}

/* A real number that JSON can hold; there is none for 0 / 0. */
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

/* Sets, or remembers that there was no memory. */
static void put(json_t *o, const char *key, json_t *v, int *rc)
{
	if (json_object_set_new(o, key, v))
		*rc = -ENOMEM;
}

/* --- JSON --- */

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

/* Sums pass 2^53, where many readers of JSON round: they stand there as text. */
static json_t *exact_json(const struct hist *h, int *rc)
{
	json_t *o = json_object();
	char sum[24], sumsq[64];

	snprintf(sum, sizeof(sum), "%" PRIu64, h->sum);
	snprintf(sumsq, sizeof(sumsq), "%.0Lf", h->sumsq);
	put(o, "min_ns", whole(h->min), rc);
	put(o, "max_ns", whole(h->max), rc);
	put(o, "sum_ns", json_string(sum), rc);
	put(o, "sumsq_ns2", json_string(sumsq), rc);
	return o;
}

static json_t *hist_json(const struct hist *h, int *rc)
{
	json_t *o = json_object();

	put(o, "n", whole(h->n), rc);
	put(o, "mean_us", real(us(hist_mean(h))), rc);
	put(o, "deviation_us", real(us(hist_deviation(h))), rc);
	put(o, "min_us", real(us(h->min)), rc);
	put(o, "p50_us", real(us(hist_quantile(h, 500))), rc);
	put(o, "p90_us", real(us(hist_quantile(h, 900))), rc);
	put(o, "p99_us", real(us(hist_quantile(h, 990))), rc);
	put(o, "p999_us", real(us(hist_quantile(h, 999))), rc);
	put(o, "max_us", real(us(h->max)), rc);
	put(o, "exact", exact_json(h, rc), rc);
	put(o, "histogram", buckets_json(h, rc), rc);
	return o;
}

static json_t *latency_json(const struct bx_result *r, int *rc)
{
	json_t *o = json_object();

	if (r->conf->role == BX_SERVER) {
		put(o, "ctime", hist_json(&r->lat.ctime, rc), rc);
		put(o, "wtime", hist_json(&r->lat.wtime, rc), rc);
		put(o, "ptime", hist_json(&r->lat.ptime, rc), rc);
	}
	if (r->conf->role != BX_BULK)
		put(o, "total", hist_json(&r->lat.total, rc), rc);
	return o;
}

static json_t *qp_json(const struct bx_qp *q, int *rc)
{
	json_t *o = json_object(), *completed = json_object();

	for (int op = 0; op < BX_OPS; op++)
		if (q->completed[op])
			put(completed, bx_op_name((enum bx_op)op), whole(q->completed[op]), rc);
	put(o, "qpn", whole(q->qpn), rc);
	put(o, "peer_qpn", whole(q->peer_qpn), rc);
	put(o, "path_mtu", whole(q->path_mtu), rc);
	put(o, "cq_entries", whole(q->cq_entries), rc);
	put(o, "completed", completed, rc);
	put(o, "errors", whole(q->errors), rc);
	put(o, "outstanding", whole(q->outstanding), rc);
	put(o, "bytes_sent", whole(q->bytes_sent), rc);
	put(o, "bytes_recv", whole(q->bytes_recv), rc);
	put(o, "mtus_sent", whole(q->mtus_sent), rc);
	put(o, "mtus_recv", whole(q->mtus_recv), rc);
	return o;
}

static json_t *qps_json(const struct bx_result *r, int *rc)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->qps; i++)
		if (json_array_append_new(list, qp_json(&r->qp[i], rc)))
			*rc = -ENOMEM;
	return list;
}

static void put_figures(json_t *o, const struct bx_result *r, int *rc)
{
	double s = (double)r->elapsed_ns / 1e9, cpu = (double)r->cpu_ns / 1e9;

	put(o, "elapsed_s", real(s), rc);
	put(o, "cpu_s", real(cpu), rc);
	put(o, "cpu_percent", real(100 * ratio(cpu, s)), rc);
	put(o, "requests", whole(r->requests), rc);
	put(o, "requests_s", real(ratio((double)r->requests, s)), rc);
	put(o, "bytes", whole(r->bytes), rc);
	put(o, "MB_s", real(ratio((double)r->bytes / 1e6, s)), rc);
	put(o, "late", whole(r->late), rc);
	put(o, "lost", whole(r->lost), rc);
	put(o, "control_rounds", whole(r->control_rounds), rc);
	put(o, "reported", whole(r->reported), rc);
	put(o, "report_dropped", whole(r->report_dropped), rc);
}

/* The address of the other side, whatever bytes it holds, ended or not. */
static json_t *peer_json(const struct bx_result *r)
{
	char peer[sizeof(r->peer) + 1] = "";

	memcpy(peer, r->peer, sizeof(r->peer));
	return bx_text_json(peer);
}

json_t *bx_result_json(const struct bx_result *r)
{
	json_t *o = json_object();
	int rc = o ? 0 : -ENOMEM;

	put(o, "role", json_string(bx_role_names[r->conf->role]), &rc);
	put(o, "peer", peer_json(r), &rc);
	put(o, "ended", bx_text_json(r->ended ? r->ended : "error"), &rc);
	put_figures(o, r, &rc);
	put(o, "seed", whole(r->conf->seed), &rc);
	put(o, "latency", latency_json(r, &rc), &rc);
	put(o, "qps", qps_json(r, &rc), &rc);
	put(o, "conf", bx_conf_json(r->conf), &rc);
	if (rc) {
		json_decref(o);
		return NULL;
	}
	return o;
}

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

/* "write 812, read 4": by operation, as many as ended well. */
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
	double s = (double)r->elapsed_ns / 1e9;
	char peer[sizeof(r->peer) + 1] = "";

	memcpy(peer, r->peer, sizeof(r->peer));
	utf8_mend(peer);
	utf8_tame(peer);
	fprintf(f, "%s %s: %" PRIu64 " %s in %.3f s, ended by %s\n", heads[r->conf->role],
		*peer ? peer : "-", r->requests, unit, s, r->ended ? r->ended : "error");
	fprintf(f, "%.1f %s/s, %.3f MB/s, CPU %.1f %%", ratio((double)r->requests, s), unit,
		ratio((double)r->bytes / 1e6, s), 100 * ratio((double)r->cpu_ns / 1e9, s));
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
