// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fuzz_mlx4: an mlx4 send queue and its completion queue in a hostile guest's memory, changed
 * between samples.
 *
 * Input: 8 bytes (struct shape), then a program for the guest, one operation a byte with its
 * arguments behind it (enum op). As long as the guest only posts, as libmlx4 does, and its adapter
 * completes, its truth is known, and every sample must tell it; once it has written anything else,
 * only the promises of the headers hold.
 */
#include <endian.h>
#include <errno.h>

#include "ibmon/ring/ops.h"
#include "ibmon/ring/ring.h"
#include "ibmon/ring/ring_priv.h"
#include "resex/guest_abi.h"
#include "tests/fuzz/fuzz.h"

/* The layout, from libmlx4's mlx4dv.h. */
enum {
	CHUNK = 64,
	SEGMENT = 16,
	OP_SEND_4 = 0x0a,
	OP_WRITE_4 = 0x08,
	OP_READ_4 = 0x10,
	OP_FADD_4 = 0x12,
	OP_BIND_4 = 0x18,
	CQE_IS_SEND = 0x40,
	CQE_ERROR = 0x1e,
	QPN = 0x1234,
	POSTS = 4096,
};

enum op { POST, EXECUTE, POLL, SAMPLE, SAMPLE_SQ, WRITE_SQ, WRITE_CQ, SET_DB, RESET, FILL, OPS };

struct shape {
	uint8_t sq;	 /* log2 of its slots, as 1 + sq % 8; and of their chunks, sq / 8 % 4 */
	uint8_t cq;	 /* log2 of its entries, as 1 + cq % 6 */
	uint8_t mtu;	 /* 256 << mtu % 6; 5: not known */
	uint8_t type;	 /* enum guest_qp_type % 8, one more than there are */
	uint8_t more;	 /* enum more */
	uint8_t offset;	 /* in chunks, in the first page */
	uint8_t db;	 /* of the doorbell record, in its page, in 8 bytes */
	uint8_t missing; /* pages fewer than needed, % 4 */
};

/* Bits of shape.more. */
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

struct guest {
	struct shape s;
	struct queue sq, cq;
	struct ring_peers *peers;
	bool honest, linked;
	uint32_t spare;		   /* slots that are kept unused */
	uint64_t posted, executed; /* requests, free-running */
	uint64_t sampled;	   /* posted at the last sample */
	uint64_t produced, polled; /* completions */
	uint64_t told;		   /* up to the newest request that a completion is of */
	uint64_t heard;		   /* told, when the completion queue was sampled last */
	uint64_t seen;		   /* that, or more that were charged when they were posted */
	struct wqe_truth {
		uint8_t op, signalled;
		uint32_t bytes;
	} wqe[POSTS];
	struct truth want;
	uint64_t wanted; /* requests in want */
};

static uint32_t *db(struct queue *q)
{
	return (uint32_t *)(q->mem + (size_t)q->d.frames * GUEST_PAGE + q->d.db_offset);
}

static void make_queue(struct guest *g, struct queue *q, uint32_t kind, uint32_t elem, uint32_t n)
{
	size_t need;

	q->d = (struct ring_desc){ .id = kind,
				   .kind = kind,
				   .provider = GUEST_PROVIDER_MLX4,
				   .number = QPN,
				   .elem_size = elem,
				   .entries = n,
				   .qp_type = g->s.type % 8,
				   .offset = g->s.offset % 64u * CHUNK,
				   .db_offset = g->s.db % 64u * 8,
				   .path_mtu = g->s.mtu % 6 == 5 ? 0 : 256u << g->s.mtu % 6 };
	need = q->d.offset + (size_t)elem * n;
	q->d.frames = (uint32_t)((need + GUEST_PAGE - 1) / GUEST_PAGE);
	if (q->d.frames > g->s.missing % 4u)
		q->d.frames -= g->s.missing % 4u;
	q->len = ((size_t)q->d.frames + (kind == RING_CQ)) * GUEST_PAGE;
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

static size_t slot(const struct guest *g, uint64_t at)
{
	return (size_t)(at & (g->sq.d.entries - 1)) * g->sq.d.elem_size;
}

static void make_ready(struct guest *g)
{
	for (uint32_t i = 0; i < g->sq.d.entries; i++) {
		put32(&g->sq, slot(g, i), 0x80000000u);
		put32(&g->sq, slot(g, i) + 4, g->sq.d.elem_size / SEGMENT);
	}
}

static void make_guest(struct guest *g, struct bytes *in)
{
	memset(g, 0, sizeof(*g));
	take(in, &g->s, sizeof(g->s));
	make_queue(g, &g->sq, RING_SQ, CHUNK << g->s.sq / 8 % 4, 2u << g->s.sq % 8);
	make_queue(g, &g->cq, RING_CQ, g->s.more & LONG_CQES ? 64 : 32, 2u << g->s.cq % 6);
	for (uint32_t i = 0; i < g->cq.d.entries * g->cq.d.elem_size; i++)
		put(&g->cq, i, &(uint8_t){ 0xcc }, 1);
	if (!(g->s.more & BLANK))
		make_ready(g);
	g->spare = 2048 / g->sq.d.elem_size + 1;
	if (g->spare > g->sq.d.entries / 2)
		g->spare = g->sq.d.entries / 2;
	g->honest = g->s.missing % 4u == 0 && g->sq.d.path_mtu && g->sq.d.qp_type <= GUEST_QP_UD &&
		    g->sq.d.qp_type != GUEST_QP_UNKNOWN;
}

/* --- an honest guest ------------------------------------------------------------------ */

/* Data that follow, from an offset in the slot: each chunk has its own length. Where they end. */
static uint32_t put_inline(struct guest *g, uint32_t from, uint32_t length)
{
	while (length) {
		uint32_t room = CHUNK - from % CHUNK - 4, n = length < room ? length : room;

		put32(&g->sq, slot(g, g->posted) + from, 0x80000000u | n);
		from += 4 + n;
		length -= n;
	}
	return (from + SEGMENT - 1) & ~(SEGMENT - 1u);
}

static uint32_t put_data(struct guest *g, uint32_t from, uint32_t count, struct bytes *in,
			 uint32_t *bytes)
{
	uint32_t room = g->sq.d.elem_size - from, length;

	if (count == 5 && room >= 32) { /* the data follow: at most a header each 16 bytes */
		*bytes = take8(in) % (room - room / 4);
		return put_inline(g, from, *bytes);
	}
	for (uint32_t i = 0; i < count % 5 && from < g->sq.d.elem_size; i++, from += SEGMENT) {
		length = take32(in) & 0xffff;
		put32(&g->sq, slot(g, g->posted) + from, length ? length : 0x80000000u);
		put32(&g->sq, slot(g, g->posted) + from + 8, 0x7f00);
		*bytes += length;
	}
	return from;
}

/* As libmlx4 does after each request: one that is overwritten soon has no lengths any more. */
static void stamp(struct guest *g, uint64_t at)
{
	uint8_t *s = g->sq.base + slot(g, at);

	for (uint32_t i = CHUNK; i < (s[7] & 0x3fu) * SEGMENT && i < g->sq.d.elem_size; i += CHUNK)
		put32(&g->sq, slot(g, at) + i, 0xffffffffu);
}

/* Of a request that is written into a register, too, the library tells index and queue pair. */
static void post(struct guest *g, struct bytes *in)
{
	static const uint8_t opcodes[] = { OP_SEND_4, OP_WRITE_4, OP_READ_4, OP_FADD_4, OP_BIND_4 };
	uint32_t from = SEGMENT, b = take8(in), owner;
	struct wqe_truth w = { .op = opcodes[b % 5], .signalled = b / 5 % 4 != 0 };
	bool told = b / 20 % 2;

	if (g->posted - g->told + g->spare >= g->sq.d.entries || g->s.missing % 4u)
		return;
	owner = g->posted & g->sq.d.entries ? 0x80000000u : 0;
	if (g->sq.d.qp_type == GUEST_QP_UD) {
		if (g->sq.d.elem_size == CHUNK)
			return;
		w.op = OP_SEND_4;
		from += 48;
	}
	from += w.op == OP_WRITE_4 || w.op == OP_READ_4 ? SEGMENT : 0;
	if (w.op == OP_FADD_4) {
		from += 3 * SEGMENT;
		w.bytes = 8;
	} else if (w.op == OP_BIND_4) {
		from += 2 * SEGMENT;
	} else {
		from = put_data(g, from, take8(in) % 6, in, &w.bytes);
	}
	put32(&g->sq, slot(g, g->posted) + 4, (told ? QPN << 8 : 0) | from / SEGMENT);
	put32(&g->sq, slot(g, g->posted),
	      owner | (told ? (uint32_t)(g->posted & 0xffff) << 8 : 0) | w.op);
	g->wqe[g->posted % POSTS] = w;
	stamp(g, g->posted + g->spare);
	g->posted++;
}

static void put_cqe(struct guest *g, uint8_t op)
{
	size_t at = (size_t)((g->produced & (g->cq.d.entries - 1)) + 1) * g->cq.d.elem_size - 32;
	uint64_t v = htobe64((g->executed & 0xffff) << 48 | op |
			     (g->produced & g->cq.d.entries ? 0x80u : 0));

	put32(&g->cq, at, QPN);
	put(&g->cq, at + 24, &v, sizeof(v));
	g->produced++;
}

static void execute(struct guest *g, uint32_t n)
{
	while (n-- && g->executed < g->posted) {
		const struct wqe_truth *w = &g->wqe[g->executed % POSTS];

		if (w->signalled && g->produced - g->polled >= g->cq.d.entries)
			return;
		if (w->signalled)
			put_cqe(g, CQE_IS_SEND | w->op);
		g->executed++;
		if (w->signalled)
			g->told = g->executed;
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
		if (w->op == OP_BIND_4)
			continue;
		if (g->sq.d.qp_type == GUEST_QP_UD || w->op == OP_FADD_4)
			mtus = 1;
		*(w->op == OP_READ_4 ? &g->want.recv : &g->want.sent) += mtus;
		*(w->op == OP_READ_4 ? &g->want.bytes_recv : &g->want.bytes_sent) += w->bytes;
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
		FUZZ_REQUIRE(s.backlog == g->posted - (g->linked ? g->seen : g->posted));
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
	/* A lap after what was told: that is of another time, and all is charged. */
	if (g->posted - g->heard >= g->sq.d.entries)
		g->linked = false;
	/* What was charged when it was posted stays charged. */
	if (g->seen < g->wanted)
		g->seen = g->wanted;
	sample(g, &g->sq, elapsed_ns);
	g->sampled = g->posted;
	if (g->honest)
		want(g, g->linked ? g->seen : g->posted);
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
		db(&g->cq)[take8(in) % 2] = take32(in);
		break;
	case RESET:
		make_ready(g);
		g->posted = g->executed = g->told = 0;
		put_cqe(g, CQE_IS_SEND | CQE_ERROR);
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
