// SPDX-License-Identifier: GPL-2.0-or-later
// SIMULATOR: checks a struct sim_conf before a host is made of it.
/*
 * Each check returns true when all is valid. The first that fails writes the
 * name of the field and its valid range into *e.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "src/sim/model.h"

/* Far beyond any run, far from an overflow: 11 days. */
#define TIME_MAX (1000000 * NS_PER_S)

static bool refuse_field(struct sim_conf_error *e, const char *field, const char *range)
{
	snprintf(e->field, sizeof(e->field), "%s", field);
	snprintf(e->range, sizeof(e->range), "%s", range);
	return false;
}

static bool within(struct sim_conf_error *e, const char *field, int64_t v, int64_t min, int64_t max)
{
	char range[sizeof(e->range)];

	if (v >= min && v <= max)
		return true;
	snprintf(range, sizeof(range), "%lld .. %lld", (long long)min, (long long)max);
	return refuse_field(e, field, range);
}

static bool at_most(struct sim_conf_error *e, const char *field, uint64_t v, uint64_t max)
{
	return within(e, field, v > INT64_MAX ? INT64_MAX : (int64_t)v, 0, (int64_t)max);
}

static bool mtu_ok(struct sim_conf_error *e, const char *field, uint32_t mtu, uint32_t max)
{
	char range[sizeof(e->range)];

	if (mtu >= 256 && mtu <= max && !(mtu & (mtu - 1)))
		return true;
	snprintf(range, sizeof(range), "256, 512, 1024, 2048 or 4096; at most %u", max);
	return refuse_field(e, field, range);
}

static bool name_ok(struct sim_conf_error *e, const char *name, bool may_be_empty)
{
	if (!memchr(name, '\0', FLOW_NAME_MAX) || (!*name && !may_be_empty))
		return refuse_field(e, "name",
				    may_be_empty ? "at most 63 characters" : "1 .. 63 characters");
	return true;
}

static bool vary_ok(struct sim_conf_error *e, const char *field, const struct sim_vary *v)
{
	if (v->how == SIM_VARY_UNIFORM)
		return within(e, field, v->permille, 0, 577);
	if (v->permille > 10000 || (v->permille && v->permille < 100))
		return refuse_field(e, field, "0, or 100 .. 10000");
	return true;
}

static bool sender_ok(struct sim_conf_error *e, const struct sim_app *a)
{
	if (a->op != OP_SEND && a->op != OP_WRITE && a->op != OP_READ)
		return refuse_field(e, "op", "SEND, WRITE or READ");
	return within(e, "qps", a->qps, 1, SIM_APP_QPS_MAX) &&
	       at_most(e, "rate", a->rate, 10000000) &&
	       (!a->rate || within(e, "burst", a->burst, 1, 1024));
}

static bool server_ok(struct sim_conf_error *e, const struct sim_app *a)
{
	return within(e, "compute_ns", a->compute_ns, 0, NS_PER_S) &&
	       vary_ok(e, "vary", &a->vary) && at_most(e, "rate", a->rate, 10000000) &&
	       within(e, "think_ns", a->think_ns, 0, 1000 * NS_PER_S) &&
	       vary_ok(e, "think_vary", &a->think_vary) &&
	       within(e, "clients", a->clients, 1, SIM_APP_CLIENTS_MAX) &&
	       at_most(e, "report", a->report, 1000000) &&
	       within(e, "report_stop_ns", a->report_stop_ns, 0, TIME_MAX);
}

static bool spells_ok(struct sim_conf_error *e, const struct sim_app *a)
{
	return within(e, "quiet_ns", a->quiet_ns, 0, 1000 * NS_PER_S) &&
	       within(e, "busy_ns", a->busy_ns, a->quiet_ns ? 1000 : 0, 1000 * NS_PER_S);
}

static bool app_ok(struct sim_conf_error *e, const struct sim_app *a, uint32_t link_mtu)
{
	if (a->kind != SIM_APP_IDLE && a->kind != SIM_APP_SENDER && a->kind != SIM_APP_SERVER &&
	    a->kind != SIM_APP_BURNER)
		return refuse_field(e, "kind", "idle, sender, server or burner");
	if (!name_ok(e, a->name, true) || !within(e, "start_ns", a->start_ns, 0, TIME_MAX) ||
	    !within(e, "stop_ns", a->stop_ns, 0, TIME_MAX))
		return false;
	if (a->stop_ns && a->stop_ns <= a->start_ns)
		return refuse_field(e, "stop_ns", "0 (never), or more than start_ns");
	if (a->kind != SIM_APP_SENDER && a->kind != SIM_APP_SERVER)
		return true;
	return within(e, "msg_bytes", a->msg_bytes, 1, 16 << 20) &&
	       within(e, "depth", a->depth, 1, 1024) &&
	       mtu_ok(e, "path_mtu", a->path_mtu, link_mtu) &&
	       within(e, "post_ns", a->post_ns, 100, NS_PER_S) && spells_ok(e, a) &&
	       (a->kind == SIM_APP_SENDER ? sender_ok(e, a) : server_ok(e, a));
}

static bool guest_ok(struct sim_conf_error *e, const struct sim_guest_conf *g,
		     const struct sim_conf *c)
{
	if (!name_ok(e, g->name, false) || !within(e, "vcpus", g->vcpus, 1, 4096) ||
	    !within(e, "weight", g->weight, 1, 65535) ||
	    !within(e, "cap", g->cap, 0, 100 * (int64_t)g->vcpus) ||
	    !within(e, "link", g->link, 0, (int64_t)c->links - 1) ||
	    !within(e, "apps", g->apps, 0, SIM_APPS_MAX))
		return false;
	for (uint32_t i = 0; i < g->apps; i++) {
		e->app = (int)i;
		if (!app_ok(e, &g->app[i], c->link[g->link].mtu))
			return false;
	}
	e->app = -1;
	if (sim_agent_frames(g) > GUEST_FRAME_PAGES_MAX * GUEST_FRAMES_PER_PAGE)
		return refuse_field(e, "depth", "less: the rings of a guest hold at most 128 MiB");
	return true;
}

static bool host_ok(struct sim_conf_error *e, const struct sim_conf *c)
{
	if (!within(e, "guests", c->guests, 0, SIM_GUESTS_MAX) ||
	    !within(e, "links", c->links, 1, SIM_LINKS_MAX) ||
	    !within(e, "cap_period_ns", c->cap_period_ns, NS_PER_MS, NS_PER_S))
		return false;
	if (c->sched != SIM_CREDIT2 && c->sched != SIM_CREDIT)
		return refuse_field(e, "sched", "credit2 or credit");
	if (!c->swap)
		return true;
	if (c->swapped[0] >= c->guests || c->swapped[1] >= c->guests ||
	    c->swapped[0] == c->swapped[1])
		return refuse_field(e, "swapped", "two different guests");
	return true;
}

static bool link_ok(struct sim_conf_error *e, const struct sim_link_conf *l)
{
	return within(e, "bytes_s", l->bytes_s > INT64_MAX ? INT64_MAX : (int64_t)l->bytes_s,
		      1 << 20, 1LL << 40) &&
	       mtu_ok(e, "mtu", l->mtu, 4096);
}

static bool conf_ok(struct sim_conf_error *e, const struct sim_conf *c)
{
	if (!host_ok(e, c))
		return false;
	for (uint32_t i = 0; i < c->links; i++) {
		e->link = (int)i;
		if (!link_ok(e, &c->link[i]))
			return false;
	}
	e->link = -1;
	for (uint32_t i = 0; i < c->guests; i++) {
		e->guest = (int)i;
		if (!guest_ok(e, &c->guest[i], c))
			return false;
	}
	return true;
}

int sim_conf_check(const struct sim_conf *c, struct sim_conf_error *e)
{
	struct sim_conf_error found = { .guest = -1, .app = -1, .link = -1 };

	if (conf_ok(&found, c))
		return 0;
	if (e)
		*e = found;
	return -EINVAL;
}
