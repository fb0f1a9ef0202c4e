// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The front of all backends: what post refuses, slots and their order, outcomes of operations, and
 * statistics. Links are in test_transport_links.c.
 */
#include <inttypes.h>
#include <stdio.h>

#include "tests/unit/front_rig.h"
#include "tests/unit/unit.h"

/* --- open --------------------------------------------------------------------- */

TEST(init__out_of_range__refused_without_the_key)
{
	struct transport_conf bad[13];
	char text[256];
	struct transport t;

	for (size_t i = 0; i < 13; i++)
		bad[i] = conf_good();
	bad[0].host = 0;
	bad[1].host = TRANSPORT_HOSTS_MAX + 1;
	bad[2].generation = 0;
	bad[3].cluster[0] = 0;
	memset(bad[4].cluster, 'x', sizeof(bad[4].cluster));
	memset(bad[5].address, 'x', sizeof(bad[5].address));
	bad[6].key_len = TRANSPORT_KEY_MIN - 1;
	bad[7].key_len = TRANSPORT_KEY_MAX + 1;
	bad[8].bytes[0] = 4095;
	bad[9].bytes[1] = TRANSPORT_PART_MAX + 4096;
	bad[10].connect_ns = -1;
	bad[11].backoff_min_ns = 3 * NS_PER_S;
	bad[12].generation_max = 6;
	bad[12].generation = 7;
	for (size_t i = 0; i < 13; i++) {
		memset(&t, 0, sizeof(t));
		text[0] = 0;
		assert_int_equal(front_init(&t, &ops, &bad[i], (struct mono){ 1 }, text), -EINVAL);
		assert_true(text[0]);
		assert_null(strstr(text, (const char *)key));
		assert_null(t.queue);
	}
}

/* The flags of the mapping that it lies in, as the kernel shows them. */
static void mapping_flags(const void *at, char *flags, size_t size)
{
	FILE *f = fopen("/proc/self/smaps", "re");
	uintptr_t from, to;
	bool within = false;
	char line[512];

	assert_non_null(f);
	flags[0] = 0;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2)
			within = (uintptr_t)at >= from && (uintptr_t)at < to;
		else if (within && !strncmp(line, "VmFlags:", 8))
			snprintf(flags, size, "%.*s ", (int)strcspn(line, "\n"), line);
	}
	fclose(f);
}

TEST(key__kept__is_in_no_core_dump_and_no_child)
{
	struct rig *r = rig_new();
	char flags[256];

	assert_memory_equal(r->f->t.conf.key, key, sizeof(key) - 1);
	mapping_flags(r->f->t.conf.key, flags, sizeof(flags));
	assert_non_null(strstr(flags, " dd ")); /* not dumped */
	assert_non_null(strstr(flags, " dc ")); /* not copied */
	rig_free(r);
}

TEST(add__numbers_and_addresses__checked)
{
	struct rig *r = rig_new();
	struct transport_peer p = { .host = 3 };

	assert_int_equal(transport_add(&r->f->t, &p, r->now), -EINVAL);
	memset(p.address, 'x', sizeof(p.address));
	assert_int_equal(transport_add(&r->f->t, &p, r->now), -EINVAL);
	assert_int_equal(add(r, 0), -EINVAL);
	assert_int_equal(add(r, TRANSPORT_HOSTS_MAX + 1), -EINVAL);
	assert_int_equal(add(r, TRANSPORT_HOSTS_MAX), 0);
	assert_int_equal(add(r, TRANSPORT_HOSTS_MAX), -EEXIST);
	p = (struct transport_peer){ .host = 1 }; /* ourselves: no address is needed */
	assert_int_equal(transport_add(&r->f->t, &p, r->now), 0);
	assert_string_equal(out(r, 1)->peer.address, "here");
	assert_int_equal(transport_remove(&r->f->t, 9, r->now), -ENOENT);
	assert_int_equal(transport_remove(&r->f->t, 0, r->now), -ENOENT);
	rig_free(r);
}

/* --- post ------------------------------------------------------------------------ */

TEST(post__what_is_wrong__says_which)
{
	struct rig *r = rig_up();
	struct transport_op o;

#define WRONG(kind, field, value, rc)                                                              \
	do {                                                                                       \
		o = op(r, kind, 0);                                                                \
		o.field = value;                                                                   \
		assert_int_equal(post(r, o), rc);                                                  \
	} while (0)
	WRONG(TRANSPORT_READ, host, 0, -EINVAL);
	WRONG(TRANSPORT_READ, host, 257, -EINVAL);
	WRONG(TRANSPORT_READ, host, 3, -ENOTCONN);
	WRONG(TRANSPORT_READ, kind, TRANSPORT_KINDS, -EINVAL);
	WRONG(TRANSPORT_READ, part, TRANSPORT_PARTS, -EINVAL);
	WRONG(TRANSPORT_READ, offset, 4, -EINVAL);
	WRONG(TRANSPORT_READ, len, 0, -EINVAL);
	WRONG(TRANSPORT_READ, len, 12, -EINVAL);
	WRONG(TRANSPORT_READ, len, TRANSPORT_READ_MAX + 8, -EINVAL);
	WRONG(TRANSPORT_READ, len, 2 * BYTES + 8, -ERANGE);
	WRONG(TRANSPORT_READ, offset, 2 * BYTES, -ERANGE);
	WRONG(TRANSPORT_READ, offset, UINT32_MAX - 7, -ERANGE);
	WRONG(TRANSPORT_READ, deadline, r->now, -ETIME);
	WRONG(TRANSPORT_CAS64, part, TRANSPORT_TABLE, -EINVAL);
	WRONG(TRANSPORT_FAA64, part, TRANSPORT_TABLE, -EINVAL);
	WRONG(TRANSPORT_CAS64, len, 16, -EINVAL);
	WRONG(TRANSPORT_FAA64, offset, 2 * BYTES, -ERANGE);
	WRONG(TRANSPORT_SEND, len, 0, -EINVAL);
	WRONG(TRANSPORT_SEND, len, TRANSPORT_MESSAGE_MAX + 1, -EINVAL);
	WRONG(TRANSPORT_SEND, data, NULL, -EINVAL);
	assert_int_equal(r->f->n, 0);
	WRONG(TRANSPORT_READ, len, 2 * BYTES, 0);
	WRONG(TRANSPORT_READ, offset, 2 * BYTES - 8, 0);
	WRONG(TRANSPORT_CAS64, len, 0, 0);
	WRONG(TRANSPORT_SEND, offset, 3, 0);
	assert_int_equal(r->f->n, 4);
#undef WRONG
	rig_free(r);
}

TEST(post__of_a_batch__takes_up_to_the_first_that_is_wrong)
{
	struct rig *r = rig_up();
	struct transport_op o[3] = { op(r, TRANSPORT_READ, 1), op(r, TRANSPORT_READ, 2),
				     op(r, TRANSPORT_READ, 3) };
	int why = 0;

	o[1].offset = 3;
	assert_int_equal(transport_post(&r->f->t, o, 3, r->now, &why), 1);
	assert_int_equal(why, -EINVAL);
	assert_int_equal(r->f->n, 1);
	rig_free(r);
}

TEST(depth__counts_what_was_not_handed_out)
{
	struct rig *r = rig_up();

	for (uint64_t i = 0; i < TRANSPORT_DEPTH; i++)
		assert_int_equal(post(r, op(r, TRANSPORT_READ, i)), 0);
	assert_int_equal(post(r, op(r, TRANSPORT_READ, 8)), -EAGAIN);
	for (size_t i = 0; i < TRANSPORT_DEPTH; i++)
		done(r, i);
	assert_int_equal(post(r, op(r, TRANSPORT_READ, 8)), -EAGAIN);
	poll_all(r);
	assert_int_equal(r->n, TRANSPORT_DEPTH);
	/* The data of these is still the user's; as many more fit beside them. */
	for (uint64_t i = 0; i < TRANSPORT_DEPTH; i++) {
		assert_int_equal(post(r, op(r, TRANSPORT_READ, 8 + i)), 0);
		for (size_t k = 0; k < TRANSPORT_DEPTH; k++)
			assert_ptr_not_equal(r->f->sent[k], r->f->sent[TRANSPORT_DEPTH + i]);
	}
	assert_int_equal(post(r, op(r, TRANSPORT_READ, 16)), -EAGAIN);
	assert_int_equal(r->f->sent[0]->state, SLOT_RETURNED);
	poll_all(r);
	assert_int_equal(r->f->sent[0]->state, SLOT_FREE);
	rig_free(r);
}

TEST(send__data__copied_by_post)
{
	struct rig *r = rig_up();
	char data[] = "first";
	struct transport_op o = op(r, TRANSPORT_SEND, 1);

	o.data = data;
	o.len = 5;
	assert_int_equal(post(r, o), 0);
	memset(data, 'x', 5);
	assert_memory_equal(r->f->sent[0]->op.data, "first", 5);
	rig_free(r);
}

/* The highest one is accepted; one above it would keep its host out for ever. */
TEST(generation__above_the_highest__is_refused)
{
	struct rig *r = rig_up();

	r->f->t.conf.generation_max = 9;
	assert_int_equal(front_proven(&r->f->t, 2, &SELF(10)), -EOVERFLOW);
	assert_int_equal(front_proven(&r->f->t, 2, &SELF(9)), 0);
	assert_int_equal(front_proven(&r->f->t, 2, &SELF(8)), -ESTALE);
	r->f->t.conf.generation_max = 0; /* no limit */
	assert_int_equal(front_proven(&r->f->t, 2, &SELF(UINT64_MAX)), 0);
	rig_free(r);
}

TEST(submit__no_room__given_again_in_order)
{
	struct rig *r = rig_up();
	unsigned flushes;

	r->f->submit_rc = -EAGAIN;
	for (uint64_t i = 1; i <= 4; i++)
		assert_int_equal(post(r, op(r, TRANSPORT_FAA64, i)), 0);
	poll_all(r);
	assert_int_equal(r->f->n, 0);
	r->f->submit_rc = 0;
	poll_all(r);
	assert_int_equal(r->f->n, 4);
	assert_int_equal(post(r, op(r, TRANSPORT_FAA64, 5)), 0);
	assert_int_equal(r->f->n, 5);
	for (uint64_t i = 0; i < 5; i++)
		assert_int_equal(r->f->tag[i], i + 1);
	/* A link that waits for no room is not visited. */
	flushes = r->f->flushes;
	poll_all(r);
	assert_int_equal(r->f->flushes, flushes);
	rig_free(r);
}

/* One operation was outstanding: its result, then the end of its link. */
static void assert_ended(struct rig *r, enum transport_outcome outcome)
{
	poll_all(r);
	assert_int_equal(r->n, 2);
	assert_int_equal(r->ev[0].outcome, outcome);
	assert_int_equal(r->ev[1].type, TRANSPORT_DOWN);
}

TEST(submit__fails__ends_the_link_and_the_operation_is_lost)
{
	struct rig *r = rig_up();

	r->f->submit_rc = -EIO;
	assert_int_equal(post(r, op(r, TRANSPORT_FAA64, 1)), 0);
	assert_int_equal(post(r, op(r, TRANSPORT_FAA64, 2)), -ENOTCONN);
	assert_ended(r, TRANSPORT_LOST);
	assert_int_equal(r->ev[0].why, -EIO);
	rig_free(r);
}

TEST(submit__link_ends_within__one_result)
{
	struct rig *r = rig_up();

	r->f->down_in_submit = true;
	r->f->submit_rc = -ECONNRESET;
	assert_int_equal(post(r, op(r, TRANSPORT_FAA64, 1)), 0);
	assert_ended(r, TRANSPORT_UNKNOWN);
	assert_int_equal(r->f->hung_up[2], 1);
	rig_free(r);
}

/* Of the operations of two links, in turn. */
TEST(flush__of_a_batch__once_a_link_when_all_are_submitted)
{
	struct rig *r = rig_up();
	struct transport_op batch[] = { op(r, TRANSPORT_READ, 1), op(r, TRANSPORT_READ, 2),
					op(r, TRANSPORT_FAA64, 3), op(r, TRANSPORT_FAA64, 4) };
	const uint64_t order[] = { 1, 3, 2, 4 };
	unsigned before = r->f->flushes;

	assert_int_equal(add(r, 3), 0);
	poll_all(r);
	up(r, 3, 7);
	batch[0].host = batch[2].host = 3;
	assert_int_equal(transport_post(&r->f->t, batch, 4, r->now, NULL), 4);
	assert_int_equal(r->f->n, 4);
	assert_memory_equal(r->f->tag, order, sizeof(order));
	assert_int_equal(r->f->flushes, before + 2);
	rig_free(r);
}

TEST(flush__fails__ends_the_link_and_what_was_submitted_is_unknown)
{
	struct rig *r = rig_up();

	r->f->flush_rc = -EIO;
	assert_int_equal(post(r, op(r, TRANSPORT_FAA64, 1)), 0);
	assert_ended(r, TRANSPORT_UNKNOWN);
	rig_free(r);
}

/* --- results ------------------------------------------------------------------------ */

TEST(done__within_submit__comes_by_poll)
{
	struct rig *r = rig_up();
	struct transport_stats s;

	r->f->done_at_once = true;
	assert_int_equal(post(r, op(r, TRANSPORT_READ, 1)), 0);
	assert_int_equal(post(r, op(r, TRANSPORT_CAS64, 2)), 0);
	poll_all(r);
	assert_int_equal(r->n, 2);
	assert_ptr_equal(r->ev[0].data, key);
	assert_int_equal(r->ev[0].len, 8);
	assert_int_equal(r->ev[1].old, 3);
	assert_null(r->ev[1].data);
	assert_int_equal(r->ev[1].link, 1);
	transport_stats(&r->f->t, &s);
	assert_int_equal(s.ops[TRANSPORT_READ], 1);
	assert_int_equal(s.ops[TRANSPORT_CAS64], 1);
	assert_int_equal(s.outcomes[TRANSPORT_DONE], 2);
	rig_free(r);
}

/* So long that the queue, which is never empty, has used each of its places. */
TEST(results__some_always_left__come_in_order)
{
	enum { MANY = 3 * TRANSPORT_HOSTS_MAX * TRANSPORT_DEPTH, LEFT = 3 };
	struct rig *r = rig_up();

	r->f->done_at_once = true;
	for (uint64_t i = 0; i < MANY; i++) {
		r->f->n = 0;
		assert_int_equal(post(r, op(r, TRANSPORT_FAA64, i)), 0);
		if (i < LEFT)
			continue;
		memset(r->ev, 'x', sizeof(r->ev[0]));
		assert_int_equal(transport_poll(&r->f->t, r->now, r->ev, 1), 1);
		assert_int_equal(r->ev[0].tag, i - LEFT);
		assert_int_equal(r->ev[0].text[0], 0);
	}
	rig_free(r);
}

TEST(done__twice_or_after_the_end__ignored)
{
	struct rig *r = rig_up();

	assert_int_equal(post(r, op(r, TRANSPORT_FAA64, 1)), 0);
	done(r, 0);
	done(r, 0);
	assert_int_equal(post(r, op(r, TRANSPORT_FAA64, 2)), 0);
	front_down(&r->f->t, out(r, 2), -EIO, "broke", r->now);
	done(r, 1);
	front_down(&r->f->t, out(r, 2), -EIO, "broke", r->now);
	poll_all(r);
	assert_int_equal(r->n, 3);
	assert_int_equal(r->ev[0].outcome, TRANSPORT_DONE);
	assert_int_equal(r->ev[1].outcome, TRANSPORT_UNKNOWN);
	assert_int_equal(r->ev[2].type, TRANSPORT_DOWN);
	poll_all(r);
	done(r, 0);
	poll_all(r);
	assert_int_equal(r->n, 0);
	rig_free(r);
}

TEST(refused__keeps_the_link)
{
	struct rig *r = rig_up();

	assert_int_equal(post(r, op(r, TRANSPORT_READ, 1)), 0);
	front_done(&r->f->t, out(r, 2), r->f->sent[0], TRANSPORT_REFUSED, 0, NULL, -EPERM);
	poll_all(r);
	assert_int_equal(r->n, 1);
	assert_int_equal(r->ev[0].outcome, TRANSPORT_REFUSED);
	assert_int_equal(r->ev[0].why, -EPERM);
	assert_int_equal(transport_link(&r->f->t, 2), 1);
	rig_free(r);
}

TEST(deadline__missed__ends_the_link)
{
	struct rig *r = rig_up();
	struct transport_op o = op(r, TRANSPORT_FAA64, 1);

	assert_int_equal(post(r, o), 0);
	assert_int_equal(post(r, op(r, TRANSPORT_READ, 2)), 0);
	assert_int_equal(post(r, op(r, TRANSPORT_SEND, 3)), 0);
	r->f->submit_rc = -EAGAIN;
	assert_int_equal(post(r, op(r, TRANSPORT_CAS64, 4)), 0);
	r->now.ns = o.deadline.ns - 1;
	poll_all(r);
	assert_int_equal(r->n, 0);
	r->now.ns++;
	poll_all(r);
	assert_int_equal(r->n, 5);
	assert_int_equal(r->f->hung_up[2], 1);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(r->ev[i].tag, i + 1);
		assert_int_equal(r->ev[i].why, -ETIME);
		assert_int_equal(r->ev[i].outcome, i % 2 ? TRANSPORT_LOST : TRANSPORT_UNKNOWN);
	}
	assert_int_equal(r->ev[4].type, TRANSPORT_DOWN);
	assert_true(r->ev[4].text[0]);
	assert_int_equal(transport_link(&r->f->t, 2), 0);
	rig_free(r);
}

/* It is LOST at once; its slot is used again when nothing writes to its buffer any more. */
TEST(deadline__of_a_read__is_lost_and_the_link_goes_on)
{
	struct rig *r = rig_up();
	struct transport_op o = op(r, TRANSPORT_READ, 1), later = op(r, TRANSPORT_FAA64, 99);

	later.deadline.ns += NS_PER_S;
	for (uint64_t i = 1; i <= TRANSPORT_DEPTH; i++, o.tag++)
		assert_int_equal(post(r, o), 0);
	r->now = o.deadline;
	poll_all(r);
	assert_int_equal(r->n, TRANSPORT_DEPTH);
	for (size_t i = 0; i < r->n; i++) {
		assert_int_equal(r->ev[i].type, TRANSPORT_RESULT);
		assert_int_equal(r->ev[i].tag, i + 1);
		assert_int_equal(r->ev[i].outcome, TRANSPORT_LOST);
		assert_int_equal(r->ev[i].why, -ETIME);
	}
	assert_int_equal(transport_link(&r->f->t, 2), 1);
	assert_int_equal(post(r, later), -EAGAIN);
	done(r, 3);
	poll_all(r);
	assert_int_equal(r->n, 0);
	assert_int_equal(post(r, later), 0);
	assert_ptr_equal(r->f->sent[TRANSPORT_DEPTH], r->f->sent[3]);
	assert_int_equal(post(r, later), -EAGAIN);
	done(r, TRANSPORT_DEPTH);
	poll_all(r);
	assert_int_equal(r->n, 1);
	assert_int_equal(r->ev[0].outcome, TRANSPORT_DONE);
	rig_free(r);
}

/* Its slot is not used again while its result waits in the queue. */
TEST(deadline__of_a_read__completes_before_its_result_is_taken)
{
	struct rig *r = rig_up();
	struct transport_op o = op(r, TRANSPORT_READ, 1);

	assert_int_equal(post(r, o), 0);
	r->now = o.deadline;
	assert_int_equal(transport_poll(&r->f->t, r->now, r->ev, 0), 0);
	done(r, 0);
	assert_int_equal(post(r, op(r, TRANSPORT_FAA64, 2)), 0);
	poll_all(r);
	assert_int_equal(r->n, 1);
	assert_int_equal(r->ev[0].outcome, TRANSPORT_LOST);
	done(r, 1);
	poll_all(r);
	assert_int_equal(r->n, 1);
	assert_int_equal(r->ev[0].tag, 2);
	rig_free(r);
}

/* The result waits in the queue while the READ completes, or its link ends. */
TEST(deadline__of_a_read__completes_before_the_user_looks)
{
	struct rig *r = rig_up();
	struct transport_op o = op(r, TRANSPORT_READ, 1);

	assert_int_equal(post(r, o), 0);
	o.tag = 2;
	assert_int_equal(post(r, o), 0);
	r->now = o.deadline;
	assert_int_equal(transport_poll(&r->f->t, r->now, r->ev, 0), 0);
	done(r, 0);
	front_down(&r->f->t, out(r, 2), -EIO, "broke", r->now);
	poll_all(r);
	assert_int_equal(r->n, 3);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(r->ev[i].tag, i + 1);
		assert_int_equal(r->ev[i].outcome, TRANSPORT_LOST);
	}
	assert_int_equal(r->ev[2].type, TRANSPORT_DOWN);
	r->now = mono_add(r->now, NS_PER_S);
	poll_all(r);
	assert_int_equal(r->n, 0);
	up(r, 2, 8);
	for (uint64_t i = 1; i <= TRANSPORT_DEPTH; i++)
		assert_int_equal(post(r, op(r, TRANSPORT_READ, i)), 0);
	rig_free(r);
}

/* 2 s after its deadline. */
TEST(deadline__of_a_read__long_passed__ends_the_link)
{
	struct rig *r = rig_up();
	struct transport_op o = op(r, TRANSPORT_READ, 1);
	struct mono due;

	assert_int_equal(post(r, o), 0);
	r->now = o.deadline;
	poll_all(r);
	assert_int_equal(transport_arm(&r->f->t, r->now, &due), 0);
	assert_int_equal(mono_sub(due, o.deadline), 2 * NS_PER_S);
	r->now.ns = due.ns - 1;
	poll_all(r);
	assert_int_equal(r->n, 0);
	r->now = due;
	poll_all(r);
	assert_int_equal(r->n, 1);
	assert_int_equal(r->ev[0].type, TRANSPORT_DOWN);
	assert_int_equal(r->ev[0].why, -ETIME);
	rig_free(r);
}

/* What was never sent is LOST, whatever it is, and the others go on in their order. */
TEST(deadline__of_what_waits__is_lost_and_the_link_goes_on)
{
	struct rig *r = rig_up();
	struct transport_op o = op(r, TRANSPORT_FAA64, 1);

	r->f->submit_rc = -EAGAIN;
	assert_int_equal(post(r, o), 0);
	o.tag = 2;
	o.deadline.ns += NS_PER_S;
	assert_int_equal(post(r, o), 0);
	r->now = mono_add(r->now, NS_PER_S);
	r->f->submit_rc = 0;
	poll_all(r);
	assert_int_equal(r->n, 1);
	assert_int_equal(r->ev[0].tag, 1);
	assert_int_equal(r->ev[0].outcome, TRANSPORT_LOST);
	assert_int_equal(r->f->n, 1);
	assert_int_equal(r->f->tag[0], 2);
	rig_free(r);
}

TEST(deadline__of_one_of_many__the_others_go_on)
{
	struct rig *r = rig_up();
	struct transport_op o = op(r, TRANSPORT_FAA64, 1);

	assert_int_equal(add(r, 3), 0);
	poll_all(r);
	up(r, 3, 1);
	assert_int_equal(post(r, o), 0);
	o.host = 3;
	o.deadline.ns += 1;
	assert_int_equal(post(r, o), 0);
	r->now = mono_add(o.deadline, -1);
	poll_all(r);
	assert_int_equal(transport_link(&r->f->t, 2), 0);
	assert_int_equal(transport_link(&r->f->t, 3), 1);
	r->now.ns++;
	poll_all(r);
	assert_int_equal(transport_link(&r->f->t, 3), 0);
	rig_free(r);
}

TEST(rounds__a_chain_of_two__a_wave_of_64)
{
	struct rig *r = rig_new();
	struct transport_stats s;

	r->f->up_at_once = r->f->done_at_once = true;
	for (uint16_t h = 1; h <= TRANSPORT_HOSTS_MAX; h++)
		if (h != 1)
			assert_int_equal(add(r, h), 0);
	poll_all(r);
	for (uint16_t h = 2; h <= TRANSPORT_HOSTS_MAX; h++) {
		struct transport_op o = op(r, TRANSPORT_READ, h);

		o.host = h;
		assert_int_equal(post(r, o), 0);
	}
	transport_stats(&r->f->t, &s);
	assert_int_equal(s.rounds, 0); /* not returned yet */
	poll_all(r);
	transport_stats(&r->f->t, &s);
	assert_int_equal(s.rounds, 1);
	assert_int_equal(post(r, op(r, TRANSPORT_CAS64, 1)), 0);
	poll_all(r);
	assert_int_equal(post(r, op(r, TRANSPORT_CAS64, 2)), 0);
	poll_all(r);
	transport_stats(&r->f->t, &s);
	assert_int_equal(s.rounds, 3);
	rig_free(r);
}
