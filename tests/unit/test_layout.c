// SPDX-License-Identifier: GPL-2.0-or-later
/* layout: layouts of rings as plug-ins: loaded, or refused with the reason; called, and checked. */
#include "ibmon/layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ibmon/ring/ring_priv.h"
#include "tests/fakes/fake_layout.h"
#include "tests/unit/examples.h"
#include "tests/unit/public_rig.h"
#include "tests/unit/tmpdir.h"

/* --- shared objects ----------------------------------------------------------------------- */

struct fixture {
	struct tmpdir dir;
	struct ibmon *m;
	char why[IBMON_WHY_MAX];
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	tmp_open(&f->dir);
	assert_int_equal(ibmon_open(&f->m, IBMON_ABI), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	ibmon_close(f->m);
	tmp_close(&f->dir);
	free(f);
	return 0;
}

static void build(struct fixture *f, const char *file, const char *source, const char *flags)
{
	build_plugin(tmp_at(&f->dir, file), source, flags);
}

/* -errno, or 0; says must be in the reason. */
static int load(struct fixture *f, const char *file, const char *says)
{
	int rc;

	f->why[0] = 0;
	rc = ibmon_layout_load(f->m, tmp_at(&f->dir, file), f->why, sizeof(f->why));
	assert_int_equal(!f->why[0], !rc);
	if (says && !strstr(f->why, says))
		fail_msg("%d: %s", rc, f->why);
	return rc;
}

static const char *const lossless[] = { "rc-send",     "rc-send_imm",  "rc-write", "rc-read",
					"rc-cmp_swap", "rc-fetch_add", "inline" };

/* The example counts what the layout that is built in does, on what the real provider wrote. */
RIG_TEST(example__reads_recordings__as_the_built_in_layout_does)
{
	struct fixture *f = *state;
	char path[256];

	build(f, "simple.so", "etc/examples/ibmon/simple.c", "-Wall -Wextra -Werror");
	for (size_t i = 0; i < sizeof(lossless) / sizeof(lossless[0]); i++) {
		struct public_rig x;

		snprintf(path, sizeof(path), GOLDEN_DIR "/rxe/%s.ring", lossless[i]);
		public_begin(&x, path);
		assert_int_equal(ibmon_layout_load(x.m, tmp_at(&f->dir, "simple.so"), NULL, 0), 0);
		assert_string_equal(ibmon_layout_name(x.m, IBMON_PROVIDER_OTHERS, IBMON_SQ),
				    "simple send queue");
		x.sq = public_ring(&x, x.g.sq, IBMON_PROVIDER_OTHERS);
		public_all(&x);
		assert_true(ibmon_ring_idle(x.sq));
		public_end(&x);
	}
}

RIG_TEST(layout__loaded_twice__is_refused)
{
	struct fixture *f = *state;

	build(f, "fake.so", "tests/fakes/fake_layout.c", "");
	assert_int_equal(load(f, "fake.so", NULL), 0);
	assert_int_equal(load(f, "fake.so", "kind 1 have a layout already, \"fake\""), -EEXIST);
	assert_string_equal(ibmon_layout_name(f->m, FAKE_LAYOUT_PROVIDER, IBMON_SQ), "fake");
	assert_null(ibmon_layout_name(f->m, FAKE_LAYOUT_PROVIDER, IBMON_CQ));
}

static const struct {
	const char *flags, *says;
} wrong[] = {
	{ "-DFAKE_CALLS=malloc", "it needs malloc: a layout allocates" },
	{ "-DFAKE_CALLS=clock_gettime", "it needs clock_gettime: " },
	{ "-DFAKE_SYMBOL", "it exports no symbol ibmon_layout_v1: define" },
	{ "-DFAKE_ABI=1", "it was built for version 2 of resex/ibmon.h, and this program has 1" },
	{ "-Wl,--no-as-needed -lm", "it needs the library libm.so.6" },
};

RIG_TEST(layout__built_wrongly__is_refused)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		build(f, "fake.so", "tests/fakes/fake_layout.c", wrong[i].flags);
		assert_int_equal(load(f, "fake.so", wrong[i].says), -EINVAL);
		assert_null(ibmon_layout_name(f->m, FAKE_LAYOUT_PROVIDER, IBMON_SQ));
	}
}

RIG_TEST(layout__file_of_others_or_none__is_refused)
{
	struct fixture *f = *state;
	char from[160];

	assert_int_equal(load(f, "fake.so", "it cannot be read: No such file"), -ENOENT);
	assert_int_equal(load(f, "", "names no file"), -EINVAL);
	build(f, "fake.so", "tests/fakes/fake_layout.c", "");
	snprintf(from, sizeof(from), "%s", tmp_at(&f->dir, "fake.so"));
	assert_int_equal(symlink(from, tmp_at(&f->dir, "link.so")), 0);
	assert_int_equal(load(f, "link.so", "a symbolic link"), -ELOOP);
	assert_int_equal(chmod(from, 0666), 0);
	assert_int_equal(load(f, "fake.so", "others than its owner can write it"), -EACCES);
	assert_int_equal(chmod(from, 0644), 0);
	assert_int_equal(chmod(f->dir.path, 0777), 0);
	assert_int_equal(load(f, "fake.so", "can write the directory"), -EACCES);
	assert_int_equal(chmod(f->dir.path, 0755), 0);
	assert_int_equal(load(f, "fake.so", NULL), 0);
}

RIG_TEST(layout__reason_longer_than_its_room__is_cut_off)
{
	struct fixture *f = *state;
	char why[8] = "";

	assert_int_equal(ibmon_layout_load(f->m, "/nonexistent/x.so", why, sizeof(why)), -ENOENT);
	assert_string_equal(why, "it cann");
	assert_int_equal(ibmon_layout_load(f->m, "/nonexistent/x.so", NULL, 0), -ENOENT);
}

/* --- the table ---------------------------------------------------------------------------- */

/* A member of the table that gets another value. */
static const struct change {
	const char *name;
	size_t offset, size;
	uint64_t value;
	const char *says;
} changes[] = {
#define CHANGE(member, v, says)                                                                    \
	{                                                                                          \
		"table__" #member "_of_" #v "__is_refused", offsetof(struct ibmon_layout, member), \
			sizeof(((struct ibmon_layout *)0)->member), v, says                        \
	}
	CHANGE(abi, 0, "it was built for version 0"),
	CHANGE(size, 8, "size is 8: write"),
	CHANGE(provider, 3, "provider is 3: use a number from 64 to 65535"),
	CHANGE(provider, 63, "provider is 63"),
	CHANGE(provider, 65536, "provider is 65536"),
	CHANGE(kind, 0, "kind is 0: use"),
	CHANGE(kind, 2, "it is a completion queue with completed()"),
	CHANGE(kind, 3, "kind is 3: use"),
	CHANGE(name[0], 0, "its name is not 1 to 31"),
	CHANGE(name[1], 0x1f, "its name is not 1 to 31"),
	CHANGE(name[2], 0x7f, "its name is not 1 to 31"),
	CHANGE(db_bytes, 2, "db_bytes is 2: use"),
	CHANGE(db_bytes, 12, "db_bytes is 12: use"),
	CHANGE(db_bytes, 128, "db_bytes is 128: use"),
	CHANGE(reserved, 1, "reserved is 1: leave"),
	CHANGE(state_size, 0, "a function is missing"),
	CHANGE(open, 0, "a function is missing"),
	CHANGE(sample, 0, "a function is missing"),
	CHANGE(header_same, 0, "a function is missing"),
};

static void is_said(void **state)
{
	const struct change *c = *state;
	struct ibmon_layout l = ibmon_layout_v1;
	char why[PLUGIN_WHY_MAX] = "";

	assert_int_equal(layout_check(&l, why), 0);
	memcpy((uint8_t *)&l + c->offset, &c->value, c->size); /* little-endian */
	assert_int_equal(layout_check(&l, why), -EINVAL);
	if (!strstr(why, c->says))
		fail_msg("%s", why);
}
TEST_ROWS(changes, is_said)

TEST(table__name_without_an_end__is_refused)
{
	struct ibmon_layout l = ibmon_layout_v1;
	char why[PLUGIN_WHY_MAX];

	memset(l.name, 'x', sizeof(l.name));
	assert_int_equal(layout_check(&l, why), -EINVAL);
	l.name[IBMON_NAME_MAX - 1] = 0;
	assert_int_equal(layout_check(&l, why), 0);
}

/* --- what it returns ----------------------------------------------------------------------- */

enum { ENTRIES = 64, QPN = 17 };

struct plugged {
	_Alignas(8) union {
		struct fake_layout_ring says;
		uint8_t bytes[ENTRIES * 32];
	} mem;
	uint32_t db[2];
	struct ibmon_layout layout;
	struct ring_ops ops;
	struct ring_desc desc;
	struct ring_mem at;
	struct ring *r;
	struct sample s;
};

static struct plugged *plugged(uint32_t kind)
{
	struct plugged *x = aligned_alloc(64, (sizeof(*x) + 63) / 64 * 64);

	assert_non_null(x);
	memset(x, 0, sizeof(*x));
	x->layout = ibmon_layout_v1;
	x->layout.kind = kind;
	x->layout.db_bytes = 4;
	if (kind == IBMON_CQ)
		x->layout.completed = NULL;
	x->ops = ring_plug_ops(&x->layout);
	x->desc = (struct ring_desc){ .provider = FAKE_LAYOUT_PROVIDER,
				      .kind = kind,
				      .number = QPN,
				      .elem_size = 32,
				      .entries = ENTRIES };
	x->at = (struct ring_mem){ x->mem.bytes, sizeof(x->mem),
				   offsetof(struct plugged, db) - offsetof(struct plugged, mem) };
	x->mem.says.fault = -1;
	for (int i = 0; i < 3; i++)
		x->mem.says.watch[i] = FAKE_LAYOUT_NONE;
	assert_int_equal(ring_open_over(&x->r, &x->ops, &x->desc, &x->at), 0);
	return x;
}

static void unplug(struct plugged *x)
{
	ring_close(x->r);
	free(x);
}

/* Two requests that were read, and three that were lost. */
static struct ibmon_counts plausible(void)
{
	return (struct ibmon_counts){ .wrs = 5,
				      .seen = 2,
				      .lost = 3,
				      .errors = 1,
				      .mtus_sent = 7,
				      .bytes_sent = 4096,
				      .bytes_recv = 10,
				      .mtus_recv = 1,
				      .bytes_bound = 9000,
				      .likely_sent = 3000,
				      .likely_recv = 20,
				      .backlog = ENTRIES,
				      .ops = { 1, 0, 1 },
				      .flags = IBMON_LAPPED | IBMON_MTUS_ESTIMATED,
				      .msg_bytes = 2048,
				      .qpn = 9 };
}

TEST(plug_in__what_it_counts__is_the_sample)
{
	struct plugged *x = plugged(IBMON_SQ);
	struct ring_totals t;

	x->mem.says.counts = plausible();
	assert_int_equal(ring_sample(x->r, 77, &x->s), 0);
	assert_int_equal(x->s.wrs, 5);
	assert_int_equal(x->s.seen, 2);
	assert_int_equal(x->s.lost, 3);
	assert_int_equal(x->s.errors, 1);
	assert_int_equal(x->s.mtus_sent, 7);
	assert_int_equal(x->s.mtus_recv, 1);
	assert_int_equal(x->s.bytes_sent, 4096);
	assert_int_equal(x->s.bytes_recv, 10);
	assert_int_equal(x->s.bytes_bound, 9000);
	assert_int_equal(x->s.likely_sent, 3000);
	assert_int_equal(x->s.likely_recv, 20);
	assert_int_equal(x->s.backlog, ENTRIES);
	assert_int_equal(x->s.ops[OP_SEND] + 10 * x->s.ops[OP_READ], 11);
	assert_int_equal(x->s.flags, SAMPLE_LAPPED | SAMPLE_MTUS_ESTIMATED);
	assert_int_equal(x->s.msg_bytes, 2048);
	ring_totals(x->r, &t);
	assert_int_equal(t.qpn, 9);
	unplug(x);
}

/* A count of plausible() that cannot be. */
static const struct impossible {
	const char *name;
	size_t offset;
	uint64_t value;
	bool short_member;
} impossibles[] = {
#define COUNT(member, v)                                                                           \
	{                                                                                          \
		"plug_in__" #member "_of_" #v "__is_a_fault",                                      \
			offsetof(struct ibmon_counts, member), v,                                  \
			sizeof(((struct ibmon_counts *)0)->member) == 4                            \
	}
	COUNT(wrs, 4),
	COUNT(wrs, 6),
	COUNT(seen, 4097),
	COUNT(lost, 4294967296),
	COUNT(errors, 3),
	COUNT(mtus_sent, 41943041),
	COUNT(mtus_recv, 41943041),
	COUNT(bytes_sent, 4294967297),
	COUNT(bytes_recv, 4294967297),
	COUNT(bytes_bound, 6442450945),
	COUNT(likely_sent, 6442450945),
	COUNT(likely_recv, 6442450945),
	COUNT(backlog, 65),
	COUNT(ops[1], 1),
	COUNT(ops[0], 0),
	COUNT(ops[0], 0xffffffffffffffff),
	COUNT(flags, 16), /* of the daemon alone */
	COUNT(flags, 64),
	COUNT(msg_bytes, 2147483649),
};

static void is_a_fault(void **state)
{
	const struct impossible *c = *state;
	struct plugged *x = plugged(IBMON_SQ);
	uint8_t *at = (uint8_t *)&x->mem.says.counts + c->offset;

	x->mem.says.counts = plausible();
	memcpy(at, &c->value, c->short_member ? 4 : 8); /* little-endian */
	/* All that has to agree with a great count does. */
	if (c->value == 4097) {
		x->mem.says.counts.wrs = c->value + 3;
		x->mem.says.counts.ops[0] = c->value - 1;
	}
	if (c->value == 4294967296)
		x->mem.says.counts.wrs = c->value + 2;
	assert_int_equal(ring_sample(x->r, 1, &x->s), -EBADMSG);
	assert_int_equal(ring_fault(x->r), RING_FAULT_PLUGIN);
	assert_int_equal(x->s.wrs | x->s.mtus_sent | x->s.bytes_sent, 0);
	unplug(x);
}
TEST_ROWS(impossibles, is_a_fault)

/* Of a completion queue, work is counted on the send queues. */
TEST(plug_in__completion_queue_with_work__is_a_fault)
{
	struct plugged *x = plugged(IBMON_CQ);

	x->mem.says.counts = (struct ibmon_counts){ .wrs = 3, .seen = 3, .errors = 1 };
	assert_int_equal(ring_sample(x->r, 1, &x->s), 0);
	assert_int_equal(x->s.seen, 3);
	x->mem.says.counts.bytes_sent = 1;
	assert_int_equal(ring_sample(x->r, 1, &x->s), -EBADMSG);
	assert_int_equal(ring_fault(x->r), RING_FAULT_PLUGIN);
	unplug(x);
}

TEST(plug_in__fault_that_it_names__is_that_of_the_ring)
{
	for (int f = -1; f <= IBMON_FAULT_PLUGIN + 1; f++) {
		struct plugged *x = plugged(IBMON_SQ);
		bool named = f >= IBMON_FAULT_HEADER && f <= IBMON_FAULT_LAYOUT;

		x->mem.says.rc = -1;
		x->mem.says.fault = f;
		assert_int_equal(ring_sample(x->r, 1, &x->s), -EBADMSG);
		assert_int_equal(ring_fault(x->r), named ? f : (int)RING_FAULT_PLUGIN);
		unplug(x);
	}
}

TEST(plug_in__open__gets_its_state_and_doorbell_or_refuses)
{
	static const int rc[][2] = { { 0, 0 },
				     { -EPROTONOSUPPORT, -EPROTONOSUPPORT },
				     { -EBADMSG, -EBADMSG },
				     { -ENOMEM, -EBADMSG },
				     { 1, -EBADMSG } };
	struct plugged *x = plugged(IBMON_SQ);
	const struct fake_layout_state *s =
		(const void *)((const uint8_t *)x->r->state + RING_LINE);
	struct ring *other = NULL;

	assert_true(s->aligned);
	assert_int_equal(s->db_len, 4);
	assert_int_equal(ring_sample(x->r, 77, &x->s), 0);
	assert_int_equal(s->elapsed_ns, 77);
	for (size_t i = 0; i < sizeof(rc) / sizeof(rc[0]); i++) {
		x->mem.says.open_rc = rc[i][0];
		assert_int_equal(ring_open_over(&other, &x->ops, &x->desc, &x->at), rc[i][1]);
		if (!rc[i][1])
			ring_close(other);
	}
	x->mem.says.open_rc = 0;
	x->desc.path_mtu = FAKE_LAYOUT_HUGE;
	assert_int_equal(ring_open_over(&other, &x->ops, &x->desc, &x->at), -EPROTONOSUPPORT);
	unplug(x);
}

/* Through the peers, as between queues that are built in. */
TEST(plug_in__completion_queue__tells_the_send_queue)
{
	struct plugged *sq = plugged(IBMON_SQ), *cq = plugged(IBMON_CQ);
	struct ring_peers *peers = ring_peers_new(&sq->r, 1);

	assert_non_null(peers);
	cq->mem.says.tell = QPN + 1;
	cq->mem.says.counter = 700;
	assert_int_equal(ring_sample_among(cq->r, peers, 1, &cq->s), 0);
	assert_int_equal(ring_sample_among(sq->r, peers, 1, &sq->s), 0);
	assert_int_equal(sq->s.wrs, 0);
	cq->mem.says.tell = QPN;
	assert_int_equal(ring_sample_among(cq->r, NULL, 1, &cq->s), 0);
	assert_int_equal(ring_sample_among(cq->r, peers, 1, &cq->s), 0);
	assert_int_equal(ring_sample_among(sq->r, peers, 1, &sq->s), 0);
	assert_int_equal(sq->s.wrs, 1);
	assert_int_equal(sq->s.errors, 1);
	assert_int_equal(sq->s.msg_bytes, 700);
	free(peers);
	unplug(sq);
	unplug(cq);
}

/* --- the words that it watches --------------------------------------------------------------- */

enum { WORD = offsetof(struct fake_layout_ring, word), END = ENTRIES * 32 };

static const struct watched {
	const char *name;
	int32_t watch[3];
	uint32_t backlog;
	bool are;
} watches[] = {
	{ "plug_in__words_within__are_watched", { WORD, WORD, FAKE_LAYOUT_NONE }, 0, true },
	{ "plug_in__three_words__are_watched", { WORD, 0, END - 4 }, ENTRIES, true },
	{ "plug_in__word_of_the_doorbell__is_watched", { END, WORD, FAKE_LAYOUT_NONE }, 0, true },
	{ "plug_in__no_words__are_not", { FAKE_LAYOUT_NONE, WORD, WORD }, 0, false },
	{ "plug_in__one_word__is_not", { WORD, FAKE_LAYOUT_NONE, WORD }, 0, false },
	{ "plug_in__word_beyond_the_doorbell__is_not", { END + 4, WORD, WORD }, 0, false },
	{ "plug_in__second_word_beyond__is_not", { WORD, END + 4, WORD }, 0, false },
	{ "plug_in__third_word_beyond__is_not", { WORD, WORD, END + 4 }, 0, false },
	{ "plug_in__word_before_the_ring__is_not", { WORD, WORD, -4 }, 0, false },
	{ "plug_in__word_that_is_misaligned__is_not", { WORD + 2, WORD, WORD }, 0, false },
	{ "plug_in__backlog_without_its_word__is_not", { WORD, WORD, FAKE_LAYOUT_NONE }, 1, false },
	{ "plug_in__backlog_over_the_entries__is_not", { WORD, WORD, WORD }, ENTRIES + 1, false },
};

static void are_watched(void **state)
{
	const struct watched *c = *state;
	struct plugged *x = plugged(IBMON_SQ);
	struct ring_quiet q;

	assert_int_equal(x->at.db_at, END);
	memcpy(x->mem.says.watch, c->watch, sizeof(c->watch));
	x->mem.says.backlog = c->backlog;
	ring_watch(x->r, &q);
	assert_int_equal(q.at[0] != NULL, c->are);
	assert_int_equal(q.backlog, c->are ? c->backlog : 0);
	if (c->are) {
		assert_ptr_equal(q.at[0], x->mem.bytes + c->watch[0]);
		assert_ptr_equal(q.at[1], x->mem.bytes + c->watch[1]);
		assert_int_equal(!q.at[2], c->watch[2] == FAKE_LAYOUT_NONE);
	}
	unplug(x);
}
TEST_ROWS(watches, are_watched)

TEST(plug_in__word_across_the_end_of_the_ring__is_not_watched)
{
	struct plugged *x = plugged(IBMON_SQ);
	struct ring_quiet q;

	ring_close(x->r);
	x->at.len = END - 2;
	assert_int_equal(ring_open_over(&x->r, &x->ops, &x->desc, &x->at), 0);
	memcpy(x->mem.says.watch, (int32_t[]){ WORD, WORD, END - 8 }, 12);
	ring_watch(x->r, &q);
	assert_non_null(q.at[0]);
	memcpy(x->mem.says.watch, (int32_t[]){ WORD, WORD, END - 4 }, 12);
	ring_watch(x->r, &q);
	assert_null(q.at[0]);
	unplug(x);
}

TEST(plug_in__functions_that_are_missing__are_not_called)
{
	struct plugged *x = plugged(IBMON_SQ);
	struct ring_peers *peers;
	struct ring_quiet q;

	x->layout.quiet = NULL;
	ring_watch(x->r, &q);
	assert_null(q.at[0]);
	ring_prefetch_work(x->r, false);
	x->layout.completed = NULL;
	x->ops = ring_plug_ops(&x->layout);
	peers = ring_peers_new(&x->r, 1);
	assert_null(peers);
	assert_true(x->r->ops->header_same(&x->r->desc, &x->r->mem));
	x->mem.says.header_differs = 1;
	assert_false(x->r->ops->header_same(&x->r->desc, &x->r->mem));
	unplug(x);
}
