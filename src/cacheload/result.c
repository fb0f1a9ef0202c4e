// SPDX-License-Identifier: GPL-2.0-or-later
/* result: what a run or a check gave, as text for people, or as one line of JSON. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>

#include "src/cacheload/load.h"

static json_t *whole(uint64_t v)
{
	return json_integer(v > INT64_MAX ? INT64_MAX : (json_int_t)v);
}

static double per_second(uint64_t n, uint64_t ns)
{
	return ns ? (double)n * 1e9 / (double)ns : 0;
}

static json_t *latency(const struct hist *h)
{
	static const struct {
		const char *name;
		uint32_t permille;
	} quantiles[] = {
		{ "p50_us", 500 }, { "p90_us", 900 }, { "p99_us", 990 }, { "p999_us", 999 }
	};
	json_t *o = json_pack("{s:I, s:f}", "n", (json_int_t)h->n, "mean_us",
			      (double)hist_mean(h) / 1e3);

	for (size_t i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++)
		json_object_set_new(
			o, quantiles[i].name,
			json_real((double)hist_quantile(h, quantiles[i].permille) / 1e3));
	json_object_set_new(o, "max_us", json_real((double)h->max / 1e3));
	return o;
}

static json_t *counts(const struct load_result *r)
{
	json_t *o = json_object();
	const struct {
		const char *name;
		uint64_t n;
	} rows[] = {
		{ "replies", r->replies },
		{ "hits", r->hits },
		{ "misses", r->misses },
		{ "errors", r->errors },
		{ "updates", r->done },
		{ "updates_begun", r->begun },
		{ "updates_undone", r->not_done },
		{ "updates_unknown", r->unknown },
		{ "checked", r->checked },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		json_object_set_new(o, rows[i].name, whole(rows[i].n));
	for (int i = 0; i < HISTORY_RULES; i++)
		json_object_set_new(o, history_rule_names[i], whole(r->broken[i]));
	json_object_set_new(o, "first", *r->first ? json_string(r->first) : json_null());
	return o;
}

static json_t *result_json(const struct load_options *o, const struct load_result *r)
{
	json_t *all = counts(r);

	if (o->check)
		return all;
	json_object_set_new(all, "error", *r->error ? json_string(r->error) : json_null());
	json_object_set_new(all, "end_read", json_boolean(r->ended_known));
	json_object_set_new(all, "trace", whole(o->trace));
	json_object_set_new(all, "seed", whole(o->seed));
	json_object_set_new(all, "pages", whole(r->pages));
	json_object_set_new(all, "readers", whole(o->readers));
	json_object_set_new(all, "updaters", whole(o->updaters));
	json_object_set_new(all, "seconds", json_real((double)r->elapsed_ns / 1e9));
	json_object_set_new(all, "cpu_seconds", json_real((double)r->cpu_ns / 1e9));
	json_object_set_new(all, "tps", json_real(per_second(r->replies, r->elapsed_ns)));
	json_object_set_new(all, "updates_s", json_real(per_second(r->done, r->elapsed_ns)));
	json_object_set_new(all, "latency",
			    json_pack("{s:o, s:o, s:o}", "hit", latency(&r->hit), "miss",
				      latency(&r->miss), "update", latency(&r->update)));
	return all;
}

static int print_json(FILE *to, const struct load_options *o, const struct load_result *r)
{
	json_t *all = result_json(o, r);
	int rc = all ? json_dumpf(all, to, JSON_REAL_PRECISION(9)) : -1;

	json_decref(all);
	putc('\n', to);
	return rc ? -ENOMEM : 0;
}

static void print_latency(FILE *to, const char *name, const struct hist *h)
{
	if (h->n)
		fprintf(to, "%-8s %10" PRIu64 "  mean %9.1f us  p50 %9.1f  p99 %9.1f  max %9.1f\n",
			name, h->n, (double)hist_mean(h) / 1e3, (double)hist_quantile(h, 500) / 1e3,
			(double)hist_quantile(h, 990) / 1e3, (double)h->max / 1e3);
}

static void print_text(FILE *to, const struct load_options *o, const struct load_result *r)
{
	fprintf(to, "replies  %10" PRIu64 "  hits %" PRIu64 ", errors %" PRIu64 "\n", r->replies,
		r->hits, r->errors);
	fprintf(to,
		"updates  %10" PRIu64 "  begun %" PRIu64 ", without effect %" PRIu64
		", end unknown %" PRIu64 "\n",
		r->done, r->begun, r->not_done, r->unknown);
	if (!o->check) {
		fprintf(to, "seconds  %10.1f  %.0f replies/s, %.0f updates/s, CPU %.1f s\n",
			(double)r->elapsed_ns / 1e9, per_second(r->replies, r->elapsed_ns),
			per_second(r->done, r->elapsed_ns), (double)r->cpu_ns / 1e9);
		print_latency(to, "hit", &r->hit);
		print_latency(to, "miss", &r->miss);
		print_latency(to, "update", &r->update);
		if (*r->error)
			fprintf(to, "first error: %s\n", r->error);
		if (!r->ended_known)
			fputs("the state at the end could not be read: not checked\n", to);
	}
	if (*r->first)
		fprintf(to, "first wrong reply: %s\n", r->first);
	for (int i = 0; i < HISTORY_RULES; i++)
		fprintf(to, "%s%" PRIu64 " %s", i ? ", " : "", r->broken[i], history_rule_names[i]);
	fprintf(to, " of %" PRIu64 "\n", r->checked);
}

int load_print(FILE *to, const struct load_options *o, const struct load_result *r)
{
	int rc = 0;

	if (o->json)
		rc = print_json(to, o, r);
	else
		print_text(to, o, r);
	if (!rc && (fflush(to) || ferror(to)))
		rc = errno ? -errno : -EIO;
	return rc;
}
