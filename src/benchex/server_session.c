// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * server_session: what a server knows of its peers, below connections and requests.
 *
 * A session begins with the first connection of a process on the other side and
 * ends with its last one: the session's result is printed then.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/benchex/server.h"

/* The total keeps the queue pairs of so many connections: it cannot grow without end. */
enum { TOTAL_QPS_MAX = 32768 };

/*
 * Completions of a connection that is gone may still be in the queue: their generation is
 * another.
 */
struct client_conn *server_conn(struct server *s, uint32_t conn, uint32_t gen)
{
	struct client_conn *c = conn < s->conns ? &s->conn[conn] : NULL;

	return c && c->used && c->gen == gen ? c : NULL;
}

/* Only marks: the caller may be in a loop over completions that still name the connection. */
void server_drop(struct server *s, struct client_conn *c, const char *why)
{
	if (c->parting)
		return;
	if (why) {
		bx_say("%s was disconnected: %s", c->conn.peer, why);
		c->session->ended = "error";
	}
	c->parting = bx_now(&s->net);
	s->untidy = true;
}

int server_cq(const struct bx_hello *h)
{
	return h->role == BX_BULK ? SERVER_CQ_BULK : SERVER_CQ_CLIENTS;
}

/* Ids are chosen by peers: the same id from another address or device is another session. */
static struct session *find_session(struct server *s, const struct bx_hello *h,
				    const struct bx_conn *c)
{
	for (int i = 0; i < SERVER_SESSIONS_MAX; i++) {
		struct session *x = &s->session[i];

		if (x->used && x->id == h->session && x->role == h->role && x->dev == c->dev &&
		    !strcmp(x->peer, c->peer))
			return x;
	}
	return NULL;
}

/*
 * The buffer that bulk writes and reads, in a protection domain of its own. One buffer for
 * all connections of a session: what bulk writes is never read.
 */
static int bulk_memory(struct server *s, struct session *x, const struct bx_hello *h)
{
	size_t len = ((size_t)h->size_max + 4095) & ~(size_t)4095;

	if (s->memory + len > BX_MEMORY_MAX)
		return -ENOSPC;
	x->pd = ibv_alloc_pd(x->dev->verbs);
	if (!x->pd)
		return -errno;
	s->memory += len;
	return bx_memory_get(&x->buffer, x->pd, len, IBV_ACCESS_LOCAL_WRITE | SERVER_BULK_RIGHTS);
}

static void free_session(struct server *s, struct session *x)
{
	s->memory -= x->buffer.len;
	bx_memory_put(&x->buffer);
	if (x->pd)
		ibv_dealloc_pd(x->pd);
	if (x->result)
		free(x->result->qp);
	free(x->result);
	memset(x, 0, sizeof(*x));
}

static int make_session(struct server *s, struct session **out, const struct bx_hello *h,
			const struct bx_conn *c)
{
	struct session *x = s->session;
	int ret = 0;

	while (x < s->session + SERVER_SESSIONS_MAX && x->used)
		x++;
	if (x == s->session + SERVER_SESSIONS_MAX)
		return -ENOSPC;
	*x = (struct session){ .used = true,
			       .role = h->role,
			       .id = h->session,
			       .dev = c->dev,
			       .cpu_began = bx_cpu_ns() };
	memcpy(x->peer, c->peer, sizeof(x->peer));
	if (h->role == BX_BULK) {
		ret = bulk_memory(s, x, h);
	} else {
		x->result = calloc(1, sizeof(*x->result));
		if (x->result)
			x->result->qp = calloc(h->conns, sizeof(*x->result->qp));
		if (!x->result || !x->result->qp)
			ret = -ENOMEM;
	}
	if (ret)
		free_session(s, x);
	else
		*out = x;
	return ret;
}

/* Later connections must agree with the first: its hello sized all that was allocated. */
enum bx_refusal server_session_join(struct server *s, struct client_conn *c)
{
	struct session *x = find_session(s, &c->hello, &c->conn);
	const struct bx_hello *h = &c->hello;

	if (!x && make_session(s, &x, h, &c->conn))
		return BX_FULL;
	if (x->seen && (x->seen >= x->conns || h->conns != x->conns))
		return BX_MALFORMED;
	if (h->role == BX_BULK && h->size_max > x->buffer.len)
		return BX_MALFORMED;
	x->conns = h->conns;
	x->seen++;
	x->live++;
	c->session = x;
	return BX_WELCOME;
}

/*
 * Latencies and counts are in the total already, from each answer: only the queue pairs are
 * added here.
 */
static void add_to_total(struct server *s, const struct bx_result *r)
{
	struct bx_result *total = s->total;
	struct bx_qp *qp = NULL;

	if (total->qps + r->qps <= TOTAL_QPS_MAX)
		qp = reallocarray(total->qp, total->qps + r->qps, sizeof(*qp));
	if (!qp)
		return; /* the session's own result has them */
	memcpy(qp + total->qps, r->qp, r->qps * sizeof(*qp));
	total->qp = qp;
	total->qps += r->qps;
}

static void say_bulk_left(const struct server *s, const struct session *x)
{
	bx_say("bulk from %s left (%s): %u queue pairs, %" PRIu64 " messages that took a receive",
	       x->peer,
	       x->ended	      ? x->ended
	       : s->net.ended ? s->net.ended
			      : "peer",
	       x->seen, x->messages);
}

/*
 * Print a client's result and add it to the total, or say that bulk has left. Flushed at
 * once: a reader of a pipe sees each client's result when it leaves.
 */
static void session_end(struct server *s, struct session *x)
{
	struct bx_result *r = x->result;

	if (!r) { /* only clients have one */
		say_bulk_left(s, x);
		return;
	}
	r->conf = s->conf;
	memcpy(r->peer, x->peer, sizeof(r->peer));
	r->ended = x->ended ? x->ended : s->net.ended ? s->net.ended : "peer";
	r->elapsed_ns = x->last > x->first ? (uint64_t)(x->last - x->first) : 0;
	r->cpu_ns = bx_cpu_ns() - x->cpu_began;
	if (bx_result_print(stdout, r))
		bx_net_stop(&s->net, "error");
	fflush(stdout);
	add_to_total(s, r);
	s->client_left = true;
}

void server_session_leave(struct server *s, struct client_conn *c)
{
	struct session *x = c->session;

	if (!x)
		return;
	if (x->result && c->welcome) {
		/* The queue has grown with later connections. */
		c->conn.truth.cq_entries = (uint32_t)c->conn.dev->cq[server_cq(&c->hello)]->cqe;
		x->result->qp[x->result->qps++] = c->conn.truth;
	}
	c->session = NULL;
	if (--x->live > 0)
		return;
	if (x->welcome)
		session_end(s, x);
	free_session(s, x);
}
