// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * load_accuracy: figure 4 of the paper on a SIMULATED node: what is believed of its load, and the
 * truth. All sources sample the same node at once; a front-end for each reads them (load_read.h)
 * and makes indexes (load/index.h). load_figures.c prints it.
 */
#include <errno.h>
#include <stdlib.h>

#include "src/lab/load.h"
#include "src/load/index.h"

enum { SOURCES = 3 };

static const enum load_source sources[SOURCES] = { LOAD_ULM, LOAD_KLM, LOAD_HV };

struct reader {
	struct load_window window[SOURCES];
	struct load_read *read;
	struct load_accuracy *out;
	int64_t window_ns, from_ns;
	uint64_t error[LOAD_SOURCES];
};

static uint32_t choose(void *arg, const struct web *w, uint32_t frontend, uint32_t site,
		       int64_t now)
{
	(void)arg;
	(void)w;
	(void)frontend;
	(void)site;
	(void)now;
	return 0;
}

static void loaded(void *arg, uint32_t frontend, uint32_t node, const struct load_record *r,
		   int64_t found_ns)
{
	struct reader *a = arg;

	(void)node;
	(void)found_ns;
	load_window_add(&a->window[frontend], r, a->window_ns);
}

static void begin(void *arg, struct web *w)
{
	load_read_begin(((struct reader *)arg)->read, w);
}

static void sampled(void *arg, uint32_t node, const struct load_record *r)
{
	load_read_sampled(((struct reader *)arg)->read, node, r);
}

static void timer(void *arg, struct web *w, uint32_t what, uint32_t of, int64_t now)
{
	load_read_timer(((struct reader *)arg)->read, w, what, of, now);
}

static void interval(void *arg, const uint64_t *part, int64_t now)
{
	struct reader *a = arg;
	struct load_accuracy *out = a->out;

	(void)now;
	if (out->points == LOAD_POINTS_MAX)
		return;
	out->truth[out->points] = (uint32_t)part[0];
	for (uint32_t i = 0; i < SOURCES; i++) {
		int index = load_window_index(&a->window[i]);
		uint32_t shown = index > 0 ? (uint32_t)index : 0, truth = (uint32_t)part[0];

		out->shown[sources[i]][out->points] = shown;
		a->error[sources[i]] += shown > truth ? shown - truth : truth - shown;
	}
	out->points++;
}

/* 10 and 50 ms are of section 5.1 of the paper, which does not say how long the process runs. */
static void set_node(struct web_conf *web)
{
	static const struct web_arrival none = { 0, 1 };

	web->arrival = &none;
	web->arrivals = 1;
	web->nodes = web->loaded_nodes = web->burners = 1;
	web->frontends = SOURCES;
	web->run_ns = 130 * NS_PER_MS;
	web->sleep_ns = 170 * NS_PER_MS;
	web->interval_ns = 10 * NS_PER_MS;
	web->warmup_ns = NS_PER_S;
	web->duration_ns = LOAD_POINTS_MAX * web->interval_ns + 1;
	web->sample_ns[LOAD_ULM] = 50 * NS_PER_MS;
}

int load_accuracy(const struct load_plan *p, struct load_accuracy *out)
{
	struct reader a = { .out = out };
	struct web_conf web = p->web;
	struct web_ops ops = { .arg = &a,
			       .choose = choose,
			       .begin = begin,
			       .sampled = sampled,
			       .timer = timer,
			       .interval = interval };
	struct load_read_conf c = { .nodes = 1,
				    .frontends = SOURCES,
				    .sources = SOURCES,
				    .source = { LOAD_ULM, LOAD_KLM, LOAD_HV },
				    .read_ns = p->read_ns,
				    .write_ns = p->write_ns,
				    .seed = p->web.seed,
				    .arg = &a,
				    .loaded = loaded };
	struct web_result *res = calloc(1, sizeof(*res));
	int rc = res ? 0 : -ENOMEM;

	*out = (struct load_accuracy){ .points = 0 };
	set_node(&web);
	web.sample_ns[LOAD_KLM] = web.sample_ns[LOAD_HV] = p->tick_ns;
	c.scan_ns = web.interval_ns;
	a.window_ns = c.scan_ns / 2;
	if (!rc)
		rc = load_read_open(&a.read, &c);
	if (!rc)
		rc = web_run(&web, &ops, res);
	for (uint32_t i = 0; !rc && i < LOAD_SOURCES; i++)
		out->error[i] = (uint32_t)(a.error[i] / (out->points ? out->points : 1));
	load_read_close(a.read);
	free(res);
	return rc;
}
