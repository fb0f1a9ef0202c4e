// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * t_send: messages: whole, in order, once.
 */
#include <errno.h>
#include <string.h>

#include "tests/transport/suite.h"

static void fill(uint8_t *data, uint32_t len, uint32_t seed)
{
	for (uint32_t i = 0; i < len; i++)
		data[i] = (uint8_t)(seed * 31 + i * 7 + (i >> 8));
}

static void send__any_length__arrives_whole(void **state)
{
	struct suite *s = *state;
	static const uint32_t lens[] = { 1, 2, 7, 8, 9, 63, 64, 65, 511, 1023, 1024 };
	uint8_t data[TRANSPORT_MESSAGE_MAX];
	struct host *a, *b;

	rig_pair(&s->rig, &a, &b);
	for (uint32_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		const struct transport_event *ev;

		fill(data, lens[i], i);
		assert_int_equal(host_do(a, op_send(2, data, lens[i]))->ev.outcome, TRANSPORT_DONE);
		UNTIL(&s->rig, b->ref.messages == i + 1);
		ev = &host_seen(b, TRANSPORT_MESSAGE, 1, 0)->ev;
		assert_int_equal(ev->len, lens[i]);
		assert_memory_equal(ev->data, data, lens[i]);
	}
	assert_int_equal(a->ref.messages, 0);
}

static void send__empty_or_too_long__is_einval(void **state)
{
	struct suite *s = *state;
	uint8_t data[TRANSPORT_MESSAGE_MAX + 1] = { 0 };
	struct host *a, *b;

	rig_pair(&s->rig, &a, &b);
	assert_int_equal(host_refuses(a, op_send(2, data, 0)), -EINVAL);
	assert_int_equal(host_refuses(a, op_send(2, data, TRANSPORT_MESSAGE_MAX + 1)), -EINVAL);
	assert_int_equal(host_refuses(a, op_send(2, data, UINT32_MAX)), -EINVAL);
	assert_int_equal(host_do(a, op_send(2, data, 1))->ev.outcome, TRANSPORT_DONE);
	UNTIL(&s->rig, b->ref.messages == 1);
}

static void send__data_overwritten_after_post__was_copied(void **state)
{
	struct suite *s = *state;
	uint8_t data[TRANSPORT_MESSAGE_MAX], want[TRANSPORT_MESSAGE_MAX];
	struct host *a, *b;

	rig_pair(&s->rig, &a, &b);
	fill(data, sizeof(data), 3);
	fill(want, sizeof(want), 3);
	host_post1(a, op_send(2, data, sizeof(data)));
	memset(data, 0, sizeof(data));
	UNTIL(&s->rig, b->ref.messages == 1);
	assert_memory_equal(host_seen(b, TRANSPORT_MESSAGE, 1, 0)->ev.data, want, sizeof(want));
}

/* Message i is its number, 1 to 250 times. */
static uint32_t numbered(uint32_t data[TRANSPORT_MESSAGE_MAX / 4], uint32_t i)
{
	uint32_t n = 1 + i * 7 % 250;

	for (uint32_t k = 0; k < n; k++)
		data[k] = i;
	return 4 * n;
}

static bool sends_more(struct host *a, uint32_t *sent, uint32_t all, bool others)
{
	while (*sent < all) {
		uint32_t data[TRANSPORT_MESSAGE_MAX / 4];
		struct transport_op op = op_send(2, data, numbered(data, *sent));
		struct transport_op other = op_faa(2, 0, 1);
		size_t taken;
		int why = 0;

		taken = host_post(a, &op, 1, &why);
		memset(data, 0xee, sizeof(data)); /* it was copied */
		if (taken != 1)
			break;
		++*sent;
		if (others && *sent % 3 == 0)
			host_post(a, &other, 1, &why);
	}
	return *sent < all || a->ref.n;
}

static void in_order(const struct host *b, uint32_t n)
{
	uint32_t want[TRANSPORT_MESSAGE_MAX / 4], next = 0;

	for (size_t i = 0; i < b->n; i++)
		if (b->log[i].ev.type == TRANSPORT_MESSAGE) {
			uint32_t len = numbered(want, next++);

			assert_int_equal(*(const uint32_t *)b->log[i].ev.data, want[0]);
			assert_int_equal(b->log[i].ev.len, len);
			assert_memory_equal(b->log[i].ev.data, want, len);
		}
	assert_int_equal(next, n);
}

static void send__many_among_other_operations__arrive_once_in_order(void **state)
{
	struct suite *s = *state;
	uint32_t sent = 0;
	struct host *a, *b;

	rig_pair(&s->rig, &a, &b);
	UNTIL(&s->rig, !sends_more(a, &sent, 600, true));
	UNTIL(&s->rig, b->ref.messages == 600);
	in_order(b, 600);
	assert_int_equal(a->ref.outcomes[TRANSPORT_DONE],
			 a->ref.posted[TRANSPORT_SEND] + a->ref.posted[TRANSPORT_FAA64]);
}

static void send__receiver_looks_away_for_long__arrive_once_in_order(void **state)
{
	struct suite *s = *state;
	uint32_t sent = 0;
	struct host *a, *b;

	rig_pair(&s->rig, &a, &b);
	b->paused = true;
	for (int i = 0; i < 200; i++) {
		sends_more(a, &sent, 1200, false);
		rig_turn_for(&s->rig, NS_PER_MS / 2);
	}
	b->paused = false;
	UNTIL(&s->rig, !sends_more(a, &sent, 1200, false));
	UNTIL(&s->rig, b->ref.messages == 1200);
	in_order(b, 1200);
}

/* The receiver polls, so its transport has the messages; but its user takes one at a time. */
static void send__receiver_takes_one_at_a_time__none_is_lost(void **state)
{
	struct suite *s = *state;
	struct patience p = { 0 };
	uint32_t sent = 0;
	struct host *a, *b;

	rig_pair(&s->rig, &a, &b);
	b->paused = true;
	for (int i = 0; i < 300; i++) {
		sends_more(a, &sent, 300, false);
		rig_poll(&s->rig);
		host_poll(b, i % 4 == 0);
	}
	while (b->ref.messages < 300) {
		sends_more(a, &sent, 300, false);
		host_poll(b, 1);
		rig_wait(&s->rig, &p, "all messages");
	}
	b->paused = false;
	in_order(b, 300);
	assert_int_equal(b->ref.alarms, 0);
}

static void send__done_then_closed__lies_with_the_peer(void **state)
{
	struct suite *s = *state;
	struct host *a, *b;

	rig_pair(&s->rig, &a, &b);
	assert_int_equal(host_do(a, op_send(2, "last words", 10))->ev.outcome, TRANSPORT_DONE);
	host_close(a);
	UNTIL(&s->rig, host_seen(b, TRANSPORT_MESSAGE, 1, 0));
	assert_memory_equal(host_seen(b, TRANSPORT_MESSAGE, 1, 0)->ev.data, "last words", 10);
}

static void send__both_ways_among_four__each_gets_all_of_each(void **state)
{
	struct suite *s = *state;
	struct host *h[4];

	for (uint16_t i = 0; i < 4; i++) {
		struct transport_conf c = rig_conf(&s->rig, (uint16_t)(i + 1));

		h[i] = rig_open(&s->rig, &c);
	}
	for (uint16_t i = 0; i < 4; i++)
		for (uint16_t j = 1; j <= 4; j++)
			host_add(h[i], j);
	for (uint16_t i = 0; i < 16; i++)
		UNTIL(&s->rig, host_up(h[i / 4], (uint16_t)(i % 4 + 1)));
	for (uint32_t m = 0; m < 5; m++)
		for (uint16_t i = 0; i < 16; i++)
			host_post1(h[i / 4], op_send((uint16_t)(i % 4 + 1), &m, sizeof(m)));
	for (uint16_t i = 0; i < 4; i++)
		UNTIL(&s->rig, h[i]->ref.messages == 20 && !h[i]->ref.n);
	for (uint16_t i = 0; i < 16; i++)
		assert_int_equal(host_count(h[i / 4], TRANSPORT_MESSAGE, (uint16_t)(i % 4 + 1), 0),
				 5);
}

static void message__data__is_valid_until_the_next_poll(void **state)
{
	struct suite *s = *state;
	struct patience p = { 0 };
	uint8_t want[100];
	uint64_t seen = 0;
	struct host *a, *b;

	rig_pair(&s->rig, &a, &b);
	for (uint32_t i = 0; i < 6; i++) {
		fill(want, sizeof(want), i);
		host_post1(a, op_send(2, want, sizeof(want)));
	}
	b->paused = true;
	while (seen < 6) {
		size_t n = transport_poll(b->t, rig_now(&s->rig), s->ev, 4);

		for (uint32_t i = 0; i < 4; i++)
			host_poll(a, 32);
		for (size_t i = 0; i < n; i++) {
			if (s->ev[i].type != TRANSPORT_MESSAGE)
				continue;
			fill(want, sizeof(want), (uint32_t)seen++);
			assert_int_equal(s->ev[i].len, sizeof(want));
			assert_memory_equal(s->ev[i].data, want, sizeof(want));
		}
		rig_wait(&s->rig, &p, "six messages");
	}
	host_close(b);
}

/*
 * From another process, which is stopped at times: all messages that are DONE arrive, none twice.
 */
static void send__from_another_process__all_arrive_in_order(void **state)
{
	struct suite *s = *state;
	struct transport_conf two = rig_conf(&s->rig, 2);
	struct host *b = rig_open(&s->rig, &two);
	struct proc *p = proc_new(&s->procs, 1);
	uint64_t next = 0;

	p->o->friends = bit(2);
	p->o->work = WORK_CHAT;
	p->o->target = 2;
	p->o->times = 2000;
	host_add(b, 1);
	proc_start(&s->procs, p);
	UNTIL(&s->rig, atomic_load(&p->o->up) & bit(2));
	proc_go(p);
	UNTIL(&s->rig, proc_over(p) && b->ref.messages == 2000);
	for (size_t i = 0; i < b->n; i++)
		if (b->log[i].ev.type == TRANSPORT_MESSAGE) {
			uint64_t text[2];

			assert_int_equal(b->log[i].ev.len, sizeof(text));
			memcpy(text, b->log[i].ev.data, sizeof(text));
			assert_int_equal(text[0], next++);
			assert_int_equal(text[1], 1);
		}
}

const struct entry send_tests[] = {
	ENTRY(send__any_length__arrives_whole, ALL),
	ENTRY(send__empty_or_too_long__is_einval, ALL),
	ENTRY(send__data_overwritten_after_post__was_copied, ALL),
	ENTRY(send__many_among_other_operations__arrive_once_in_order, ALL),
	ENTRY(send__receiver_looks_away_for_long__arrive_once_in_order, ALL),
	ENTRY(send__receiver_takes_one_at_a_time__none_is_lost, ALL),
	ENTRY(send__done_then_closed__lies_with_the_peer, ALL),
	ENTRY(send__both_ways_among_four__each_gets_all_of_each, ALL),
	ENTRY(message__data__is_valid_until_the_next_poll, ALL),
	ENTRY(send__from_another_process__all_arrive_in_order, ALL),
	{ NULL, NULL, ALL },
};
