// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * test_direct: READs of version words without a slot. A view and two homes, 11 and 12, as the
 * server would send them. The clock is the test's: what happens while a READ is under way, happens
 * when it reads its clock.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "resex/life_abi.h"
#include "src/cache/place.h"
#include "src/ring/direct.h"
#include "tests/unit/prop.h"

enum { A = 11, B = 12, WORDS = 200, NOW = 1000, TID = 4711, DEAD = 0x40000000 };
enum { PART = 2 * REGION_PAGE, FILE_BYTES = PART + LIFE_BYTES };

static_assert(PART >= REGION_CACHE_WORDS + 8 * WORDS, "in whole pages");

struct rig {
	struct clock clock; /* the first member: now() finds the rig */
	struct direct d;
	struct cache_ring_view *view;
	uint64_t *part[REGION_HOSTS_MAX + 1];
	uint32_t reads; /* of the clock */
	void (*meanwhile)(struct rig *r);
	uint16_t home; /* that of the key */
	struct place at;
	uint64_t key;
};

static struct mono now(struct clock *c)
{
	struct rig *r = (struct rig *)c;

	/* The first finds the homes that are usable, the second is behind the READ. */
	if (++r->reads == 2 && r->meanwhile)
		r->meanwhile(r);
	return (struct mono){ c->sim_ns };
}

/* The only mapping that can write. */
static int file(size_t bytes, int seals, void **at)
{
	int fd = memfd_create("resex-test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
	*at = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(*at != MAP_FAILED);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static int take(struct rig *r, uint32_t host, uint32_t link, int fd)
{
	const struct cache_ring_file f = { CACHE_RING_FILE_MAGIC, host, link };

	return direct_take(&r->d, &f, fd);
}

static void make_view(struct cache_ring_view *v)
{
	struct stat st;

	assert_int_equal(stat("/proc/self/ns/time", &st), 0);
	v->magic = CACHE_RING_VIEW_MAGIC;
	v->version = CACHE_RING_VERSION;
	v->words = WORDS;
	v->clock[0] = st.st_dev;
	v->clock[1] = st.st_ino;
	v->homes[0] = 1ull << (A - 1) | 1ull << (B - 1);
}

static uint32_t *life(struct rig *r, uint16_t home)
{
	return (uint32_t *)r->part[home] + PART / 4;
}

static int new_part(struct rig *r, uint16_t home)
{
	void *at;
	int fd = file(FILE_BYTES, F_SEAL_SHRINK, &at);

	r->part[home] = at;
	*life(r, home) = TID;
	for (uint32_t w = 0; w < WORDS; w++)
		r->part[home][region_cache_word_offset(w) / 8] = 1000u * home + w;
	return fd;
}

static void evidence(struct rig *r, uint16_t home, uint32_t link, int64_t until)
{
	r->view->home[home] = (struct cache_ring_evidence){ .until_ns = until, .link = link };
}

/* Both homes are fresh. key is of A. */
static int setup(void **state)
{
	struct hostset both = { { 0 } };
	struct rig *r = calloc(1, sizeof(*r));
	void *at;
	int fd = file(sizeof(*r->view), F_SEAL_SHRINK, &at);

	assert_non_null(r);
	*state = r;
	r->clock = (struct clock){ .now = now, .sim_ns = NOW };
	r->view = at;
	make_view(r->view);
	assert_int_equal(take(r, 0, 0, fd), 0);
	for (uint16_t h = A; h <= B; h++) {
		assert_int_equal(take(r, h, 7, new_part(r, h)), 0);
		evidence(r, h, 7, NOW + 1);
		hostset_set(&both, h, true);
	}
	do
		assert_true(place_find(&both, ++r->key, false, WORDS, &r->at));
	while (r->at.home != A);
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	direct_close(&r->d);
	assert_null(r->d.view);
	free(r);
	return 0;
}

static bool ask(struct rig *r, struct direct_answer *a)
{
	r->reads = 0;
	return direct_ask(&r->d, &r->clock, r->key, false, a);
}

static bool is_verified(struct rig *r)
{
	struct direct_answer a = { .home = 99 };

	if (ask(r, &a))
		return true;
	assert_int_equal(a.home, 99);
	return false;
}

RIG_TEST(ask__evidence_holds__has_home_word_and_version)
{
	struct rig *r = *state;
	struct direct_answer a;

	assert_true(ask(r, &a));
	assert_int_equal(a.home, A);
	assert_int_equal(a.word, r->at.word);
	assert_int_equal(a.version, 1000 * A + r->at.word);
	assert_int_equal(r->reads, 2);
}

RIG_TEST(ask__all__is_word_0)
{
	struct rig *r = *state;
	struct direct_answer a;

	assert_true(direct_ask(&r->d, &r->clock, r->key, true, &a));
	assert_int_equal(a.word, 0);
	assert_int_equal(a.version, 1000 * a.home);
}

RIG_TEST(ask__many_pages__are_where_a_proxy_finds_them)
{
	struct rig *r = *state;
	uint32_t of[REGION_HOSTS_MAX + 1] = { 0 };
	struct hostset both = { { 0 } };
	struct direct_answer a;
	struct place at;

	hostset_set(&both, A, true);
	hostset_set(&both, B, true);
	for (uint64_t key = 0; key < 1000; key++) {
		assert_true(direct_ask(&r->d, &r->clock, key, false, &a));
		assert_true(place_find(&both, key, false, WORDS, &at));
		assert_int_equal(a.home, at.home);
		assert_int_equal(a.word, at.word);
		assert_int_equal(a.version, 1000 * at.home + at.word);
		of[a.home]++;
	}
	assert_in_range(of[A], 300, 700);
}

static void no_evidence(struct rig *r)
{
	evidence(r, A, 0, 0);
}

/* Another home has the page then, as it has for resex-cached. */
RIG_TEST(ask__a_home_has_no_evidence__the_other_one_is_read)
{
	struct rig *r = *state;
	struct direct_answer a;

	no_evidence(r);
	assert_true(ask(r, &a));
	assert_int_equal(a.home, B);
	evidence(r, A, 0, NOW + 1); /* on no link */
	assert_true(ask(r, &a));
	assert_int_equal(a.home, B);
	evidence(r, A, 7, NOW); /* it has ended */
	assert_true(ask(r, &a));
	assert_int_equal(a.home, B);
	evidence(r, B, 7, INT64_MIN);
	assert_false(is_verified(r));
}

/* --- what is not verified --- */

static void closed(struct rig *r)
{
	r->part[A][region_cache_word_offset(r->at.word) / 8] = 0;
}

static void dead(struct rig *r)
{
	*life(r, A) = DEAD;
}

static void dead_and_awaited(struct rig *r)
{
	*life(r, A) = DEAD | 0x80000000u | TID;
}

static void not_begun(struct rig *r)
{
	*life(r, A) = 0;
}

static void late(struct rig *r)
{
	r->clock.sim_ns = NOW + 1;
}

static void newer_link(struct rig *r)
{
	evidence(r, A, 8, NOW + 1000);
}

static void cut(struct rig *r)
{
	evidence(r, A, 0, 0);
}

static void shorter(struct rig *r)
{
	evidence(r, A, 7, NOW);
}

static const struct row {
	const char *name;
	void (*before)(struct rig *r);
	void (*meanwhile)(struct rig *r);
	bool verified;
} rows[] = {
	{ "ask__nothing_happens__is_verified", NULL, NULL, true },
	{ "ask__word_is_closed__is_not_verified", closed, NULL, false },
	{ "ask__home_is_dead__is_not_verified", dead, NULL, false },
	{ "ask__home_is_dead_and_was_awaited__is_not_verified", dead_and_awaited, NULL, false },
	{ "ask__home_has_not_begun_or_goes__is_not_verified", not_begun, NULL, false },
	{ "ask__evidence_of_another_link__is_not_verified", newer_link, NULL, false },
	{ "ask__evidence_ends_during_the_read__is_not_verified", NULL, late, false },
	{ "ask__evidence_is_taken_back_during_the_read__is_not_verified", NULL, cut, false },
	{ "ask__evidence_gets_shorter_during_the_read__is_not_verified", NULL, shorter, false },
	{ "ask__link_is_another_one_after_the_read__is_not_verified", NULL, newer_link, false },
	{ "ask__word_is_closed_after_the_read__is_verified", NULL, closed, true },
	/* It lived when the READ had ended: nobody can have been told anything without it. */
	{ "ask__home_dies_after_the_read__is_verified", NULL, dead, true },
};

static void run_row(void **state)
{
	const struct row *row = *state;
	void *fixture;
	struct rig *r;

	setup(&fixture);
	r = fixture;
	if (row->before)
		row->before(r);
	r->meanwhile = row->meanwhile;
	assert_int_equal(is_verified(r), row->verified);
	teardown(&fixture);
}

TEST_ROWS(rows, run_row)

RIG_TEST(ask__nothing_was_sent__is_not_verified)
{
	struct rig *r = *state;

	direct_close(&r->d);
	assert_false(is_verified(r));
}

RIG_TEST(ask__the_home_has_no_memory__is_not_verified)
{
	struct rig *r = *state;

	void *at;
	int fd = file(sizeof(*r->view), F_SEAL_SHRINK, &at);

	direct_close(&r->d);
	memset(&r->d, 0, sizeof(r->d));
	memcpy(at, r->view, sizeof(*r->view));
	r->view = at;
	assert_int_equal(take(r, 0, 0, fd), 0);
	assert_false(is_verified(r));
	assert_int_equal(take(r, A, 7, new_part(r, A)), 0);
	assert_true(is_verified(r));
}

RIG_TEST(take__newer_link__replaces_the_memory)
{
	struct rig *r = *state;
	uint64_t *old = r->part[A];
	struct direct_answer a;

	old[region_cache_word_offset(r->at.word) / 8] = 5;
	assert_int_equal(take(r, A, 8, new_part(r, A)), 0);
	assert_false(is_verified(r)); /* its evidence is that of the link before */
	evidence(r, A, 8, NOW + 1);
	assert_true(ask(r, &a));
	assert_int_equal(a.version, 1000 * A + r->at.word);
}

/* --- a server that is none --- */

static void magic(struct cache_ring_view *v)
{
	v->magic++;
}

static void version(struct cache_ring_view *v)
{
	v->version++;
}

static void no_words(struct cache_ring_view *v)
{
	v->words = 0;
}

static void many_words(struct cache_ring_view *v)
{
	v->words = REGION_CACHE_WORDS_MAX + 1;
}

static void device(struct cache_ring_view *v)
{
	v->clock[0]++;
}

static void inode(struct cache_ring_view *v)
{
	v->clock[1]++;
}

static const struct view_row {
	const char *name;
	void (*spoil)(struct cache_ring_view *v);
	size_t lacks;
	int seals, rc;
} views[] = {
	{ "view__magic__is_refused", magic, .seals = F_SEAL_SHRINK, .rc = -EPROTO },
	{ "view__version__is_refused", version, .seals = F_SEAL_SHRINK, .rc = -EPROTO },
	{ "view__no_words__is_refused", no_words, .seals = F_SEAL_SHRINK, .rc = -EPROTO },
	{ "view__too_many_words__is_refused", many_words, .seals = F_SEAL_SHRINK, .rc = -EPROTO },
	{ "view__too_small__is_refused", NULL, 8, F_SEAL_SHRINK, -EPROTO },
	{ "view__can_shrink__is_refused", NULL, .seals = F_SEAL_GROW, .rc = -EPROTO },
	{ "view__clock_of_another_device__verifies_nothing", device, .seals = F_SEAL_SHRINK },
	{ "view__clock_of_another_namespace__verifies_nothing", inode, .seals = F_SEAL_SHRINK },
};

static void run_view(void **state)
{
	const struct view_row *row = *state;
	struct cache_ring_view v = { 0 };
	void *fixture, *at;
	struct rig *r;
	int fd;

	setup(&fixture);
	r = fixture;
	direct_close(&r->d);
	memset(&r->d, 0, sizeof(r->d));
	make_view(&v);
	if (row->spoil)
		row->spoil(&v);
	v.home[A] = r->view->home[A];
	fd = file(sizeof(v) - row->lacks, row->seals, &at);
	memcpy(at, &v, sizeof(v) - row->lacks);
	assert_int_equal(take(r, 0, 0, fd), row->rc);
	assert_int_equal(fcntl(fd, F_GETFD), -1); /* it was closed */
	assert_int_equal(take(r, A, 7, new_part(r, A)), row->rc);
	assert_false(is_verified(r));
	teardown(&fixture);
}

TEST_ROWS(views, run_view)

RIG_TEST(take__what_is_none__is_refused)
{
	struct rig *r = *state;
	struct cache_ring_file f = { CACHE_RING_FILE_MAGIC + 1, A, 8 };
	int fd = new_part(r, A);
	void *at;

	assert_int_equal(direct_take(&r->d, &f, fd), -EPROTO);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_int_equal(take(r, REGION_HOSTS_MAX + 1, 8, new_part(r, A)), -EPROTO);
	assert_int_equal(take(r, UINT32_MAX, 8, new_part(r, A)), -EPROTO);
	assert_int_equal(take(r, A, 0, new_part(r, A)), -EPROTO);
	fd = file(sizeof(*r->view), F_SEAL_SHRINK, &at);
	make_view(at); /* a second one */
	assert_int_equal(take(r, 0, 0, fd), -EPROTO);
	assert_true(is_verified(r)); /* what it has is as it was */
	assert_int_equal(take(r, A, 8, file(PART, F_SEAL_SHRINK, &at)), -EPROTO);
	assert_int_equal(take(r, A, 8, file(FILE_BYTES + 8, F_SEAL_SHRINK, &at)), -EPROTO);
	assert_int_equal(take(r, A, 8, file(FILE_BYTES, F_SEAL_GROW, &at)), -EPROTO);
	assert_int_equal(take(r, A, 8, open("/dev/zero", O_RDONLY | O_CLOEXEC)), -EPROTO);
	assert_false(is_verified(r));
}

/* --- threads --- */

struct reader {
	pthread_t thread;
	struct rig *r;
	uint64_t verified, wrong;
};

static bool stops;

static struct mono steady(struct clock *c)
{
	return (struct mono){ c->sim_ns };
}

/* The memory of link n has n in each word. */
static void *reads(void *arg)
{
	struct reader *w = arg;
	struct clock clock = { .now = steady, .sim_ns = NOW };
	struct direct_answer a;
	uint64_t last = 0;

	while (!__atomic_load_n(&stops, __ATOMIC_SEQ_CST)) {
		if (!direct_ask(&w->r->d, &clock, w->r->key, false, &a) || a.home != A)
			continue;
		__atomic_add_fetch(&w->verified, 1, __ATOMIC_RELAXED);
		w->wrong += a.version < last;
		last = a.version;
	}
	return NULL;
}

RIG_TEST(threads__memory_is_replaced_under_them__none_reads_what_is_gone)
{
	struct rig *r = *state;
	struct reader w[4];

	__atomic_store_n(&stops, false, __ATOMIC_SEQ_CST);
	r->part[A][region_cache_word_offset(r->at.word) / 8] = 7;
	evidence(r, B, 0, 0);
	for (int i = 0; i < 4; i++) {
		w[i] = (struct reader){ .r = r };
		assert_int_equal(pthread_create(&w[i].thread, NULL, reads, &w[i]), 0);
	}
	for (uint32_t link = 8; link < 500; link++) {
		int fd = new_part(r, A);

		r->part[A][region_cache_word_offset(r->at.word) / 8] = link;
		assert_int_equal(take(r, A, link, fd), 0);
		__atomic_store_n(&r->view->home[A].until_ns, 0, __ATOMIC_SEQ_CST);
		__atomic_store_n(&r->view->home[A].link, link, __ATOMIC_SEQ_CST);
		__atomic_store_n(&r->view->home[A].until_ns, NOW + 1, __ATOMIC_SEQ_CST);
		munmap(r->part[A], FILE_BYTES);
	}
	while (!__atomic_load_n(&w[0].verified, __ATOMIC_RELAXED))
		usleep(100);
	__atomic_store_n(&stops, true, __ATOMIC_SEQ_CST);
	for (int i = 0; i < 4; i++) {
		pthread_join(w[i].thread, NULL);
		assert_int_equal(w[i].wrong, 0);
	}
	assert_true(is_verified(r));
}
