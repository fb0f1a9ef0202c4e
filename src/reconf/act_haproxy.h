/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * act_haproxy: weights of servers, set in a running HAProxy by its Runtime API (HAProxy's
 * management guide, section 9.3), over one kept connection to its socket.
 *
 *	balance -> weights -> haproxy_put() -> "set server B/S weight N"
 *	haproxy_read() -> "show info", "show servers state B", "show stat" -> struct haproxy_server
 *
 * One backend each. Nothing blocks: the caller waits for haproxy_fd() or the time that
 * haproxy_work() returned. What HAProxy answers is hostile input: parsed to the word
 * (haproxy_text.h), bounded, and refused with a sentence. A connection that fails is made again
 * with a growing pause; the caller learns it by haproxy_see(), and the next turn reads and sets all
 * again, since a restarted HAProxy has its configured weights.
 *
 * Traps (2.6.12):
 * - After a reload the kept connection still leads to the old process, which answers, and takes
 *   weights, for as long as the connection stands. "show info" says "Stopping: 1" there: closed.
 * - "show stat NAME" means the frontend, if one has the name of the backend: the backend's number
 *   is used, as "show servers state" gives it.
 * - Commands go a line each: in one line, with ";", four take four times as long.
 */
#ifndef RESEX_RECONF_ACT_HAPROXY_H
#define RESEX_RECONF_ACT_HAPROXY_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "src/core/units.h"

enum {
	HAPROXY_SERVERS_MAX = 256,
	HAPROXY_NAME_MAX = 64,	  /* with the NUL: of a backend and of a server */
	HAPROXY_SOCKET_MAX = 108, /* with the NUL: sun_path */
	HAPROXY_WEIGHT_MAX = 256,
	HAPROXY_NOTE_MAX = 320,
};

/* A name that HAProxy takes for a backend or a server; nothing in it ends a command. */
static inline bool haproxy_name_good(const char *name)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyz"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789-_.:";
	size_t n = strnlen(name, HAPROXY_NAME_MAX);

	return n && n < HAPROXY_NAME_MAX && strspn(name, good) == n;
}

struct haproxy_conf {
	char socket[HAPROXY_SOCKET_MAX];
	char backend[HAPROXY_NAME_MAX];
	uint32_t servers; /* 1 .. HAPROXY_SERVERS_MAX */
	char server[HAPROXY_SERVERS_MAX][HAPROXY_NAME_MAX];
	int64_t timeout_ns; /* of a turn: no answer for so long: the connection is closed */
};

/* A server, as it was read in the newest reading. */
struct haproxy_server {
	bool there;	  /* the backend has a server of this name */
	bool up;	  /* its operational state takes requests */
	uint16_t weight;  /* its user weight: 0 .. 256 */
	uint16_t initial; /* the weight that HAProxy's configuration gives it: 0 .. 256 */
	uint32_t own;	  /* requests of this HAProxy at it, or queued for it */
	uint64_t served;  /* requests of this HAProxy in all: stot */
};

enum haproxy_state {
	HAPROXY_DOWN,	 /* no connection; note says why */
	HAPROXY_READY,	 /* connected and answered, nothing is under way */
	HAPROXY_READING, /* a reading is under way */
	HAPROXY_SETTING, /* weights are being set */
};

struct haproxy_seen {
	enum haproxy_state state;
	uint64_t connections; /* made in all: another one may be another process */
	uint64_t reads;	      /* complete readings in all */
	struct mono read;     /* when the newest of these began */
	uint64_t sets;	      /* weights that were set in all */
	uint64_t failures;    /* turns that failed in all */
	/* What is wrong, in one sentence with the remedy; "". It stays until a turn succeeds. */
	char note[HAPROXY_NOTE_MAX];
	const struct haproxy_server
		*server; /* as conf.server[]; valid until the next haproxy_work */
};

struct haproxy;

/*
 * Copies c. Does not connect yet: haproxy_work does. 0; -EINVAL: servers, timeout_ns, an empty
 * socket, or a name that is not haproxy_name_good(); -ENOMEM; -errno of epoll_create1.
 */
int haproxy_open(struct haproxy **h, const struct haproxy_conf *c);
void haproxy_close(struct haproxy *h);

/* Readable when haproxy_work has something to do: an epoll; the same for its whole life. */
int haproxy_fd(const struct haproxy *h);
/* Connect, send, receive; without blocking. Returns ns until it must be called at the latest. */
int64_t haproxy_work(struct haproxy *h, struct mono now);

/* Begin a reading. 0; -EBUSY: a turn is under way; -ENOTCONN: no connection (work makes one). */
int haproxy_read(struct haproxy *h, struct mono now);
/*
 * Set the weights, as conf.server[], that differ from those read: in one turn; each must be
 * answered by an empty reply. Whether they are in force is what the next reading says. A server
 * that is not there is left out. 0, also when nothing differs; -EBUSY; -ENOTCONN, also when nothing
 * was read on this connection; -EINVAL: a weight above HAPROXY_WEIGHT_MAX.
 */
int haproxy_put(struct haproxy *h, const uint16_t *weight, struct mono now);

void haproxy_see(const struct haproxy *h, struct haproxy_seen *s);

#endif
