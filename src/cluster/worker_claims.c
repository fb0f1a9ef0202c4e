// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * worker_claims: what a guest that is a node says of itself, on its agent's load page, beside what
 * the hypervisor counted. worker_guests.c calls it for each sample.
 *
 *	copy of the page -> load/claim.h -> load/agree.h -> one of the two records is published
 *
 * The guest's record is, while the guest is believed: new figures come, and its CPU time agreed
 * with the hypervisor's. Else the hypervisor's is, and says so if the guest disagrees.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "src/cluster/cluster_priv.h"

/* Of one sample of the hypervisor's, r: what the guest says at that time is compared with it. */
static void compare(struct worker *w, struct guest_node *g, const struct load_record *r)
{
	const struct load_record *said = &g->claim.record;
	struct load_used u = { .at = { r->sampled_ns },
			       .used_ns = load_cpu_ns(said),
			       .steal_ns = said->steal_ns,
			       .cpu_ns = r->busy_ns,
			       .wait_ns = r->wait_ns,
			       .wait_known = !(r->flags & LOAD_NO_WAIT),
			       .late_ns = g->claim.late_ns,
			       .cpus = said->cpus };

	load_agree_add(&g->agree, &u, w->conf->load.period_ns);
	load_window_add(&g->said_window, said, w->conf->load.window_ns);
}

/*
 * The guest has no load page. A guest that disagreed goes on to disagree: when it has a page again,
 * it must agree in LOAD_AGREE_GOOD windows. Otherwise it could withdraw its page to be believed
 * sooner.
 */
static void forget(struct guest_node *g)
{
	load_claim_forget(&g->claim);
	g->agree = (struct load_agree){ .disagrees = g->agree.disagrees };
	g->said_window = (struct load_window){ .base = { .beat = 0 } };
	g->page_rc = 0;
}

/* Its agent is silent: what it says later must be proven again. */
static void note_silence(struct worker *w, struct guest_node *g, struct mono at)
{
	if (at.ns - g->claim.record.sampled_ns <= w->conf->load.stale_ns / 2)
		return;
	g->agree.began = g->agree.proven = false;
}

/* True: the guest says something new. */
static bool take(struct worker *w, struct guest_node *g, const struct guest_load *of,
		 const struct load_record *r)
{
	struct mono at = { r->sampled_ns };
	uint32_t source = g->claim.record.source;

	if (!of->claims) {
		forget(g);
		return false;
	}
	g->page_rc = load_claim_take(&g->claim, &of->page, of->vcpus, at);
	/* Also when it has none any more: its times begin anew, and must be proven again. */
	if (source != g->claim.record.source)
		g->agree.began = g->agree.proven = false;
	if (g->page_rc == 1)
		compare(w, g, r);
	else if (g->page_rc == -EPROTO || g->page_rc == -ERANGE || g->page_rc == -ESTALE)
		load_agree_fault(&g->agree);
	note_silence(w, g, at);
	return g->page_rc == 1;
}

/* Once, until it agrees again. */
static void tell_lie(struct worker *w, const struct guest_node *g, struct mono now, int64_t wall_ns)
{
	char text[128];

	snprintf(text, sizeof(text),
		 "the load of guest %.40s disagrees with the hypervisor: see "
		 "resex load-list --all-sources",
		 g->name);
	notices_alarm(&w->notices, (uint16_t)w->conf->host[w->conf->self].number, text, now,
		      wall_ns);
}

bool worker_claim(struct worker *w, struct guest_node *g, const struct guest_load *of,
		  struct load_record *r, struct mono now, int64_t wall_ns)
{
	bool disagreed = g->agree.disagrees, is_new;

	g->hv = *r;
	load_window_add(&g->hv_window, r, w->conf->load.window_ns);
	is_new = take(w, g, of, r);
	if (g->agree.disagrees && !disagreed)
		tell_lie(w, g, now, wall_ns);
	g->believed = load_agree_believed(&g->agree); /* then there is a record, too */
	if (!g->believed) {
		if (g->agree.disagrees && of->claims)
			r->flags |= LOAD_DISAGREES;
		return true;
	}
	if (is_new) {
		uint64_t beat = r->beat;

		*r = g->claim.record;
		r->node = g->series.node;
		r->beat = beat;
		if (w->simulated)
			r->flags |= LOAD_SIMULATED;
	}
	return is_new;
}

void worker_end_claim(struct guest_node *g)
{
	forget(g);
	g->agree.disagrees = false;
	g->claim.looked.ns = 0;
	g->believed = false;
	g->hv = (struct load_record){ .beat = 0 };
	g->hv_window = (struct load_window){ .base = { .beat = 0 } };
}

/* --- for control ------------------------------------------------------------------------ */

static void put_source(struct cluster_source *s, const struct load_record *r,
		       const struct load_window *window)
{
	s->load = *r;
	s->index = r->beat ? load_window_index(window) : -EAGAIN;
}

void worker_pass_sources(struct worker *w)
{
	struct source_copies *c = &w->x->sources;
	struct cluster_sources *to = c->copy[c->at.back];

	if (!w->guest_nodes)
		return;
	for (uint32_t i = 0; i < w->guest_nodes; i++) {
		const struct guest_node *g = &w->guest_node[i];
		struct cluster_sources *s = &to[g->series.node];

		put_source(&s->hv, &g->hv, &g->hv_window);
		put_source(&s->agent, &g->claim.record, &g->said_window);
		s->believed = g->believed;
		s->why = g->page_rc < 0 ? load_claim_text(g->page_rc) : NULL;
		s->agree = g->agree;
	}
	spsc_latest_put(&c->at);
}
