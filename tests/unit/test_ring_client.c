// SPDX-License-Identifier: GPL-2.0-or-later
/* test_ring_client: the client's half of the ring, against a fake server on a thread of its own. */
#include "config.h"

#include "tests/unit/ring_client_rig.h"

static bool answered_all(void)
{
	return fake_ringd_answered(rig.server) == 999;
}

CONNECTED_TEST(ask__answered__gives_home_word_and_version)
{
	for (uint64_t key = 1; key < 1000; key++)
		assert_good(key * 0x123456789);
	UNTIL(answered_all);
	assert_true(all_free());
}

CONNECTED_TEST(ask__all__gives_word_0)
{
	struct ring_answer a = ring_client_ask(rig.client, 12345, CACHE_RING_ALL, MS(LONG_MS));

	assert_int_equal(a.why, CACHE_RING_VERIFIED);
	assert_int_equal(a.word, 0);
}

RIG_TEST(ask__no_server__is_not_verified_at_once)
{
	assert_int_equal(ring_client_open(&rig.client, rig.path), 0);
	/* Each would wait for hours, were it to wait. */
	for (int i = 0; i < 100000; i++)
		assert_nothing(ask((uint64_t)i, MS(LONG_MS)), RING_NO_SERVER);
	assert_true(is_apart());
}

RIG_TEST(client__server_comes_later__connects)
{
	assert_int_equal(ring_client_open(&rig.client, rig.path), 0);
	assert_nothing(ask(1, MS(1)), RING_NO_SERVER);
	start_server();
	UNTIL(is_connected);
	assert_good(1);
}

RIG_TEST(settle__server_is_there__then_it_is_asked)
{
	start_server();
	assert_int_equal(ring_client_open(&rig.client, rig.path), 0);
	ring_client_settle(rig.client);
	assert_int_equal(ring_client_state(rig.client), 0);
	assert_good(1);
}

RIG_TEST(settle__no_server__returns)
{
	assert_int_equal(ring_client_open(&rig.client, rig.path), 0);
	ring_client_settle(rig.client);
	assert_int_equal(ring_client_state(rig.client), -ENOENT);
}

static bool one_left(void)
{
	return fake_ringd_left(rig.server) == 1;
}

CONNECTED_TEST(ask__answer_is_late__is_left_and_the_slot_comes_back)
{
	fake_ringd_hold(rig.server, true);
	assert_nothing(ask(1, MS(5)), RING_TIMEOUT);
	assert_int_equal(fake_ringd_slots(rig.server, CACHE_RING_LEFT), 1);
	fake_ringd_hold(rig.server, false);
	UNTIL(one_left);
	assert_true(all_free());
	assert_good(2);
}

CONNECTED_TEST(ask__timeouts_out_of_range__are_brought_into_it)
{
	fake_ringd_hold(rig.server, true);
	assert_nothing(ask(1, 0), RING_TIMEOUT);
	assert_nothing(ask(1, INT64_MIN), RING_TIMEOUT);
	fake_ringd_hold(rig.server, false);
	UNTIL(all_free);
	assert_int_equal(ring_client_ask(rig.client, 1, 0, INT64_MAX).why, CACHE_RING_VERIFIED);
}

static bool all_left(void)
{
	return fake_ringd_left(rig.server) == SLOTS;
}

CONNECTED_TEST(ask__all_slots_taken__is_full_at_once)
{
	fake_ringd_hold(rig.server, true);
	for (int i = 0; i < SLOTS; i++)
		assert_nothing(ask(1, MS(1)), RING_TIMEOUT);
	assert_nothing(ask(1, MS(LONG_MS)), RING_FULL);
	fake_ringd_hold(rig.server, false);
	UNTIL(all_left);
	assert_true(all_free());
	assert_good(3);
}

/* --- a server that sleeps --- */

static bool is_asleep(void)
{
	return __atomic_load_n(&fake_ringd_header(rig.server)->sleeps, __ATOMIC_SEQ_CST) == 1;
}

static bool was_woken(void)
{
	return fake_ringd_woken(rig.server) > 0;
}

CONNECTED_TEST(ask__server_sleeps__is_woken__and_only_then)
{
	/* It holds: it looks at no request, and goes to sleep anew when it is woken. */
	fake_ringd_hold(rig.server, true);
	UNTIL(is_asleep);
	__atomic_store_n(&fake_ringd_header(rig.server)->sleeps, 0, __ATOMIC_SEQ_CST);
	assert_nothing(ask(1, MS(20)), RING_TIMEOUT);
	assert_int_equal(fake_ringd_woken(rig.server), 0);
	__atomic_store_n(&fake_ringd_header(rig.server)->sleeps, 1, __ATOMIC_SEQ_CST);
	assert_nothing(ask(1, MS(1)), RING_TIMEOUT);
	UNTIL(was_woken);
}

/* --- the end of a server --- */

struct asker {
	pthread_t thread;
	struct ring_answer answer;
};

static void *ask_long(void *arg)
{
	struct asker *a = arg;

	a->answer = ask(7, MS(LONG_MS));
	return NULL;
}

static bool all_asked(void)
{
	return fake_ringd_slots(rig.server, CACHE_RING_ASKED) == 8;
}

static void end_under_askers(bool ended)
{
	struct asker a[8];

	fake_ringd_hold(rig.server, true);
	for (int i = 0; i < 8; i++)
		assert_int_equal(pthread_create(&a[i].thread, NULL, ask_long, &a[i]), 0);
	UNTIL(all_asked);
	fake_ringd_stop(rig.server, ended);
	rig.server = NULL;
	for (int i = 0; i < 8; i++) {
		pthread_join(a[i].thread, NULL);
		assert_nothing(a[i].answer, RING_NO_SERVER);
	}
	UNTIL(is_apart);
	start_server();
	UNTIL(is_connected);
	assert_good(8);
}

CONNECTED_TEST(server__killed_while_asked__ends_the_waiting_and_another_is_found)
{
	end_under_askers(false);
}

CONNECTED_TEST(server__ended_while_asked__ends_the_waiting_and_another_is_found)
{
	end_under_askers(true);
}

static bool connected_twice(void)
{
	return fake_ringd_accepted(rig.server) >= 2;
}

CONNECTED_TEST(server__says_that_it_goes__is_asked_no_more)
{
	const struct cache_ring_header *h = fake_ringd_header(rig.server);
	const char *away = tmp_at(&rig.dir, "away.sock");

	/* It is not found anew before it was asked. */
	assert_int_equal(rename(rig.path, away), 0);
	fake_ringd_hold(rig.server, true);
	fake_ringd_say_ended(rig.server);
	assert_nothing(ask(1, MS(LONG_MS)), RING_NO_SERVER);
	/* It took no slot. */
	assert_int_equal(fake_ringd_slots_of(rig.server, h, CACHE_RING_FREE), SLOTS);
	fake_ringd_hold(rig.server, false);
	assert_int_equal(rename(away, rig.path), 0);
	/* The client goes, too, and calls again: this server takes it. */
	UNTIL(connected_twice);
	UNTIL(is_connected);
	assert_good(1);
}

CONNECTED_TEST(client__closed__the_server_sees_it)
{
	ring_client_close(rig.client);
	rig.client = NULL;
	for (int i = 0; fake_ringd_header(rig.server); i++) {
		assert_true(i < PATIENCE_MS);
		poll(NULL, 0, 1);
	}
}

/* --- a server that is none --- */

static void magic(struct cache_ring_hello *h, __attribute__((unused)) struct cache_ring_header *r)
{
	h->magic++;
}

static void version(struct cache_ring_hello *h, __attribute__((unused)) struct cache_ring_header *r)
{
	h->version++;
}

static void no_bytes(struct cache_ring_hello *h,
		     __attribute__((unused)) struct cache_ring_header *r)
{
	h->bytes = 0;
}

static void header_alone(struct cache_ring_hello *h, struct cache_ring_header *r)
{
	h->bytes = CACHE_RING_HEADER;
	r->slots = 0;
}

static void few_slots(struct cache_ring_hello *h, struct cache_ring_header *r)
{
	h->bytes = CACHE_RING_HEADER + 63 * 64;
	r->slots = 63;
}

static void many_slots(struct cache_ring_hello *h, struct cache_ring_header *r)
{
	h->bytes = CACHE_RING_HEADER + 1088 * 64;
	r->slots = 1088;
}

static void odd_slots(struct cache_ring_hello *h, struct cache_ring_header *r)
{
	h->bytes -= 64;
	r->slots--;
}

static void odd_bytes(struct cache_ring_hello *h, struct cache_ring_header *r)
{
	h->bytes = CACHE_RING_HEADER + 64 * 64 + 8;
	r->slots = 64;
}

static void their_magic(__attribute__((unused)) struct cache_ring_hello *h,
			struct cache_ring_header *r)
{
	r->magic--;
}

static void their_version(__attribute__((unused)) struct cache_ring_hello *h,
			  struct cache_ring_header *r)
{
	r->version++;
}

static void their_slots(__attribute__((unused)) struct cache_ring_hello *h,
			struct cache_ring_header *r)
{
	r->slots += 64;
}

static const struct hello_row {
	const char *name;
	void (*spoil)(struct cache_ring_hello *, struct cache_ring_header *);
	uint32_t lacks, short_hello;
	int files;
	uint32_t slots; /* 0: 128 */
	bool good;
} hellos[] = {
	{ "hello__good__is_taken", .files = 2, .good = true },
	{ "hello__1024_slots__is_taken", .files = 2, .slots = 1024, .good = true },
	{ "hello__magic__is_refused", magic, .files = 2 },
	{ "hello__version__is_refused", version, .files = 2 },
	{ "hello__no_bytes__is_refused", no_bytes, .files = 2 },
	{ "hello__header_alone__is_refused", header_alone, .files = 2 },
	{ "hello__63_slots__is_refused", few_slots, .files = 2 },
	{ "hello__1088_slots__is_refused", many_slots, .files = 2, .slots = 1088 },
	{ "hello__127_slots__is_refused", odd_slots, .files = 2 },
	{ "hello__odd_bytes__is_refused", odd_bytes, .files = 2 },
	{ "hello__memory_of_other_magic__is_refused", their_magic, .files = 2 },
	{ "hello__memory_of_other_version__is_refused", their_version, .files = 2 },
	{ "hello__memory_with_more_slots__is_refused", their_slots, .files = 2 },
	{ "hello__memory_too_small__is_refused", .lacks = 1, .files = 2 },
	{ "hello__memory_without_slots__is_refused", .lacks = 128 * 64, .files = 2 },
	{ "hello__too_short__is_refused", .short_hello = 1, .files = 2 },
	{ "hello__no_files__is_refused", .files = 0 },
	{ "hello__one_file__is_refused", .files = 1 },
	{ "hello__three_files__is_refused", .files = 3 },
};

static bool was_told(void)
{
	int state = ring_client_state(rig.client);

	return state == 0 || state == -EPROTO;
}

static void run_hello(void **state)
{
	const struct hello_row *row = *state;
	int before;

	setup(NULL);
	rig.server = fake_ringd_start(&(struct fake_ringd_conf){
		.path = rig.path,
		.slots = row->slots ? row->slots : 128,
		.answer = answer,
		.arg = &rig,
		.spoil = row->spoil,
		.lacks = row->lacks,
		.short_hello = row->short_hello,
		.files = row->files,
	});
	before = descriptors();
	assert_int_equal(ring_client_open(&rig.client, rig.path), 0);
	UNTIL(was_told);
	assert_int_equal(ring_client_state(rig.client), row->good ? 0 : -EPROTO);
	if (row->good) {
		assert_good(99);
	} else {
		UNTIL(tried_thrice); /* it goes on trying */
		assert_nothing(ask(99, MS(LONG_MS)), RING_NO_SERVER);
	}
	ring_client_close(rig.client);
	rig.client = NULL;
	/* The server closes its own when it sees that the client is gone. */
	for (int i = 0; descriptors() != before && i < PATIENCE_MS; i++)
		poll(NULL, 0, 1);
	assert_int_equal(descriptors(), before);
	teardown(NULL);
}

TEST_ROWS(hellos, run_hello)

/* --- answers that are none --- */

static const struct answer_row {
	const char *name;
	uint32_t why, home, word, flags;
	uint64_t version;
	uint32_t wanted;
} answers[] = {
	{ "answer__verified__is_taken", 1, 1, 999999, 0, 1, CACHE_RING_VERIFIED },
	{ "answer__last_home__is_taken", 1, 256, 0, 0, UINT64_MAX, CACHE_RING_VERIFIED },
	{ "answer__all_of_word_0__is_taken", 1, 3, 0, CACHE_RING_ALL, 5, CACHE_RING_VERIFIED },
	{ "answer__no_home__says_so", 2, 1, 1, 0, 1, CACHE_RING_NO_HOME },
	{ "answer__closed__says_so", 3, 1, 1, 0, 1, CACHE_RING_CLOSED },
	{ "answer__stale__says_so", 4, 1, 1, 0, 1, CACHE_RING_STALE },
	{ "answer__lost__says_so", 5, 1, 1, 0, 1, CACHE_RING_LOST },
	{ "answer__bad__says_so", 6, 1, 1, 0, 1, CACHE_RING_BAD },
	{ "answer__why_0__is_rubbish", 0, 1, 1, 0, 1, RING_RUBBISH },
	{ "answer__why_7__is_rubbish", 7, 1, 1, 0, 1, RING_RUBBISH },
	{ "answer__why_of_the_client__is_rubbish", RING_TIMEOUT, 1, 1, 0, 1, RING_RUBBISH },
	{ "answer__why_huge__is_rubbish", UINT32_MAX, 1, 1, 0, 1, RING_RUBBISH },
	{ "answer__home_0__is_rubbish", 1, 0, 1, 0, 1, RING_RUBBISH },
	{ "answer__home_257__is_rubbish", 1, 257, 1, 0, 1, RING_RUBBISH },
	{ "answer__word_too_large__is_rubbish", 1, 1, 1000000, 0, 1, RING_RUBBISH },
	{ "answer__version_0__is_rubbish", 1, 1, 1, 0, 0, RING_RUBBISH },
	{ "answer__all_of_another_word__is_rubbish", 1, 1, 1, CACHE_RING_ALL, 1, RING_RUBBISH },
};

static void run_answer(void **state)
{
	const struct answer_row *row = *state;
	struct ring_answer a;

	setup(NULL);
	rig.answer = (struct cache_ring_slot){
		.why = row->why, .home = row->home, .word = row->word, .version = row->version
	};
	rig.fixed = true;
	start_server();
	assert_int_equal(ring_client_open(&rig.client, rig.path), 0);
	UNTIL(is_connected);
	a = ring_client_ask(rig.client, 1, row->flags, MS(LONG_MS));
	if (row->wanted == CACHE_RING_VERIFIED) {
		assert_int_equal(a.why, CACHE_RING_VERIFIED);
		assert_int_equal(a.home, row->home);
		assert_int_equal(a.word, row->word);
		assert_int_equal(a.version, row->version);
	} else {
		assert_nothing(a, row->wanted);
	}
	assert_true(all_free());
	teardown(NULL);
}

TEST_ROWS(answers, run_answer)

RIG_TEST(answer__state_is_none__is_rubbish)
{
	rig.server = fake_ringd_start(&(struct fake_ringd_conf){ .path = rig.path,
								 .slots = SLOTS,
								 .answer = answer,
								 .arg = &rig,
								 .files = 2,
								 .state = 77 });
	assert_int_equal(ring_client_open(&rig.client, rig.path), 0);
	UNTIL(is_connected);
	assert_nothing(ask(1, MS(LONG_MS)), RING_RUBBISH);
	/* The slot is nobody's. */
	assert_int_equal(fake_ringd_slots(rig.server, 77), 1);
	for (int i = 1; i < SLOTS; i++)
		assert_nothing(ask(1, MS(LONG_MS)), RING_RUBBISH);
	assert_nothing(ask(1, MS(LONG_MS)), RING_FULL);
}

/* --- many threads --- */

CONNECTED_TEST(threads__each_gets_its_own_answer)
{
	struct worker w[THREADS];

	start_workers(w, NULL);
	assert_true(end_workers(w) > THREADS * ASKS / 2);
	UNTIL(all_free);
}

CONNECTED_TEST(threads__server_holds_now_and_then__no_answer_goes_astray)
{
	struct worker w[THREADS];
	bool stop = false;

	start_workers(w, &stop);
	for (int i = 0; i < 50; i++) {
		fake_ringd_hold(rig.server, i % 2 == 0);
		poll(NULL, 0, 2);
	}
	fake_ringd_hold(rig.server, false);
	__atomic_store_n(&stop, true, __ATOMIC_SEQ_CST);
	assert_true(end_workers(w) > 0);
	UNTIL(all_free);
}

CONNECTED_TEST(threads__servers_come_and_go__no_answer_goes_astray)
{
	struct worker w[THREADS];
	bool stop = false;

	start_workers(w, &stop);
	for (int i = 0; i < 12; i++) {
		poll(NULL, 0, 5);
		fake_ringd_stop(rig.server, i % 2 == 0);
		start_server();
		UNTIL(is_connected);
	}
	__atomic_store_n(&stop, true, __ATOMIC_SEQ_CST);
	assert_true(end_workers(w) > 0);
	UNTIL(all_free);
}

/* --- the rest --- */

static bool counts_shown(void)
{
	const struct cache_ring_header *h = fake_ringd_header(rig.server);

	return h && __atomic_load_n(&h->hits, __ATOMIC_SEQ_CST) == 1 &&
	       __atomic_load_n(&h->misses, __ATOMIC_SEQ_CST) == 2 &&
	       __atomic_load_n(&h->passes, __ATOMIC_SEQ_CST) == 3 &&
	       __atomic_load_n(&h->stored, __ATOMIC_SEQ_CST) == 4 &&
	       __atomic_load_n(&h->refused, __ATOMIC_SEQ_CST) == 5 &&
	       __atomic_load_n(&h->direct, __ATOMIC_SEQ_CST) == 6 &&
	       __atomic_load_n(&h->unoffered, __ATOMIC_SEQ_CST) == 7;
}

CONNECTED_TEST(counts__are_shown_to_the_server__also_to_the_next_one)
{
	for (int what = 0; what < RING_COUNTS; what++)
		for (int i = 0; i <= what; i++)
			ring_client_count(rig.client, (enum ring_count)what);
	UNTIL(counts_shown);
	fake_ringd_stop(rig.server, false);
	start_server();
	UNTIL(counts_shown);
}

TEST(open__path_too_long_or_empty__is_refused)
{
	struct ring_client *c = NULL;
	char path[200];

	memset(path, 'x', sizeof(path));
	path[108] = '\0';
	assert_int_equal(ring_client_open(&c, path), -ENAMETOOLONG);
	assert_int_equal(ring_client_open(&c, ""), -EINVAL);
	assert_null(c);
	path[107] = '\0';
	assert_int_equal(ring_client_open(&c, path), 0);
	ring_client_close(c);
	ring_client_close(NULL);
}

TEST(why__each_has_its_word)
{
	for (uint32_t why = CACHE_RING_VERIFIED; why <= CACHE_RING_BAD; why++)
		for (uint32_t other = RING_NO_SERVER; other <= RING_RUBBISH; other++) {
			assert_string_not_equal(ring_why_text(why), "?");
			assert_string_not_equal(ring_why_text(other), "?");
			assert_string_not_equal(ring_why_text(why), ring_why_text(other));
		}
	assert_string_equal(ring_why_text(0), "?");
	assert_string_equal(ring_why_text(RING_RUBBISH + 1), "?");
}

TEST(key__is_that_of_resex_cache)
{
	static const char page[] = "www.example.com/items?page=2";

	/* By another implementation, in Python. */
	assert_int_equal(cache_ring_key("", 0), 0xf52a15e9a9b5e89b);
	assert_int_equal(cache_ring_key(page, strlen(page)), 0x64427ab4b42d1640);
	assert_int_equal(cache_ring_key("/item/5", 7), 0x7d29ba41847736c6); /* as in its own test */
	assert_int_not_equal(cache_ring_key("a\0b", 3), cache_ring_key("a\0c", 3));
}
