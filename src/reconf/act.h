/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * act: one ops struct for two ways to give HAProxy the weights of the servers of one backend, and
 * to say which of them take requests. act_haproxy sets both by the Runtime API; act_agent answers
 * HAProxy's agent-check. A backend has one of the two: an agent's answer overrides what was set.
 *
 *	balance -> weights -> put() -> HAProxy
 *	move    -> wants   ->
 *	HAProxy -> read() -> struct act_server
 *
 * Nothing blocks: the caller waits for fd() or the time that work() returned.
 */
#ifndef RESEX_RECONF_ACT_H
#define RESEX_RECONF_ACT_H

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

struct act_conf {
	char socket[HAPROXY_SOCKET_MAX]; /* by weights: HAProxy's */
	uint16_t port;			 /* by agent: ours */
	char backend[HAPROXY_NAME_MAX];
	uint32_t servers; /* 1 .. HAPROXY_SERVERS_MAX */
	char server[HAPROXY_SERVERS_MAX][HAPROXY_NAME_MAX];
	int64_t timeout_ns; /* > 0; no answer, or no request, for so long: a connection is closed */
	int64_t hold_ns;    /* by agent: so long what was put is answered, without another put */
};

/* Whether a server takes requests: HAProxy's administrative state. */
enum act_want {
	ACT_KEEP,  /* its state is left as it is */
	ACT_SERVE, /* it takes requests */
	ACT_DRAIN, /* no new ones, but those that a cookie brings; those under way end */
	ACT_OUT,   /* maintenance: no new ones; those under way end; no health checks */
};

/* A server, as it was read in the newest reading. */
struct act_server {
	bool there; /* the backend has a server of this name */
	bool up;    /* its operational state takes requests */
	/*
	 * What it was told, by a put, an operator or haproxy.cfg. What it has from a server that it
	 * tracks, and a name that is not resolved, only end up: no put changes them. ACT_KEEP:
	 * by agent, it was told nothing yet.
	 */
	enum act_want admin;
	uint16_t weight;  /* its user weight: 0 .. 256 */
	uint16_t initial; /* the weight that HAProxy's configuration gives it: 0 .. 256 */
	uint32_t own;	  /* requests of this HAProxy at it, or queued for it; by agent: 0 */
	uint32_t queued;  /* of them, those queued for it: qcur */
	uint64_t served;  /* requests of this HAProxy in all: stot; by agent: 0 */
	/*
	 * rtime: from a request sent to the server until its response begins, the mean of the last
	 * 1024 requests, in whole ms; 0: below, or of TCP, or by agent. ttime would hold the client
	 * too: how fast it takes the response.
	 */
	uint64_t latency_ns;
};

enum act_state {
	ACT_DOWN,    /* no connection; note says why */
	ACT_READY,   /* connected and answered, nothing is under way */
	ACT_READING, /* a reading is under way */
	ACT_SETTING, /* weights and states are being set */
};

struct act_seen {
	enum act_state state;
	uint64_t connections; /* made in all: another one may be another process */
	uint64_t reads;	      /* complete readings in all */
	struct mono read;     /* when the newest of these began */
	uint64_t sets;	      /* weights and states that were set in all */
	uint64_t failures;    /* turns that failed in all */
	/* What is wrong, in one sentence with the remedy; "". It stays until a turn succeeds. */
	char note[HAPROXY_NOTE_MAX];
	const struct act_server *server; /* as conf.server[]; valid until the next work */
};

/* A name that HAProxy gives to backends and servers: nothing that ends a command or a line. */
static inline bool haproxy_name_good(const char *name)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyz"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789-_.:";
	size_t n = strnlen(name, HAPROXY_NAME_MAX);

	return n && n < HAPROXY_NAME_MAX && strspn(name, good) == n;
}

/* Of what put() takes: each weight can be set, and each want is one. */
static inline bool act_put_good(const uint16_t *weight, const enum act_want *want, uint32_t servers)
{
	for (uint32_t i = 0; i < servers; i++)
		if (weight[i] > HAPROXY_WEIGHT_MAX || (want && (unsigned)want[i] > ACT_OUT))
			return false;
	return true;
}

struct act;

struct act_ops {
	/* Other programs can set both, too: what is read may not be what was put. */
	bool shared;
	int64_t leave_ns; /* so long it may take until HAProxy has what was put last */
	/*
	 * Copies c. Does not connect or listen yet: work does. 0; -EINVAL: servers, timeout_ns, an
	 * empty socket or port 0, or a name that is empty or has more than letters, digits and
	 * "-_.:"; -ENOMEM; -errno of epoll_create1.
	 */
	int (*open)(struct act **a, const struct act_conf *c);
	void (*close)(struct act *a); /* NULL: nothing is done */
	/* Readable when work has something to do: an epoll; the same for its whole life. */
	int (*fd)(const struct act *a);
	/* Connect, send, receive; without blocking. Returns ns until it must be called again. */
	int64_t (*work)(struct act *a, struct mono now);
	/*
	 * Begin a reading. 0; -EBUSY: a turn is under way; -ENOTCONN: HAProxy is not heard of (work
	 * makes a connection).
	 */
	int (*read)(struct act *a, struct mono now);
	/*
	 * Set the weights, and the states in want, both as conf.server[], that differ from those
	 * read; want NULL: all ACT_KEEP. First those that are to serve, then weights, then those
	 * that are to end; by agent: each when HAProxy asks for it. Whether they are in force is
	 * what a later reading says. A server that is not there is left out. Nothing is taken back:
	 * HAProxy keeps a state until another one is put, or until it ends. 0, also when nothing
	 * differs; -EBUSY; -ENOTCONN, also when nothing was read since HAProxy was heard of;
	 * -EINVAL: a weight above HAPROXY_WEIGHT_MAX, or no such want.
	 */
	int (*put)(struct act *a, const uint16_t *weight, const enum act_want *want,
		   struct mono now);
	void (*see)(const struct act *a, struct act_seen *s);
	/* By agent: conf.hold_ns is this from the next put on. NULL: it has none. */
	void (*hold)(struct act *a, int64_t hold_ns);
};

#endif
