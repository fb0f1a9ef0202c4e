// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * shm_serve: links of others to us: the listener, their hello, their messages.
 *
 * Nothing of the region is handed over before a caller has proven itself, and
 * its old link was destroyed: closed, and its epoch raised.
 */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "src/transport/shm.h"

enum { TURN = 16 }; /* callers, and messages of one host, in one poll */

/* --- the unproven ------------------------------------------------------------ */

static void hello_end(struct shm *s, struct shm_hello *h)
{
	shm_close(&h->fd);
	hello_wipe(&h->hello);
	front_caller_over(&s->t);
}

static void refuse(struct shm *s, struct shm_hello *h, int why, struct mono now)
{
	uint16_t host = h->hello.peer;

	hello_end(s, h);
	front_refused(&s->t, host, why, now);
}

static struct shm_hello *free_hello(struct shm *s)
{
	for (uint32_t i = 0; i < s->hellos_max; i++)
		if (s->hello[i].fd < 0)
			return &s->hello[i];
	return NULL;
}

/* Takes the socket. */
static void take_caller(struct shm *s, int fd, struct mono now)
{
	struct shm_hello *h = free_hello(s);
	uint8_t nonce[HELLO_NONCE];

	if (shm_check_peer(fd)) {
		s->t.stats.refused_callers++;
		front_alarm(&s->t, 0, "a caller was hung up on: its user is neither root nor ours");
		shm_close(&fd);
		return;
	}
	if (front_caller(&s->t, now)) {
		shm_close(&fd);
		return;
	}
	if (!h || front_random(nonce, sizeof(nonce)) ||
	    shm_watch(s->epoll, EPOLL_CTL_ADD, fd, EPOLLIN,
		      SHM_ID_HELLO + (uint32_t)(h - s->hello))) {
		shm_close(&fd);
		front_caller_over(&s->t);
		return;
	}
	h->fd = fd;
	h->due = mono_add(now, HELLO_NS);
	hello_begin(&h->hello, HELLO_RESPONDER, &s->t.conf, 0, nonce);
}

void shm_accept(struct shm *s, struct mono now)
{
	for (int k = 0; k < TURN; k++) {
		int fd = accept4(s->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0)
			take_caller(s, fd, now);
		else if (errno != EINTR && errno != ECONNABORTED)
			return;
	}
}

/* It proved itself: hand it the region. The socket is that host's link from now on. */
static void let_in(struct shm *s, struct shm_hello *h, struct mono now)
{
	struct shm_keys keys;
	uint16_t host = h->hello.peer;
	uint8_t msg[HELLO_MAX];
	size_t len;
	int rc = front_proven(&s->t, host, h->hello.peer_generation);

	if (rc) {
		refuse(s, h, rc, now);
		return;
	}
	shm_in_event(s, host - 1u); /* what it sent on its old link is ours already */
	shm_evict(&s->t, host);
	for (int i = 0; i < TRANSPORT_PARTS; i++)
		keys.bytes[i] = s->t.conf.bytes[i];
	keys.epoch = s->region.epochs[host - 1];
	len = hello_tell(&h->hello, &keys, sizeof(keys), msg);
	if (!shm_send(h->fd, msg, len, &s->region) &&
	    !shm_watch(s->epoll, EPOLL_CTL_MOD, h->fd, EPOLLIN, SHM_ID_IN + host - 1u)) {
		s->in[host - 1] = h->fd;
		h->fd = -1;
	}
	hello_end(s, h);
}

void shm_hello_event(struct shm *s, uint32_t i, struct mono now)
{
	struct shm_hello *h = &s->hello[i];
	uint8_t msg[HELLO_MAX + 1], out[HELLO_MAX];
	size_t out_len = 0;
	ssize_t n;
	int next;

	if (h->fd < 0)
		return;
	n = shm_recv(h->fd, msg, sizeof(msg), NULL);
	if (n == -EAGAIN)
		return;
	if (n == -EMSGSIZE) {
		refuse(s, h, -EPROTO, now);
		return;
	}
	if (n < 0) {
		hello_end(s, h);
		return;
	}
	next = hello_take(&h->hello, msg, (size_t)n, out, &out_len);
	if (next < 0)
		refuse(s, h, next, now);
	else if (next == HELLO_TELL)
		let_in(s, h, now);
	else if (out_len && shm_send(h->fd, out, out_len, NULL))
		hello_end(s, h);
}

void shm_hellos_timers(struct shm *s, struct mono now)
{
	for (uint32_t i = 0; s->t.hellos && i < s->hellos_max; i++)
		if (s->hello[i].fd >= 0 && s->hello[i].due.ns <= now.ns)
			refuse(s, &s->hello[i], -ETIMEDOUT, now);
}

void shm_hellos_due(const struct shm *s, struct mono *due)
{
	for (uint32_t i = 0; s->t.hellos && i < s->hellos_max; i++)
		if (s->hello[i].fd >= 0 && s->hello[i].due.ns < due->ns)
			*due = s->hello[i].due;
}

/* --- the proven --------------------------------------------------------------------- */

/* The end of the socket is not the end of the link: what is under way may still come. */
void shm_in_event(struct shm *s, uint32_t i)
{
	uint8_t msg[TRANSPORT_MESSAGE_MAX];

	for (int k = 0; k < TURN && s->in[i] >= 0; k++) {
		ssize_t n = shm_recv(s->in[i], msg, sizeof(msg), NULL);

		if (n == -EAGAIN)
			return;
		if (n > 0) {
			front_message(&s->t, (uint16_t)(i + 1), msg, (uint32_t)n);
			continue;
		}
		if (n == -EMSGSIZE)
			front_alarm(&s->t, (uint16_t)(i + 1),
				    "host %u sent a message of more than %d bytes: hung up", i + 1,
				    TRANSPORT_MESSAGE_MAX);
		shm_close(&s->in[i]);
	}
}

void shm_evict(struct transport *t, uint16_t host)
{
	struct shm *s = shm_of(t);

	shm_close(&s->in[host - 1]);
	__atomic_fetch_add(&s->region.epochs[host - 1], 1, __ATOMIC_SEQ_CST);
}
