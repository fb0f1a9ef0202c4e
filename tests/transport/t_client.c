// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * t_client: clients, which serve nothing: what they may do, what is refused, which of two processes
 * with one number stays. What a client does that lies about its rights is tested beside each
 * backend (test_tcp_hostile, test_transport_shm, liar_verbs): these ones keep to them.
 */
#include <errno.h>
#include <string.h>

#include "tests/transport/suite.h"

enum { A_CLIENT = 3, ANOTHER = 4 };

static struct transport_conf client_conf(const struct rig *r, uint16_t number, uint32_t rights)
{
	struct transport_conf c = rig_conf(r, number);

	memset(c.bytes, 0, sizeof(c.bytes));
	c.port = 0;
	c.role = TRANSPORT_CLIENT;
	c.rights = rights;
	if (!r->is->ip)
		c.address[0] = 0;
	return c;
}

static int add_client(struct host *h, uint16_t number, uint32_t rights)
{
	struct transport_peer p = { .host = number, .role = TRANSPORT_CLIENT, .rights = rights };

	snprintf(p.name, sizeof(p.name), "client-%u", number);
	return transport_add(h->t, &p, rig_now(h->rig));
}

/* Member 2, that gives this right to client 3, and the client, that asks for another one. */
static void rig_client(struct rig *r, uint32_t gives, uint32_t asks, struct host **member,
		       struct host **client)
{
	struct transport_conf two = rig_conf(r, 2), c = client_conf(r, A_CLIENT, asks);

	*member = rig_open(r, &two);
	*client = rig_open(r, &c);
	host_add(*member, 2);
	assert_int_equal(add_client(*member, A_CLIENT, gives), 0);
	host_add(*client, 2);
}

static void rig_linked(struct rig *r, uint32_t gives, uint32_t asks, struct host **member,
		       struct host **client)
{
	rig_client(r, gives, asks, member, client);
	UNTIL(r, host_up(*client, 2) && host_up(*member, 2));
}

static void is_refused(struct host *h, struct transport_op op)
{
	const struct transport_event *ev = &host_do(h, op)->ev;

	assert_int_equal(ev->outcome, TRANSPORT_REFUSED);
	assert_int_equal(ev->why, -EPERM);
}

static void client__that_may_read__is_refused_word_by_word(void **state)
{
	struct suite *s = *state;
	struct host *m, *c;

	rig_linked(&s->rig, 0, 0, &m, &c);
	*(volatile uint64_t *)transport_table(m->t) = 77;
	assert_int_equal(host_faa(m, 2, 8, 5), 0);
	for (int i = 0; i < 20; i++) {
		is_refused(c, op_cas(2, 8, 5, 9));
		assert_int_equal(host_word(c, 2, 8), 5);
		is_refused(c, op_faa(2, 8, 1));
		is_refused(c, op_send(2, "x", 1));
		assert_int_equal(host_do(c, op_read(2, TRANSPORT_TABLE, 0, 8))->ev.outcome,
				 TRANSPORT_DONE);
	}
	assert_int_equal(host_word(m, 2, 8), 5);
	assert_int_equal(host_count(c, TRANSPORT_DOWN, 0, 0), 0);
	assert_int_equal(host_count(m, TRANSPORT_MESSAGE, 0, 0), 0);
	assert_int_equal(host_count(m, TRANSPORT_ALARM, 0, 0), 0);
}

/* Also when they are posted together with READs, which are not held up. */
static void client__refused_amid_a_batch__the_rest_is_done(void **state)
{
	struct suite *s = *state;
	struct transport_op op[] = { op_read(2, TRANSPORT_WORDS, 0, 8), op_faa(2, 0, 1),
				     op_read(2, TRANSPORT_WORDS, 0, 8), op_cas(2, 0, 0, 1),
				     op_read(2, TRANSPORT_TABLE, 0, 4096) };
	struct host *m, *c;
	int why = 0;

	rig_linked(&s->rig, 0, 0, &m, &c);
	assert_int_equal(host_post(c, op, 5, &why), 5);
	for (int i = 0; i < 5; i++) {
		UNTIL(&s->rig, host_result(c, op[i].tag));
		assert_int_equal(host_result(c, op[i].tag)->ev.outcome,
				 i % 2 ? TRANSPORT_REFUSED : TRANSPORT_DONE);
	}
	assert_int_equal(host_word(c, 2, 0), 0);
}

static void client__with_atomics__changes_words_and_sends_nothing(void **state)
{
	struct suite *s = *state;
	struct host *m, *c;

	rig_linked(&s->rig, TRANSPORT_ATOMICS, TRANSPORT_ATOMICS, &m, &c);
	assert_int_equal(host_faa(c, 2, 8, 5), 0);
	assert_int_equal(host_cas(c, 2, 8, 5, 9), 5);
	assert_int_equal(host_faa(m, 2, 8, 1), 9);
	assert_int_equal(host_word(c, 2, 8), 10);
	is_refused(c, op_send(2, "x", 1));
	assert_int_equal(host_count(m, TRANSPORT_MESSAGE, 0, 0), 0);
}

static void client__asks_for_less_than_it_is_given__has_what_it_asked_for(void **state)
{
	struct suite *s = *state;
	struct host *m, *c;

	rig_linked(&s->rig, TRANSPORT_ATOMICS, 0, &m, &c);
	is_refused(c, op_faa(2, 0, 1));
	assert_int_equal(host_word(c, 2, 0), 0);
}

/* Both ends say this, and there is no link, now and for a while. */
static void refused_with(struct rig *r, struct host *m, struct host *c, const char *at_member,
			 const char *at_client)
{
	const struct seen *a, *b;

	UNTIL(r,
	      host_seen(m, TRANSPORT_ALARM, c->number, 0) && host_seen(c, TRANSPORT_ALARM, 2, 0));
	a = host_seen(m, TRANSPORT_ALARM, c->number, 0);
	b = host_seen(c, TRANSPORT_ALARM, 2, 0);
	if (!strstr(a->ev.text, at_member) || !strstr(b->ev.text, at_client))
		broken("\"%s\" and \"%s\"", a->ev.text, b->ev.text);
	rig_turn_for(r, 50 * NS_PER_MS);
	assert_int_equal(c->ref.ups, 0);
	assert_int_equal(host_refuses(c, op_read(2, TRANSPORT_TABLE, 0, 8)), -ENOTCONN);
}

static void client__asks_for_more_than_it_is_given__no_link_and_an_alarm_at_both(void **state)
{
	struct suite *s = *state;
	struct host *m, *c;

	rig_client(&s->rig, 0, TRANSPORT_ATOMICS, &m, &c);
	refused_with(&s->rig, m, c, "more rights", "more rights");
}

static void client__not_listed__no_link_and_an_alarm_at_both(void **state)
{
	struct suite *s = *state;
	struct transport_conf two = rig_conf(&s->rig, 2), c3 = client_conf(&s->rig, A_CLIENT, 0);
	struct host *m = rig_open(&s->rig, &two), *c = rig_open(&s->rig, &c3);

	host_add(c, 2);
	refused_with(&s->rig, m, c, "list of hosts", "does not list");
	assert_int_equal(add_client(m, A_CLIENT, 0), 0);
	UNTIL(&s->rig, host_up(c, 2));
}

static void client__as_a_member__no_link_and_an_alarm_at_both(void **state)
{
	struct suite *s = *state;
	struct transport_conf two = rig_conf(&s->rig, 2), three = rig_conf(&s->rig, A_CLIENT);
	struct host *m = rig_open(&s->rig, &two), *c = rig_open(&s->rig, &three);

	assert_int_equal(add_client(m, A_CLIENT, TRANSPORT_ATOMICS), 0);
	host_add(c, 2);
	refused_with(&s->rig, m, c, "role", "role");
}

static void member__as_a_client__no_link_and_an_alarm_at_both(void **state)
{
	struct suite *s = *state;
	struct transport_conf two = rig_conf(&s->rig, 2), c3 = client_conf(&s->rig, A_CLIENT, 0);
	struct host *m = rig_open(&s->rig, &two), *c = rig_open(&s->rig, &c3);

	host_add(m, A_CLIENT);
	host_add(c, 2);
	refused_with(&s->rig, m, c, "role", "role");
}

static void client__of_a_member__is_not_called_and_has_no_memory(void **state)
{
	struct suite *s = *state;
	struct host *m, *c;

	rig_linked(&s->rig, 0, 0, &m, &c);
	rig_turn_for(&s->rig, 50 * NS_PER_MS);
	assert_int_equal(transport_link(m->t, A_CLIENT), 0);
	assert_int_equal(host_count(m, TRANSPORT_UP, A_CLIENT, 0), 0);
	assert_int_equal(host_refuses(m, op_read(A_CLIENT, TRANSPORT_TABLE, 0, 8)), -ENOTCONN);
	assert_int_equal(host_refuses(m, op_send(A_CLIENT, "x", 1)), -ENOTCONN);
}

static void client__removed_by_the_member__is_linked_no_more(void **state)
{
	struct suite *s = *state;
	struct host *m, *c;

	rig_linked(&s->rig, TRANSPORT_ATOMICS, TRANSPORT_ATOMICS, &m, &c);
	assert_int_equal(host_faa(c, 2, 0, 1), 0);
	assert_int_equal(transport_remove(m->t, A_CLIENT, rig_now(&s->rig)), 0);
	host_do(c, op_faa(2, 0, 1));
	UNTIL(&s->rig, host_seen(c, TRANSPORT_DOWN, 2, 0));
	assert_int_equal(host_word(m, 2, 0), 1);
	UNTIL(&s->rig, host_seen(c, TRANSPORT_ALARM, 2, 0));
	assert_int_equal(host_count(c, TRANSPORT_UP, 2, 0), 1);
	/* The other way round: a client takes a member off its list. */
	assert_int_equal(transport_remove(c->t, 2, rig_now(&s->rig)), 0);
	assert_int_equal(transport_remove(c->t, 2, rig_now(&s->rig)), -ENOENT);
}

/* --- two processes with one number -------------------------------------------------- */

/* The start of another process; it is later if generation is higher. */
static struct host *second(struct rig *r, uint64_t generation)
{
	struct transport_conf c = client_conf(r, A_CLIENT, TRANSPORT_ATOMICS);
	struct host *h;

	c.generation = generation;
	c.start = 1234;
	h = rig_open(r, &c);
	host_add(h, 2);
	return h;
}

static void two_clients__of_one_number__the_later_one_stays(void **state)
{
	struct suite *s = *state;
	struct host *m, *c, *later;

	rig_linked(&s->rig, TRANSPORT_ATOMICS, TRANSPORT_ATOMICS, &m, &c);
	later = second(&s->rig, c->conf.generation + 1);
	UNTIL(&s->rig, host_up(later, 2) && host_seen(c, TRANSPORT_DOWN, 2, 0));
	UNTIL(&s->rig, host_seen(m, TRANSPORT_ALARM, A_CLIENT, 0));
	assert_non_null(strstr(host_seen(m, TRANSPORT_ALARM, A_CLIENT, 0)->ev.text,
			       "another process with this number"));
	rig_turn_for(&s->rig, 100 * NS_PER_MS);
	assert_int_equal(host_faa(later, 2, 0, 1), 0);
	assert_int_equal(host_count(later, TRANSPORT_DOWN, 0, 0), 0);
	assert_int_equal(c->ref.ups, 1);
	/* It has left: the earlier one is let in again. */
	host_close(later);
	UNTIL(&s->rig, host_up(c, 2));
	assert_int_equal(host_faa(c, 2, 0, 1), 1);
}

/* A clock that was wrong once locks no client out. */
static void client__began_earlier_than_one_that_left__is_let_in(void **state)
{
	struct suite *s = *state;
	struct host *m, *c, *earlier;

	rig_linked(&s->rig, TRANSPORT_ATOMICS, TRANSPORT_ATOMICS, &m, &c);
	host_close(c);
	earlier = second(&s->rig, 1);
	UNTIL(&s->rig, host_up(earlier, 2));
	assert_int_equal(host_faa(earlier, 2, 0, 1), 0);
}

/* --- conf -------------------------------------------------------------------------- */

static int opens(struct rig *r, const struct transport_conf *c)
{
	struct transport *t = NULL;
	char text[256] = "";
	int rc = r->backend->open(&t, c, rig_now(r), text);

	assert_int_equal(!rc, t != NULL);
	assert_true(!rc || strlen(text) > 10);
	transport_close(t);
	return rc;
}

static void client__that_serves__is_refused(void **state)
{
	struct suite *s = *state;
	struct transport_conf good = client_conf(&s->rig, A_CLIENT, TRANSPORT_ATOMICS), c = good;

	assert_int_equal(opens(&s->rig, &good), 0);
	c.generation_max = 1; /* of members: a client's is a time */
	assert_int_equal(opens(&s->rig, &c), 0);
	c = good;
	c.bytes[TRANSPORT_LOAD] = 4096;
	assert_int_equal(opens(&s->rig, &c), -EINVAL);
	c = good;
	c.port = 9;
	assert_int_equal(opens(&s->rig, &c), -EINVAL);
	c = good;
	c.rights = TRANSPORT_RIGHTS + 1;
	assert_int_equal(opens(&s->rig, &c), -EINVAL);
	c = good;
	c.role = TRANSPORT_ROLES;
	assert_int_equal(opens(&s->rig, &c), -EINVAL);
	c = rig_conf(&s->rig, 2);
	c.rights = TRANSPORT_ATOMICS;
	assert_int_equal(opens(&s->rig, &c), -EINVAL);
}

static void add__of_a_client__by_a_member_alone(void **state)
{
	struct suite *s = *state;
	struct transport_peer own = rig_peer(&s->rig, A_CLIENT), odd = rig_peer(&s->rig, ANOTHER);
	struct mono now = rig_now(&s->rig);
	struct host *m, *c;

	rig_client(&s->rig, 0, 0, &m, &c);
	assert_int_equal(add_client(c, ANOTHER, 0), -EINVAL);
	assert_int_equal(transport_add(c->t, &own, now), -EINVAL);
	assert_int_equal(add_client(m, 2, 0), -EINVAL);
	assert_int_equal(add_client(m, A_CLIENT, 0), -EEXIST);
	assert_int_equal(add_client(m, ANOTHER, TRANSPORT_RIGHTS + 1), -EINVAL);
	odd.rights = TRANSPORT_ATOMICS;
	assert_int_equal(transport_add(m->t, &odd, now), -EINVAL);
	odd.role = TRANSPORT_ROLES;
	assert_int_equal(transport_add(m->t, &odd, now), -EINVAL);
	assert_null(transport_table(c->t));
	assert_null(transport_part(c->t, TRANSPORT_VERSIONS));
}

/* It needs no address: the route to the member decides. */
static void client__without_an_address__is_linked(void **state)
{
	struct suite *s = *state;
	struct transport_conf two = rig_conf(&s->rig, 2), c3 = client_conf(&s->rig, A_CLIENT, 0);
	struct host *m = rig_open(&s->rig, &two), *c;

	c3.address[0] = 0;
	c = rig_open(&s->rig, &c3);
	assert_int_equal(add_client(m, A_CLIENT, 0), 0);
	host_add(c, 2);
	UNTIL(&s->rig, host_up(c, 2));
	assert_int_equal(host_word(c, 2, 0), 0);
}

const struct entry client_tests[] = {
	ENTRY(client__that_may_read__is_refused_word_by_word, ALL),
	ENTRY(client__refused_amid_a_batch__the_rest_is_done, ALL),
	ENTRY(client__with_atomics__changes_words_and_sends_nothing, ALL),
	ENTRY(client__asks_for_less_than_it_is_given__has_what_it_asked_for, ALL),
	ENTRY(client__asks_for_more_than_it_is_given__no_link_and_an_alarm_at_both, ALL),
	ENTRY(client__not_listed__no_link_and_an_alarm_at_both, ALL),
	ENTRY(client__as_a_member__no_link_and_an_alarm_at_both, ALL),
	ENTRY(member__as_a_client__no_link_and_an_alarm_at_both, ALL),
	ENTRY(client__of_a_member__is_not_called_and_has_no_memory, ALL),
	ENTRY(client__removed_by_the_member__is_linked_no_more, ALL),
	ENTRY(two_clients__of_one_number__the_later_one_stays, ALL),
	ENTRY(client__began_earlier_than_one_that_left__is_let_in, ALL),
	ENTRY(client__that_serves__is_refused, ALL),
	ENTRY(add__of_a_client__by_a_member_alone, ALL),
	ENTRY(client__without_an_address__is_linked, ALL),
	{ NULL, NULL, ALL },
};
