// SPDX-License-Identifier: GPL-2.0-or-later
// SIMULATOR: the host of `./dev demo`.
#include <stdio.h>

#include "src/sim/sim.h"

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
		.clients = 1,
		.report = 1000,
	};
	add_guest(c, "bulk")->app[0] = (struct sim_app){
		.kind = SIM_APP_SENDER,
		.op = OP_WRITE,
		.qps = 1,
		.msg_bytes = 2 << 20,
		.depth = 1,
		.path_mtu = 1024,
		.post_ns = 1000,
	};
}
