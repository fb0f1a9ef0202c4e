// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_ring_direct: a client that READs words by itself, with memory that a fake server sent. What
 * is verified, and what is not, is in test_direct.
 */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "resex/life_abi.h"
#include "resex/region_abi.h"
#include "src/util/clock.h"
#include "tests/unit/ring_client_rig.h"

enum { HOME = 9, WORDS = 64, PART = 2 * REGION_PAGE };

/* The memory of the newest connection. */
static struct cache_ring_view *view;
static uint64_t *part;

static uint32_t *life(void)
{
	return (uint32_t *)part + PART / 4;
}

static int sealed(size_t bytes, void **at)
{
	int fd = memfd_create("resex-test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || ftruncate(fd, (off_t)bytes) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK))
		abort();
	*at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*at == MAP_FAILED)
		abort();
	return fd;
}

static void send_file(int sock, uint32_t host, uint32_t link, int fd)
{
	const struct cache_ring_file f = { CACHE_RING_FILE_MAGIC, host, link };

	fake_ringd_send(sock, &f, sizeof(f), fd);
	close(fd);
}

/* One home that lives and is fresh for hours; each word is 5. */
static void send_home(__attribute__((unused)) void *arg, int sock)
{
	struct cache_ring_view *v;
	struct clock clock;
	struct stat st;
	void *at;
	int fd = sealed(sizeof(*v), &at);

	clock_real(&clock);
	if (stat("/proc/self/ns/time", &st))
		abort();
	v = at;
	*v = (struct cache_ring_view){ .magic = CACHE_RING_VIEW_MAGIC,
				       .version = CACHE_RING_VERSION,
				       .words = WORDS,
				       .clock = { st.st_dev, st.st_ino },
				       .homes = { 1ull << (HOME - 1) } };
	v->home[HOME] = (struct cache_ring_evidence){
		.until_ns = clock.now(&clock).ns + MS(9999999), .link = 3
	};
	send_file(sock, 0, 0, fd);
	fd = sealed(PART + LIFE_BYTES, &at);
	part = at;
	*life() = 4711;
	for (uint32_t w = 0; w < WORDS; w++)
		part[region_cache_word_offset(w) / 8] = 5;
	send_file(sock, HOME, 3, fd);
	__atomic_store_n(&view, v, __ATOMIC_SEQ_CST);
}

static void start_with(void (*more)(void *arg, int sock))
{
	rig.server = fake_ringd_start(&(struct fake_ringd_conf){ .path = rig.path,
								 .slots = SLOTS,
								 .answer = answer,
								 .arg = &rig,
								 .files = 2,
								 .more = more });
}

static bool is_direct(void)
{
	return ask(1, MS(LONG_MS)).home == HOME;
}

static void open_direct(void)
{
	start_with(send_home);
	assert_int_equal(ring_client_open(&rig.client, rig.path), 0);
	UNTIL(is_direct);
}

static bool direct_shown(void)
{
	const struct cache_ring_header *h = fake_ringd_header(rig.server);

	return h && __atomic_load_n(&h->direct, __ATOMIC_SEQ_CST) >= 1000;
}

RIG_TEST(direct__home_of_this_machine__takes_no_slot_and_is_counted)
{
	struct ring_answer a;
	uint64_t asked;

	open_direct();
	asked = fake_ringd_answered(rig.server);
	for (uint64_t key = 0; key < 1000; key++) {
		a = ask(key, MS(LONG_MS));
		assert_int_equal(a.why, CACHE_RING_VERIFIED);
		assert_int_equal(a.home, HOME);
		assert_in_range(a.word, 1, WORDS - 1);
		assert_int_equal(a.version, 5);
	}
	a = ring_client_ask(rig.client, 1, CACHE_RING_ALL, MS(LONG_MS));
	assert_int_equal(a.home, HOME);
	assert_int_equal(a.word, 0);
	assert_int_equal(fake_ringd_answered(rig.server), asked);
	UNTIL(direct_shown);
}

RIG_TEST(direct__server_hangs__goes_on_while_the_evidence_holds)
{
	open_direct();
	fake_ringd_hold(rig.server, true);
	assert_true(is_direct());
	__atomic_store_n(&view->home[HOME].until_ns, 1, __ATOMIC_SEQ_CST);
	assert_nothing(ask(1, MS(1)), RING_TIMEOUT);
	fake_ringd_hold(rig.server, false);
	assert_good(1);
}

RIG_TEST(direct__home_has_died__is_asked_by_a_slot)
{
	open_direct();
	__atomic_store_n(life(), 0x40000000, __ATOMIC_SEQ_CST);
	assert_good(1);
}

static bool is_nothing(void)
{
	return ask(1, MS(LONG_MS)).why == RING_NO_SERVER;
}

RIG_TEST(direct__server_goes__nothing_is_verified)
{
	open_direct();
	fake_ringd_hold(rig.server, true);
	fake_ringd_say_ended(rig.server);
	assert_nothing(ask(1, MS(LONG_MS)), RING_NO_SERVER);
	fake_ringd_stop(rig.server, false);
	rig.server = NULL;
	UNTIL(is_nothing);
	UNTIL(is_apart);
	start_server(); /* one whose homes are elsewhere */
	UNTIL(is_connected);
	assert_good(1);
}

RIG_TEST(direct__servers_come_and_go__no_thread_reads_what_is_gone)
{
	struct worker w[THREADS];
	bool stop = false;

	rig.fixed = true; /* as the homes would answer */
	rig.answer = (struct cache_ring_slot){
		.why = CACHE_RING_VERIFIED, .home = HOME, .word = 1, .version = 5
	};
	open_direct();
	rig.any = true;
	start_workers(w, &stop);
	for (int i = 0; i < 12; i++) {
		poll(NULL, 0, 5);
		fake_ringd_stop(rig.server, i % 2 == 0);
		start_with(send_home);
		UNTIL(is_direct);
	}
	__atomic_store_n(&stop, true, __ATOMIC_SEQ_CST);
	assert_true(end_workers(w) > 0);
}

static void send_text(__attribute__((unused)) void *arg, int sock)
{
	fake_ringd_send(sock, "hello", 5, -1);
}

static void send_no_file(__attribute__((unused)) void *arg, int sock)
{
	const struct cache_ring_file f = { CACHE_RING_FILE_MAGIC, 0, 0 };

	fake_ringd_send(sock, &f, sizeof(f), -1);
}

static void send_long(__attribute__((unused)) void *arg, int sock)
{
	const char zeros[100] = { 0 };

	fake_ringd_send(sock, zeros, sizeof(zeros), sock);
}

static void send_home_alone(__attribute__((unused)) void *arg, int sock)
{
	void *at;

	send_file(sock, HOME, 3, sealed(REGION_CACHE_WORDS + 8 * WORDS, &at));
	munmap(at, REGION_CACHE_WORDS + 8 * WORDS);
}

static void send_view_of_zeros(__attribute__((unused)) void *arg, int sock)
{
	void *at;

	send_file(sock, 0, 0, sealed(sizeof(struct cache_ring_view), &at));
	munmap(at, sizeof(struct cache_ring_view));
}

static const struct file_row {
	const char *name;
	void (*more)(void *arg, int sock);
} files[] = {
	{ "file__text__ends_the_connection", send_text },
	{ "file__without_a_descriptor__ends_the_connection", send_no_file },
	{ "file__too_long__ends_the_connection", send_long },
	{ "file__home_without_a_view__ends_the_connection", send_home_alone },
	{ "file__view_of_zeros__ends_the_connection", send_view_of_zeros },
};

static bool is_refused(void)
{
	return ring_client_state(rig.client) == -EPROTO;
}

static void run_file(void **state)
{
	const struct file_row *row = *state;
	int before;

	setup(NULL);
	start_with(row->more);
	before = descriptors();
	assert_int_equal(ring_client_open(&rig.client, rig.path), 0);
	UNTIL(is_refused);
	UNTIL(tried_thrice);
	ring_client_close(rig.client);
	rig.client = NULL;
	for (int i = 0; descriptors() != before && i < PATIENCE_MS; i++)
		poll(NULL, 0, 1);
	assert_int_equal(descriptors(), before);
	teardown(NULL);
}

TEST_ROWS(files, run_file)
