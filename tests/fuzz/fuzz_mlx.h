/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_mlx: what fuzz_mlx4.c and fuzz_mlx5.c have in common: the shape of the guest, its program,
 * and what every sample must tell. Each includes it after its own constants:
 *
 *	PROVIDER	enum guest_ring_provider
 *	SQ_RECORD	whether a send queue has a doorbell record
 *	OP_LOCAL_X	an operation that sends nothing
 */
#ifndef RESEX_TESTS_FUZZ_MLX_H
#define RESEX_TESTS_FUZZ_MLX_H

#include <errno.h>

#include "ibmon/ring/ops.h"
#include "ibmon/ring/ring.h"
#include "ibmon/ring/ring_priv.h"
#include "resex/guest_abi.h"
#include "tests/fuzz/fuzz.h"

enum {
	UNIT = 64, /* a chunk of mlx4, a block of mlx5 */
	SEGMENT = 16,
	OP_SEND_X = 0x0a,
	OP_WRITE_X = 0x08,
	OP_READ_X = 0x10,
	OP_FADD_X = 0x12,
	QPN = 0x1234,
	POSTS = 4096,
};

enum op { POST, EXECUTE, POLL, SAMPLE, SAMPLE_SQ, WRITE_SQ, WRITE_CQ, SET_DB, RESET, FILL, OPS };

struct shape {
	uint8_t sq;	 /* the size of the send queue: of each layout */
	uint8_t cq;	 /* log2 of its entries, as 1 + cq % 6 */
	uint8_t mtu;	 /* 256 << mtu % 6; 5: not known */
	uint8_t type;	 /* enum guest_qp_type % 8, one more than there are */
	uint8_t more;	 /* enum more */
	uint8_t offset;	 /* in units, in the first page */
	uint8_t db;	 /* of the doorbell record, in its page, in 8 bytes */
	uint8_t missing; /* pages fewer than needed, % 4 */
};

/* Bits of shape.more. BLANK: of mlx4. */
enum more { LONG_CQES = 1, NO_PEERS = 2, RESUMED = 4, SURELY = 8, SKIPPED = 16, BLANK = 32 };

struct queue {
	struct ring_desc d;
	uint8_t *mem, *base; /* base: of the ring */
	size_t len;
	struct ring *r;
	struct ring_quiet quiet; /* what a scan would watch */
};

/* What a sample is to find, in all. */
struct truth {
	uint64_t wrs, sent, recv, bytes_sent, bytes_recv;
};

/* A request. */
struct wqe_truth {
	uint8_t op, units, signalled;
	uint32_t bytes;
	uint64_t at; /* its first unit */
};

struct guest {
	struct shape s;
	struct queue sq, cq;
	struct ring_peers *peers;
	bool honest, linked;
	uint32_t spare;		   /* units that are kept unused */
	uint64_t posted, executed; /* units, free-running */
	uint64_t freed;		   /* executed, and a completion says so: their place is free */
	uint64_t sampled;	   /* posted at the last sample */
	uint64_t produced, polled; /* completions */
	uint64_t wqes, done, told; /* requests; told: up to the newest that a completion is of */
	uint64_t heard;		   /* told, when the completion queue was sampled last */
	uint64_t seen;		   /* that, or more that were charged when they were posted */
	struct wqe_truth wqe[POSTS];
	struct truth want;
	uint64_t wanted; /* requests in want */
};

/* --- what each layout has ------------------------------------------------------------- */

static void make_guest(struct guest *g, struct bytes *in);
/*
 * Build the request *w, with what else it has from in and the rest of its first byte; set its bytes
 * and units. False: there is no room.
 */
static bool build(struct guest *g, struct bytes *in, struct wqe_truth *w, uint32_t more);
/* It is posted. */
static void ring_doorbell(struct guest *g);
/* The next completion: of a success of this operation, or an error. */
static void put_done(struct guest *g, uint8_t op);
static void put_failed(struct guest *g);
/* What was overwritten by what was posted since. */
static void note_overwritten(struct guest *g);
static void set_db(struct guest *g, struct bytes *in);
static void reset(struct guest *g);

/* --- queues --------------------------------------------------------------------------- */

static uint32_t *db(struct queue *q)
{
	return (uint32_t *)(q->mem + (size_t)q->d.frames * GUEST_PAGE + q->d.db_offset);
}

static void make_queue(struct guest *g, struct queue *q, uint32_t kind, uint32_t elem, uint32_t n)
{
	size_t need;

	q->d = (struct ring_desc){ .id = kind,
				   .kind = kind,
				   .provider = PROVIDER,
				   .number = QPN,
				   .elem_size = elem,
				   .entries = n,
				   .qp_type = g->s.type % 8,
				   .offset = g->s.offset % 64u * UNIT,
				   .db_offset = g->s.db % 64u * 8,
				   .path_mtu = g->s.mtu % 6 == 5 ? 0 : 256u << g->s.mtu % 6 };
	need = q->d.offset + (size_t)elem * n;
	q->d.frames = (uint32_t)((need + GUEST_PAGE - 1) / GUEST_PAGE);
	if (q->d.frames > g->s.missing % 4u)
		q->d.frames -= g->s.missing % 4u;
	q->len = ((size_t)q->d.frames + (kind == RING_CQ || SQ_RECORD)) * GUEST_PAGE;
	q->mem = aligned_alloc(GUEST_PAGE, q->len); /* exactly: reading on is seen */
	if (!q->mem)
		abort();
	memset(q->mem, 0, q->len);
	q->base = q->mem + q->d.offset;
}

static void put(struct queue *q, size_t at, const void *v, size_t n)
{
	if ((size_t)(q->base - q->mem) + at + n <= (size_t)q->d.frames * GUEST_PAGE)
		memcpy(q->base + at, v, n);
}

static void put32(struct queue *q, size_t at, uint32_t v)
{
	v = htobe32(v);
	put(q, at % ((size_t)q->d.entries * q->d.elem_size), &v, sizeof(v));
}

/* --- an honest guest ------------------------------------------------------------------ */

static bool is_honest_shape(const struct guest *g)
{
	return g->s.missing % 4u == 0 && g->sq.d.path_mtu && g->sq.d.qp_type <= GUEST_QP_UD &&
	       g->sq.d.qp_type != GUEST_QP_UNKNOWN;
}

static void post(struct guest *g, struct bytes *in)
{
	static const uint8_t opcodes[] = { OP_SEND_X, OP_WRITE_X, OP_READ_X, OP_FADD_X,
					   OP_LOCAL_X };
	uint32_t b = take8(in);
	struct wqe_truth w = { .op = opcodes[b % 5], .signalled = b / 5 % 4 != 0, .at = g->posted };

	if (!build(g, in, &w, b / 20))
		return;
	g->wqe[g->wqes++ % POSTS] = w;
	g->posted += w.units;
	ring_doorbell(g);
}

static void execute(struct guest *g, uint32_t n)
{
	while (n-- && g->done < g->wqes) {
		const struct wqe_truth *w = &g->wqe[g->done % POSTS];

		if (w->signalled && g->produced - g->polled >= g->cq.d.entries)
			return;
		if (w->signalled)
			put_done(g, w->op);
		g->executed += w->units;
		g->done++;
		if (w->signalled) {
			g->told = g->done;
			g->freed = g->executed;
		}
	}
}

static void poll_some(struct guest *g, uint32_t n)
{
	if (n > g->produced - g->polled)
		n = (uint32_t)(g->produced - g->polled);
	g->polled += n;
	db(&g->cq)[0] = htobe32((uint32_t)g->polled & 0xffffff);
}

/* --- samples --------------------------------------------------------------------------- */

static void want(struct guest *g, uint64_t upto)
{
	for (; g->wanted < upto; g->wanted++) {
		const struct wqe_truth *w = &g->wqe[g->wanted % POSTS];
		uint64_t mtu = g->sq.d.path_mtu;
		uint64_t mtus = w->bytes ? (w->bytes + mtu - 1) / mtu : 1;

		g->want.wrs++;
		if (w->op == OP_LOCAL_X)
			continue;
		if (g->sq.d.qp_type == GUEST_QP_UD || w->op == OP_FADD_X)
			mtus = 1;
		*(w->op == OP_READ_X ? &g->want.recv : &g->want.sent) += mtus;
		*(w->op == OP_READ_X ? &g->want.bytes_recv : &g->want.bytes_sent) += w->bytes;
	}
}

/* What holds of every sample, whatever the guest did. */
static void check_sample(const struct queue *q, const struct sample *s)
{
	uint64_t ops = 0;

	FUZZ_REQUIRE(s->ring == q->d.id);
	FUZZ_REQUIRE(s->wrs == s->seen + s->lost);
	FUZZ_REQUIRE(s->seen <= 2 * (uint64_t)q->d.entries); /* read now, and noted when posted */
	FUZZ_REQUIRE(s->lost <= 1u << 24);
	FUZZ_REQUIRE(s->errors <= s->seen);
	FUZZ_REQUIRE(s->lost || !s->bytes_bound);
	FUZZ_REQUIRE(!s->lost || (s->flags & SAMPLE_LAPPED));
	FUZZ_REQUIRE(s->backlog <= q->d.entries);
	for (int i = 0; i < OP_KINDS; i++)
		ops += s->ops[i];
	FUZZ_REQUIRE(ops == s->seen || q->d.kind == RING_CQ);
}

static void check_truth(struct guest *g)
{
	struct ring_totals t;

	ring_totals(g->sq.r, &t);
	FUZZ_REQUIRE(t.wrs == g->want.wrs);
	FUZZ_REQUIRE(t.lost == 0 && t.errors == 0);
	FUZZ_REQUIRE(t.mtus_sent == g->want.sent && t.mtus_recv == g->want.recv);
	FUZZ_REQUIRE(t.bytes_sent == g->want.bytes_sent && t.bytes_recv == g->want.bytes_recv);
	FUZZ_REQUIRE(!(t.flags & ~(uint32_t)SAMPLE_HISTORY));
}

/* The ring is withdrawn, and comes back in the same memory. */
static void resume(struct guest *g, struct queue *q)
{
	int rc;

	if (ring_counted_here(q->r, q->mem, q->len))
		ring_set_bounded(q->r);
	rc = ring_resume(q->r, &q->d, q->mem, q->len, 1000, g->s.more & SURELY);
	FUZZ_REQUIRE(rc == 0 || rc == 1 || rc == -EAGAIN);
	FUZZ_REQUIRE(rc != 1 || (q->d.kind == RING_SQ && !ring_fault(q->r)));
	q->quiet = (struct ring_quiet){ { NULL }, { 0 }, 0 };
}

static void sample(struct guest *g, struct queue *q, int64_t elapsed_ns)
{
	bool quiet = ring_is_quiet(&q->quiet);
	struct sample s;
	int rc;

	ring_prefetch_check(q->r);
	ring_prefetch_own(q->r);
	ring_prefetch_work(q->r, false);
	ring_prefetch_work(q->r, true);
	memset(&s, 0x5a, sizeof(s));
	rc = ring_sample_among(q->r, g->peers, elapsed_ns, &s);
	ring_watch(q->r, &q->quiet);
	FUZZ_REQUIRE(rc == 0 || rc == -EBADMSG);
	FUZZ_REQUIRE((rc == 0) == (ring_fault(q->r) == RING_OK));
	FUZZ_REQUIRE(!rc || !g->honest);
	if (rc)
		return;
	check_sample(q, &s);
	if (g->honest && quiet) /* the sample was not needed */
		FUZZ_REQUIRE(!(s.wrs | s.backlog));
	if (g->honest && q->d.kind == RING_SQ)
		FUZZ_REQUIRE(s.backlog == g->wqes - (g->linked ? g->seen : g->wqes));
	if (g->s.more & RESUMED)
		resume(g, q);
}

static void sample_cq(struct guest *g, int64_t elapsed_ns)
{
	sample(g, &g->cq, elapsed_ns);
	if (g->told > g->heard && g->peers) {
		g->linked = true;
		g->heard = g->told;
		if (g->seen < g->told)
			g->seen = g->told;
	}
}

static void sample_sq(struct guest *g, int64_t elapsed_ns)
{
	if (g->posted - g->sampled + g->spare > g->sq.d.entries)
		g->honest = false; /* it was lapped, or stamped */
	/* What was charged when it was posted stays charged. */
	if (g->seen < g->wanted)
		g->seen = g->wanted;
	note_overwritten(g);
	sample(g, &g->sq, elapsed_ns);
	g->sampled = g->posted;
	if (g->honest)
		want(g, g->linked ? g->seen : g->wqes);
	if (g->honest && !(g->s.more & RESUMED))
		check_truth(g);
}

static void scribble(struct guest *g, enum op op, struct bytes *in)
{
	struct queue *q = op == WRITE_CQ ? &g->cq : &g->sq;

	g->honest = false;
	switch (op) {
	case WRITE_SQ:
	case WRITE_CQ:
		put32(q, take16(in) * 4u, take32(in));
		break;
	case SET_DB:
		set_db(g, in);
		break;
	case RESET:
		reset(g);
		g->posted = g->executed = g->freed = g->wqes = g->done = g->told = 0;
		put_failed(g);
		break;
	default:
		memset(g->sq.base, take8(in), (size_t)take16(in) % (g->sq.len - g->sq.d.offset));
		break;
	}
}

static void run(struct guest *g, struct bytes *in)
{
	for (int i = 0; i < 2048 && in->left; i++) {
		uint8_t b = take8(in);
		enum op op = b % OPS;

		if (op == POST)
			post(g, in);
		else if (op == EXECUTE)
			execute(g, b / OPS + 1u);
		else if (op == POLL)
			poll_some(g, b / OPS + 1u);
		else if (op == SAMPLE)
			sample_cq(g, g->honest ? 1 : take32(in));
		else if (op > SAMPLE_SQ)
			scribble(g, op, in);
		if (op == SAMPLE || op == SAMPLE_SQ)
			sample_sq(g, g->honest ? 1 : take32(in));
	}
	sample_cq(g, 1);
	sample_sq(g, 1);
}

static int open_queue(struct queue *q)
{
	int rc = ring_open(&q->r, &q->d, q->mem, q->len);

	FUZZ_REQUIRE(rc == 0 || rc == -EPROTONOSUPPORT || rc == -EBADMSG);
	FUZZ_REQUIRE((rc == 0) == (q->r != NULL));
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes in = { data, size };
	struct guest *g = malloc(sizeof(*g));

	if (!g)
		abort();
	make_guest(g, &in);
	if (!open_queue(&g->sq) && !open_queue(&g->cq)) {
		if (!(g->s.more & NO_PEERS))
			g->peers = ring_peers_new(&g->sq.r, 1);
		if (g->s.more & SKIPPED) {
			ring_skip_history(g->sq.r);
			g->honest = false;
		}
		sample_cq(g, 1);
		sample_sq(g, 1);
		run(g, &in);
	}
	if (g->sq.r)
		ring_close(g->sq.r);
	if (g->cq.r)
		ring_close(g->cq.r);
	free(g->peers);
	free(g->sq.mem);
	free(g->cq.mem);
	free(g);
	return 0;
}

#endif
