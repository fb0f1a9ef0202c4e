// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sim/link: what it computes at once, against a link that sends every packet.
 *
 * The link is linked alone: what it calls when a message is through is the test's own.
 */
#include <string.h>

#include "src/sim/model.h"
#include "tests/unit/prop.h"
#include "tests/unit/unit.h"

enum { QPS_MAX = 6, POSTS_MAX = 120, RING_SLOTS = 256 };

struct done {
	uint32_t qp;
	int64_t when;
};

struct post {
	uint32_t qp;
	int64_t when;
};

struct traffic {
	uint64_t bytes_s;
	uint32_t qps, posts;
	uint32_t msg_bytes[QPS_MAX], mtu[QPS_MAX];
	struct post post[POSTS_MAX];
};

/* The bench: one link, its queue pairs, and what was completed when. */
struct bench {
	struct sim_timers timers;
	struct sim_link link;
	struct sim_mem mem;
	struct sim_rand rand;
	struct sim_qp qp[QPS_MAX];
	struct bench_log {
		uint32_t n;
		struct done done[POSTS_MAX];
	} log;
};

/* The link knows tasks only by this call. */
static void note_done(struct sim_qp *qp, int64_t now)
{
	struct bench *b = (struct bench *)(void *)qp->task;

	b->log.done[b->log.n++] = (struct done){ (uint32_t)(qp - b->qp), now };
}

static struct bench *bench_open(const struct traffic *p)
{
	struct bench *b = calloc(1, sizeof(*b));
	uint32_t frames = sim_ring_frames(RING_SLOTS);

	assert_non_null(b);
	assert_int_equal(sim_mem_open(&b->mem, 1 + QPS_MAX * frames, &b->rand), 0);
	sim_link_init(&b->link, &b->timers, p->bytes_s);
	for (uint32_t i = 0; i < p->qps; i++) {
		struct sim_qp *qp = &b->qp[i];

		qp->task = (struct sim_task *)(void *)b;
		qp->wr = (struct sim_ring_wr){ SIM_RDMA_WRITE, p->msg_bytes[i] };
		qp->mtu = p->mtu[i];
		qp->done = note_done;
		qp->ring = (struct sim_ring){ .mem = &b->mem,
					      .frame = sim_mem_take(&b->mem, frames),
					      .frames = frames,
					      .slots = RING_SLOTS };
		sim_ring_init(&qp->ring);
	}
	return b;
}

static void bench_close(struct bench *b)
{
	sim_mem_close(&b->mem);
	free(b);
}

static void run_until(struct bench *b, int64_t now)
{
	struct sim_timer *t;

	while ((t = sim_timer_due(&b->timers, now)))
		t->fire(t->arg, t->when);
}

static void run_traffic(struct bench *b, const struct traffic *p)
{
	for (uint32_t i = 0; i < p->posts; i++) {
		run_until(b, p->post[i].when);
		sim_link_post(&b->link, &b->qp[p->post[i].qp], p->post[i].when);
	}
	run_until(b, INT64_MAX / 4);
}

/*
 * The same, packet by packet: a queue of queue pairs, the first one sends a
 * packet and goes to the end if it has more. Written from the rule, not from
 * link.c; no arithmetic over rounds.
 */
struct naive {
	const struct traffic *p;
	uint32_t next; /* post */
	uint32_t n, turn[QPS_MAX], pending[QPS_MAX], left[QPS_MAX];
	int64_t busy_since;
	unsigned __int128 sent;
	struct bench_log log;
};

static void naive_post(struct naive *v)
{
	const struct post *post = &v->p->post[v->next++];

	if (v->pending[post->qp]++)
		return;
	if (!v->n) {
		v->busy_since = post->when;
		v->sent = 0;
	}
	v->left[post->qp] = v->p->msg_bytes[post->qp];
	v->turn[v->n++] = post->qp;
}

static int64_t naive_end(const struct naive *v)
{
	uint32_t qp = v->turn[0], mtu = v->p->mtu[qp];
	unsigned __int128 bytes = v->sent + (v->left[qp] < mtu ? v->left[qp] : mtu);

	return v->busy_since +
	       (int64_t)((bytes * (uint64_t)NS_PER_S + v->p->bytes_s - 1) / v->p->bytes_s);
}

static void naive_packet(struct naive *v, int64_t end)
{
	uint32_t qp = v->turn[0], mtu = v->p->mtu[qp];
	uint32_t bytes = v->left[qp] < mtu ? v->left[qp] : mtu;

	v->sent += bytes;
	v->left[qp] -= bytes;
	memmove(v->turn, v->turn + 1, --v->n * sizeof(v->turn[0]));
	if (!v->left[qp]) {
		v->log.done[v->log.n++] = (struct done){ qp, end };
		if (!--v->pending[qp])
			return;
		v->left[qp] = v->p->msg_bytes[qp];
	}
	v->turn[v->n++] = qp;
}

static void naive_run(struct naive *v)
{
	while (v->n || v->next < v->p->posts) {
		int64_t end = v->n ? naive_end(v) : INT64_MAX;

		if (v->next < v->p->posts && v->p->post[v->next].when < end)
			naive_post(v);
		else
			naive_packet(v, end);
	}
}

static void random_traffic(struct prop *r, struct traffic *p)
{
	int64_t now = 0;

	memset(p, 0, sizeof(*p));
	p->bytes_s = prop_range(r, 1 << 20, 1ull << prop_range(r, 21, 40));
	p->qps = (uint32_t)prop_range(r, 1, QPS_MAX);
	p->posts = (uint32_t)prop_range(r, 1, POSTS_MAX);
	for (uint32_t i = 0; i < p->qps; i++) {
		p->mtu[i] = 256u << prop_range(r, 0, 4);
		p->msg_bytes[i] = (uint32_t)prop_range(r, 1, 1u << prop_range(r, 1, 18));
	}
	for (uint32_t i = 0; i < p->posts; i++) {
		uint32_t qp = (uint32_t)prop_range(r, 0, p->qps - 1);
		/* about as fast as the link can send, so that it is idle now and then */
		uint64_t gap = 2000000000u / (p->bytes_s / p->msg_bytes[qp] + 1) + 1;

		now += prop_one_in(r, 3) ? 0 : (int64_t)prop_range(r, 0, gap);
		p->post[i] = (struct post){ qp, now };
	}
}

TEST(messages__posted_at_random__end_as_packet_by_packet)
{
	struct prop r;

	prop_start(&r);
	for (uint32_t round = 0; round < 300; round++) {
		struct naive v = { 0 };
		struct bench *b;
		struct traffic p;

		random_traffic(&r, &p);
		b = bench_open(&p);
		run_traffic(b, &p);
		v.p = &p;
		naive_run(&v);

		prop_assert(&r, round, b->log.n == p.posts);
		prop_assert(&r, round, v.log.n == p.posts);
		for (uint32_t i = 0; i < p.posts; i++) {
			prop_assert(&r, round, b->log.done[i].qp == v.log.done[i].qp);
			prop_assert(&r, round, b->log.done[i].when == v.log.done[i].when);
		}
		bench_close(b);
	}
}

TEST(message__alone__takes_its_bytes_over_the_rate)
{
	struct traffic p = { .bytes_s = 1u << 30, .qps = 1, .posts = 2 };
	struct bench *b;

	p.msg_bytes[0] = 65536;
	p.mtu[0] = 1024;
	p.post[1].when = NS_PER_S;
	b = bench_open(&p);
	run_traffic(b, &p);
	assert_int_equal(b->log.n, 2);
	assert_int_equal(b->log.done[0].when, 61036); /* 61035.16, rounded up */
	assert_int_equal(b->log.done[1].when, NS_PER_S + 61036);
	bench_close(b);
}

TEST(short_message__beside_a_long_one__waits_a_packet_for_each_of_its_own)
{
	struct traffic p = { .bytes_s = 1000000000, .qps = 2, .posts = 2 };
	struct bench *b;

	p.msg_bytes[0] = 1024000;
	p.msg_bytes[1] = 10240;
	p.mtu[0] = p.mtu[1] = 1024;
	p.post[1] = (struct post){ .qp = 1, .when = 100 }; /* within the first packet */
	b = bench_open(&p);
	run_traffic(b, &p);
	assert_int_equal(b->log.done[0].qp, 1);
	assert_int_equal(b->log.done[0].when, 2 * 10240);
	assert_int_equal(b->log.done[1].when, 1024000 + 10240);
	bench_close(b);
}

TEST(removed_queue_pair__sends_no_more)
{
	struct traffic p = { .bytes_s = 1000000000, .qps = 2, .posts = 2 };
	struct bench *b;

	p.msg_bytes[0] = p.msg_bytes[1] = 102400;
	p.mtu[0] = p.mtu[1] = 1024;
	p.post[1].qp = 1;
	b = bench_open(&p);
	sim_link_post(&b->link, &b->qp[0], 0);
	sim_link_post(&b->link, &b->qp[1], 0);
	run_until(b, 20480);
	sim_link_remove(&b->link, &b->qp[0], 20480);
	run_until(b, NS_PER_S);
	assert_int_equal(b->log.n, 1);
	assert_int_equal(b->log.done[0].qp, 1);
	assert_int_equal(b->log.done[0].when, 102400 + 10240);
	bench_close(b);
}
