// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * runner: over the transport "shm" with a simulated time. Every operation comes
 * back once, in order, also when its link is full, gone, or its time is over; and
 * locks run by it exclude each other, in two rounds when nobody contends.
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "src/reconf/lock.h"
#include "src/reconf/put.h"
#include "src/reconf/runner.h"
#include "src/shared/region.h"
#include "src/transport/shm/faults.h"
#include "tests/unit/tmpdir.h"
#include "tests/unit/unit.h"

enum { HOSTS = 3, HOME = 1, SERVICE = 1, PREFIX = 0x5ea1, BURST = 20, DEADLINE = 50 };

static const uint8_t key[] = "0123456789abcdef0123456789abcdef";

/* A protocol that puts out what a test asks for, and counts the results. */
struct burst {
	struct step_op op;	 /* the first; the others are of the words that follow */
	uint32_t put;		 /* those for which there was room */
	uint32_t results, order; /* how many, and how many of them in order */
	uint32_t by[4];		 /* by outcome */
	uint32_t links, views;
	uint32_t before; /* results before the newest link was reported */
	uint32_t link;	 /* of the newest result, and below */
	uint32_t words;
	uint64_t old, data[STEP_READ_MAX / 8];
	uint32_t messages, bytes; /* of the newest message, and below */
	uint16_t from;
	uint8_t message[STEP_MESSAGE_MAX];
};

struct host {
	struct transport *t;
	struct runner *r;
	struct lock lock;
	struct burst burst;
};

struct rig {
	struct tmpdir dir;
	struct mono now;
	struct host host[HOSTS + 1];
	uint64_t starts;
};

static void burst_step(void *state, const struct step_event *ev, struct mono now,
		       struct step_out *out)
{
	struct burst *b = state;

	(void)now;
	b->links += ev->type == STEP_LINK;
	if (ev->type == STEP_LINK)
		b->before = b->results;
	b->views += ev->type == STEP_VIEW;
	if (ev->type == STEP_RESULT) {
		b->order += ev->tag == 1000 + b->results;
		b->results++;
		b->by[ev->outcome]++;
		b->link = ev->link;
		b->old = ev->old;
		b->words = ev->words;
		for (uint32_t i = 0; i < ev->words; i++)
			b->data[i] = ev->data[i];
	}
	if (ev->type == STEP_MESSAGE) {
		b->messages++;
		b->from = ev->host;
		b->bytes = ev->len;
		memcpy(b->message, ev->message, ev->len);
	}
	if (ev->type != STEP_ASK)
		return;
	for (uint32_t i = 0; i < ev->what; i++) {
		struct step_op op = b->op;

		op.offset += 8 * i;
		op.tag = 1000 + i;
		b->put += step_put(out, op);
	}
}

static struct mono burst_due(const void *state)
{
	(void)state;
	return (struct mono){ INT64_MAX };
}

static void add_users(struct host *h, uint16_t number)
{
	const struct lock_conf c = { .self = number,
				     .service = SERVICE,
				     .tag = 0,
				     .hold_ns = 100 * NS_PER_MS,
				     .deadline_ns = DEADLINE * NS_PER_MS,
				     .drift_ppm = 1000,
				     .check_ns = 10 * NS_PER_MS,
				     .seed = number };
	struct runner_user lock;
	const struct runner_user burst = { &h->burst, burst_step, burst_due, 1000, BURST };

	lock_init(&h->lock, &c);
	lock = runner_lock(&h->lock);
	h->burst.op = (struct step_op){ .kind = STEP_READ, .host = HOME, .len = 8 };
	assert_int_equal(runner_open(&h->r, h->t, DEADLINE * NS_PER_MS, PREFIX), 0);
	assert_int_equal(runner_add(h->r, &lock), 0);
	assert_int_equal(runner_add(h->r, &burst), 0);
}

static void start(struct rig *r, uint16_t number)
{
	static uint64_t words[REGION_WORDS_BYTES / 8];
	struct transport_conf c = { .host = number,
				    .generation = ++r->starts,
				    .cluster = "test",
				    .key = key,
				    .key_len = sizeof(key),
				    .bytes = { REGION_TABLE_BYTES, REGION_WORDS_BYTES, 4096 },
				    .words = words,
				    .seed = number };
	struct host *h = &r->host[number];
	char text[256] = "";

	assert_int_equal(region_words(words, c.generation, NULL), 0);
	snprintf(c.address, sizeof(c.address), "%s", r->dir.path);
	if (transport_find("shm")->open(&h->t, &c, r->now, text))
		fail_msg("%s", text);
	for (uint16_t n = 1; n <= HOSTS; n++) {
		struct transport_peer p = { .host = n };

		snprintf(p.address, sizeof(p.address), "%s", r->dir.path);
		assert_int_equal(transport_add(h->t, &p, r->now), 0);
	}
	add_users(h, number);
}

static void turn(struct rig *r)
{
	struct transport_event ev[32];

	for (uint16_t n = 1; n <= HOSTS; n++) {
		struct host *h = &r->host[n];
		size_t got = h->t ? transport_poll(h->t, r->now, ev, 32) : 0;

		for (size_t i = 0; i < got; i++)
			runner_event(h->r, &ev[i], r->now);
		if (h->t)
			runner_tick(h->r, r->now);
	}
	r->now.ns += NS_PER_MS / 4;
}

static bool all_linked(const struct rig *r)
{
	for (uint16_t n = 1; n <= HOSTS; n++)
		for (uint16_t k = 1; k <= HOSTS; k++)
			if (!transport_link(r->host[n].t, k))
				return false;
	return true;
}

#define UNTIL(r, condition)                                                                        \
	do {                                                                                       \
		for (int i_ = 0; !(condition) && i_ < 20000; i_++)                                 \
			turn(r);                                                                   \
		if (!(condition))                                                                  \
			fail_msg("never: %s", #condition);                                         \
	} while (0)

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	if (!r)
		return -1;
	r->now.ns = NS_PER_S;
	tmp_open(&r->dir);
	for (uint16_t n = 1; n <= HOSTS; n++)
		start(r, n);
	UNTIL(r, all_linked(r));
	for (uint16_t n = 1; n <= HOSTS; n++)
		runner_view(r->host[n].r, 0, hostset_first(HOSTS), true, r->now);
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	for (uint16_t n = 1; n <= HOSTS; n++) {
		runner_close(r->host[n].r);
		transport_close(r->host[n].t);
	}
	tmp_close(&r->dir);
	free(r);
	return 0;
}

/* --- links ------------------------------------------------------------------------------ */

/* One that is added late knows no link, and would put out nothing. */
RIG_TEST(links__a_user_is_added_when_they_are_up__is_told_of_each_once)
{
	struct rig *r = *state;
	struct host *h = &r->host[2];
	struct burst late = { 0 };
	const struct runner_user u = { &late, burst_step, burst_due, 2000, BURST };
	uint32_t before = h->burst.links;

	assert_int_equal(runner_add(h->r, &u), 0);
	runner_links(h->r, &late, r->now);
	assert_int_equal(late.links, HOSTS);
	assert_int_equal(h->burst.links, before);
	transport_close(r->host[HOME].t);
	r->host[HOME].t = NULL;
	UNTIL(r, !transport_link(h->t, HOME));
	runner_links(h->r, &late, r->now);
	assert_int_equal(late.links, HOSTS + HOSTS - 1);
}

/* --- operations --------------------------------------------------------------------- */

RIG_TEST(burst__more_than_a_link_takes__all_come_back_in_order)
{
	struct rig *r = *state;
	struct burst *b = &r->host[2].burst;

	static_assert(BURST > 2 * TRANSPORT_DEPTH, "some must wait for room");
	runner_ask(r->host[2].r, b, BURST, NULL, r->now);
	assert_true(runner_due_at(r->host[2].r).ns <= r->now.ns + DEADLINE * NS_PER_MS);
	UNTIL(r, b->results == BURST);
	assert_int_equal(b->by[STEP_DONE], BURST);
	assert_int_equal(b->order, BURST);
	assert_int_equal(b->link, transport_link(r->host[2].t, HOME));
}

RIG_TEST(burst__no_link__is_lost_at_once_and_a_link_is_reported)
{
	struct rig *r = *state;
	struct burst *b = &r->host[2].burst;
	uint32_t links = b->links;

	transport_close(r->host[HOME].t);
	r->host[HOME].t = NULL;
	UNTIL(r, !transport_link(r->host[2].t, HOME));
	runner_ask(r->host[2].r, b, 3, NULL, r->now);
	assert_int_equal(b->results, 3);
	assert_int_equal(b->by[STEP_LOST], 3);
	assert_int_equal(b->link, 1);
	assert_int_equal(b->links, links);
	runner_close(r->host[HOME].r);
	start(r, HOME);
	UNTIL(r, transport_link(r->host[2].t, HOME));
	assert_int_equal(b->links, links + 1);
}

/*
 * The home restarts while operations wait for room, and the runner learns of it only when there is
 * a new link: as in a process that was stopped in between.
 */
static void restart_unseen(struct rig *r, struct burst *b)
{
	struct transport_event ev[2 * BURST];
	struct host *h = &r->host[2];
	uint32_t old = transport_link(h->t, HOME);
	size_t n = 0;

	runner_ask(h->r, b, BURST, NULL, r->now);
	transport_close(r->host[HOME].t);
	runner_close(r->host[HOME].r);
	start(r, HOME);
	for (int i = 0; i < 20000 && transport_link(h->t, HOME) <= old; i++) {
		struct transport_event other[8];

		transport_poll(r->host[HOME].t, r->now, other, 8);
		n += transport_poll(h->t, r->now, ev + n, 2 * BURST - n);
		r->now.ns += NS_PER_MS / 64;
	}
	assert_true(transport_link(h->t, HOME) > old);
	for (size_t i = 0; i < n; i++)
		runner_event(h->r, &ev[i], r->now);
	UNTIL(r, b->results == BURST);
}

RIG_TEST(burst__for_an_older_link__is_lost_before_the_newer_one)
{
	struct rig *r = *state;
	struct burst *b = &r->host[2].burst;

	b->op.link = transport_link(r->host[2].t, HOME);
	restart_unseen(r, b); /* what was posted was done at once */
	assert_int_equal(b->by[STEP_DONE], TRANSPORT_DEPTH);
	assert_int_equal(b->by[STEP_LOST], BURST - TRANSPORT_DEPTH);
	assert_int_equal(b->before, BURST);
	/* The newer link is known: none comes. */
	runner_ask(r->host[2].r, b, 1, NULL, r->now);
	assert_int_equal(b->by[STEP_REFUSED], 1);
	b->op.link = transport_link(r->host[2].t, HOME);
	runner_ask(r->host[2].r, b, 1, NULL, r->now);
	UNTIL(r, b->results == BURST + 2);
	assert_int_equal(b->by[STEP_DONE], TRANSPORT_DEPTH + 1);
}

RIG_TEST(burst__for_any_link__waits_for_the_newer_one)
{
	struct rig *r = *state;
	struct burst *b = &r->host[2].burst;

	restart_unseen(r, b);
	assert_int_equal(b->by[STEP_DONE], BURST);
	assert_int_equal(b->before, TRANSPORT_DEPTH);
}

/* More than wait here find no room, and none is dropped. */
RIG_TEST(burst__more_than_wait_at_once__finds_no_room_and_all_put_out_come_back)
{
	struct rig *r = *state;
	struct burst *b = &r->host[2].burst;

	assert_int_equal(transport_shm_cut(r->host[2].t, HOME, true), 0);
	for (uint32_t i = 0; i < RUNNER_OPS_MAX / BURST + 2; i++)
		runner_ask(r->host[2].r, b, BURST, NULL, r->now);
	assert_in_range(b->put, RUNNER_OPS_MAX, RUNNER_OPS_MAX + TRANSPORT_DEPTH);
	UNTIL(r, b->results == b->put);
	runner_ask(r->host[2].r, b, BURST, NULL, r->now);
	assert_in_range(b->put, RUNNER_OPS_MAX + BURST, RUNNER_OPS_MAX + BURST + TRANSPORT_DEPTH);
}

/* As in a process that was stopped in between: an operation that is late is never posted. */
RIG_TEST(burst__time_over_before_there_was_room__is_refused)
{
	struct rig *r = *state;
	struct burst *b = &r->host[2].burst;
	uint32_t link = transport_link(r->host[2].t, HOME);

	runner_ask(r->host[2].r, b, BURST, NULL, r->now);
	assert_int_equal(b->results, 0);
	r->now.ns += 2 * DEADLINE * NS_PER_MS;
	UNTIL(r, b->results == BURST);
	assert_int_equal(b->by[STEP_DONE], TRANSPORT_DEPTH);
	assert_int_equal(b->by[STEP_REFUSED], BURST - TRANSPORT_DEPTH);
	assert_int_equal(transport_link(r->host[2].t, HOME), link);
}

/* Its link goes on, so no new one would end the wait after LOST. */
RIG_TEST(burst__reads_are_late__are_refused)
{
	struct rig *r = *state;
	struct burst *b = &r->host[2].burst;
	uint32_t link = transport_link(r->host[2].t, HOME);

	assert_int_equal(transport_shm_cut(r->host[2].t, HOME, true), 0);
	runner_ask(r->host[2].r, b, 3, NULL, r->now);
	UNTIL(r, b->results == 3);
	assert_int_equal(b->by[STEP_REFUSED], 3);
	assert_int_equal(transport_link(r->host[2].t, HOME), link);
}

/* The last counter, and the first words of nodes. */
RIG_TEST(read__of_several_words__gets_them_in_order)
{
	struct rig *r = *state;
	struct burst *b = &r->host[2].burst;

	b->op.offset = REGION_NODE_WORDS - 8;
	b->op.len = 24;
	runner_ask(r->host[2].r, b, 1, NULL, r->now);
	UNTIL(r, b->results == 1);
	assert_int_equal(b->by[STEP_DONE], 1);
	assert_int_equal(b->words, 3);
	assert_true(b->old == 0 && b->data[0] == 0);
	assert_true(b->data[1] == region_word(0, 1) && b->data[2] == region_word(0, 1));
}

RIG_TEST(read__of_one_word__gets_it_as_the_word_before_too)
{
	struct rig *r = *state;
	struct burst *b = &r->host[2].burst;

	b->op.offset = REGION_NODE_WORDS;
	runner_ask(r->host[2].r, b, 1, NULL, r->now);
	UNTIL(r, b->results == 1);
	assert_int_equal(b->words, 1);
	assert_true(b->old == region_word(0, 1) && b->data[0] == b->old);
}

RIG_TEST(read__of_a_length_that_is_not_allowed__is_refused)
{
	static const uint32_t lengths[] = { 0, 12, STEP_READ_MAX + 8, STEP_READ_MAX };
	struct rig *r = *state;
	struct burst *b = &r->host[2].burst;

	for (uint32_t i = 0; i < 4; i++) {
		b->op.len = lengths[i];
		b->results = 0;
		runner_ask(r->host[2].r, b, 1, NULL, r->now);
		UNTIL(r, b->results == 1);
		assert_int_equal(b->by[STEP_REFUSED], i < 3 ? i + 1 : 3);
	}
	assert_int_equal(b->words, STEP_READ_MAX / 8); /* the last one is allowed */
}

/* What comes of one operation, from a runner that has nothing else to do. */
static enum step_outcome outcome_of(struct rig *r, struct step_op op)
{
	struct burst *b = &r->host[2].burst;

	b->op = op;
	b->results = 0;
	memset(b->by, 0, sizeof(b->by));
	runner_ask(r->host[2].r, b, 1, NULL, r->now);
	UNTIL(r, b->results == 1);
	for (uint32_t i = 0; i < STEP_UNKNOWN; i++)
		if (b->by[i])
			return (enum step_outcome)i;
	return STEP_UNKNOWN;
}

RIG_TEST(parts__that_are_there__are_read_and_only_words_are_changed)
{
	static const struct {
		enum step_kind kind;
		enum step_part part;
		uint32_t offset;
		enum step_outcome outcome;
		uint64_t more; /* than the first contents */
	} row[] = {
		{ STEP_READ, STEP_TABLE, 4096, STEP_DONE, 0x7ab1e },
		{ STEP_READ, STEP_LOAD, 8, STEP_DONE, 0x10ad },
		{ STEP_READ, STEP_WORDS, REGION_NODE_WORDS, STEP_DONE, 0 },
		{ STEP_READ, STEP_VERSIONS, 0, STEP_REFUSED, 0 }, /* it has none */
		{ STEP_READ, STEP_LOAD, 4096, STEP_REFUSED, 0 },  /* its end */
		{ STEP_CAS, STEP_LOAD, 8, STEP_REFUSED, 0 },
		{ STEP_FAA, STEP_TABLE, 4096, STEP_REFUSED, 0 },
		{ STEP_FAA, STEP_WORDS, REGION_NODE_WORDS, STEP_DONE, 0 },
		{ STEP_READ, STEP_WORDS, REGION_NODE_WORDS, STEP_DONE, 7 },
	};
	struct rig *r = *state;
	struct burst *b = &r->host[2].burst;
	uint64_t *table = transport_part(r->host[HOME].t, TRANSPORT_TABLE);
	uint64_t *load = transport_part(r->host[HOME].t, TRANSPORT_LOAD);
	uint32_t link = transport_link(r->host[2].t, HOME);

	table[4096 / 8] = 0x7ab1e;
	load[1] = 0x10ad;
	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct step_op op = { row[i].kind,   row[i].part, HOME,
				      row[i].offset, .len = 8,	  .value = 7 };
		uint64_t first = op.part == STEP_WORDS ? region_word(0, 1) : 0;
		enum step_outcome got;

		got = outcome_of(r, op);
		if (got != row[i].outcome || (got == STEP_DONE && b->old - first != row[i].more))
			fail_msg("row %u: outcome %d, old %llx", i, got,
				 (unsigned long long)b->old);
	}
	assert_int_equal(transport_link(r->host[2].t, HOME), link);
}

/* Nothing answers: each READ is REFUSED when its own time is over, but never after that of all. */
RIG_TEST(allowed__less_time_than_all_have__is_refused_sooner)
{
	static const int64_t row[][2] = {
		{ 0, DEADLINE }, { 5, 5 }, { 20, 20 }, { -1, DEADLINE }, { 10 * DEADLINE, DEADLINE }
	};
	struct rig *r = *state;

	assert_int_equal(transport_shm_cut(r->host[2].t, HOME, true), 0);
	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		int64_t began = r->now.ns, after;

		assert_int_equal(
			outcome_of(r, (struct step_op){ .kind = STEP_READ,
							.host = HOME,
							.len = 8,
							.allowed_ns = row[i][0] * NS_PER_MS }),
			STEP_REFUSED);
		after = (r->now.ns - began) / NS_PER_MS;
		assert_in_range(after, row[i][1], row[i][1] + 1);
	}
}

/* Also while an operation waits for room: it is due when its own time is over. */
RIG_TEST(allowed__while_there_is_no_room__is_due_by_it)
{
	struct rig *r = *state;
	struct burst *b = &r->host[2].burst;

	b->op.allowed_ns = 5 * NS_PER_MS;
	runner_ask(r->host[2].r, b, BURST, NULL, r->now);
	assert_true(runner_due_at(r->host[2].r).ns == r->now.ns + 5 * NS_PER_MS);
}

RIG_TEST(send__of_several__come_in_order_to_all_users_and_are_answered)
{
	static const uint32_t lengths[] = { 1, 13, STEP_MESSAGE_MAX };
	struct rig *r = *state;
	struct burst *to = &r->host[HOME].burst, *b = &r->host[2].burst;
	uint8_t text[STEP_MESSAGE_MAX];

	for (uint32_t i = 0; i < 3; i++) {
		memset(text, (int)i + 1, sizeof(text));
		assert_int_equal(outcome_of(r, (struct step_op){ .kind = STEP_SEND,
								 .host = HOME,
								 .len = lengths[i],
								 .data = text }),
				 STEP_DONE);
		UNTIL(r, to->messages == i + 1);
		assert_int_equal(to->from, 2);
		assert_int_equal(to->bytes, lengths[i]);
		assert_memory_equal(to->message, text, lengths[i]);
	}
	b->results = 0;
	b->order = 0;
	runner_ask(r->host[2].r, b, BURST, NULL, r->now); /* more than the link takes */
	UNTIL(r, to->messages == 3 + BURST && b->results == BURST);
	assert_int_equal(b->order, BURST);
	assert_int_equal(b->by[STEP_DONE], 1 + BURST);
}

RIG_TEST(send__of_no_message__is_refused)
{
	static const uint8_t text[STEP_MESSAGE_MAX + 1];
	static const struct step_op row[] = {
		{ .kind = STEP_SEND, .host = HOME, .len = 0, .data = text },
		{ .kind = STEP_SEND, .host = HOME, .len = STEP_MESSAGE_MAX + 1, .data = text },
		{ .kind = STEP_SEND, .host = HOME, .len = 8 },
	};
	struct rig *r = *state;

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		assert_int_equal(outcome_of(r, row[i]), STEP_REFUSED);
	assert_int_equal(r->host[HOME].burst.messages, 0);
}

/* As an atomic: it may have come, and only a newer link says that no more of it can. */
RIG_TEST(send__that_is_not_answered__is_unknown_and_a_new_link_follows)
{
	struct rig *r = *state;
	uint32_t links = r->host[2].burst.links;

	assert_int_equal(transport_shm_cut(r->host[2].t, HOME, true), 0);
	assert_int_equal(outcome_of(r, (struct step_op){ .kind = STEP_SEND,
							 .host = HOME,
							 .len = 1,
							 .data = "",
							 .allowed_ns = NS_PER_MS }),
			 STEP_UNKNOWN);
	assert_int_equal(transport_shm_cut(r->host[2].t, HOME, false), 0);
	UNTIL(r, r->host[2].burst.links == links + 1);
}

RIG_TEST(results__of_another_prefix__are_not_ours)
{
	struct rig *r = *state;
	struct burst *b = &r->host[2].burst;
	const struct transport_event ev = { .type = TRANSPORT_RESULT,
					    .host = HOME,
					    .tag = (uint64_t)(PREFIX + 1) << 32 | 1000 };

	runner_event(r->host[2].r, &ev, r->now);
	assert_int_equal(b->results, 0);
	assert_int_equal(b->views, 1);
}

/* --- requests ------------------------------------------------------------------------ */

/* Notes what it was asked for. */
struct asked {
	uint32_t what;
	const void *wish;
};

static void note_ask(void *state, const struct step_event *ev, struct mono now,
		     struct step_out *out)
{
	struct asked *a = state;

	(void)now, (void)out;
	a->what = ev->what;
	a->wish = ev->wish;
}

static struct mono never_due(const void *state)
{
	(void)state;
	return (struct mono){ INT64_MAX };
}

RIG_TEST(ask__with_a_wish__comes_to_its_user_as_it_is)
{
	struct rig *r = *state;
	struct asked a = { 0 }, other = { 0 };
	int wish = 1;

	assert_int_equal(runner_add(r->host[2].r,
				    &(struct runner_user){ &a, note_ask, never_due, 900000, 1 }),
			 0);
	assert_int_equal(runner_add(r->host[2].r, &(struct runner_user){ &other, note_ask,
									 never_due, 900001, 1 }),
			 0);
	runner_ask(r->host[2].r, &a, 5, &wish, r->now);
	assert_int_equal(a.what, 5);
	assert_ptr_equal(a.wish, &wish);
	runner_ask(r->host[2].r, &a, 6, NULL, r->now);
	assert_int_equal(a.what, 6);
	assert_null(a.wish);
	assert_int_equal(other.what, 0);
}

RIG_TEST(move__as_a_user__has_its_tags_and_steps)
{
	static struct move_view view = { .services = 2, .service = { { .id = 1 }, { .id = 2 } } };
	struct move_conf c = { .self = 2, .tag = 1 << 24, .hold_ns = 1, .check_ns = 1 };
	struct move_wish wish = { .why = MOVE_FOR_ORDER, .donor = 2, .node = 0 };
	struct step_event ev = { .type = STEP_VIEW, .members = { { 2 } }, .quorate = true };
	struct lock lock[2];
	struct counter counter[2];
	struct step_out out = { .n = 0 };
	struct rig *r = *state;
	static struct move m;
	struct runner_user u;

	move_init(&m, &c, &view, lock, counter);
	u = runner_move(&m);
	assert_ptr_equal(u.state, &m);
	assert_int_equal(u.tag, c.tag);
	assert_int_equal(u.tags, MOVE_TAGS);
	u.step(u.state, &ev, r->now, &out);
	ev = (struct step_event){ .type = STEP_ASK, .wish = &wish };
	u.step(u.state, &ev, r->now, &out);
	assert_int_equal(move_result(&m), MOVE_NOT_WISHED);
	assert_true(u.due(u.state).ns == move_due(&m).ns);
}

/* --- locks --------------------------------------------------------------------------- */

RIG_TEST(lock__without_contention__is_acquired_and_released_in_two_rounds)
{
	struct rig *r = *state;
	struct host *h = &r->host[2];
	struct transport_stats was, is;

	runner_ask(h->r, &h->lock, LOCK_ACQUIRE, NULL, r->now);
	UNTIL(r, lock_state(&h->lock) == LOCK_HELD); /* a fresh word: only after the break time */
	lock_mark(&h->lock, false);
	runner_ask(h->r, &h->lock, LOCK_RELEASE, NULL, r->now);
	UNTIL(r, lock_state(&h->lock) == LOCK_IDLE);
	for (int i = 0; i < 10; i++) {
		transport_stats(h->t, &was);
		runner_ask(h->r, &h->lock, LOCK_ACQUIRE, NULL, r->now);
		UNTIL(r, lock_state(&h->lock) == LOCK_HELD);
		assert_false(lock_unclean(&h->lock));
		runner_ask(h->r, &h->lock, LOCK_RELEASE, NULL, r->now);
		UNTIL(r, lock_state(&h->lock) == LOCK_IDLE);
		transport_stats(h->t, &is);
		assert_int_equal(is.rounds - was.rounds, 2);
		assert_int_equal(is.ops[TRANSPORT_CAS64] - was.ops[TRANSPORT_CAS64], 2);
		assert_int_equal(is.ops[TRANSPORT_READ], was.ops[TRANSPORT_READ]);
	}
}

RIG_TEST(lock__all_want_it__one_has_it_and_each_gets_it)
{
	struct rig *r = *state;
	struct mono again[HOSTS + 1] = { 0 };
	uint32_t had[HOSTS + 1] = { 0 }, total = 0;
	uint64_t fence = 0;

	for (int i = 0; i < 400000 && total < 30; i++) {
		uint32_t holders = 0;

		turn(r);
		for (uint16_t n = 1; n <= HOSTS; n++)
			holders += lock_may_act(&r->host[n].lock, r->now, 0);
		assert_true(holders <= 1);
		for (uint16_t n = 1; n <= HOSTS; n++) {
			struct lock *l = &r->host[n].lock;

			if (lock_state(l) == LOCK_IDLE && again[n].ns <= r->now.ns)
				runner_ask(r->host[n].r, l, LOCK_ACQUIRE, NULL, r->now);
			if (lock_state(l) != LOCK_HELD)
				continue;
			assert_true(lock_fence(l) > fence);
			fence = lock_fence(l);
			had[n]++;
			total++;
			lock_mark(l, false);
			runner_ask(r->host[n].r, l, LOCK_RELEASE, NULL, r->now);
			again[n].ns = r->now.ns + 15 * NS_PER_MS;
		}
	}
	assert_int_equal(total, 30);
	for (uint16_t n = 1; n <= HOSTS; n++)
		assert_true(had[n] > 0);
}
