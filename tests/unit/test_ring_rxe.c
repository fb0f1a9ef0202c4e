// SPDX-License-Identifier: GPL-2.0-or-later
/* ring_rxe: what is counted on a send queue of soft-RoCE, case by case. */
#include "resex/guest_abi.h"
#include "tests/unit/ring_rig.h"
#include "tests/unit/steps.h"
#include "tests/unit/unit.h"

/* --- opening --- */

static int try_open(struct fixture *x)
{
	struct ring *r = NULL;
	int ret = ring_open(&r, &x->f.desc, x->f.mem, x->f.len);

	if (ret == 0)
		ring_close(r);
	else
		assert_null(r); /* written only on success */
	return ret;
}

TEST(open__valid_rings__open)
{
	struct fixture *x;

	for (uint32_t slots = 2; slots <= 4096; slots *= 2) {
		x = sq(slots, FAKE_RC, 1024);
		assert_int_equal(try_open(x), 0);
		done(x);
		x = calloc(1, sizeof(*x));
		fake_cq_open(&x->f, slots);
		assert_int_equal(try_open(x), 0);
		done(x);
	}
}

/* --- rows of steps -------------------------------------------------------------------- */

/*
 * Steps, where OPCODE is one of the list below:
 *
 *	OPCODE BYTES		post an entry, transmit and complete it
 *	post OPCODE BYTES	only post it
 *	transmit		the oldest entry that was not transmitted
 *	complete, flush, fail	the oldest entry: with success, as flushed, with a remote error
 *	reset PSN		reset the queue pair
 *	psn N, ssn N		set the packet or the sequence number of the next post
 *	forge-lengths N		overwrite the length in all entries
 *	forge-ssn SLOT N	overwrite the sequence number in one entry
 *	open			open the reader and take the first sample
 *	sample			take another sample
 *
 * Before the reader is opened:
 *
 *	provider N, kind N, elem-size N, entries N, offset N, path-mtu N
 *				what the guest says of the ring
 *	log2-elem N, mask N	what the header of the ring says
 *	length N		how many bytes of it are mapped
 *
 * Expectations are fields of struct sample; mtus is sent and received, work is seen and lost:
 *
 *	FIGURE N		as in "wrs 5"; ops-write and ops-read are in ops
 *	is FLAG, not FLAG	flags has the flag, or does not have it
 *	opens, refused ERROR	the answer of ring_open(), in place of a sample
 */
static const struct {
	const char *name;
	uint32_t opcode;
} opcodes[] = {
	{ "write", FAKE_WRITE },
	{ "send", FAKE_SEND },
	{ "read", FAKE_READ },
	{ "local-inv", FAKE_LOCAL_INV },
};

static uint32_t opcode_of(const struct step *s, const char *name)
{
	for (size_t i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++)
		if (!strcmp(opcodes[i].name, name))
			return opcodes[i].opcode;
	step_unknown(s);
	return 0;
}

/* A field of which the step is "NAME N". */
static uint32_t *field(struct fixture *x, const struct step *s)
{
	struct ring_desc *d = &x->f.desc;
	const struct {
		const char *name;
		uint32_t *at;
	} fields[] = {
		{ "provider", &d->provider },	{ "kind", &d->kind },
		{ "elem-size", &d->elem_size }, { "entries", &d->entries },
		{ "offset", &d->offset },	{ "path-mtu", &d->path_mtu },
		{ "psn", &x->f.psn },		{ "ssn", &x->f.ssn },
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (step_is(s, fields[i].name))
			return fields[i].at;
	return NULL;
}

static void act(void *rig, const struct step *s)
{
	struct fixture *x = rig;
	uint32_t n = (uint32_t)s->n[0];

	if (step_is(s, "post"))
		fake_post(&x->f, opcode_of(s, s->word), n);
	else if (step_is(s, "transmit"))
		fake_send(&x->f);
	else if (step_is(s, "complete"))
		fake_complete(&x->f, FAKE_OK);
	else if (step_is(s, "flush"))
		fake_complete(&x->f, FAKE_FLUSHED);
	else if (step_is(s, "fail"))
		fake_complete(&x->f, FAKE_REMOTE_ERROR);
	else if (step_is(s, "reset"))
		fake_reset(&x->f, n);
	else if (step_is(s, "length"))
		x->f.len = n;
	else if (step_is(s, "log2-elem"))
		fake_put(&x->f, FAKE_LOG2_ELEM, n);
	else if (step_is(s, "mask"))
		fake_put(&x->f, FAKE_MASK, n);
	else if (step_is(s, "forge-lengths"))
		for (uint64_t i = 0; i < x->f.posted; i++)
			fake_put_entry(&x->f, i, FAKE_WQE_LENGTH, n);
	else if (step_is(s, "forge-ssn"))
		fake_put_entry(&x->f, n, FAKE_WQE_SSN, (uint32_t)s->n[1]);
	else if (step_is(s, "open"))
		start(x);
	else if (step_is(s, "sample"))
		sample(x);
	else if (field(x, s))
		*field(x, s) = n;
	else
		fake_do(&x->f, opcode_of(s, s->verb), n);
}

static uint32_t flag_of(const struct step *s)
{
	static const char *const names[] = {
		"lapped", "wrs-bounded", "mtus-estimated", "history", "uncharged", "mtus-guessed",
	};

	for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (step_says(s, names[i]))
			return 1u << i;
	step_unknown(s);
	return 0;
}

static void check(void *rig, const struct step *s)
{
	struct fixture *x = rig;
	const struct sample *is = &x->s;
	const struct step_figure figures[] = {
		{ "flags", is->flags },
		{ "wrs", is->wrs },
		{ "seen", is->seen },
		{ "lost", is->lost },
		{ "work", is->seen + is->lost },
		{ "errors", is->errors },
		{ "mtus_sent", is->mtus_sent },
		{ "mtus_recv", is->mtus_recv },
		{ "mtus", is->mtus_sent + is->mtus_recv },
		{ "bytes_sent", is->bytes_sent },
		{ "backlog", is->backlog },
		{ "ops-write", is->ops[OP_WRITE] },
		{ "ops-read", is->ops[OP_READ] },
	};

	if (step_expect_figure(s, figures, sizeof(figures) / sizeof(figures[0])))
		return;
	if (step_is(s, "is"))
		step_holds(s, is->flags & flag_of(s));
	else if (step_is(s, "not"))
		step_holds(s, !(is->flags & flag_of(s)));
	else if (step_is(s, "opens"))
		step_holds(s, try_open(x) == 0);
	else if (step_is(s, "refused"))
		step_holds(s, try_open(x) == -step_errno(s));
	else
		step_unknown(s);
}

struct row {
	const char *name;
	uint32_t slots;
	enum fake_type type;
	uint32_t mtu;
	const char *steps;
};

/* The ring at the top of rxe_psn.c: history up to slot 0, PSN 100; then slots 1 to 5 are posted. */
#define WORKED_RING                                                                                \
	"8 x send 64, psn 100, send 64, open, post write 2048, post read 4096, post local-inv,"    \
	"post send 100, post send 3000,"
/* All five are sent, the first four completed. */
#define COMPLETE_WORKED_RING "5 x transmit, 4 x complete,"

/* The script opens the ring itself. */
static const struct row openings[] = {
	{ "open: a provider that is not known is refused", 16, FAKE_RC, 1024,
	  "provider 42 -> refused EPROTONOSUPPORT" },
	{ "open: a kind that is not known is refused", 16, FAKE_RC, 1024,
	  "kind 9 -> refused EPROTONOSUPPORT" },
	{ "open: a header that the descriptor contradicts is refused", 16, FAKE_RC, 1024,
	  "log2-elem 9 -> refused EBADMSG; log2-elem 8, mask 31 -> refused EBADMSG;"
	  "mask 14 -> refused EBADMSG; mask 15 -> opens" },
	{ "open: a ring longer than its mapping of 4480 bytes is refused", 16, FAKE_RC, 1024,
	  "length 4479 -> refused EBADMSG; length 384 -> refused EBADMSG;"
	  "length 100 -> refused EBADMSG; length 0 -> refused EBADMSG;"
	  "length 4480 -> opens; offset 4095 -> refused EBADMSG;"
	  "offset 0, entries 0x100000, mask 0xfffff -> refused EBADMSG" },
	{ "open: send entries that are too small for one (208 bytes) are refused", 16, FAKE_RC,
	  1024, "elem-size 128, log2-elem 7 -> refused EPROTONOSUPPORT" },

	{ "first sample: work already done is history", 16, FAKE_RC, 1024,
	  "5 x write 3000, open -> is history, wrs 5, mtus_sent 15, bytes_sent 15000;"
	  "send 10, sample -> not history, wrs 1" },
	{ "first sample: of a ring already lapped, the count is known", 16, FAKE_RC, 1024,
	  "100 x write 100, open -> is history, wrs 100, work 100, seen 15, bytes_sent 1500" },
	{ "first sample: no work yet is empty", 16, FAKE_RC, 1024,
	  "open -> wrs 0, mtus 0, backlog 0" },

	{ "sample: path MTU not known, packet numbers tell", 16, FAKE_RC, 256,
	  "path-mtu 0, open, write 2560, read 2561, sample -> mtus_sent 10, mtus_recv 11" },
	/* It says that its path MTU is 4096 while it sends 256: the packets count. */
	{ "sample: path MTU stated too large, packet numbers tell", 16, FAKE_RC, 256,
	  "path-mtu 4096, open, 3 x write 25600, sample -> mtus_sent 300" },
	{ "sample: the ssn wraps, the count is exact", 16, FAKE_RC, 1024,
	  "ssn 0xffffffeb, write 1, open, 100 x write 1, sample -> wrs 100" },

	{ "worked ring: all read, charged as documented", 8, FAKE_RC, 1024,
	  WORKED_RING COMPLETE_WORKED_RING
	  "sample -> wrs 4, seen 4, mtus_sent 3, mtus_recv 4, backlog 1, flags 0" },
	/* The first sample notes what was posted. */
	{ "worked ring: noted entries overwritten, divided by length", 8, FAKE_RC, 1024,
	  WORKED_RING
	  "sample -> wrs 0;" COMPLETE_WORKED_RING
	  "forge-ssn 2 99, sample -> wrs 4, lost 0, mtus_sent 3, mtus_recv 4, flags 0" },
	/* Slot 4, a SEND, is all that was read. */
	{ "worked ring: entries overwritten unseen, divided like the others", 8, FAKE_RC, 1024,
	  WORKED_RING COMPLETE_WORKED_RING
	  "forge-ssn 2 99, sample -> wrs 4, lost 2, mtus 7, mtus_sent 7,"
	  "is lapped, is mtus-estimated, flags 5" },
};

/* The ring is open, and each "->" takes a sample. */
static const struct row samples[] = {
	/* Forged before the doorbell, as a liar would: the packets count. */
	{ "length forged: packet numbers tell", 16, FAKE_RC, 1024,
	  "4 x write 65536, forge-lengths 1 -> mtus_sent 256" },
	{ "unreliable connection: counts as reliable", 16, FAKE_UC, 512,
	  "write 5000, send 0 -> mtus_sent 11, wrs 2" },
	{ "posted and not completed: is backlog, and not charged", 16, FAKE_RC, 1024,
	  "5 x post write 1000, 2 x transmit, complete -> wrs 1, backlog 4, bytes_sent 1000;"
	  "-> wrs 0, mtus_sent 0, backlog 4" },
	/* The numbers in a slot before it is sent are those of the lap before. */
	{ "posted slot with an old range: is charged when sent", 4, FAKE_RC, 256,
	  "write 12800 -> mtus_sent 50; write 12800 -> mtus_sent 50; write 12800 -> mtus_sent 50;"
	  "write 12800 -> mtus_sent 50; 3 x post write 1 -> mtus_sent 0;"
	  "3 x transmit, sample, 3 x complete -> wrs 3, mtus_sent 3" },
	/* What is flushed was never sent. */
	{ "errors and flush: are counted, and not charged", 16, FAKE_RC, 1024,
	  "write 4096, 2 x post write 8192, post read 8192, 2 x post write 8192, transmit, fail,"
	  "4 x flush -> wrs 6, errors 5, ops-write 5, ops-read 1, mtus_sent 4, bytes_sent 4096,"
	  "mtus_recv 0" },
	/* Nobody saw the large ones; by the mean of those seen it is 40, the truth is 220. */
	{ "lapped before any packet number: says that it guesses", 8, FAKE_RC, 1024,
	  "20 x write 10240, 20 x write 1024 -> wrs 40, mtus_sent 40, is mtus-guessed,"
	  "is mtus-estimated;"
	  "20 x write 10240, 20 x write 1024 -> lost 1.., not mtus-guessed, mtus_sent 220" },
	{ "lapped behind a reset: says that it guesses", 8, FAKE_RC, 1024,
	  "write 1, sample, reset 12345, sample, 20 x write 10240, 20 x write 1024"
	  "-> wrs 40, lost 1.., is mtus-guessed" },
	/* perftest's latency rings have two slots: the indices alone tell next to nothing. */
	{ "two slots lapped an even number of times: is not idle", 2, FAKE_RC, 1024,
	  "1000 x write 8 -> wrs 1000, mtus_sent 1000" },
	{ "lapped datagrams: are one MTU each", 8, FAKE_UD, 4096,
	  "500 x send 1500 -> wrs 500, mtus_sent 500" },
	/* The jump to the first could be a reset or a new connection; it is not a wrap. */
	{ "packet numbers wrap: MTUs are exact", 16, FAKE_RC, 256,
	  "psn 0xfffffe, write 1, sample, write 2560 -> mtus_sent 10;"
	  "100 x write 2560 -> mtus_sent 1000" },
	/* The reset drops three that wait: at most these are counted. */
	{ "queue pair reset: goes on counting", 16, FAKE_RC, 1024,
	  "5 x write 100, 3 x post write 100 -> wrs 5; reset 12345 -> wrs ..3, mtus_sent ..3,"
	  "is wrs-bounded, is mtus-estimated, is mtus-guessed;"
	  "4 x write 3000 -> wrs 4, bytes_sent 12000, mtus_sent 12" },
	/* Both indices are 0 then, as in a new ring. */
	{ "queue pair reset where the ring begins: goes on counting", 16, FAKE_RC, 1024,
	  "14 x write 100 -> wrs 14; 2 x post write 100, reset 12345 -> wrs 0;"
	  "write 100 -> wrs 1..3, is wrs-bounded, bytes_sent 100; 20 x write 100 -> wrs 20" },
	{ "queue pair reset where the ring begins, and not used: is counted after 3 s", 16, FAKE_RC,
	  1024,
	  "14 x write 100 -> wrs 14; write 100, post write 100, reset 12345 -> wrs 0;"
	  "2997 x sample -> wrs 0; psn 0 -> wrs 2, is wrs-bounded; psn 0 -> wrs 0" },
	/* A READ that is requested again begins late in its range. This one does not: 64 MTUs. */
	{ "queue pair reset unseen: a READ near the former packet numbers is charged alone", 16,
	  FAKE_RC, 1024,
	  "psn 100, write 1 -> mtus_sent 1; reset 120, read 65536 -> wrs 1,"
	  "mtus_recv 64, flags 0" },
	/* The numbers of the second: 40, 41. They are 36 ahead of the first's. */
	{ "two processes post with numbers of their own: counts no more than was done", 16, FAKE_RC,
	  1024,
	  "3 x write 100 -> wrs 3; write 100, ssn 40, write 100, ssn 4, write 100, ssn 41,"
	  "write 100 -> wrs 4, lost 2, mtus_sent 4, is lapped, not wrs-bounded" },
	{ "sequence number false while others wait: the index alone is exact within a lap", 16,
	  FAKE_RC, 1024,
	  "3 x write 100, 4 x post write 100 -> wrs 3, backlog 4; transmit, complete,"
	  "forge-ssn 3 99 -> wrs 1, not wrs-bounded" },
	/* The newest has a number too low for three: this is not a RESET, which leaves no slot. */
	{ "two processes post, the newest has the lower number: counts no more than was done", 16,
	  FAKE_RC, 1024,
	  "5 x write 100 -> wrs 5; ssn 40, 2 x write 100, ssn 5, write 100 -> wrs 3, lost 2,"
	  "mtus_sent 3" },
	{ "a post refused often: the index alone is exact within a lap", 16, FAKE_RC, 1024,
	  "3 x write 100 -> wrs 3; ssn 100, write 100 -> wrs 1, flags 0" },
};

static void run_opening(void **state)
{
	static const struct steps_ops ops = { .act = act, .check = check };
	const struct row *row = *state;
	struct fixture *x = sq(row->slots, row->type, row->mtu);

	steps_run(row->steps, &ops, x);
	done(x);
}
TEST_ROWS(openings, run_opening)

static void look(void *rig)
{
	sample(rig);
}

static void run_samples(void **state)
{
	static const struct steps_ops ops = { .act = act, .look = look, .check = check };
	const struct row *row = *state;
	struct fixture *x = started(row->slots, row->type, row->mtu);

	steps_run(row->steps, &ops, x);
	done(x);
}
TEST_ROWS(samples, run_samples)

/* --- counting --- */

TEST(sample__each_opcode__is_charged_by_the_rule)
{
	static const struct {
		uint32_t opcode;
		enum sample_op op;
		uint32_t bytes;
		uint64_t sent, recv;
	} rows[] = {
		{ FAKE_WRITE, OP_WRITE, 5000, 5, 0 },	 { FAKE_WRITE_IMM, OP_WRITE, 5000, 5, 0 },
		{ FAKE_SEND, OP_SEND, 5000, 5, 0 },	 { FAKE_SEND_IMM, OP_SEND, 5000, 5, 0 },
		{ FAKE_SEND_INV, OP_SEND, 5000, 5, 0 },	 { FAKE_READ, OP_READ, 5000, 0, 5 },
		{ FAKE_CMP_SWAP, OP_CMP_SWAP, 8, 1, 0 }, { FAKE_FETCH_ADD, OP_FETCH_ADD, 8, 1, 0 },
		{ FAKE_LOCAL_INV, OP_LOCAL, 0, 0, 0 },	 { FAKE_BIND_MW, OP_LOCAL, 0, 0, 0 },
		{ FAKE_WRITE, OP_WRITE, 0, 1, 0 },	 { FAKE_READ, OP_READ, 0, 0, 1 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture *x = started(16, FAKE_RC, 1024);

		fake_do(&x->f, FAKE_SEND, 1); /* a neighbour on each side */
		fake_do(&x->f, rows[i].opcode, rows[i].bytes);
		fake_do(&x->f, FAKE_SEND, 1);
		sample(x);
		assert_int_equal(x->s.flags, 0);
		assert_int_equal(x->s.wrs, 3);
		assert_int_equal(x->s.seen, 3);
		assert_int_equal(x->s.lost, 0);
		assert_int_equal(x->s.ops[rows[i].op], 1 + 2 * (rows[i].op == OP_SEND));
		assert_int_equal(x->s.mtus_sent, 2 + rows[i].sent);
		assert_int_equal(x->s.mtus_recv, rows[i].recv);
		done(x);
	}
}

TEST(sample__edges_of_the_path_mtu__are_exact)
{
	for (uint32_t mtu = 256; mtu <= 4096; mtu *= 2) {
		const uint32_t sizes[] = { 0, 1, mtu - 1, mtu, mtu + 1, 2 * mtu, 2 * mtu + 1 };
		const uint32_t mtus[] = { 1, 1, 1, 1, 2, 2, 3 };

		for (int i = 0; i < 7; i++) {
			struct fixture *x = started(2, FAKE_RC, mtu);

			fake_do(&x->f, FAKE_WRITE, sizes[i]);
			sample(x);
			assert_int_equal(x->s.mtus_sent, mtus[i]);
			assert_int_equal(x->s.bytes_sent, sizes[i]);
			assert_int_equal(x->s.msg_bytes, sizes[i]);
			done(x);
		}
	}
}

TEST(sample__datagrams__are_one_mtu_each)
{
	struct fixture *x = started(16, FAKE_UD, 4096);

	for (uint32_t i = 0; i < 10; i++) {
		uint32_t n = i * 400; /* the kernel stamps a range of up to 15 numbers for these */

		fake_do(&x->f, i % 2 ? FAKE_SEND : FAKE_SEND_IMM, n);
		sample(x);
		assert_int_equal(x->s.wrs, 1);
		assert_int_equal(x->s.mtus_sent, 1);
		assert_int_equal(x->s.bytes_sent, n);
	}
	done(x);
}

/* Each refused or aborted post uses up an ssn and leaves an entry that looks posted. */
TEST(sample__refused_and_aborted_posts__are_not_work)
{
	struct fixture *x = started(4, FAKE_RC, 1024);

	for (int i = 0; i < 3; i++)
		fake_post(&x->f, FAKE_WRITE, 100);
	fake_refuse(&x->f, FAKE_WRITE, 60000);
	for (int i = 0; i < 3; i++) {
		fake_send(&x->f);
		fake_complete(&x->f, FAKE_OK);
	}
	fake_refuse(&x->f, FAKE_READ, 60000); /* aborted */
	fake_refuse(&x->f, FAKE_READ, 60000);
	sample(x);
	assert_int_equal(x->s.seen, 3);
	assert_int_equal(x->s.bytes_sent, 300);
	assert_int_equal(x->s.mtus_sent, 3);
	assert_int_equal(x->s.bytes_recv, 0);
	assert_int_equal(x->s.backlog, 0);
	assert_int_equal(x->s.wrs, 3);
	fake_do(&x->f, FAKE_WRITE, 7);
	sample(x);
	assert_int_equal(x->s.seen, 1);
	assert_true(x->s.wrs == 1 || (x->s.wrs > 1 && x->s.flags & SAMPLE_WRS_BOUNDED));
	assert_int_equal(x->s.bytes_sent, 7);
	done(x);
}

TEST(sample__indices_wrap__nothing_is_missed)
{
	struct fixture *x = started(8, FAKE_RC, 1024);
	uint64_t wrs = 0, bytes = 0;

	for (uint32_t i = 0; i < 100; i++) {
		for (uint32_t k = 0; k < i % 7; k++)
			fake_do(&x->f, FAKE_WRITE, i);
		sample(x);
		assert_int_equal(x->s.lost, 0);
		wrs += x->s.wrs;
		bytes += x->s.bytes_sent;
	}
	assert_int_equal(wrs, x->f.truth.wrs);
	assert_int_equal(bytes, x->f.truth.bytes_sent);
	done(x);
}

/* --- laps --- */

/* A packet number is known: one work request was seen. */
static struct fixture *known(uint32_t slots)
{
	struct fixture *x = started(slots, FAKE_RC, 1024);

	fake_do(&x->f, FAKE_WRITE, 1);
	sample(x);
	return x;
}

TEST(sample__lapped__count_and_mtus_are_exact)
{
	struct fixture *x = known(16);
	struct fake_truth before = x->f.truth;
	struct ring_totals t;
	uint64_t sent;

	for (int i = 0; i < 1000; i++)
		fake_do(&x->f, FAKE_WRITE, (uint32_t)(i % 7) * 1000);
	sample(x);
	assert_false(x->s.flags & SAMPLE_MTUS_GUESSED);
	assert_int_equal(x->s.wrs, 1000);
	assert_int_equal(x->s.seen + x->s.lost, 1000);
	assert_true(x->s.flags & SAMPLE_LAPPED);
	assert_true(x->s.lost >= 984);
	assert_int_equal(x->s.mtus_sent, x->f.truth.mtus_sent - before.mtus_sent);
	assert_true(x->s.bytes_sent <= x->f.truth.bytes_sent - before.bytes_sent);
	sent = x->f.truth.bytes_sent - before.bytes_sent;
	assert_true(x->s.bytes_sent + x->s.bytes_bound >= sent);
	assert_in_range(x->s.bytes_sent + x->s.likely_sent, sent * 9 / 10, sent * 11 / 10);
	ring_totals(x->r, &t);
	assert_int_equal(t.laps, 1);
	assert_int_equal(t.wrs, 1001);
	assert_true(t.flags & SAMPLE_LAPPED);
	done(x);
}

TEST(sample__lapped_with_reads_among_the_lost__says_it_estimates)
{
	struct fixture *x = known(8);

	for (int i = 0; i < 500; i++)
		fake_do(&x->f, i % 2 ? FAKE_READ : FAKE_WRITE, 2048);
	sample(x);
	assert_int_equal(x->s.wrs, 500);
	/* The sum is known from the packet numbers, how it divides is not. */
	assert_int_equal(x->s.mtus_sent + x->s.mtus_recv, 1000);
	assert_false(x->s.flags & SAMPLE_MTUS_GUESSED);
	if (x->s.mtus_sent != 500)
		assert_true(x->s.flags & SAMPLE_MTUS_ESTIMATED);
	assert_int_equal(x->s.bytes_sent + x->s.likely_sent, 1024 * x->s.mtus_sent);
	assert_int_equal(x->s.bytes_recv + x->s.likely_recv, 1024 * x->s.mtus_recv);
	done(x);
}

TEST(sample__deep_ring__reads_at_most_the_walk)
{
	struct fixture *x = started(16384, FAKE_RC, 1024);
	uint64_t wrs = 0;

	for (int i = 0; i < 16000; i++)
		fake_do(&x->f, FAKE_WRITE, 8);
	for (int i = 0; i < 8; i++) {
		sample(x);
		assert_true(x->s.seen <= RING_WALK_MAX);
		wrs += x->s.wrs;
	}
	assert_int_equal(wrs, 16000);
	done(x);
}

/* A RESET wipes the entries: what the index passed is counted all the same. */
TEST(sample__reset_before_each_sample__hides_no_work)
{
	struct fixture *x = started(64, FAKE_RC, 1024);
	uint64_t wrs = 0;

	for (uint32_t i = 0; i < 20; i++) {
		for (int k = 0; k < 50; k++)
			fake_do(&x->f, FAKE_WRITE, 4096);
		fake_reset(&x->f, i * 1000);
		sample(x);
		assert_true(x->s.flags & SAMPLE_WRS_BOUNDED && x->s.flags & SAMPLE_MTUS_ESTIMATED);
		wrs += x->s.wrs;
		assert_int_equal(wrs, x->f.truth.wrs);
		assert_true(x->s.mtus_sent >= 50);
	}
	done(x);
}

/* Passed before it was sent: of what is before it, some may have been sent in part. */
TEST(sample__reset_caught_half_way__says_that_it_guesses)
{
	struct fixture *x = started(16, FAKE_RC, 1024);

	fake_do(&x->f, FAKE_WRITE, 4096);
	sample(x);
	fake_post(&x->f, FAKE_SEND, 4096);
	fake_post(&x->f, FAKE_SEND, 4096);
	fake_send(&x->f); /* the peer refuses it, again and again */
	sample(x);
	fake_put(&x->f, FAKE_CONSUMER, 3);
	sample(x);
	assert_int_equal(x->s.wrs, 2);
	assert_int_equal(x->s.mtus_sent, 4); /* it was sent: it is charged */
	assert_true(x->s.flags & SAMPLE_WRS_BOUNDED && x->s.flags & SAMPLE_MTUS_GUESSED);
	done(x);
}

/* Lost entries wait for the next packet number. A queue pair that stops then has none. */
TEST(sample__no_packet_number_follows_lost_work__charges_it_by_guess_after_a_second)
{
	struct fixture *x = known(4);
	uint64_t mtus = 0;

	fake_do(&x->f, FAKE_WRITE, 2048);
	sample(x);
	for (int i = 0; i < 10; i++)
		fake_do(&x->f, FAKE_WRITE, 2048);
	for (int i = 0; i < 4; i++)
		fake_do(&x->f, FAKE_LOCAL_INV, 0);
	for (int i = 0; i < 1000; i++) {
		sample(x);
		mtus += x->s.mtus_sent;
		assert_false(x->s.flags & SAMPLE_MTUS_GUESSED);
	}
	assert_int_equal(mtus, 0);
	sample(x);
	assert_true(x->s.flags & SAMPLE_MTUS_GUESSED && x->s.flags & SAMPLE_MTUS_ESTIMATED);
	assert_in_range(x->s.mtus_sent, 1, 30);
	for (int i = 0; i < 1000; i++) {
		mtus += x->s.mtus_sent;
		sample(x);
	}
	/* The next packet number corrects the sum. */
	fake_do(&x->f, FAKE_WRITE, 1);
	sample(x);
	assert_int_equal(mtus + x->s.mtus_sent, 21);
	done(x);
}

/* After a whole lap only the packet numbers show that there was a RESET. */
TEST(sample__reset_behind_a_lap__is_no_fault)
{
	struct fixture *x = started(16, FAKE_RC, 1024);

	fake_do(&x->f, FAKE_WRITE, 1);
	sample(x);
	fake_reset(&x->f, 0x800000);
	for (int i = 0; i < 40; i++)
		fake_do(&x->f, i % 4 ? FAKE_WRITE : FAKE_READ, 2000);
	sample(x);
	assert_int_equal(x->s.wrs, 40);
	assert_true(x->s.flags & SAMPLE_MTUS_ESTIMATED);
	assert_in_range(x->s.mtus_sent + x->s.mtus_recv, 40, 120);
	for (int i = 0; i < 10; i++)
		fake_do(&x->f, FAKE_WRITE, 2000);
	sample(x);
	assert_int_equal(x->s.flags, 0);
	assert_int_equal(x->s.mtus_sent, 20);
	done(x);
}

/* --- totals --- */

TEST(totals__after_many_samples__are_their_sums)
{
	struct fixture *x = started(16, FAKE_RC, 1024);
	struct ring_totals t;

	for (int i = 0; i < 50; i++) {
		fake_do(&x->f, FAKE_READ, 5000);
		fake_do(&x->f, FAKE_FETCH_ADD, 8);
		sample(x);
	}
	fake_do(&x->f, FAKE_FETCH_ADD, 8);
	sample(x); /* the next one is of the same kind, but failed */
	fake_do(&x->f, FAKE_FETCH_ADD, 8);
	fake_put_entry(&x->f, x->f.done - 1, FAKE_WQE_STATUS, FAKE_REMOTE_ERROR);
	sample(x);
	ring_totals(x->r, &t);
	assert_int_equal(t.wrs, 102);
	assert_int_equal(t.seen, 102);
	assert_int_equal(t.errors, 1);
	assert_int_equal(t.flags, SAMPLE_HISTORY);
	assert_int_equal(t.lost, 0);
	assert_int_equal(t.mtus_recv, 250);
	assert_int_equal(t.mtus_sent, 51);
	assert_int_equal(t.bytes_recv, 250000);
	assert_int_equal(t.ops[OP_READ], 50);
	assert_int_equal(t.ops[OP_FETCH_ADD], 52);
	assert_int_equal(t.qpn, 17);
	assert_int_equal(ring_desc(x->r)->number, 17);
	done(x);
}

TEST(totals__more_than_32_bits_of_each_kind__are_their_sums)
{
	struct fixture *x = started(16, FAKE_RC, 256);
	struct ring_totals t, sum = { 0 };

	for (int i = 0; i < 1200; i++) {
		fake_do(&x->f, i < 600 ? FAKE_WRITE : FAKE_READ, 1u << 31);
		assert_int_equal(ring_sample(x->r, 10000 * MS, &x->s), 0);
		sum.mtus_sent += x->s.mtus_sent;
		sum.mtus_recv += x->s.mtus_recv;
		ring_totals(x->r, &t);
		assert_int_equal(t.mtus_sent, sum.mtus_sent);
		assert_int_equal(t.mtus_recv, sum.mtus_recv);
		assert_int_equal(t.bytes_sent + t.bytes_recv, ((uint64_t)i + 1) << 31);
		assert_int_equal(t.wrs, i + 1);
		assert_int_equal(t.ops[OP_WRITE] + t.ops[OP_READ], i + 1);
	}
	assert_true(t.mtus_sent > UINT32_MAX && t.mtus_recv > UINT32_MAX);
	done(x);
}

/* --- runs ------------------------------------------------------------------------- */

/*
 * Entries that are alike are counted as one run. What differs in one field is counted, or found
 * at fault, as by itself: at each place of a run of 40, which is more than two chunks.
 */
static const struct unlike {
	size_t at;
	uint32_t value;
	enum ring_fault fault;
	uint32_t sent, recv, bytes_sent, bytes_recv, errors, flags;
} unlikes[] = {
	{ FAKE_WQE_OPCODE, FAKE_READ, RING_OK, 78, 2, 39 * 2048, 2048, 0, 0 },
	{ FAKE_WQE_OPCODE, 10, RING_FAULT_ENTRY, 0, 0, 0, 0, 0, 0 },
	{ FAKE_WQE_LENGTH, 2000, RING_OK, 80, 0, 39 * 2048 + 2000, 0, 0, 0 },
	{ FAKE_WQE_STATUS, 10, RING_OK, 78, 0, 39 * 2048, 0, 1, 0 },
	{ FAKE_WQE_STATE, 0, RING_OK, 78, 0, 39 * 2048, 0, 0,
	  SAMPLE_WRS_BOUNDED | SAMPLE_MTUS_ESTIMATED | SAMPLE_MTUS_GUESSED },
	{ FAKE_WQE_FIRST_PSN, 1u << 24, RING_FAULT_ENTRY, 0, 0, 0, 0, 0, 0 },
	{ FAKE_WQE_LAST_PSN, 1u << 31, RING_FAULT_ENTRY, 0, 0, 0, 0, 0, 0 },
	{ FAKE_WQE_NUM_SGE, 4, RING_FAULT_ENTRY, 0, 0, 0, 0, 0, 0 },
	{ FAKE_WQE_FLAGS, 1, RING_OK, 80, 0, 40 * 2048, 0, 0, 0 },
};

TEST(run__one_entry_differs__is_counted_by_itself)
{
	for (size_t k = 0; k < sizeof(unlikes) / sizeof(unlikes[0]); k++)
		for (uint32_t place = 1; place < 39; place++) {
			const struct unlike *u = &unlikes[k];
			struct fixture *x = started(64, FAKE_RC, 1024);

			for (int i = 0; i < 40; i++)
				fake_do(&x->f, FAKE_WRITE, 2048);
			fake_put_entry(&x->f, place, u->at, u->value);
			if (u->fault) {
				assert_fault(x, u->fault);
				done(x);
				continue;
			}
			sample(x);
			assert_int_equal(x->s.wrs, 40);
			assert_int_equal(x->s.seen, 40);
			assert_int_equal(x->s.flags, u->flags);
			assert_int_equal(x->s.errors, u->errors);
			assert_int_equal(x->s.mtus_sent, u->sent);
			assert_int_equal(x->s.mtus_recv, u->recv);
			assert_int_equal(x->s.bytes_sent, u->bytes_sent);
			assert_int_equal(x->s.bytes_recv, u->bytes_recv);
			done(x);
		}
}

/* A refused post takes a number, and no PSN; the run ends there. */
TEST(run__refused_post_within__is_not_counted)
{
	for (uint32_t place = 1; place < 39; place++) {
		struct fixture *x = started(64, FAKE_RC, 1024);

		for (uint32_t i = 0; i < 40; i++) {
			if (i == place)
				fake_refuse(&x->f, FAKE_WRITE, 2048);
			fake_do(&x->f, FAKE_WRITE, 2048);
		}
		sample(x);
		assert_int_equal(x->s.wrs, 40);
		assert_int_equal(x->s.mtus_sent, 80);
		assert_int_equal(x->s.flags, 0);
		done(x);
	}
}

/* What was counted by the sample before looks like the run. PSNs pass the end of their range. */
TEST(run__began_before_the_last_sample__is_counted_from_there)
{
	for (uint32_t n = 1; n < 60; n++) {
		struct fixture *x = sq(64, FAKE_RC, 1024);
		bool read = n % 3 == 0;

		x->f.psn = 0xffffff - 5 * n - 7;
		start(x);
		for (uint32_t turn = 0; turn < 4; turn++) {
			for (uint32_t i = 0; i < n + turn; i++)
				fake_do(&x->f, read ? FAKE_READ : FAKE_WRITE, 5000);
			sample(x);
			assert_int_equal(x->s.flags, 0);
			assert_int_equal(x->s.wrs, n + turn);
			assert_int_equal(x->s.seen, n + turn);
			assert_int_equal(x->s.mtus_sent, read ? 0 : 5 * (n + turn));
			assert_int_equal(x->s.mtus_recv, read ? 5 * (n + turn) : 0);
			assert_int_equal(x->s.bytes_sent, read ? 0 : 5000 * (n + turn));
			assert_int_equal(x->s.bytes_recv, read ? 5000 * (n + turn) : 0);
			assert_int_equal(x->s.ops[read ? OP_READ : OP_WRITE], n + turn);
		}
		done(x);
	}
}

/* Entries that claim more packets than their length has: all of them are held against the time. */
TEST(run__of_forged_ranges__is_a_jump)
{
	struct fixture *x = started(64, FAKE_RC, 1024);
	uint32_t range = 20000;

	for (uint32_t i = 0; i < 40; i++) {
		fake_do(&x->f, FAKE_WRITE, 100);
		fake_put_entry(&x->f, i, FAKE_WQE_FIRST_PSN, i * range);
		fake_put_entry(&x->f, i, FAKE_WQE_LAST_PSN, i * range + range - 1);
	}
	assert_fault(x, RING_FAULT_JUMP);
	done(x);
}
