/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * verbs: within the backend "verbs", from connection to link.
 *
 *	verbs.c	 open, close, the device, the region; what the front calls
 *	event.c	 what the descriptors tell: connections, completions, alarms
 *	call.c	 our links to peers: call, hello, operations
 *	serve.c	 peers' links to us: accept, hello, lend the region
 *	conn.c	 what both are made of: one queue pair and all that is its own
 *
 * All is on one device, that of the address we listen at: an HCA's atomics are
 * atomic only against its own, so a caller who came in by another is refused,
 * and the owner's own link goes through it too.
 */
#ifndef RESEX_TRANSPORT_VERBS_VERBS_H
#define RESEX_TRANSPORT_VERBS_VERBS_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "src/transport/backend.h"

enum {
	VERBS_RECVS = 16,	/* a link of a peer: messages it may be ahead of us */
	VERBS_HELLOS = 4,	/* a connection: buffers of hello, each way */
	VERBS_HELLO_ROOM = 512, /* of one such */
	VERBS_PAGE = 4096,
	/* What a caller lands its READs in, and then its hellos; one mapping a peer. */
	VERBS_LANDING = TRANSPORT_SLOTS * TRANSPORT_READ_MAX,
	VERBS_CALLER_BYTES = VERBS_LANDING + VERBS_PAGE,
	/* What a responder takes messages in, and sends its hellos from. */
	VERBS_RECV_BYTES = VERBS_RECVS * TRANSPORT_MESSAGE_MAX,
	VERBS_RESPONDER_BYTES = VERBS_RECV_BYTES + VERBS_PAGE,
};

/* What a work request is; wr_id holds it above the number of its slot or buffer. */
enum verbs_wr { VERBS_WR_SLOT, VERBS_WR_SAY, VERBS_WR_RECV };

enum conn_state {
	CONN_RESOLVES, /* caller: address, then route */
	CONN_CONNECTS,
	CONN_HELLO,
	CONN_UP,
	CONN_OVER, /* holds nothing any more; its memory goes at the end of progress */
};

/*
 * One connection. Its protection domain is its own: a key guessed by another
 * peer is none there, and before the hello's PROOF nothing is registered in it
 * but the buffers of the hello, for local use.
 */
struct conn {
	struct conn *next;
	struct verbs *v;
	struct transport_out *out; /* caller: the link; responder: NULL */
	enum conn_state state;
	uint16_t host; /* responder: 0 until proven */
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	bool armed;   /* the CQ's next completion makes an event */
	bool held;    /* responder: completions were left, since its messages have no room */
	int broke;    /* -errno: a completion told that the connection is at its end */
	uint8_t *mem; /* buffers; a caller's are verbs.landing's */
	struct ibv_mr *mr;
	struct ibv_mr *part[TRANSPORT_PARTS]; /* responder: of the region, once proven */
	uint64_t at[TRANSPORT_PARTS];	      /* caller: the peer's parts */
	uint32_t rkey[TRANSPORT_PARTS];
	struct hello hello;
	uint32_t said;	 /* hellos sent */
	struct mono due; /* responder: hung up on unless proven by then */
};

struct verbs {
	struct transport t;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener;
	struct ibv_context *device;
	struct ibv_device_attr attr;
	struct ibv_comp_channel *comp; /* of all completion queues */
	int epoll;		       /* channel, comp, and the device's events */
	struct sockaddr_storage own;   /* the address and port we listen at */
	void *region[TRANSPORT_PARTS];
	struct conn *conns;
	struct conn *calls[TRANSPORT_HOSTS_MAX];  /* by host - 1 */
	struct conn *served[TRANSPORT_HOSTS_MAX]; /* proven */
	uint8_t *landing[TRANSPORT_HOSTS_MAX];	  /* kept: users may still read there */
};

static inline struct verbs *verbs_of(struct transport *t)
{
	return (struct verbs *)t; /* its first member */
}

/* --- a connection (conn.c) ------------------------------------ */

/* A new one in v's list, without anything; NULL: no memory. */
struct conn *conn_new(struct verbs *v);
/*
 * Protection domain, queues, and the buffers at mem: all that it needs before the
 * connection manager may go on; recvs are posted. 0 or -errno; conn_end frees.
 */
int conn_equip(struct conn *c, uint8_t *mem);
/* From RESET to INIT, or on to ready to receive and to send. 0 or -errno. */
int conn_ready(struct conn *c, enum ibv_qp_state state);
/*
 * Everything but its memory ends, the queue pair first: when this returns the
 * device executes nothing of it, here or for the peer. Never waits for the peer.
 */
void conn_end(struct conn *c);
/* Send a message of the hello. 0 or -errno. */
int conn_say(struct conn *c, const uint8_t *data, size_t len);
/* Where the n-th message came in; and let another come in there. */
const uint8_t *conn_recv_at(const struct conn *c, uint32_t n);
int conn_recv(struct conn *c, uint32_t n);
/* The depth of READs and atomics that the device and we can do. */
uint8_t conn_depth(int device);
uint64_t conn_wr(enum verbs_wr what, uint32_t n);
/* Is it on the device that we opened? */
bool conn_same_device(const struct verbs *v, const struct rdma_cm_id *id);
/* Zeroed pages for the device, not inherited by fork; NULL: errno. */
void *conn_map(size_t len);

/* --- our links (call.c) --------------------------------------- */

int verbs_call(struct transport *t, struct transport_out *o, struct mono now);
void verbs_hang_up(struct transport *t, struct transport_out *o);
int verbs_submit(struct transport *t, struct transport_out *o, struct transport_slot *s,
		 struct mono now);
/* What the connection manager tells of it. */
void call_event(struct conn *c, const struct rdma_cm_event *e, struct mono now);
void call_completed(struct conn *c, const struct ibv_wc *wc, struct mono now);
/* After its last completion: it is at its end. */
void call_broke(struct conn *c, struct mono now);
/* The peer did something by it, which nobody may but we. */
void call_violated(struct conn *c, const char *what, struct mono now);

/* --- peers' links (serve.c) ------------------------------------ */

/* A caller: id is ours from here. */
void serve_caller(struct verbs *v, const struct rdma_cm_event *e, struct mono now);
void serve_event(struct conn *c, const struct rdma_cm_event *e, struct mono now);
void serve_completed(struct conn *c, const struct ibv_wc *wc, struct mono now);
void serve_broke(struct conn *c, struct mono now);
/* The device refused what it asked for. */
void serve_violated(struct conn *c, const char *how);
/* Hang up on who has not proven itself in time. */
void serve_due(struct conn *c, struct mono now);
void verbs_evict(struct transport *t, uint16_t host);

/* --- what descriptors tell (event.c) --------------------------- */

/* Make the channel, the completions' channel and the device's events waitable. 0 or -errno. */
int verbs_wait_for(struct verbs *v);
void verbs_progress(struct transport *t, struct mono now);
int verbs_arm(struct transport *t, struct mono now, struct mono *due);
int verbs_fd(struct transport *t);

#endif
