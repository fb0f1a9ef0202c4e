// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * call: our links to peers: connect, hello, map the peer's region, end.
 *
 * The front calls shm_call and shm_hang_up. In between, shm_out_event handles what comes from the
 * socket: first the hello, then nothing but the end of the link. The operations of a link that is
 * up are in exec.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "src/transport/shm/shm.h"

static int begin_hello(struct shm *s, struct shm_out *o, uint16_t host)
{
	uint8_t nonce[HELLO_NONCE], msg[HELLO_MAX];
	int rc = front_random(nonce, sizeof(nonce));

	if (rc)
		return rc;
	hello_begin(&o->hello, HELLO_CALLER, &s->t.conf, host, nonce);
	return shm_send(o->fd, msg, hello_write_call(&o->hello, msg), NULL);
}

int shm_check(const struct transport_peer *p)
{
	char path[sizeof(((struct shm *)NULL)->path)];

	return shm_address(path, sizeof(path), p->address, p->host) ? -EINVAL : 0;
}

int shm_call(struct transport *t, struct transport_out *to, struct mono now)
{
	struct shm *s = shm_of(t);
	struct shm_out *o = shm_out(s, to);
	char path[sizeof(s->path)];
	int rc;

	(void)now;
	if (o->cut)
		return -EHOSTUNREACH;
	/*
	 * Kept until close: the user may still read the data of a READ when the link has
	 * ended.
	 */
	if (!o->data)
		o->data = calloc(TRANSPORT_SLOTS, TRANSPORT_READ_MAX);
	if (!o->data)
		return -ENOMEM;
	rc = shm_address(path, sizeof(path), to->peer.address, to->peer.host);
	if (!rc)
		rc = shm_connect(path, &o->fd);
	/*
	 * A process that can write to the folder could listen there in place of the peer.
	 */
	if (!rc)
		rc = shm_check_peer(o->fd);
	if (!rc)
		rc = shm_watch(s->epoll, EPOLL_CTL_ADD, o->fd, EPOLLIN,
			       SHM_ID_OUT + (uint32_t)(o - s->out));
	return rc ? rc : begin_hello(s, o, to->peer.host);
}

void shm_hang_up(struct transport *t, struct transport_out *to)
{
	struct shm *s = shm_of(t);
	struct shm_out *o = shm_out(s, to);

	shm_close(&o->fd);
	hello_wipe(&o->hello);
	/* Before READY there is no map, and no operation was submitted. */
	if (o->map.mem[0])
		shm_orphan(s, o);
}

/* The responder accepted us and destroyed our old link: map its region. */
static void map_peer_region(struct shm *s, uint32_t i, const int file[TRANSPORT_PARTS],
			    struct mono now)
{
	struct shm_out *o = &s->out[i];
	struct transport_out *to = &s->t.out[i];
	const struct hello_self peer = o->hello.of_peer;
	size_t bytes[TRANSPORT_PARTS];
	struct shm_keys keys;
	int rc;

	if (o->cut) {
		front_down(&s->t, to, -EHOSTUNREACH, "the link is cut", now);
		return;
	}
	/*
	 * The responder raised our epoch before it sent KEYS: operations of the link before must
	 * not be executed any more, whatever faults were injected.
	 */
	shm_forget_late(o);
	rc = o->hello.keys_len == sizeof(keys) ? 0 : -EPROTO;
	if (!rc) {
		memcpy(&keys, o->hello.keys, sizeof(keys));
		rc = shm_map(&o->map, file, &keys,
			     front_may(s->t.conf.role, s->t.conf.rights, TRANSPORT_CAS64));
	}
	hello_wipe(&o->hello);
	if (rc) {
		front_down(&s->t, to, rc, "sent a region that cannot be mapped", now);
		return;
	}
	for (int k = 0; k < TRANSPORT_PARTS; k++)
		bytes[k] = keys.bytes[k];
	rc = front_up(&s->t, to, &peer, bytes, now);
	if (rc)
		front_down(&s->t, to, rc, "serves a region of an invalid size", now);
}

static void hello_message(struct shm *s, uint32_t i, const void *msg, size_t len,
			  const int file[TRANSPORT_PARTS], struct mono now)
{
	struct shm_out *o = &s->out[i];
	uint8_t out[HELLO_MAX];
	size_t out_len = 0;
	int next = hello_receive(&o->hello, msg, len, out, &out_len);

	if (next == HELLO_READY) {
		map_peer_region(s, i, file, now);
		return;
	}
	if (next >= 0 && out_len)
		next = shm_send(o->fd, out, out_len, NULL);
	if (next < 0)
		front_down(&s->t, &s->t.out[i], next,
			   next == -ECONNRESET ? FRONT_CLOSED : hello_why(next), now);
}

/* Handle one message. false: there is none, or the link has ended. */
static bool out_message(struct shm *s, uint32_t i, struct mono now)
{
	struct shm_out *o = &s->out[i];
	struct transport_out *to = &s->t.out[i];
	int file[TRANSPORT_PARTS];
	/* A byte more than the longest hello: a longer message is refused as too long, not cut. */
	uint8_t msg[HELLO_MAX + 1];
	ssize_t n = shm_recv(o->fd, msg, sizeof(msg), file);
	int why = hello_ended(&o->hello, -ECONNRESET);

	if (n == -EAGAIN)
		return false;
	/*
	 * A responder that refuses us hangs up, and says why only in its own alarms; the exception
	 * is another agreement, which the ANSWER has shown (hello_ended).
	 */
	if (n == -ECONNRESET && to->state == LINK_CALLS)
		front_down(&s->t, to, why,
			   why == -ECONNRESET ? "closed the connection; resex events on it says why"
					      : hello_why(why),
			   now);
	else if (n == -ECONNRESET)
		front_down(&s->t, to, -ECONNRESET, FRONT_CLOSED, now);
	else if (n < 0 || to->state == LINK_UP)
		front_down(&s->t, to, -EPROTO, "sent something that is not part of the protocol",
			   now);
	else
		hello_message(s, i, msg, (size_t)n, file, now);
	/* Also the files of a malformed message. */
	for (int k = 0; k < TRANSPORT_PARTS; k++)
		shm_close(&file[k]);
	return o->fd >= 0;
}

void shm_out_event(struct shm *s, uint32_t i, uint32_t events, struct mono now)
{
	struct shm_out *o = &s->out[i];

	/* At most two messages of the hello, then only the end. */
	for (int k = 0; k < 4 && o->fd >= 0; k++)
		if (!out_message(s, i, now))
			break;
	if (events & EPOLLOUT && o->fd >= 0)
		shm_run(s, i, now);
}
