// SPDX-License-Identifier: GPL-2.0-or-later
/* ring_view: what clients get so that they can READ the words of homes 3 and 256 themselves. */
#include "src/cached/ring.h"

#include "tests/unit/cached_ring_rig.h"

struct rig {
	struct tmpdir dir;
	struct event_base *base;
	struct log log;
	struct cached_ring *ring;
};

static void asked(void *owner, const struct cached_ring_request *q)
{
	(void)owner;
	(void)q;
}

static void loop(struct rig *r)
{
	for (int i = 0; i < 5; i++)
		event_base_loop(r->base, EVLOOP_NONBLOCK | EVLOOP_ONCE);
}

static struct cached_ring *open_ring(struct rig *r, const char *name, uint32_t words)
{
	struct cached_ring_conf c = { .group = "", .slots = 64, .clients = 3, .words = words };
	struct cached_ring *ring = NULL;
	struct conf_error e;

	hostset_set(&c.homes, 3, true);
	hostset_set(&c.homes, 256, true);
	c.path = tmp_at(&r->dir, name);
	assert_int_equal(cached_ring_open(&ring, &c, r->base, &r->log, asked, r, &e), 0);
	return ring;
}

static void dial_at(struct rig *r, struct ring_dial *d, const char *name)
{
	ring_dial_connect(d, tmp_at(&r->dir, name));
	loop(r);
	assert_true(ring_dial_hello(d));
}

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	tmp_open(&r->dir);
	log_init(&r->log, "test", LOG_LVL_ERROR);
	r->base = event_base_new();
	r->ring = open_ring(r, "ring", 77);
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	cached_ring_close(r->ring);
	event_base_free(r->base);
	tmp_close(&r->dir);
	free(r);
	return 0;
}

/* A descriptor whose file has n bytes. */
static int sized(int n)
{
	int fd = memfd_create("home", MFD_CLOEXEC);

	assert_int_equal(ftruncate(fd, n), 0);
	return fd;
}

static void expect_home(struct ring_dial *d, uint32_t host, uint32_t link, int bytes)
{
	struct cache_ring_file f;
	struct stat st;
	int fd;

	assert_true(ring_dial_file(d, &f, &fd));
	assert_int_equal(f.host, host);
	assert_int_equal(f.link, link);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, bytes);
	close(fd);
}

static void expect_nothing(struct ring_dial *d)
{
	assert_int_equal(recv(d->fd, &(char){ 0 }, 1, MSG_DONTWAIT | MSG_PEEK), -1);
	assert_int_equal(errno, EAGAIN);
}

RIG_TEST(view__no_words__there_is_none)
{
	struct rig *r = *state;
	struct cached_ring *other = open_ring(r, "none", 0);
	struct ring_dial d;
	int fd = sized(5);

	dial_at(r, &d, "none");
	cached_ring_home(other, 3, 1, fd);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	cached_ring_evidence(other, 3, 1, (struct mono){ 5 });
	expect_nothing(&d);
	ring_dial_end(&d);
	cached_ring_close(other);
}

RIG_TEST(view__says_homes_words_and_clock__and_only_the_server_writes_it)
{
	struct rig *r = *state;
	const struct cache_ring_view *v;
	struct ring_dial d;
	struct stat st;

	dial_at(r, &d, "ring");
	v = ring_dial_view(&d);
	assert_int_equal(stat("/proc/self/ns/time", &st), 0);
	assert_true(v->magic == CACHE_RING_VIEW_MAGIC);
	assert_int_equal(v->version, CACHE_RING_VERSION);
	assert_int_equal(v->words, 77);
	assert_int_equal(v->clock[0], st.st_dev);
	assert_int_equal(v->clock[1], st.st_ino);
	assert_int_equal(v->homes[0], 1 << 2);
	assert_true(v->homes[3] == 1ull << 63);
	assert_int_equal(v->home[3].link, 0);
	expect_nothing(&d);
	cached_ring_evidence(r->ring, 3, 9, (struct mono){ 123 });
	assert_int_equal(v->home[3].link, 9);
	assert_int_equal(v->home[3].until_ns, 123);
	cached_ring_evidence(r->ring, 256, 2, (struct mono){ 4 });
	assert_int_equal(v->home[256].until_ns, 4);
	cached_ring_evidence(r->ring, 4, 2, (struct mono){ 4 }); /* no home */
	assert_int_equal(v->home[4].link, 0);
	cached_ring_evidence(r->ring, 3, 0, (struct mono){ 124 });
	assert_int_equal(v->home[3].link, 0);
	assert_int_equal(v->home[3].until_ns, 0);
	cached_ring_close(r->ring);
	r->ring = NULL;
	assert_int_equal(v->home[256].until_ns, 4); /* the mapping keeps it */
	munmap((void *)(uintptr_t)v, sizeof(*v));
	ring_dial_end(&d);
}

RIG_TEST(home__each_client_gets_it_once__also_one_that_comes_later)
{
	struct rig *r = *state;
	struct ring_dial d[2];
	int fd = sized(4);

	dial_at(r, &d[0], "ring");
	ring_dial_view(&d[0]);
	cached_ring_home(r->ring, 3, 1, sized(1));
	cached_ring_home(r->ring, 256, 1, sized(2));
	cached_ring_home(r->ring, 4, 1, fd); /* no home */
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	cached_ring_evidence(r->ring, 3, 1, (struct mono){ 5 });
	expect_home(&d[0], 3, 1, 1);
	expect_home(&d[0], 256, 1, 2);
	expect_nothing(&d[0]);
	dial_at(r, &d[1], "ring");
	ring_dial_view(&d[1]);
	expect_home(&d[1], 3, 1, 1);
	expect_home(&d[1], 256, 1, 2);
	expect_nothing(&d[1]);
	cached_ring_home(r->ring, 3, 2, sized(3));
	for (int i = 0; i < 2; i++) {
		expect_home(&d[i], 3, 2, 3);
		expect_nothing(&d[i]);
	}
	ring_dial_end(&d[0]);
	loop(r);
	cached_ring_home(r->ring, 3, 3, sized(3));
	expect_home(&d[1], 3, 3, 3);
	ring_dial_end(&d[1]);
	loop(r);
}

/* A client that reads nothing holds up nobody, and gets the newest when it reads again. */
RIG_TEST(home__client_has_no_room__gets_it_later)
{
	struct rig *r = *state;
	struct cache_ring_file f = { 0 };
	struct ring_dial d;
	int fd, got = 0;

	dial_at(r, &d, "ring");
	ring_dial_view(&d);
	for (uint32_t link = 1; link <= 2000; link++)
		cached_ring_home(r->ring, 3, link, sized(1));
	while (ring_dial_file(&d, &f, &fd)) {
		close(fd);
		got++;
	}
	assert_in_range(got, 1, 1999);
	assert_in_range(f.link, 1, 1999);
	cached_ring_evidence(r->ring, 3, 2000, (struct mono){ 5 });
	expect_home(&d, 3, 2000, 1);
	expect_nothing(&d);
	ring_dial_end(&d);
	loop(r);
}
