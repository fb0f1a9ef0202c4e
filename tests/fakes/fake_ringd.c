// SPDX-License-Identifier: GPL-2.0-or-later
/* fake_ringd: see fake_ringd.h. */
#include "config.h"

#include "tests/fakes/fake_ringd.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

enum { CONNECTIONS = 256, FILES_MAX = 3 };

struct connection {
	int sock, event;
	struct cache_ring_header *header; /* NULL: none */
	struct cache_ring_slot *slot;
	size_t bytes;
};

struct fake_ringd {
	struct fake_ringd_conf conf;
	int listener, wake;
	struct connection connection[CONNECTIONS];
	bool hold, held, stop; /* held: hold, as the thread has seen it */
	uint64_t kicks;	       /* by the test's side */
	uint64_t seen;	       /* of these, by the thread */
	uint32_t accepted, alive, woken;
	uint64_t answered, left;
	struct cache_ring_header *newest;
	pthread_t thread;
};

static void must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "fake_ringd: %s: %s\n", what, strerror(errno));
	abort();
}

/* --- a connection --- */

static void send_hello(const struct fake_ringd *f, int sock, const struct cache_ring_hello *hello,
		       const int file[FILES_MAX])
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(FILES_MAX * sizeof(int))];
	} control = { 0 };
	struct iovec iov = { .iov_base = (void *)(uintptr_t)hello,
			     .iov_len = sizeof(*hello) - f->conf.short_hello };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	size_t bytes = (size_t)f->conf.files * sizeof(int);

	if (bytes) {
		m.msg_control = control.room;
		m.msg_controllen = CMSG_SPACE(bytes);
		CMSG_FIRSTHDR(&m)->cmsg_level = SOL_SOCKET;
		CMSG_FIRSTHDR(&m)->cmsg_type = SCM_RIGHTS;
		CMSG_FIRSTHDR(&m)->cmsg_len = CMSG_LEN(bytes);
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), file, bytes);
	}
	must(sendmsg(sock, &m, MSG_NOSIGNAL) >= 0 || errno == EPIPE, "sendmsg");
}

void fake_ringd_send(int sock, const void *message, size_t len, int fd)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(fd))];
	} control = { 0 };
	struct iovec iov = { .iov_base = (void *)(uintptr_t)message, .iov_len = len };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fd >= 0) {
		m.msg_control = control.room;
		m.msg_controllen = sizeof(control.room);
		CMSG_FIRSTHDR(&m)->cmsg_level = SOL_SOCKET;
		CMSG_FIRSTHDR(&m)->cmsg_type = SCM_RIGHTS;
		CMSG_FIRSTHDR(&m)->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), &fd, sizeof(fd));
	}
	must(sendmsg(sock, &m, MSG_NOSIGNAL) >= 0 || errno == EPIPE, "sendmsg");
}

static void welcome(struct fake_ringd *f, struct connection *n)
{
	struct cache_ring_hello hello = { .magic = CACHE_RING_MAGIC,
					  .version = CACHE_RING_VERSION };
	int memory = memfd_create("ring", MFD_CLOEXEC);

	n->sock = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC);
	must(n->sock >= 0 && memory >= 0, "accept");
	n->bytes = CACHE_RING_HEADER + f->conf.slots * sizeof(*n->slot);
	hello.bytes = (uint32_t)n->bytes;
	must(!ftruncate(memory, (off_t)n->bytes), "ftruncate");
	n->header = mmap(NULL, n->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	must(n->header != MAP_FAILED, "mmap");
	n->slot = (struct cache_ring_slot *)(void *)((char *)n->header + CACHE_RING_HEADER);
	n->header->magic = CACHE_RING_MAGIC;
	n->header->version = CACHE_RING_VERSION;
	n->header->slots = f->conf.slots;
	n->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	must(n->event >= 0, "eventfd");
	if (f->conf.spoil)
		f->conf.spoil(&hello, n->header);
	if (f->conf.lacks)
		must(!ftruncate(memory, (off_t)(n->bytes - f->conf.lacks)), "ftruncate");
	/* Before the hello, with which the client is connected: the test may ask at once. */
	__atomic_store_n(&f->newest, n->header, __ATOMIC_SEQ_CST);
	send_hello(f, n->sock, &hello, (const int[FILES_MAX]){ memory, n->event, n->event });
	close(memory);
	if (f->conf.more)
		f->conf.more(f->conf.arg, n->sock);
	__atomic_add_fetch(&f->alive, 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&f->accepted, 1, __ATOMIC_SEQ_CST);
}

static void forget(struct fake_ringd *f, struct connection *n)
{
	if (f->newest == n->header)
		__atomic_store_n(&f->newest, NULL, __ATOMIC_SEQ_CST);
	/* The memory stays: a test may look at it. */
	close(n->sock);
	close(n->event);
	n->header = NULL;
	__atomic_sub_fetch(&f->alive, 1, __ATOMIC_SEQ_CST);
}

/* --- answers --- */

static void answer(struct fake_ringd *f, struct cache_ring_slot *s)
{
	struct cache_ring_slot own = { .key = __atomic_load_n(&s->key, __ATOMIC_RELAXED),
				       .flags = __atomic_load_n(&s->flags, __ATOMIC_RELAXED) };
	uint32_t asked = CACHE_RING_ASKED, left = CACHE_RING_LEFT;

	if (__atomic_compare_exchange_n(&s->state, &left, CACHE_RING_FREE, false, __ATOMIC_ACQ_REL,
					__ATOMIC_RELAXED)) {
		__atomic_add_fetch(&f->left, 1, __ATOMIC_SEQ_CST);
		return;
	}
	f->conf.answer(f->conf.arg, &own);
	__atomic_store_n(&s->version, own.version, __ATOMIC_RELAXED);
	__atomic_store_n(&s->home, own.home, __ATOMIC_RELAXED);
	__atomic_store_n(&s->word, own.word, __ATOMIC_RELAXED);
	__atomic_store_n(&s->why, own.why, __ATOMIC_RELAXED);
	if (__atomic_compare_exchange_n(&s->state, &asked, f->conf.state, false, __ATOMIC_ACQ_REL,
					__ATOMIC_RELAXED)) {
		syscall(SYS_futex, &s->state, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
		__atomic_add_fetch(&f->answered, 1, __ATOMIC_SEQ_CST);
	} else {
		__atomic_store_n(&s->state, CACHE_RING_FREE, __ATOMIC_RELEASE);
		__atomic_add_fetch(&f->left, 1, __ATOMIC_SEQ_CST);
	}
}

/* All that is asked; was there any? */
static bool serve(struct fake_ringd *f)
{
	bool any = false;

	if (__atomic_load_n(&f->hold, __ATOMIC_SEQ_CST))
		return false;
	for (struct connection *n = f->connection; n < f->connection + CONNECTIONS; n++)
		for (uint32_t i = 0; n->header && i < f->conf.slots; i += 64) {
			uint64_t bits = __atomic_exchange_n(&n->header->asked[i / 64], 0,
							    __ATOMIC_SEQ_CST);

			any |= bits != 0;
			for (; bits; bits &= bits - 1)
				answer(f, &n->slot[i + (uint32_t)__builtin_ctzll(bits)]);
		}
	return any;
}

static void set_sleeps(struct fake_ringd *f, uint32_t sleeps)
{
	for (struct connection *n = f->connection; n < f->connection + CONNECTIONS; n++)
		if (n->header)
			__atomic_store_n(&n->header->sleeps, sleeps, __ATOMIC_SEQ_CST);
}

/* --- the thread --- */

static struct connection *place(struct fake_ringd *f)
{
	for (struct connection *n = f->connection; n < f->connection + CONNECTIONS; n++)
		if (!n->header)
			return n;
	must(false, "too many connections");
	return NULL;
}

/* Returns what was in it. */
static uint64_t empty(int fd)
{
	uint64_t n = 0;

	must(read(fd, &n, sizeof(n)) > 0 || errno == EAGAIN, "read");
	return n;
}

/* Sleeps until a request comes, a connection begins or ends, or wake. Returns the kicks. */
static uint64_t wait_for_any(struct fake_ringd *f)
{
	uint64_t kicks = 0;
	struct pollfd p[2 + 2 * CONNECTIONS] = { { .fd = f->wake, .events = POLLIN },
						 { .fd = f->listener, .events = POLLIN } };

	for (int i = 0; i < CONNECTIONS; i++) {
		const struct connection *n = &f->connection[i];

		p[2 + 2 * i] = (struct pollfd){ .fd = n->header ? n->sock : -1, .events = POLLIN };
		p[3 + 2 * i] = (struct pollfd){ .fd = n->header ? n->event : -1, .events = POLLIN };
	}
	must(poll(p, 2 + 2 * CONNECTIONS, -1) > 0 || errno == EINTR, "poll");
	if (p[0].revents)
		kicks = empty(f->wake);
	for (int i = 0; i < CONNECTIONS; i++) {
		if (p[3 + 2 * i].revents) {
			empty(f->connection[i].event);
			__atomic_add_fetch(&f->woken, 1, __ATOMIC_SEQ_CST);
		}
		if (p[2 + 2 * i].revents)
			forget(f, &f->connection[i]);
	}
	if (p[1].revents)
		welcome(f, place(f));
	return kicks;
}

static void *run(void *arg)
{
	struct fake_ringd *f = arg;

	while (!__atomic_load_n(&f->stop, __ATOMIC_SEQ_CST)) {
		bool hold = __atomic_load_n(&f->hold, __ATOMIC_SEQ_CST);
		uint64_t kicks = 0;

		__atomic_store_n(&f->held, hold, __ATOMIC_SEQ_CST);
		if (serve(f))
			continue;
		set_sleeps(f, 1);
		if (!serve(f))
			kicks = wait_for_any(f);
		set_sleeps(f, 0);
		__atomic_add_fetch(&f->seen, kicks, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

static void kick(struct fake_ringd *f)
{
	const uint64_t one = 1;

	f->kicks++;
	must(write(f->wake, &one, sizeof(one)) == (ssize_t)sizeof(one), "write");
}

/* --- the test's side --- */

struct fake_ringd *fake_ringd_start(const struct fake_ringd_conf *c)
{
	struct fake_ringd *f = calloc(1, sizeof(*f));
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	must(f != NULL, "calloc");
	f->conf = *c;
	if (!f->conf.state)
		f->conf.state = CACHE_RING_ANSWERED;
	f->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	f->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	snprintf(a.sun_path, sizeof(a.sun_path), "%s", c->path);
	unlink(c->path);
	must(!bind(f->listener, (struct sockaddr *)&a, sizeof(a)), "bind");
	must(!listen(f->listener, CONNECTIONS), "listen");
	must(!pthread_create(&f->thread, NULL, run, f), "pthread_create");
	return f;
}

void fake_ringd_say_ended(struct fake_ringd *f)
{
	struct cache_ring_header *h = fake_ringd_header(f);

	if (h)
		__atomic_store_n(&h->ended, 1, __ATOMIC_SEQ_CST);
}

void fake_ringd_stop(struct fake_ringd *f, bool ended)
{
	__atomic_store_n(&f->stop, true, __ATOMIC_SEQ_CST);
	kick(f);
	pthread_join(f->thread, NULL);
	for (struct connection *n = f->connection; n < f->connection + CONNECTIONS; n++) {
		if (!n->header)
			continue;
		if (ended)
			__atomic_store_n(&n->header->ended, 1, __ATOMIC_SEQ_CST);
		forget(f, n);
	}
	unlink(f->conf.path);
	close(f->listener);
	close(f->wake);
	free(f);
}

void fake_ringd_hold(struct fake_ringd *f, bool hold)
{
	__atomic_store_n(&f->hold, hold, __ATOMIC_SEQ_CST);
	kick(f);
	/* A kick that it sees later would end a sleep that a test has seen. */
	while (__atomic_load_n(&f->held, __ATOMIC_SEQ_CST) != hold ||
	       (hold && __atomic_load_n(&f->seen, __ATOMIC_SEQ_CST) != f->kicks))
		poll(NULL, 0, 1);
}

uint32_t fake_ringd_accepted(const struct fake_ringd *f)
{
	return __atomic_load_n(&f->accepted, __ATOMIC_SEQ_CST);
}

uint32_t fake_ringd_alive(const struct fake_ringd *f)
{
	return __atomic_load_n(&f->alive, __ATOMIC_SEQ_CST);
}

uint32_t fake_ringd_woken(const struct fake_ringd *f)
{
	return __atomic_load_n(&f->woken, __ATOMIC_SEQ_CST);
}

uint64_t fake_ringd_answered(const struct fake_ringd *f)
{
	return __atomic_load_n(&f->answered, __ATOMIC_SEQ_CST);
}

uint64_t fake_ringd_left(const struct fake_ringd *f)
{
	return __atomic_load_n(&f->left, __ATOMIC_SEQ_CST);
}

struct cache_ring_header *fake_ringd_header(struct fake_ringd *f)
{
	return __atomic_load_n(&f->newest, __ATOMIC_SEQ_CST);
}

uint32_t fake_ringd_slots(struct fake_ringd *f, uint32_t state)
{
	return fake_ringd_slots_of(f, fake_ringd_header(f), state);
}

uint32_t fake_ringd_slots_of(const struct fake_ringd *f, const struct cache_ring_header *h,
			     uint32_t state)
{
	const struct cache_ring_slot *s;
	uint32_t n = 0;

	if (!h)
		return 0;
	s = (const void *)((const char *)h + CACHE_RING_HEADER);
	for (uint32_t i = 0; i < f->conf.slots; i++)
		n += __atomic_load_n(&s[i].state, __ATOMIC_SEQ_CST) == state;
	return n;
}
