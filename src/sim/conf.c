// SPDX-License-Identifier: GPL-2.0-or-later
// SIMULATOR: what may be simulated, and the host of `./dev demo`.
#include <errno.h>
#include <stdio.h>

#include "src/sim/model.h"

static bool within(int64_t v, int64_t min, int64_t max)
{
	return v >= min && v <= max;
}

static bool mtu_ok(uint32_t mtu)
{
	return within(mtu, 256, 4096) && !(mtu & (mtu - 1));
}

static bool app_ok(const struct sim_app *a, uint32_t link_mtu)
{
	if (!within(a->kind, SIM_APP_IDLE, SIM_APP_BURNER) || a->start_ns < 0 ||
	    (a->stop_ns && a->stop_ns <= a->start_ns))
		return false;
	if (!sim_task_has_ring(a))
		return true;
	if (a->kind == SIM_APP_SERVER && !within(a->compute_ns, 0, NS_PER_S))
		return false;
	return within(a->msg_bytes, 1, 16 << 20) && within(a->depth, 1, 1024) &&
	       mtu_ok(a->path_mtu) && a->path_mtu <= link_mtu && within(a->post_ns, 100, NS_PER_S);
}

static bool guest_ok(const struct sim_guest_conf *g, const struct sim_conf *c)
{
	bool ok = g->name[0] && within(g->vcpus, 1, 4096) && within(g->weight, 1, 65535) &&
		  g->link < c->links && g->apps <= SIM_APPS_MAX;

	for (uint32_t i = 0; ok && i < g->apps; i++)
		ok = app_ok(&g->app[i], c->link[g->link].mtu);
	return ok;
}

int sim_conf_check(const struct sim_conf *c)
{
	if (c->guests > SIM_GUESTS_MAX || !within(c->links, 1, SIM_LINKS_MAX) ||
	    !within(c->cap_period_ns, NS_PER_MS, NS_PER_S))
		return -EINVAL;
	for (uint32_t i = 0; i < c->links; i++)
		if (!within((int64_t)c->link[i].bytes_s, 1 << 20, 1LL << 40) ||
		    !mtu_ok(c->link[i].mtu))
			return -EINVAL;
	for (uint32_t i = 0; i < c->guests; i++)
		if (!guest_ok(&c->guest[i], c))
			return -EINVAL;
	return 0;
}

static struct sim_guest_conf *add_guest(struct sim_conf *c, const char *name)
{
	struct sim_guest_conf *g = &c->guest[c->guests++];

	snprintf(g->name, sizeof(g->name), "%s", name);
	g->vcpus = 1;
	g->weight = 256;
	g->apps = 1;
	return g;
}

/*
 * The paper's link (8 Gb/s after coding, taken as 2^30 bytes/s, MTU 1024) and
 * its pair of guests. Its undisturbed server answers in about 209 us (figure
 * 1). Of these, 61,036 ns are the link's for 64 KiB; 1,000 ns we take for
 * posting and reaping; the rest, 146,964 ns, is computing. What the server
 * suffers beside the sender follows from the model, not from a figure here.
 */
void sim_conf_demo(struct sim_conf *c)
{
	*c = (struct sim_conf){
		.links = 1,
		.link = { { .bytes_s = 1u << 30, .mtu = 1024 } },
		.cap_period_ns = 10 * NS_PER_MS,
		.seed = 1,
	};
	add_guest(c, "server")->app[0] = (struct sim_app){
		.kind = SIM_APP_SERVER,
		.msg_bytes = 64 << 10,
		.depth = 1,
		.path_mtu = 1024,
		.post_ns = 1000,
		.compute_ns = 146964,
	};
	add_guest(c, "bulk")->app[0] = (struct sim_app){
		.kind = SIM_APP_SENDER,
		.msg_bytes = 2 << 20,
		.depth = 1,
		.path_mtu = 1024,
		.post_ns = 1000,
	};
}
