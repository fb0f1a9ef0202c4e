// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sim: a run is the same whenever its seed is the same, down to the last byte
 * of the guests' memory, however time is cut into steps and whoever looks on.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "resex/guest_abi.h"
#include "tests/unit/sim_rig.h"
#include "tests/unit/unit.h"

enum { EVENTS = 30, END_MS = 400, FRAMES_MAX = 4096 };

struct event {
	int64_t when;
	int what; /* 0 .. 4: cap, cap off, destroy, reboot, create */
	uint32_t guest, percent;
};

struct script {
	struct sim_conf conf;
	struct event event[EVENTS];
};

static void random_app(struct prop *r, struct sim_app *a)
{
	*a = (struct sim_app){
		.kind = (enum sim_app_kind)prop_range(r, SIM_APP_IDLE, SIM_APP_BURNER),
		.op = (enum sample_op)prop_range(r, OP_SEND, OP_READ),
		.qps = (uint32_t)prop_range(r, 1, 1u << prop_range(r, 0, 6)),
		.msg_bytes = (uint32_t)prop_range(r, 1, 1u << prop_range(r, 10, 22)),
		.depth = (uint32_t)prop_range(r, 1, 1u << prop_range(r, 0, 7)),
		.path_mtu = 256u << prop_range(r, 0, 4),
		.rate = prop_one_in(r, 2) ? 0 : prop_range(r, 1, 50000),
		.burst = (uint32_t)prop_range(r, 1, 100),
		.post_ns = (int64_t)prop_range(r, 1000, 20000),
		.compute_ns = (int64_t)prop_range(r, 0, 300000),
		.clients = (uint32_t)prop_range(r, 1, 1u << prop_range(r, 0, 6)),
		.report = (uint32_t)prop_range(r, 0, 3000),
		.report_stop_ns = prop_one_in(r, 3) ? (int64_t)prop_range(r, 1, 400) * MS : 0,
		.start_ns = (int64_t)prop_range(r, 0, 3) * 30 * MS,
		.stop_ns = prop_one_in(r, 3) ? (int64_t)prop_range(r, 100, 400) * MS : 0,
	};
}

static void random_guest(struct prop *r, struct sim_conf *c, uint32_t i)
{
	struct sim_guest_conf *g = &c->guest[i];

	snprintf(g->name, sizeof(g->name), "g%u", i);
	g->vcpus = (uint32_t)prop_range(r, 1, 4);
	g->weight = 256;
	g->cap = prop_one_in(r, 3) ? (uint32_t)prop_range(r, 1, 100) : 0;
	g->link = (uint32_t)prop_range(r, 0, c->links - 1);
	g->blind = prop_one_in(r, 8);
	g->later = prop_one_in(r, 5);
	g->apps = (uint32_t)prop_range(r, 0, SIM_APPS_MAX);
	for (uint32_t k = 0; k < g->apps; k++)
		random_app(r, &g->app[k]);
}

static int by_time(const void *a, const void *b)
{
	const struct event *x = (const struct event *)a, *y = (const struct event *)b;

	return (x->when > y->when) - (x->when < y->when);
}

static void random_script(struct prop *r, struct script *s)
{
	struct sim_conf *c = &s->conf;

	memset(s, 0, sizeof(*s));
	c->seed = prop_u64(r);
	c->cap_period_ns = 10 * MS;
	c->sched = prop_one_in(r, 3) ? SIM_CREDIT : SIM_CREDIT2;
	c->links = (uint32_t)prop_range(r, 1, 3);
	for (uint32_t i = 0; i < c->links; i++)
		c->link[i] = (struct sim_link_conf){ prop_range(r, 1 << 26, 1ull << 33), 4096 };
	c->guests = (uint32_t)prop_range(r, 1, 6);
	for (uint32_t i = 0; i < c->guests; i++)
		random_guest(r, c, i);
	for (int i = 0; i < EVENTS; i++)
		s->event[i] = (struct event){
			.when = (int64_t)prop_range(r, 0, END_MS * 1000) * NS_PER_US,
			.what = prop_one_in(r, 3) ? (int)prop_range(r, 1, 4) : 0,
			.guest = (uint32_t)prop_range(r, 0, c->guests - 1),
			.percent = (uint32_t)prop_range(r, 1, 100),
		};
	qsort(s->event, EVENTS, sizeof(s->event[0]), by_time);
}

/* What is impossible just then (a guest that is not there) is refused in each run alike. */
static void happen(struct sim_host *h, const struct event *e)
{
	if (e->what <= 1)
		(void)sim_hyp_set_cap(h, sim_domid(h, e->guest), SIM_CAP_ANY,
				      e->what ? 0 : e->percent, NULL);
	else if (e->what == 2)
		(void)sim_destroy(h, e->guest);
	else if (e->what == 3)
		(void)sim_reboot(h, e->guest);
	else
		(void)sim_create(h, e->guest);
}

enum pace { BY_EVENTS, BY_MS, AT_RANDOM };

/* Let time pass up to `to`, as the pace has it. */
static void pass(struct sim_host *h, struct prop *r, enum pace pace, int64_t *now, int64_t to)
{
	while (*now < to) {
		int64_t step = to;

		if (pace == BY_MS)
			step = *now / MS * MS + MS;
		else if (pace == AT_RANDOM)
			step = *now + (int64_t)prop_range(r, 1, 1u << prop_range(r, 1, 24));
		*now = step < to ? step : to;
		run_to(h, *now);
		if (pace == AT_RANDOM && prop_one_in(r, 4))
			(void)truth(h, 0); /* looking changes nothing */
	}
}

static struct sim_host *play(const struct script *s, struct prop *r, enum pace pace)
{
	struct sim_host *h = host_open(&s->conf);
	int64_t now = 0;

	for (int i = 0; i < EVENTS; i++) {
		pass(h, r, pace, &now, s->event[i].when);
		happen(h, &s->event[i]);
	}
	pass(h, r, pace, &now, END_MS * MS + 1);
	return h;
}

static bool truths_same(struct sim_host *a, struct sim_host *b, const struct sim_conf *c)
{
	for (uint32_t g = 0; g < c->guests; g++) {
		struct sim_truth x = truth(a, g), y = truth(b, g);

		if (memcmp(&x, &y, sizeof(x)) || sim_domid(a, g) != sim_domid(b, g))
			return false;
		for (uint32_t k = 0; k < c->guest[g].apps; k++) {
			struct sim_app_truth p = app_truth(a, g, k), q = app_truth(b, g, k);

			if (memcmp(&p, &q, sizeof(p)))
				return false;
		}
	}
	return true;
}

/* The first so many pages of a guest's memory; how many, or 0 when it is not there. */
static size_t map_all(struct sim_host *h, uint32_t guest, void **addr, uint32_t *owner)
{
	static uint64_t frame[FRAMES_MAX];
	size_t n = FRAMES_MAX;
	int rc;

	for (size_t i = 0; i < n; i++)
		frame[i] = i;
	rc = sim_hyp_map(h, sim_domid(h, guest), n, frame, addr, &n, owner);
	if (rc == -EINVAL) /* n is the first that is none */
		rc = sim_hyp_map(h, sim_domid(h, guest), n, frame, addr, NULL, owner);
	return rc ? 0 : n;
}

static bool memories_same(struct sim_host *a, struct sim_host *b, const struct sim_conf *c)
{
	bool same = true;

	for (uint32_t g = 0; g < c->guests; g++) {
		void *x = NULL, *y = NULL;
		uint32_t ox = 0, oy = 0;
		size_t n = map_all(a, g, &x, &ox), m = map_all(b, g, &y, &oy);

		same = same && n == m && ox == oy && (!n || !memcmp(x, y, n * GUEST_PAGE));
		if (n)
			sim_hyp_unmap(a, ox, x, n);
		if (m)
			sim_hyp_unmap(b, oy, y, m);
	}
	return same;
}

TEST(run__of_one_script__is_the_same_at_any_pace)
{
	struct script s;
	uint64_t wrs = 0;
	struct prop r;

	prop_start(&r);
	for (uint32_t round = 0; round < 25; round++) {
		struct sim_host *h[4];

		random_script(&r, &s);
		assert_int_equal(sim_conf_check(&s.conf, NULL), 0);
		h[0] = play(&s, &r, BY_EVENTS);
		h[1] = play(&s, &r, BY_EVENTS);
		h[2] = play(&s, &r, BY_MS);
		h[3] = play(&s, &r, AT_RANDOM);
		for (int i = 1; i < 4; i++) {
			prop_assert(&r, round, truths_same(h[0], h[i], &s.conf));
			prop_assert(&r, round, memories_same(h[0], h[i], &s.conf));
		}
		for (uint32_t g = 0; g < s.conf.guests; g++)
			wrs += truth(h[0], g).wrs;
		for (int i = 0; i < 4; i++)
			sim_close(h[i]);
	}
	assert_true(wrs > 10000);
}

TEST(run__of_another_seed__is_another)
{
	struct sim_conf c;
	struct sim_host *h[2];

	sim_conf_demo(&c);
	for (int i = 0; i < 2; i++) {
		c.seed = 7 + (uint64_t)i;
		h[i] = host_open(&c);
		run_to(h[i], 100 * MS);
	}
	assert_false(truths_same(h[0], h[1], &c));
	assert_false(memories_same(h[0], h[1], &c));
	sim_close(h[0]);
	sim_close(h[1]);
}

/* Each way of a link gives no more than it has, nor do VCPUs. */
static bool conserved(struct sim_host *h, const struct sim_conf *c, int64_t now)
{
	uint64_t moved[SIM_LINKS_MAX][2] = { { 0 } };

	for (uint32_t g = 0; g < c->guests; g++) {
		struct sim_truth t = truth(h, g);

		moved[c->guest[g].link][0] += t.bytes - t.bytes_recv;
		moved[c->guest[g].link][1] += t.bytes_recv;
		if (t.cpu_ns > c->guest[g].vcpus * (uint64_t)now)
			return false;
	}
	for (uint32_t i = 0; i < c->links * 2; i++)
		if ((unsigned __int128)moved[i / 2][i % 2] * (uint64_t)S >
		    (unsigned __int128)c->link[i / 2].bytes_s * (uint64_t)now)
			return false;
	return true;
}

TEST(any_host__gives_no_more_than_it_has)
{
	struct script s;
	struct prop r;

	prop_start(&r);
	for (uint32_t round = 0; round < 40; round++) {
		struct sim_host *h;

		random_script(&r, &s);
		h = host_open(&s.conf);
		for (int64_t now = 10 * MS; now <= END_MS * MS; now += 10 * MS) {
			run_to(h, now);
			prop_assert(&r, round, conserved(h, &s.conf, now));
		}
		sim_close(h);
	}
}
