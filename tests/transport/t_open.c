// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * t_open: finding backends; open, close, and the first contents of a region.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/transport/suite.h"

static void find__each_backend__by_its_name_and_no_other(void **state)
{
	struct suite *s = *state;
	bool mine = false;

	for (size_t i = 0; transport_backends[i]; i++) {
		assert_ptr_equal(transport_find(transport_backends[i]->name),
				 transport_backends[i]);
		mine = mine || !strcmp(transport_backends[i]->name, s->is->name);
	}
	assert_true(mine);
	assert_null(transport_find("carrier pigeons"));
	assert_null(transport_find(""));
}

static void refuses(struct rig *r, const struct transport_conf *c, int want)
{
	struct transport *mark = (struct transport *)(uintptr_t)0x5a, *t = mark;
	char text[256];
	int rc;

	memset(text, 'x', sizeof(text));
	rc = r->backend->open(&t, c, rig_now(r), text);
	if (rc != want)
		print_error("open gave %d, not %d\n", rc, want);
	assert_int_equal(rc, want);
	assert_ptr_equal(t, mark); /* written only on success */
	assert_non_null(memchr(text, 0, sizeof(text)));
	assert_true(strlen(text) > 10); /* a sentence */
}

static void open__conf_out_of_range__is_einval_with_a_sentence(void **state)
{
	struct suite *s = *state;
	struct transport_conf good = rig_conf(&s->rig, 1), bad[16];
	size_t n = 0;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		bad[i] = good;
	bad[n++].host = 0;
	bad[n++].host = TRANSPORT_HOSTS_MAX + 1;
	bad[n++].host = UINT16_MAX;
	bad[n++].generation = 0;
	bad[n++].key_len = TRANSPORT_KEY_MIN - 1;
	bad[n++].key_len = TRANSPORT_KEY_MAX + 1;
	bad[n++].key = NULL;
	bad[n++].bytes[TRANSPORT_TABLE] = 4096 + 8;
	bad[n++].bytes[TRANSPORT_TABLE] = TRANSPORT_PART_MAX + 4096;
	bad[n++].bytes[TRANSPORT_WORDS] = 4096 + 8;
	bad[n++].bytes[TRANSPORT_WORDS] = TRANSPORT_PART_MAX + 4096;
	bad[n++].bytes[TRANSPORT_WORDS] = SIZE_MAX - 4095;
	bad[n++].bytes[TRANSPORT_LOAD] = 4096 + 8;
	bad[n++].bytes[TRANSPORT_VERSIONS] = TRANSPORT_OPTIONAL_MAX + 4096;
	for (size_t i = 0; i < n; i++)
		refuses(&s->rig, &bad[i], -EINVAL);
}

static void open__limits_of_the_range__are_accepted(void **state)
{
	struct suite *s = *state;
	static const uint8_t key[TRANSPORT_KEY_MAX] = { 1, 2, 3 };
	struct transport_conf c = rig_conf(&s->rig, TRANSPORT_HOSTS_MAX);
	struct host *h;

	c.key = key;
	c.key_len = TRANSPORT_KEY_MAX;
	c.generation = UINT64_MAX;
	c.bytes[TRANSPORT_TABLE] = c.bytes[TRANSPORT_WORDS] = TRANSPORT_PART_MAX;
	h = rig_open(&s->rig, &c);
	host_close(h);
	c.key_len = TRANSPORT_KEY_MIN;
	c.generation = 1;
	c.bytes[TRANSPORT_TABLE] = c.bytes[TRANSPORT_WORDS] = 4096;
	host_open(h, &c);
}

static void open__malformed_address__is_einval(void **state)
{
	struct suite *s = *state;
	static const char *const bad[] = { "", "nowhere", "127.0.0.1.1", "127.0.0.256", "::g" };
	struct transport_conf c = rig_conf(&s->rig, 1);

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		memset(c.address, 0, sizeof(c.address));
		memcpy(c.address, bad[i], strlen(bad[i]));
		refuses(&s->rig, &c, -EINVAL);
	}
}

static void open__another_serves_there__is_eaddrinuse(void **state)
{
	struct suite *s = *state;
	struct transport_conf c = rig_conf(&s->rig, 1), d = rig_conf(&s->rig, 2);
	struct host *a, *b = NULL;

	rig_pair(&s->rig, &a, &b);
	refuses(&s->rig, &c, -EADDRINUSE);
	refuses(&s->rig, &d, -EADDRINUSE);
	/* And the host that serves there is not disturbed. */
	assert_int_equal(host_faa(a, 2, 0, 1), 0);
	assert_int_equal(host_faa(b, 1, 0, 1), 0);
	assert_int_equal(host_count(a, TRANSPORT_DOWN, 0, 0), 0);
}

static void open__after_close__the_address_is_free_again(void **state)
{
	struct suite *s = *state;
	struct transport_conf c = rig_conf(&s->rig, 2);
	struct host *a, *b;

	rig_pair(&s->rig, &a, &b);
	for (int i = 0; i < 5; i++) {
		host_close(b);
		c.generation++;
		host_open(b, &c);
		host_add(b, 1);
		UNTIL(&s->rig, both_up(a, b) && host_seen(a, TRANSPORT_UP, 2, 0)->ev.generation ==
							c.generation);
	}
}

static void open__after_its_process_was_killed__the_address_is_free_again(void **state)
{
	struct suite *s = *state;
	struct proc *p = proc_new(&s->procs, 3);

	for (int i = 0; i < 3; i++) {
		proc_start(&s->procs, p);
		proc_kill(p);
		p->o->conf.generation++;
	}
}

static void open__key_and_words_overwritten_after__were_copied(void **state)
{
	struct suite *s = *state;
	struct transport_conf one = rig_conf(&s->rig, 1), two = rig_conf(&s->rig, 2);
	uint64_t words[RIG_WORDS / 8] = { 11, 22, 33 };
	uint8_t key[TRANSPORT_KEY_MAX];
	struct host *a, *b;

	memcpy(key, one.key, one.key_len);
	one.key = key;
	one.words = words;
	a = rig_open(&s->rig, &one);
	memset(key, 0xee, sizeof(key));
	memset(words, 0xee, sizeof(words));
	a->conf.key = NULL;
	a->conf.words = NULL;
	b = rig_open(&s->rig, &two);
	host_meet(a, b);
	UNTIL(&s->rig, both_up(a, b));
	assert_int_equal(host_word(b, 1, 0), 11);
	assert_int_equal(host_word(b, 1, 16), 33);
}

static void open__region__table_is_zero_and_words_are_as_given(void **state)
{
	struct suite *s = *state;
	struct transport_conf one = rig_conf(&s->rig, 1), two = rig_conf(&s->rig, 2);
	uint64_t words[RIG_WORDS / 8];
	static const uint8_t zeros[RIG_TABLE];
	const struct seen *got;
	struct host *a, *b;

	for (size_t i = 0; i < RIG_WORDS / 8; i++)
		words[i] = 0x0101010101010101u * (i % 256) + i;
	one.words = words;
	two.words = NULL;
	a = rig_open(&s->rig, &one);
	b = rig_open(&s->rig, &two);
	assert_memory_equal(transport_table(a->t), zeros, RIG_TABLE);
	host_meet(a, b);
	UNTIL(&s->rig, both_up(a, b));
	got = host_do(b, op_read(1, TRANSPORT_WORDS, 0, RIG_WORDS));
	assert_memory_equal(got->ev.data, words, RIG_WORDS);
	got = host_do(a, op_read(2, TRANSPORT_WORDS, 0, RIG_WORDS));
	assert_memory_equal(got->ev.data, zeros, RIG_WORDS);
	got = host_do(a, op_read(2, TRANSPORT_TABLE, 0, RIG_TABLE));
	assert_memory_equal(got->ev.data, zeros, RIG_TABLE);
}

static void close__nothing__is_nothing(void **state)
{
	(void)state;
	transport_close(NULL);
}

static void close__operations_outstanding__the_peer_sees_down_and_lives(void **state)
{
	struct suite *s = *state;
	struct transport_op op[TRANSPORT_DEPTH];
	struct host *a, *b;
	int why;

	rig_pair(&s->rig, &a, &b);
	for (size_t i = 0; i < TRANSPORT_DEPTH; i++)
		op[i] = i % 2 ? op_faa(2, 8, 1) : op_read(2, TRANSPORT_TABLE, 0, RIG_TABLE);
	assert_int_equal(host_post(a, op, TRANSPORT_DEPTH, &why), TRANSPORT_DEPTH);
	host_close(a);
	memset(&a->ref, 0, sizeof(a->ref));
	UNTIL(&s->rig, host_seen(b, TRANSPORT_DOWN, 1, 0));
	assert_int_equal(transport_link(b->t, 1), 0);
	host_add(b, 2); /* itself */
	UNTIL(&s->rig, host_up(b, 2));
	assert_true(host_word(b, 2, 8) <= TRANSPORT_DEPTH / 2);
}

const struct entry open_tests[] = {
	ENTRY(find__each_backend__by_its_name_and_no_other, ALL),
	ENTRY(open__conf_out_of_range__is_einval_with_a_sentence, ALL),
	ENTRY(open__limits_of_the_range__are_accepted, ALL),
	ENTRY(open__malformed_address__is_einval, IP),
	ENTRY(open__another_serves_there__is_eaddrinuse, ALL),
	ENTRY(open__after_close__the_address_is_free_again, ALL),
	ENTRY(open__after_its_process_was_killed__the_address_is_free_again, ALL),
	ENTRY(open__key_and_words_overwritten_after__were_copied, ALL),
	ENTRY(open__region__table_is_zero_and_words_are_as_given, ALL),
	ENTRY(close__nothing__is_nothing, ALL),
	ENTRY(close__operations_outstanding__the_peer_sees_down_and_lives, ALL),
	{ NULL, NULL, ALL },
};
