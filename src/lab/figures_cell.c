// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * figures_cell: a cell of a figure as a scenario (resex-scenario(5)), and the result from its
 * summary. figures_run.c calls both around scenario_run(). Pure.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/lab/figures.h"

const uint32_t figures_depths[FIGURES_DEPTHS] = { 1, 2, 4, 16 };
const uint32_t figures_sizes[FIGURES_SIZES] = { 64, 128, 256, 512, 1024, 2048 };
const char *const figures_policy_names[FIGURES_POLICIES] = { "null", "freemarket", "ioshares" };

/* --- the scenario --- */

static json_t *server(const struct figures_cell *c, uint32_t i, double base_us, double base_io_us)
{
	json_t *app = json_pack("{s:s,s:s}", "kind", "server", "size", "64KiB");
	char name[20], base[32], io[32];
	json_t *guest;

	snprintf(name, sizeof(name), "server%u", i);
	if (c->variation)
		json_object_set_new(app, "variation", json_integer(c->variation));
	guest = json_pack("{s:s,s:[o]}", "name", name, "apps", app);
	/* Only one reports what it was promised, as in the paper. */
	if (i)
		return guest;
	snprintf(base, sizeof(base), "%.0fns", base_us * 1000);
	snprintf(io, sizeof(io), "%.0fns", base_io_us * 1000);
	json_object_set_new(guest, "sla",
			    json_pack("{s:i,s:s,s:s,s:s}", "tolerance", 50, "base", base, "base_io",
				      io, "base_deviation", "0ns"));
	return guest;
}

static json_t *neighbour(const struct figures_cell *c)
{
	bool sender = c->neighbour == FIGURES_SENDER;
	char size[16];
	json_t *app, *guest;

	snprintf(size, sizeof(size), "%uKiB", c->kib);
	app = json_pack("{s:s,s:s,s:i}", "kind", sender ? "sender" : "server", "size", size,
			"depth", (int)c->depth);
	if (!sender)
		json_object_set_new(app, "clients", json_integer(c->depth));
	if (!sender && c->variation)
		json_object_set_new(app, "variation", json_integer(c->variation));
	if (c->rate)
		json_object_set_new(app, "rate", json_integer(c->rate));
	guest = json_pack("{s:s,s:[o]}", "name", "neighbour", "apps", app);
	if (c->cap)
		json_object_set_new(guest, "cap", json_integer(c->cap));
	return guest;
}

static json_t *guests(const struct figures_cell *c, double base_us, double base_io_us)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < c->servers; i++)
		json_array_append_new(list, server(c, i, base_us, base_io_us));
	if (c->neighbour != FIGURES_NOBODY)
		json_array_append_new(list, neighbour(c));
	return list;
}

char *figures_scenario(const struct figures_cell *c, uint64_t seed, double base_us,
		       double base_io_us)
{
	char duration[16], step[16], *text;
	json_t *all;

	snprintf(duration, sizeof(duration), "%ums", c->duration_ms);
	snprintf(step, sizeof(step), "%ums", c->step_ms);
	all = json_pack("{s:s,s:s,s:I,s:b,s:s,s:[{s:s,s:s,s:i,s:s}],s:o}", "duration", duration,
			"series", step, "seed", (json_int_t)seed, "histogram", 1, "policy",
			figures_policy_names[c->policy], "links", "name", "ib0", "rate", "1GiB/s",
			"mtu", 1024, "profile", "paper-2011", "guests",
			guests(c, base_us, base_io_us));
	text = all ? json_dumps(all, JSON_COMPACT) : NULL;
	json_decref(all);
	return text;
}

/* --- the result --- */

static double number(const json_t *object, const char *key)
{
	const json_t *v = json_object_get(object, key);

	return json_is_number(v) ? json_number_value(v) : NAN;
}

static const json_t *application(const json_t *guest)
{
	return json_array_get(json_object_get(json_object_get(guest, "true"), "apps"), 0);
}

static void read_steps(const json_t *guest, const char *key, double none, uint32_t n, double *to)
{
	const json_t *list = json_object_get(json_object_get(guest, "series"), key);

	for (uint32_t i = 0; i < n; i++) {
		const json_t *v = json_array_get(list, i);

		to[i] = json_is_number(v) ? json_number_value(v) : none;
	}
}

static void read_histogram(const json_t *latency, double n, struct figures_result *r)
{
	const json_t *list = json_object_get(latency, "histogram");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *pair = json_array_get(list, i);
		double us = json_number_value(json_array_get(pair, 0));
		double bin = floor((us - FIGURES_BINS_FROM_US) / FIGURES_BIN_US);

		/* The first and the last one have what is beyond them, too. */
		bin = fmin(fmax(bin, 0), FIGURES_BINS - 1);
		r->share[(uint32_t)bin] += json_number_value(json_array_get(pair, 1)) * 100 / n;
	}
}

static void read_parts(const json_t *latency, struct figures_result *r)
{
	static const char *const keys[FIGURES_PARTS][2] = {
		{ "ctime_us", "ctime_deviation_us" },
		{ "wtime_us", "wtime_deviation_us" },
		{ "ptime_us", "ptime_deviation_us" },
	};

	for (int i = 0; i < FIGURES_PARTS; i++) {
		r->part[i] = number(latency, keys[i][0]);
		r->part_deviation[i] = number(latency, keys[i][1]);
	}
}

static void read_neighbour(const json_t *guest, double duration_s, struct figures_result *r)
{
	double lowest = number(json_object_get(guest, "cap"), "lowest");

	r->sent = number(json_object_get(guest, "true"), "bytes") / duration_s / 1e6;
	r->lowest = isnan(lowest) ? 100 : lowest;
	read_steps(guest, "cap", 100, r->steps, r->cap);
	read_steps(guest, "balance", NAN, r->steps, r->balance);
}

int figures_read(const json_t *summary, const struct figures_cell *c, struct figures_result *r)
{
	const json_t *list = json_object_get(summary, "guests"), *first = json_array_get(list, 0);
	const json_t *latency = json_object_get(application(first), "latency");
	double n = number(latency, "n");

	memset(r, 0, sizeof(*r));
	if (!(n > 0) ||
	    json_array_size(list) != c->servers + (c->neighbour != FIGURES_NOBODY ? 1 : 0))
		return -EINVAL;
	r->mean = number(latency, "mean_us");
	r->deviation = number(latency, "deviation_us");
	r->least = number(latency, "min_us");
	r->p99 = number(latency, "p99_us");
	r->steps = c->duration_ms / c->step_ms;
	if (r->steps > FIGURES_STEPS)
		r->steps = FIGURES_STEPS;
	r->lowest = 100;
	read_parts(latency, r);
	read_histogram(latency, n, r);
	read_steps(first, "true_latency_us", NAN, r->steps, r->latency);
	read_steps(first, "balance", NAN, r->steps, r->own);
	if (c->neighbour != FIGURES_NOBODY)
		read_neighbour(json_array_get(list, c->servers), c->duration_ms / 1e3, r);
	for (size_t i = 0; i < json_array_size(list); i++)
		r->changes += (uint32_t)number(json_object_get(json_array_get(list, i), "cap"),
					       "changes");
	r->done = true;
	return 0;
}
