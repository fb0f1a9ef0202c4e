/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cached_ring_rig: a small client of a ring, written from include/resex/cache_ring.h alone. For
 * test_cached_ring and test_cached_proxy.
 */
#ifndef RESEX_TESTS_CACHED_RING_RIG_H
#define RESEX_TESTS_CACHED_RING_RIG_H

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "resex/cache_ring.h"
#include "tests/unit/tmpdir.h"

struct ring_dial {
	int fd, memory, wake;
	struct cache_ring_hello hello;
	struct cache_ring_header *header; /* NULL: it was refused */
	struct cache_ring_slot *slot;
};

static inline void ring_dial_connect(struct ring_dial *d, const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	*d = (struct ring_dial){ .memory = -1, .wake = -1 };
	d->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_true(d->fd >= 0);
	strcpy(a.sun_path, path);
	assert_int_equal(connect(d->fd, (struct sockaddr *)&a, sizeof(a)), 0);
}

/* After the server has seen the connection. */
static inline bool ring_dial_hello(struct ring_dial *d)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(4 * sizeof(int))];
	} control;
	struct iovec iov = { .iov_base = &d->hello, .iov_len = sizeof(d->hello) };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control.room,
			    .msg_controllen = sizeof(control.room) };
	int fds[2];

	if (recvmsg(d->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != (ssize_t)sizeof(d->hello))
		return false;
	assert_non_null(CMSG_FIRSTHDR(&m));
	assert_int_equal(CMSG_FIRSTHDR(&m)->cmsg_len, CMSG_LEN(sizeof(fds)));
	memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fds));
	d->memory = fds[0];
	d->wake = fds[1];
	d->header = mmap(NULL, d->hello.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, d->memory, 0);
	assert_true(d->header != MAP_FAILED);
	d->slot = (struct cache_ring_slot *)(void *)((char *)d->header + CACHE_RING_HEADER);
	return true;
}

/* The next file behind the hello; false: there is none. */
static inline bool ring_dial_file(struct ring_dial *d, struct cache_ring_file *f, int *fd)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(4 * sizeof(int))];
	} control;
	struct iovec iov = { .iov_base = f, .iov_len = sizeof(*f) };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control.room,
			    .msg_controllen = sizeof(control.room) };

	if (recvmsg(d->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != (ssize_t)sizeof(*f))
		return false;
	assert_non_null(CMSG_FIRSTHDR(&m));
	assert_int_equal(CMSG_FIRSTHDR(&m)->cmsg_len, CMSG_LEN(sizeof(int)));
	memcpy(fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(int));
	assert_true(f->magic == CACHE_RING_FILE_MAGIC);
	return true;
}

/* The view is the first. */
static inline const struct cache_ring_view *ring_dial_view(struct ring_dial *d)
{
	struct cache_ring_file f;
	void *at;
	int fd;

	assert_true(ring_dial_file(d, &f, &fd));
	assert_int_equal(f.host, 0);
	assert_ptr_equal(mmap(NULL, sizeof(struct cache_ring_view), PROT_READ | PROT_WRITE,
			      MAP_SHARED, fd, 0),
			 MAP_FAILED);
	assert_int_equal(write(fd, "x", 1), -1);
	assert_int_equal(ftruncate(fd, 0), -1);
	at = mmap(NULL, sizeof(struct cache_ring_view), PROT_READ, MAP_SHARED, fd, 0);
	assert_true(at != MAP_FAILED);
	close(fd);
	return at;
}

static inline void ring_dial_end(struct ring_dial *d)
{
	const int fds[] = { d->fd, d->memory, d->wake };

	if (d->header)
		munmap(d->header, d->hello.bytes);
	for (int i = 0; i < 3; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	*d = (struct ring_dial){ .fd = -1, .memory = -1, .wake = -1 };
}

static inline uint32_t ring_dial_state(const struct ring_dial *d, uint32_t slot)
{
	return __atomic_load_n(&d->slot[slot].state, __ATOMIC_ACQUIRE);
}

static inline void ring_dial_set(struct ring_dial *d, uint32_t slot, uint32_t state)
{
	__atomic_store_n(&d->slot[slot].state, state, __ATOMIC_RELEASE);
}

static inline void ring_dial_wake(struct ring_dial *d)
{
	const uint64_t one = 1;

	assert_int_equal(write(d->wake, &one, sizeof(one)), sizeof(one));
}

/* Sets the slot's bit, and wakes the server if it sleeps. Returns whether it did. */
static inline bool ring_dial_knock(struct ring_dial *d, uint32_t slot)
{
	__atomic_fetch_or(&d->header->asked[slot / 64], 1ull << slot % 64, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&d->header->sleeps, __ATOMIC_SEQ_CST) != 1)
		return false;
	ring_dial_wake(d);
	return true;
}

static inline bool ring_dial_ask(struct ring_dial *d, uint32_t slot, uint64_t key, uint32_t flags)
{
	uint32_t is = CACHE_RING_FREE;

	assert_true(__atomic_compare_exchange_n(&d->slot[slot].state, &is, CACHE_RING_TAKEN, false,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
	d->slot[slot].key = key;
	d->slot[slot].flags = flags;
	ring_dial_set(d, slot, CACHE_RING_ASKED);
	return ring_dial_knock(d, slot);
}

/* The client waited too long. false: the answer is there. */
static inline bool ring_dial_leave(struct ring_dial *d, uint32_t slot)
{
	uint32_t is = CACHE_RING_ASKED;

	return __atomic_compare_exchange_n(&d->slot[slot].state, &is, CACHE_RING_LEFT, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* As a thread of a cache does. Returns when it is woken, or true after wait_ms. */
static inline bool ring_dial_wait(struct ring_dial *d, uint32_t slot, int wait_ms)
{
	const struct timespec t = { .tv_sec = wait_ms / 1000,
				    .tv_nsec = wait_ms % 1000 * 1000000l };

	return ring_dial_state(d, slot) == CACHE_RING_ASKED &&
	       syscall(SYS_futex, &d->slot[slot].state, FUTEX_WAIT, CACHE_RING_ASKED, &t, NULL,
		       0) &&
	       errno == ETIMEDOUT;
}

#endif
