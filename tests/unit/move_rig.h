/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * move_rig: eight hosts. 1 is the home; 2, 3, 4 balance; 5 to 8 have the nodes.
 *
 *	service  minimum  balancers  nodes (host.node: load)
 *	10       1        2, 4       7.0: 900
 *	20       2        3          5.0: 100, 5.1: 50, 6.0: 70
 *	30       1        4, 2       6.1: 800, 8.0: 800
 */
#ifndef RESEX_TESTS_MOVE_RIG_H
#define RESEX_TESTS_MOVE_RIG_H

#include "src/reconf/move.h"
#include "tests/unit/shared_rig.h"

enum {
	HOLD = 200 * MS,
	DEADLINE = 50 * MS,
	CHECK = 10 * MS,
	HOME = 1,
	S10 = 0,
	S20,
	S30,
	SERVICES,
	NODES = 6,
	NODE_HOSTS = 4, /* that have nodes */
	N70 = 0,	/* nodes, by host and number */
	N50,
	N51,
	N60,
	N61,
	N80,
};

#define START	(5ull << REGION_COUNT_BITS) /* of locks: the home's fifth start */
#define NODE_UP (9ull << 16)		    /* of nodes: some changes before */
#define ALL	0xffull

/* A host that balances. */
struct mover {
	struct move move;
	struct lock lock[SERVICES];
	struct counter counter[SERVICES];
	struct step_out out;
	uint32_t link; /* number of all its links */
	uint32_t ops;
};

struct rig {
	struct words w;
	struct move_view view;
	struct mover mover[5]; /* by host */
	struct mono now;
	uint16_t unkept; /* this host keeps its words no more; all others at once */
};

static inline void step_mover(struct rig *r, struct mover *h, struct step_event ev)
{
	uint32_t before = h->out.n;

	move_step(&h->move, &ev, r->now, &h->out);
	h->ops += h->out.n - before;
}

static inline uint64_t *node_word(struct rig *r, uint32_t i)
{
	return rig_word(&r->w, r->view.node[i].host, region_node_offset(r->view.node[i].node));
}

static inline uint64_t *lock_word(struct rig *r, uint32_t s)
{
	return rig_word(&r->w, HOME, region_lock_offset(r->view.service[s].id));
}

static inline uint64_t *counter_word(struct rig *r, uint16_t host, uint32_t s)
{
	return rig_word(&r->w, host, region_counter_offset(r->view.service[s].id));
}

static inline uint32_t nodes_of(struct rig *r, uint32_t s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->view.nodes; i++)
		n += region_word_id(*node_word(r, i)) == r->view.service[s].id;
	return n;
}

static inline void keep_words(struct rig *r, uint16_t host)
{
	memcpy(rig_word(&r->w, host, region_kept_offset(0)),
	       rig_word(&r->w, host, region_node_offset(0)), 8 * REGION_NODES_MAX);
}

static inline void give_result(struct rig *r, struct mover *h, const struct step_op *op,
			       enum step_outcome o, uint64_t old)
{
	struct step_event ev = rig_result(op, o, old, h->link);

	if (op->host != r->unkept)
		keep_words(r, op->host);
	if (op->kind == STEP_READ && o == STEP_DONE) {
		ev.data = rig_word(&r->w, op->host, op->offset);
		ev.words = op->len / 8;
	}
	step_mover(r, h, ev);
}

/* Remove and return the first operation that h has put out. */
static inline struct step_op take_op(struct mover *h)
{
	struct step_op op = h->out.op[0];

	assert_true(h->out.n > 0);
	h->out.n--;
	memmove(h->out.op, h->out.op + 1, h->out.n * sizeof(op));
	return op;
}

/* Execute the first operation that h has put out, and give h the result. */
static inline void execute_one(struct rig *r, struct mover *h)
{
	struct step_op op = take_op(h);

	give_result(r, h, &op, STEP_DONE, rig_execute(&r->w, &op));
}

/* Set the time to when h is due: it waits for nothing else. */
static inline void pass_to_due(struct rig *r, struct mover *h)
{
	struct mono due = move_due(&h->move);

	assert_true(due.ns != INT64_MAX);
	if (due.ns > r->now.ns)
		r->now = due;
	step_mover(r, h, (struct step_event){ .type = STEP_TICK });
}

static inline void run_until(struct rig *r, struct mover *h, enum move_state until)
{
	while (h->move.state != until) {
		if (h->out.n)
			execute_one(r, h);
		else
			pass_to_due(r, h);
	}
}

/* The load of s was high for T: ask h for a move. */
static inline void ask_for_move(struct rig *r, struct mover *h, uint32_t s)
{
	for (int i = 0; i < 3; i++)
		counter_check(&h->counter[s], true);
	step_mover(r, h, rig_ask(s));
}

/* Run a move until it has put out the operations of this state. */
static inline void begin_move(struct rig *r, struct mover *h, uint32_t s, enum move_state until)
{
	ask_for_move(r, h, s);
	run_until(r, h, until);
}

static inline enum move_result whole_move(struct rig *r, struct mover *h, uint32_t s)
{
	begin_move(r, h, s, MOVE_IDLE);
	assert_int_equal(h->out.n, 0);
	return move_result(&h->move);
}

static inline void new_links(struct rig *r, struct mover *h)
{
	h->link++;
	for (uint16_t host = 1; host <= RIG_HOSTS; host++)
		step_mover(r, h, rig_link(host, h->link));
}

/* Start the daemon of host: it knows nothing yet. */
static inline void start(struct rig *r, uint16_t host)
{
	struct mover *h = &r->mover[host];
	struct move_conf c = {
		.self = host,
		.tag = 7000,
		.hold_ns = HOLD,
		.deadline_ns = DEADLINE,
		.check_ns = CHECK,
		.drift_ppm = 200,
		.checks = 3,
		.seed = host,
	};

	h->out.n = 0;
	move_init(&h->move, &c, &r->view, h->lock, h->counter);
	new_links(r, h);
	step_mover(r, h, rig_view(0, ALL, true));
	for (uint32_t s = 0; s < SERVICES; s++)
		if (hostset_has(&r->view.service[s].balancers, host))
			assert_int_equal(whole_move(r, h, s),
					 MOVE_COUNTER_AHEAD); /* the first look copies */
}

static inline void put_node(struct rig *r, uint16_t host, uint16_t node, uint32_t s, uint32_t load)
{
	uint32_t i = r->view.nodes++;

	r->view.node[i] = (struct move_node){ .host = host,
					      .node = node,
					      .load = load,
					      .alive = true,
					      .word = region_word(r->view.service[s].id, NODE_UP) };
	*node_word(r, i) = r->view.node[i].word;
}

static inline int rig_setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	r->now.ns = 1000 * (int64_t)MS;
	r->view.services = SERVICES;
	r->view.service[S10] = (struct move_service){ 10, 1, { { 0x0a } } };
	r->view.service[S20] = (struct move_service){ 20, 2, { { 0x04 } } };
	r->view.service[S30] = (struct move_service){ 30, 1, { { 0x0a } } };
	put_node(r, 7, 0, S10, 900);
	put_node(r, 5, 0, S20, 100);
	put_node(r, 5, 1, S20, 50);
	put_node(r, 6, 0, S20, 70);
	put_node(r, 6, 1, S30, 800);
	put_node(r, 8, 0, S30, 800);
	for (uint32_t s = 0; s < SERVICES; s++)
		*lock_word(r, s) = region_word(0, START + 1);
	for (uint16_t host = 2; host <= 4; host++)
		start(r, host);
	*state = r;
	return 0;
}

/* Host 2 gets into this state with the locks of 10 and 20, and then dies. */
static inline void dies_at(struct rig *r, enum move_state at)
{
	begin_move(r, &r->mover[2], S10, at);
}

static inline int rig_teardown(void **state)
{
	free(*state);
	return 0;
}

#endif
