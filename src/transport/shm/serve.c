// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * serve: peers' links to us: the listener, the hello, messages.
 *
 * A caller gets the region only after it has proven itself, and after its old link was
 * destroyed: closed, and its epoch raised.
 */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "src/transport/shm/shm.h"

enum { TURN = 16 }; /* callers, and messages of one host, handled in one poll */

/* --- proven peers --------------------------------------------------------------------- */

/* Queue received messages while there is room. -EAGAIN: no more now; -ENOBUFS: there are more. */
static int queue_messages(struct shm *s, uint32_t i, int fd)
{
	uint8_t msg[TRANSPORT_MESSAGE_MAX];
	uint16_t host = (uint16_t)(i + 1);
	ssize_t n;

	for (int k = 0; k < TURN && front_message_fits(&s->t, host); k++) {
		n = shm_recv(fd, msg, sizeof(msg), NULL);
		if (n == -EMSGSIZE)
			front_alarm(
				&s->t, host,
				"host %u sent a message of more than %d bytes: its link was ended",
				host, TRANSPORT_MESSAGE_MAX);
		if (n < 0)
			return (int)n;
		if (s->t.out[i].peer.role == TRANSPORT_CLIENT) {
			front_alarm(&s->t, host,
				    "client %u sent a message, which only members may: its link "
				    "was ended",
				    host);
			return -EPERM;
		}
		front_message(&s->t, host, msg, (uint32_t)n);
	}
	return -ENOBUFS;
}

static void destroy_link(struct shm *s, uint16_t host)
{
	/*
	 * Ordered before the KEYS of the new link: the host finds all operations of its old link
	 * executed, or never executed.
	 */
	__atomic_fetch_add(&s->region.epochs[host - 1], 1, __ATOMIC_SEQ_CST);
}

/*
 * Messages of the host's old link, then of its new one. The end of the socket does not end
 * the link: its outstanding operations may still be executed.
 */
void shm_in_event(struct shm *s, uint32_t i)
{
	int rc;

	if (s->old[i] >= 0) {
		if (queue_messages(s, i, s->old[i]) == -ENOBUFS)
			return;
		shm_close(&s->old[i]);
	}
	if (s->in[i] < 0)
		return;
	rc = queue_messages(s, i, s->in[i]);
	if (rc != -EAGAIN && rc != -ENOBUFS)
		shm_close(&s->in[i]);
	if (rc == -EPERM)
		destroy_link(s, (uint16_t)(i + 1));
}

/*
 * Messages in its socket were DONE for their sender: they must still be received. Those of
 * the link before are lost if the user has not taken them until now.
 */
static void retire_link(struct shm *s, uint16_t host)
{
	/* A client sends none. */
	if (s->t.out[host - 1].peer.role == TRANSPORT_CLIENT)
		shm_close(&s->in[host - 1]);
	if (s->in[host - 1] >= 0) {
		shm_close(&s->old[host - 1]);
		s->old[host - 1] = s->in[host - 1];
		s->in[host - 1] = -1;
	}
	destroy_link(s, host);
}

void shm_evict(struct transport *t, uint16_t host)
{
	struct shm *s = shm_of(t);

	shm_close(&s->in[host - 1]);
	shm_close(&s->old[host - 1]);
	destroy_link(s, host);
}

bool shm_serves(const struct transport *t, uint16_t host)
{
	return ((const struct shm *)t)->in[host - 1] >= 0;
}

/* --- unproven callers ------------------------------------------------------------ */

static void hello_end(struct shm *s, struct shm_hello *h)
{
	shm_close(&h->fd);
	hello_wipe(&h->hello);
	front_caller_over(&s->t);
}

static void refuse_caller(struct shm *s, struct shm_hello *h, int why, struct mono now)
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

/* Owns fd from here. */
static void accept_caller(struct shm *s, int fd, struct mono now)
{
	struct shm_hello *h = free_hello(s);
	uint8_t nonce[HELLO_NONCE];

	if (shm_check_peer(fd)) {
		s->t.stats.refused_callers++;
		front_alarm(&s->t, 0,
			    "a caller was disconnected: its user is neither root nor ours");
		shm_close(&fd);
		return;
	}
	/*
	 * All callers count as known: a socket of this machine has no address that says which host
	 * calls, and strangers were refused above by their user.
	 */
	if (front_caller(&s->t, true, now)) {
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
	front_answer(&s->t, &h->hello, nonce);
}

void shm_accept(struct shm *s, struct mono now)
{
	for (int k = 0; k < TURN; k++) {
		/* Non-blocking: a caller that says nothing must not hold up the others. */
		int fd = accept4(s->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0)
			accept_caller(s, fd, now);
		else if (errno == EMFILE || errno == ENFILE)
			front_alarm(&s->t, 0,
				    "callers cannot be accepted: raise the limit of open files");
		if (fd < 0 && errno != EINTR && errno != ECONNABORTED)
			return;
	}
}

/* The caller is proven: send it the region. The socket is that host's link from now on. */
static void accept_proven(struct shm *s, struct shm_hello *h, struct mono now)
{
	struct shm_keys keys;
	uint16_t host = h->hello.peer;
	uint8_t msg[HELLO_MAX];
	const struct hello_self *peer = &h->hello.of_peer;
	int rc = front_proven(&s->t, host, peer), file[TRANSPORT_PARTS];
	size_t len;

	if (rc) {
		refuse_caller(s, h, rc, now);
		return;
	}
	/*
	 * In this order: the old link ends, then keys.epoch is read, then the region is sent. An
	 * epoch read earlier would be the old link's, and the new one would be dead at once.
	 */
	retire_link(s, host);
	for (int i = 0; i < TRANSPORT_PARTS; i++)
		keys.bytes[i] = s->t.conf.bytes[i];
	keys.epoch = s->region.epochs[host - 1];
	len = hello_write_keys(&h->hello, &keys, sizeof(keys), msg);
	shm_region_files(&s->region, front_may(peer->role, peer->rights, TRANSPORT_CAS64), file);
	if (!shm_send(h->fd, msg, len, file) &&
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
		refuse_caller(s, h, -EPROTO, now);
		return;
	}
	if (n < 0) {
		hello_end(s, h);
		return;
	}
	next = hello_receive(&h->hello, msg, (size_t)n, out, &out_len);
	if (next < 0)
		refuse_caller(s, h, next, now);
	else if (next == HELLO_PROVEN)
		accept_proven(s, h, now);
	else if (out_len && shm_send(h->fd, out, out_len, NULL))
		hello_end(s, h);
}

void shm_hellos_timers(struct shm *s, struct mono now)
{
	for (uint32_t i = 0; s->t.hellos && i < s->hellos_max; i++)
		if (s->hello[i].fd >= 0 && s->hello[i].due.ns <= now.ns)
			refuse_caller(s, &s->hello[i], -ETIMEDOUT, now);
}

void shm_hellos_due(const struct shm *s, struct mono *due)
{
	for (uint32_t i = 0; s->t.hellos && i < s->hellos_max; i++)
		if (s->hello[i].fd >= 0 && s->hello[i].due.ns < due->ns)
			*due = s->hello[i].due;
}
