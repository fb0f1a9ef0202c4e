// SPDX-License-Identifier: GPL-2.0-or-later
/* keep: with which words a host begins; how it saves its nodes' words, and then keeps them. */
#include "src/reconf/keep.h"
#include "tests/unit/shared_rig.h"
#include "tests/unit/unit.h"

enum { SELF = 3, NODES = 3, CHECK = 20 * MS, TAG = 5000 };

struct rig {
	struct words w;
	struct keep k;
	struct step_out out;
	struct mono now;
};

static uint64_t *word(struct rig *r, uint32_t node)
{
	return rig_word(&r->w, SELF, region_node_offset(node));
}

static uint64_t *kept(struct rig *r, uint32_t node)
{
	return rig_word(&r->w, SELF, region_kept_offset(node));
}

static void tell(struct rig *r, struct step_event ev)
{
	keep_step(&r->k, &ev, r->now, &r->out);
}

static void pass(struct rig *r)
{
	struct mono due = keep_due(&r->k);

	assert_true(due.ns != INT64_MAX);
	if (due.ns > r->now.ns)
		r->now = due;
	tell(r, (struct step_event){ .type = STEP_TICK });
}

static struct step_op take(struct rig *r)
{
	struct step_op op = r->out.op[0];

	assert_true(r->out.n > 0);
	assert_int_equal(op.host, SELF);
	assert_in_range(op.tag, TAG, TAG + KEEP_TAGS - 1);
	r->out.n--;
	memmove(r->out.op, r->out.op + 1, r->out.n * sizeof(op));
	return op;
}

static void give(struct rig *r, const struct step_op *op, enum step_outcome outcome)
{
	struct step_event ev = rig_result(op, outcome, 0, 1);

	if (outcome == STEP_DONE)
		ev.old = rig_execute(&r->w, op);
	if (op->kind == STEP_READ && outcome == STEP_DONE) {
		ev.data = rig_word(&r->w, op->host, op->offset);
		ev.words = op->len / 8;
	}
	tell(r, ev);
}

static void execute_all(struct rig *r)
{
	while (r->out.n) {
		struct step_op op = take(r);

		give(r, &op, STEP_DONE);
	}
}

/* A mover changes the node's word. */
static void move_node(struct rig *r, uint32_t node, uint16_t to)
{
	*word(r, node) = region_word(to, region_seq_next(region_word_seq(*word(r, node))));
}

static int setup(void **state)
{
	static const struct keep_conf c = {
		.self = SELF, .tag = TAG, .nodes = NODES, .check_ns = CHECK
	};
	struct rig *r = calloc(1, sizeof(*r));
	uint64_t node[NODES];

	assert_non_null(r);
	for (uint32_t i = 0; i < NODES; i++)
		*word(r, i) = *kept(r, i) = node[i] = region_word(7, region_seq(4, 9));
	keep_init(&r->k, &c, node);
	r->now.ns = CHECK;
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

/* --- with which words a host begins ------------------------------------------------- */

TEST(begin__table)
{
	static const uint64_t in_file = 9ull << REGION_SEQ_BITS | 5 << 4;
	static const struct {
		uint64_t file;
		bool has_file, first;
		uint16_t service; /* in the configuration */
		bool saves;
		uint64_t word;
	} rows[] = {
		{ 0, false, true, 3, true, 3ull << REGION_SEQ_BITS | 1 }, /* the first start */
		{ in_file, true, false, 3, false, in_file },		  /* a restart */
		{ in_file, true, true, 3, false, in_file }, /* died in its first start */
		{ 0, true, false, 3, true, 3ull << REGION_SEQ_BITS | 1 }, /* a new node */
		{ 0, false, false, 3, true, 1 },			  /* the file is lost */
		{ 1, true, false, 3, false, 1 },			  /* and not adopted yet */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t node[REGION_NODES_MAX], file[REGION_NODES_MAX];
		uint16_t service[REGION_NODES_MAX] = { 0 };

		for (uint32_t n = 0; n < REGION_NODES_MAX; n++)
			file[n] = 1;
		file[REGION_NODES_MAX - 1] = rows[i].file;
		service[REGION_NODES_MAX - 1] = rows[i].service;
		assert_int_equal(
			keep_begin(node, rows[i].has_file ? file : NULL, service, rows[i].first),
			rows[i].saves);
		assert_true(node[REGION_NODES_MAX - 1] == rows[i].word);
		assert_true(node[0] == 1);
	}
}

/* --- how it keeps them -------------------------------------------------------------- */

RIG_TEST(keep__nothing_changed__one_read_a_check)
{
	struct rig *r = *state;

	for (int i = 0; i < 3; i++) {
		pass(r);
		assert_int_equal(r->out.n, 1);
		assert_int_equal(r->out.op[0].kind, STEP_READ);
		assert_int_equal(r->out.op[0].offset, region_node_offset(0));
		assert_int_equal(r->out.op[0].len, 8 * (REGION_NODES_MAX + NODES));
		execute_all(r);
		assert_int_equal(keep_state(&r->k), KEEP_RESTS);
		assert_null(keep_wants(&r->k));
		assert_true(keep_due(&r->k).ns == r->now.ns + CHECK);
	}
}

RIG_TEST(keep__a_node_was_moved__is_saved_and_then_kept)
{
	struct rig *r = *state;
	uint64_t before = *kept(r, 1);

	move_node(r, 1, 8);
	pass(r);
	execute_all(r);
	assert_int_equal(keep_state(&r->k), KEEP_SAVES);
	assert_true(keep_wants(&r->k)[1] == *word(r, 1));
	assert_true(keep_wants(&r->k)[0] == *word(r, 0));
	assert_true(keep_due(&r->k).ns == INT64_MAX); /* it waits for its owner */
	assert_true(*kept(r, 1) == before);
	tell(r, rig_ask(KEEP_SAVED));
	assert_int_equal(r->out.n, 1); /* of this node alone */
	assert_int_equal(r->out.op[0].link, 1);
	execute_all(r);
	assert_true(*kept(r, 1) == *word(r, 1));
	assert_int_equal(keep_state(&r->k), KEEP_RESTS);
}

RIG_TEST(keep__moved_again_while_it_is_saved__keeps_what_was_saved)
{
	struct rig *r = *state;
	uint64_t first;

	move_node(r, 1, 8);
	first = *word(r, 1);
	pass(r);
	execute_all(r);
	move_node(r, 1, 9);
	tell(r, rig_ask(KEEP_SAVED));
	execute_all(r);
	assert_true(*kept(r, 1) == first);
	pass(r);
	execute_all(r);
	assert_true(keep_wants(&r->k)[1] == *word(r, 1));
	tell(r, rig_ask(KEEP_SAVED));
	execute_all(r);
	assert_true(*kept(r, 1) == *word(r, 1));
}

RIG_TEST(keep__not_saved__nothing_is_kept_and_it_asks_again)
{
	struct rig *r = *state;

	move_node(r, 0, 8);
	pass(r);
	execute_all(r);
	tell(r, rig_ask(KEEP_FAILED));
	assert_int_equal(r->out.n, 0);
	assert_int_equal(keep_state(&r->k), KEEP_RESTS);
	pass(r);
	execute_all(r);
	assert_non_null(keep_wants(&r->k));
	tell(r, rig_ask(KEEP_SAVED));
	execute_all(r);
	assert_true(*kept(r, 0) == *word(r, 0));
}

RIG_TEST(keep__answer_without_a_question__is_ignored)
{
	struct rig *r = *state;

	move_node(r, 0, 8);
	tell(r, rig_ask(KEEP_SAVED)); /* it rested, and begins to read */
	tell(r, rig_ask(KEEP_SAVED));
	execute_all(r);
	assert_int_equal(keep_state(&r->k), KEEP_SAVES);
	assert_true(*kept(r, 0) != *word(r, 0));
}

RIG_TEST(keep__the_cas_did_not_happen__is_made_again_without_saving)
{
	static const enum step_outcome outcomes[] = { STEP_REFUSED, STEP_LOST, STEP_UNKNOWN };

	for (size_t i = 0; i < sizeof(outcomes) / sizeof(outcomes[0]); i++) {
		struct rig *r = *state;
		struct step_op op;

		move_node(r, 2, (uint16_t)(8 + i));
		pass(r);
		execute_all(r);
		tell(r, rig_ask(KEEP_SAVED));
		op = take(r);
		give(r, &op, outcomes[i]);
		assert_int_equal(keep_state(&r->k), KEEP_RESTS);
		tell(r, rig_link(SELF, 2));
		pass(r);
		op = take(r);
		give(r, &op, STEP_DONE);
		assert_int_equal(keep_state(&r->k), KEEP_KEEPS);
		execute_all(r);
		assert_true(*kept(r, 2) == *word(r, 2));
	}
}

RIG_TEST(keep__no_link__puts_out_nothing_until_there_is_one)
{
	struct rig *r = *state;
	struct step_op op;

	pass(r);
	op = take(r);
	give(r, &op, STEP_LOST);
	assert_true(keep_due(&r->k).ns == INT64_MAX);
	r->now.ns += 10 * (int64_t)CHECK;
	tell(r, (struct step_event){ .type = STEP_TICK });
	tell(r, rig_link(SELF + 1, 2)); /* of another host */
	tell(r, rig_link(SELF, 1));	/* that which was lost */
	assert_int_equal(r->out.n, 0);
	tell(r, rig_link(SELF, 2));
	assert_int_equal(r->out.n, 1);
}

RIG_TEST(keep__a_result_that_was_given_up__is_ignored)
{
	struct rig *r = *state;
	struct step_op old;

	pass(r);
	old = take(r);
	give(r, &old, STEP_REFUSED);
	move_node(r, 0, 8);
	pass(r);
	give(r, &old, STEP_DONE);
	assert_int_equal(keep_state(&r->k), KEEP_READS);
	execute_all(r);
	assert_int_equal(keep_state(&r->k), KEEP_SAVES);
}

RIG_TEST(keep__no_room_in_a_step__goes_on_in_the_next)
{
	struct rig *r = *state;

	for (uint32_t i = 0; i < NODES; i++)
		move_node(r, i, 8);
	r->out.taken = STEP_OPS_MAX;
	pass(r);
	assert_int_equal(keep_state(&r->k), KEEP_RESTS);
	r->out.taken = STEP_OPS_MAX - 1;
	pass(r);
	execute_all(r);
	r->out.taken = STEP_OPS_MAX;
	tell(r, rig_ask(KEEP_SAVED));
	assert_int_equal(r->out.n, 0);
	assert_int_equal(keep_due(&r->k).ns, 0);
	r->out.taken = STEP_OPS_MAX - 1;
	pass(r);
	for (uint32_t i = 0; i < NODES; i++) {
		assert_int_equal(r->out.n, 1);
		execute_all(r);
		if (i + 1 < NODES && !r->out.n)
			pass(r);
	}
	for (uint32_t i = 0; i < NODES; i++)
		assert_true(*kept(r, i) == *word(r, i));
}
