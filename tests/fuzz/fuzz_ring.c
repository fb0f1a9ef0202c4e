// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fuzz_ring: an rxe send or completion queue in a hostile guest's memory,
 * changed between samples.
 *
 * Input: 8 bytes (struct shape), then a program for the guest, one operation
 * a byte with its arguments behind it (enum op). As long as the guest only
 * posts and completes as rxe does, its truth is known, and every sample must
 * tell it; once it has written anything else, only the header's promises hold.
 */
#include <errno.h>

#include "ibmon/ring/ops.h"
#include "ibmon/ring/ring.h"
#include "ibmon/ring/ring_priv.h"
#include "resex/guest_abi.h"
#include "tests/fuzz/fuzz.h"

/* The layout, from the kernel's rdma_user_rxe.h. */
enum {
	AT_LOG2_ELEM = 0x00,
	AT_MASK = 0x04,
	AT_PRODUCER = 0x80,
	AT_CONSUMER = 0x100,
	AT_ELEMENTS = 0x180,
	WQE_OPCODE = 12,
	WQE_STATUS = 144,
	WQE_STATE = 148,
	WQE_FIRST_PSN = 164,
	WQE_LAST_PSN = 168,
	WQE_SSN = 176,
	WQE_LENGTH = 184,
	CQE_STATUS = 8,
	CQE_OPCODE = 12,
	CQE_LENGTH = 20,
	CQE_QPN = 28,
	PSN_MASK = 0xffffff,
};

enum op { POST, COMPLETE, SAMPLE, WRITE32, WRITE_WQE, SET_PRODUCER, SET_CONSUMER, FILL, OPS };

struct shape {
	uint8_t kind;	  /* bit 0: CQ; bit 1: the header says another element size; enum more */
	uint8_t elem;	  /* log2 of it, as 6 + elem % 5 */
	uint8_t entries;  /* log2 of them, as 1 + entries % 7 */
	uint8_t mtu;	  /* 256 << mtu % 6; 5: not known */
	uint16_t offset;  /* in the first page */
	uint8_t missing;  /* pages fewer than needed, % 4 */
	uint8_t mask_lie; /* added to the header's index mask */
};

/* Bits of shape.kind. */
enum more { RESUMED = 4, SURELY = 8, SKIPPED = 16 };

struct guest {
	struct shape s;
	struct ring_desc d;
	uint8_t *mem, *base; /* base: of the ring */
	size_t len;
	bool honest;
	uint64_t producer, consumer; /* free-running */
	uint32_t psn, ssn;
	uint64_t first; /* sequence number of wqe[0] */
	struct wqe_truth {
		uint32_t op, len, mtus;
	} wqe[128];
	uint64_t sampled; /* consumer at the last sample */
	bool was_sampled;
	struct ring_totals sum;
	struct ring_quiet quiet; /* what a scan would watch */
};

static void put32(struct guest *g, size_t at, uint32_t v)
{
	size_t off = (size_t)(g->base - g->mem) + at;

	if (off + 4 <= g->len)
		memcpy(g->mem + off, &v, 4);
}

static size_t element(const struct guest *g, uint64_t n)
{
	return AT_ELEMENTS + (size_t)(n & (g->d.entries - 1)) * g->d.elem_size;
}

static void make_guest(struct guest *g, struct bytes *in)
{
	size_t need;
	uint32_t pages;

	memset(g, 0, sizeof(*g));
	take(in, &g->s, sizeof(g->s));
	g->d.id = 1;
	g->d.provider = GUEST_PROVIDER_RXE;
	g->d.kind = g->s.kind & 1 ? RING_CQ : RING_SQ;
	g->d.elem_size = 64u << g->s.elem % 5;
	g->d.entries = 2u << g->s.entries % 7;
	g->d.path_mtu = g->s.mtu % 6 == 5 ? 0 : 256u << g->s.mtu % 6;
	g->d.offset = g->s.offset % GUEST_PAGE;
	need = g->d.offset + AT_ELEMENTS + (size_t)g->d.entries * g->d.elem_size;
	pages = (uint32_t)((need + GUEST_PAGE - 1) / GUEST_PAGE);
	if (pages > g->s.missing % 4u)
		pages -= g->s.missing % 4u;
	g->d.frames = pages;
	g->len = (size_t)pages * GUEST_PAGE;
	g->mem = aligned_alloc(GUEST_PAGE, g->len); /* exactly: reading on is seen */
	if (!g->mem)
		abort();
	memset(g->mem, 0, g->len);
	g->base = g->mem + g->d.offset;
	put32(g, AT_LOG2_ELEM, 6u + g->s.elem % 5u + (g->s.kind >> 1 & 1u));
	put32(g, AT_MASK, g->d.entries - 1 + g->s.mask_lie);
	g->psn = take32(in) & PSN_MASK;
	g->honest = g->d.elem_size >= 256 && g->d.kind == RING_SQ && g->d.path_mtu;
}

static uint32_t mtus_of(uint32_t len, uint32_t mtu)
{
	uint64_t n = ((uint64_t)len + mtu - 1) / mtu;

	return n ? (uint32_t)n : 1;
}

static void post_wqe(struct guest *g, struct bytes *in)
{
	static const uint32_t opcodes[] = {
		2, 0, 4, 5, 6, 3, 1, 9
	}; /* SEND WRITE READ CAS FADD .. */
	uint32_t op = opcodes[take8(in) % 8], len = take32(in) & 0xfffff;
	size_t at = element(g, g->producer);
	uint32_t mtus;

	if (op == 5 || op == 6)
		len = 8;
	mtus = mtus_of(len, g->d.path_mtu ? g->d.path_mtu : 1024);
	put32(g, at + WQE_OPCODE, op);
	put32(g, at + WQE_STATUS, 0);
	put32(g, at + WQE_STATE, 2);
	put32(g, at + WQE_FIRST_PSN, g->psn);
	put32(g, at + WQE_LAST_PSN, (g->psn + mtus - 1) & PSN_MASK);
	put32(g, at + WQE_SSN, g->ssn);
	put32(g, at + WQE_LENGTH, len);
	g->wqe[g->producer % 128] = (struct wqe_truth){ op, len, mtus };
	g->psn = (g->psn + mtus) & PSN_MASK;
	g->ssn++;
}

static void post_cqe(struct guest *g, struct bytes *in)
{
	size_t at = element(g, g->producer);

	put32(g, at + CQE_STATUS, take8(in) % 16 ? 0 : take8(in));
	put32(g, at + CQE_OPCODE, take8(in) % 2 ? 128 : 0);
	put32(g, at + CQE_LENGTH, take32(in) & 0xfffff);
	put32(g, at + CQE_QPN, 17);
}

static void post(struct guest *g, struct bytes *in)
{
	if (g->producer - g->consumer >= g->d.entries - 1)
		return; /* full */
	if (g->d.kind == RING_SQ)
		post_wqe(g, in);
	else
		post_cqe(g, in);
	g->producer++;
	put32(g, AT_PRODUCER, (uint32_t)g->producer & (g->d.entries - 1));
}

static void complete(struct guest *g, uint64_t n)
{
	if (n > g->producer - g->consumer)
		n = g->producer - g->consumer;
	g->consumer += n;
	put32(g, AT_CONSUMER, (uint32_t)g->consumer & (g->d.entries - 1));
}

/* What holds of every sample, whatever the guest did. */
static void check_sample(const struct guest *g, const struct sample *s)
{
	uint64_t ops = 0;

	FUZZ_REQUIRE(s->ring == g->d.id);
	FUZZ_REQUIRE(s->wrs == s->seen + s->lost);
	FUZZ_REQUIRE(s->seen <= 2 * (uint64_t)g->d.entries); /* read now, and noted when posted */
	FUZZ_REQUIRE(s->errors <= s->seen);
	FUZZ_REQUIRE(s->lost || !s->bytes_bound);
	FUZZ_REQUIRE(!s->lost || (s->flags & SAMPLE_LAPPED));
	FUZZ_REQUIRE(!g->honest || !(s->flags & SAMPLE_LAPPED) || s->lost);
	FUZZ_REQUIRE(s->backlog <= g->d.entries);
	for (int i = 0; i < OP_KINDS; i++)
		ops += s->ops[i];
	FUZZ_REQUIRE(ops == s->seen || g->d.kind == RING_CQ);
}

/* An honest guest none of whose entries was overwritten: every figure is known. */
static void check_truth(const struct guest *g, const struct sample *s)
{
	uint64_t sent = 0, recv = 0, bytes_sent = 0, bytes_recv = 0;

	for (uint64_t i = g->sampled; i < g->consumer; i++) {
		const struct wqe_truth *w = &g->wqe[i % 128];

		if (w->op == 4) {
			recv += w->mtus;
			bytes_recv += w->len;
		} else {
			sent += w->mtus;
			bytes_sent += w->len;
		}
	}
	FUZZ_REQUIRE(s->wrs == g->consumer - g->sampled);
	FUZZ_REQUIRE(s->lost == 0 && s->errors == 0);
	FUZZ_REQUIRE(s->mtus_sent == sent);
	FUZZ_REQUIRE(s->mtus_recv == recv);
	FUZZ_REQUIRE(s->bytes_sent == bytes_sent);
	FUZZ_REQUIRE(s->bytes_recv == bytes_recv);
	FUZZ_REQUIRE(s->backlog == g->producer - g->consumer);
}

/* The ring is withdrawn, and comes back in the same memory. */
static void resume(struct guest *g, struct ring *r)
{
	struct ring_totals before, t;
	int rc;

	ring_totals(r, &before);
	if (ring_counted_here(r, g->mem, g->len))
		ring_set_bounded(r);
	rc = ring_resume(r, &g->d, g->mem, g->len, 1000000, g->s.kind & SURELY);
	FUZZ_REQUIRE(rc == 0 || rc == 1 || rc == -EAGAIN);
	FUZZ_REQUIRE(rc != 1 || (g->d.kind == RING_SQ && !ring_fault(r)));
	FUZZ_REQUIRE(rc == 1 || !g->honest || !g->was_sampled || g->s.kind & SURELY);
	/* A set that is made anew has it so. */
	g->quiet = (struct ring_quiet){ { NULL }, { 0 }, 0 };
	ring_show(r);
	FUZZ_REQUIRE(ring_shown(r, &t) && t.wrs == before.wrs && t.mtus_sent == before.mtus_sent);
}

/* As a scan does before a sample: would it leave that out? */
static bool look(const struct guest *g, const struct ring *r)
{
	ring_prefetch_check(r);
	ring_prefetch_own(r);
	ring_prefetch_work(r, false);
	ring_prefetch_work(r, true);
	return ring_is_quiet(&g->quiet);
}

static void sample(struct guest *g, struct ring *r, int64_t elapsed_ns)
{
	bool quiet = look(g, r);
	uint64_t backlog = g->quiet.backlog;
	struct sample s;
	struct ring_totals t;
	int rc;

	memset(&s, 0x5a, sizeof(s));
	rc = ring_sample(r, elapsed_ns, &s);
	ring_watch(r, &g->quiet);
	FUZZ_REQUIRE(rc == 0 || rc == -EBADMSG);
	FUZZ_REQUIRE((rc == 0) == (ring_fault(r) == RING_OK));
	FUZZ_REQUIRE(strlen(ring_fault_text(ring_fault(r))) > 0);
	if (rc) {
		FUZZ_REQUIRE(!g->honest);
		FUZZ_REQUIRE(ring_sample(r, elapsed_ns, &s) == -EBADMSG);
		return;
	}
	check_sample(g, &s);
	if (g->honest && quiet) /* the sample was not needed */
		FUZZ_REQUIRE(!(s.wrs | s.mtus_sent | s.mtus_recv | s.bytes_sent | s.bytes_recv |
			       s.lost | s.errors) &&
			     s.backlog == backlog);
	if (g->honest && g->was_sampled && g->producer - g->sampled < g->d.entries)
		check_truth(g, &s);
	g->sum.wrs += s.wrs;
	g->sum.lost += s.lost;
	g->sum.bytes_sent += s.bytes_sent;
	g->sum.mtus_sent += s.mtus_sent;
	ring_totals(r, &t);
	FUZZ_REQUIRE(t.wrs == g->sum.wrs && t.lost == g->sum.lost);
	FUZZ_REQUIRE(t.bytes_sent == g->sum.bytes_sent && t.mtus_sent == g->sum.mtus_sent);
	g->sampled = g->consumer;
	g->was_sampled = true;
	if (g->s.kind & RESUMED)
		resume(g, r);
}

static void scribble(struct guest *g, enum op op, struct bytes *in)
{
	g->honest = false;
	switch (op) {
	case WRITE32:
		put32(g, take16(in) * 4u % g->len, take32(in));
		break;
	case WRITE_WQE: { /* a field of the element a count back */
		uint8_t back = take8(in);

		put32(g, element(g, g->consumer - back) + take8(in) * 4u, take32(in));
		break;
	}
	case SET_PRODUCER:
		put32(g, AT_PRODUCER, take32(in));
		break;
	case SET_CONSUMER:
		put32(g, AT_CONSUMER, take32(in));
		break;
	default:
		memset(g->base, take8(in), (size_t)take16(in) % (g->len - g->d.offset));
		break;
	}
}

static void run(struct guest *g, struct ring *r, struct bytes *in)
{
	for (int i = 0; i < 4096 && in->left; i++) {
		uint8_t b = take8(in);
		enum op op = b % OPS;

		if (op == POST)
			post(g, in);
		else if (op == COMPLETE)
			complete(g, b / OPS + 1u);
		else if (op == SAMPLE)
			sample(g, r, g->honest ? 10000000000 : take32(in));
		else
			scribble(g, op, in);
	}
	sample(g, r, 10000000000);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes in = { data, size };
	struct ring *r = NULL;
	struct guest g;
	int rc;

	make_guest(&g, &in);
	while (in.left && (in.at[0] & 0x80)) { /* history, before it is mapped */
		if (take8(&in) & 0x40)
			complete(&g, 1);
		else
			post(&g, &in);
	}
	rc = ring_open(&r, &g.d, g.mem, g.len);
	FUZZ_REQUIRE(rc == 0 || rc == -EPROTONOSUPPORT || rc == -EBADMSG);
	FUZZ_REQUIRE((rc == 0) == (r != NULL));
	if (!rc) {
		FUZZ_REQUIRE(ring_desc(r)->id == 1);
		if (g.s.kind & SKIPPED) {
			ring_skip_history(r);
			g.honest = false;
		}
		run(&g, r, &in);
		ring_close(r);
	}
	free(g.mem);
	return 0;
}
