// SPDX-License-Identifier: GPL-2.0-or-later
// SIMULATOR: servers: requests first come, first served, answered by SEND.
/*
 * Requests come as client.c says, and wait in a queue (the paper's BenchEx
 * serves them in the order they came). The server takes one when fewer than
 * `depth` replies are on their way, computes, posts the reply (msg_bytes) and
 * polls. One queue pair serves all clients. Unless the scenario says how
 * computing varies, it does so by +-0.5 %: then equal servers come to run in
 * antiphase, and never wait for each other. A request is measured from its
 * arrival to the moment its reply left:
 *
 *	arrived    noticed    computed    posted    sent = its client thinks
 *	   | PTime    |  CTime   |  PTime   |  WTime  |
 *
 * PTime is what polling and its consequences take: not being run when a
 * request comes, waiting behind others in the queue, posting. So it grows
 * with the number of clients, and with what the replies before it waited for
 * the link, as in the paper's figure 2. The server reports a latency when it
 * notices that the reply has left.
 */
#include "src/sim/model.h"

enum { JITTER_PARTS = 200 };

static int64_t compute_time(struct sim_task *t)
{
	int64_t spread = t->conf->compute_ns / JITTER_PARTS;

	if (t->conf->vary.permille)
		return sim_draw(&t->dom->rand, &t->conf->vary, t->conf->compute_ns);
	if (!spread)
		return t->conf->compute_ns;
	return t->conf->compute_ns - spread +
	       (int64_t)sim_rand_below(&t->dom->rand, (uint64_t)(2 * spread + 1));
}

static bool does_report(const struct sim_task *t, int64_t now)
{
	int64_t stop = t->conf->report_stop_ns;

	return !stop || now < t->dom->host->start + stop;
}

/* Count replies that have left, and report their latencies. */
static void reap(struct sim_task *t, int64_t now)
{
	struct sim_server *s = &t->server;

	for (; s->reaped < t->qp->completed; s->reaped++)
		if (does_report(t, now))
			sim_agent_latency(t, &s->reply[s->reaped % SIM_APP_CLIENTS_MAX]);
}

static void server_poll(struct sim_task *t, int64_t now)
{
	struct sim_server *s = &t->server;

	reap(t, now);
	/* The server polls on; a reply that leaves, or a request, is noticed then. */
	if (!s->waiting || t->outstanding >= t->conf->depth)
		return;
	s->work = (struct sim_request){ .arrived = s->arrived[s->first], .noticed = now };
	s->first = (s->first + 1) % SIM_REQUESTS_MAX;
	s->waiting--;
	sim_task_work(t, SIM_TASK_COMPUTE, compute_time(t), now);
}

/*
 * Each reply that has not left belongs to another client, as does each request
 * that was answered after this one began: reply[] is large enough.
 */
static void server_post(struct sim_task *t, int64_t now)
{
	t->server.work.posted = now;
	t->server.reply[t->qp->posted % SIM_APP_CLIENTS_MAX] = t->server.work;
	sim_task_post(t, t->qp, now);
}

static double square(int64_t ns)
{
	return (double)ns * (double)ns;
}

static void record_latency(const struct sim_task *t, const struct sim_request *r)
{
	const struct sim_host *h = t->dom->host;
	struct sim_app_truth *tr = t->truth;

	tr->ctime_ns += (uint64_t)(r->computed - r->noticed);
	tr->wtime_ns += (uint64_t)(r->sent - r->posted);
	tr->ptime_ns += (uint64_t)(r->noticed - r->arrived + r->posted - r->computed);
	tr->ctime_sq += square(r->computed - r->noticed);
	tr->wtime_sq += square(r->sent - r->posted);
	tr->ptime_sq += square(r->noticed - r->arrived + r->posted - r->computed);
	tr->latency_last_ns = (uint64_t)(r->sent - r->arrived);
	window_add(&tr->latency, tr->latency_last_ns);
	if (h->seen_fn)
		h->seen_fn(h->seen_arg, t->dom->guest, (uint32_t)(t - t->dom->task),
			   tr->latency_last_ns);
}

/* A reply has left: its client thinks, then sends its next request. */
static void server_completed(struct sim_task *t, const struct sim_qp *qp, int64_t now)
{
	struct sim_request *r = &t->server.reply[(qp->completed - 1) % SIM_APP_CLIENTS_MAX];

	r->sent = now;
	record_latency(t, r);
	sim_client_think(t, now);
}

static void server_end(struct sim_task *t, int64_t now)
{
	(void)now;
	sim_client_end(t);
}

const struct sim_app_ops sim_server_ops = {
	.begin = sim_client_begin,
	.poll = server_poll,
	.post = server_post,
	.completed = server_completed,
	.come = sim_client_come,
	.end = server_end,
};
