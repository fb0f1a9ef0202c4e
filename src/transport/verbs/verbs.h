/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * verbs: what the files of the backend "verbs" share. Each calls those below it only:
 *
 *	verbs.c	 open, close, the device, the region; the functions that the front calls
 *	event.c	 events of the descriptors: connections, completions, alarms
 *	call.c	 our links to peers: call, hello, operations
 *	serve.c	 peers' links to us: accept, hello, register the region
 *	conn.c	 one queue pair with all that belongs to it
 *	reaper.c a thread that destroys connections which ended
 *
 * Everything is on one device: the one with the address that we listen at. The atomics of an
 * HCA are atomic only against its own. So a caller that came in over another device is
 * refused, and the owner's link to itself uses this device, too. A client does not listen: it uses
 * the device of its address or, without one, the only device.
 */
#ifndef RESEX_TRANSPORT_VERBS_VERBS_H
#define RESEX_TRANSPORT_VERBS_VERBS_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "src/transport/backend.h"
#include "src/transport/verbs/reaper.h"

enum {
	VERBS_RECVS = 16,	/* receive buffers for the messages of one peer */
	VERBS_HELLOS = 4,	/* hello buffers of a connection, each way */
	VERBS_HELLO_ROOM = 512, /* bytes of one of them */
	VERBS_PAGE = 4096,
	/* A caller's buffers: results of READs, then hellos. One mapping a peer. */
	VERBS_LANDING = TRANSPORT_SLOTS * TRANSPORT_READ_MAX,
	VERBS_CALLER_BYTES = VERBS_LANDING + VERBS_PAGE,
	/* A responder's buffers: messages received, then hellos to send. */
	VERBS_RECV_BYTES = VERBS_RECVS * TRANSPORT_MESSAGE_MAX,
	VERBS_RESPONDER_BYTES = VERBS_RECV_BYTES + VERBS_PAGE,
};

/* The kind of a work request: see conn_wr. */
enum verbs_wr { VERBS_WR_SLOT, VERBS_WR_HELLO, VERBS_WR_RECV };

enum conn_state {
	CONN_WAITS,    /* caller: until the link before is destroyed: its buffers are the same */
	CONN_RESOLVES, /* caller: address, then route */
	CONN_CONNECTS,
	CONN_HELLO,
	CONN_PROVEN, /* responder: until the old link of its host is destroyed */
	CONN_UP,
	CONN_OVER, /* the reaper has it; when it is destroyed, progress frees the struct */
};

/*
 * One connection. It has its own protection domain: a key that another peer guessed is not
 * valid there. Before the hello's PROOF, only the buffers of the hello are registered in it,
 * for local access.
 */
struct conn {
	struct conn *next;
	struct verbs *v;
	struct transport_out *out; /* caller: the link; responder: NULL */
	enum conn_state state;
	struct reap reap;
	bool destroyed;	 /* OVER: the reaper has destroyed what follows from id on */
	bool counted;	 /* responder: as an unproven caller of the front */
	uint16_t host;	 /* responder: 0 until proven */
	bool client;	 /* responder: of a client, which may send no messages */
	uint32_t serial; /* of all connections of the handle */
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_cq *cq; /* responder */
	struct ibv_qp *qp;
	bool armed;   /* responder: the next completion makes an event */
	bool held;    /* responder: completions wait because the message queue has no room */
	int broke;    /* -errno of a failed completion: the connection must end; 0: none */
	uint8_t *mem; /* buffers; of a caller: in verbs.landing */
	struct ibv_mr *mr;
	struct ibv_mr *part[TRANSPORT_PARTS]; /* responder: of the region, once proven */
	uint64_t at[TRANSPORT_PARTS];	      /* caller: the peer's parts */
	uint32_t rkey[TRANSPORT_PARTS];
	struct hello hello;
	uint32_t hellos_sent; /* hellos sent */
	/*
	 * Caller: requests for the next doorbell, in order. Each has its piece from the start, and
	 * a submit writes only what its kind of operation needs.
	 */
	uint32_t chained;
	struct ibv_send_wr chain[TRANSPORT_DEPTH];
	struct ibv_sge piece[TRANSPORT_DEPTH];
	struct mono due; /* responder: disconnect it if it is not proven by then */
};

struct verbs {
	struct transport t;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener;
	struct ibv_context *device;
	struct ibv_device_attr attr;
	struct ibv_comp_channel *comp; /* of all completion queues */
	struct ibv_cq *cq;	       /* of all our links */
	bool armed;		       /* its next completion makes an event */
	bool any_broke;		       /* one of our links did: see conn.broke */
	struct reaper *reaper;
	int epoll;	    /* channel, comp, the device's events and the reaper */
	bool slept;	    /* the user may have waited for that descriptor */
	struct mono looked; /* when it was asked for events last */
	/* The address and port we listen at. Of a client: that we call from; AF_UNSPEC: any. */
	struct sockaddr_storage own;
	void *region[TRANSPORT_PARTS];
	struct conn *conns;
	uint32_t serials;			  /* connections made so far */
	struct conn *calls[TRANSPORT_HOSTS_MAX];  /* by host - 1 */
	struct conn *served[TRANSPORT_HOSTS_MAX]; /* proven */
	uint8_t *landing[TRANSPORT_HOSTS_MAX];	  /* kept until close: users may read there */
};

static inline struct verbs *verbs_of(struct transport *t)
{
	return (struct verbs *)t; /* its first member */
}

/* --- a connection (conn.c) ------------------------------------ */

/* A new, empty one in v's list. NULL: no memory. */
struct conn *conn_new(struct verbs *v);
/*
 * Make the protection domain and the queues, register the buffers at mem, post the receives:
 * all that is needed before the connection is made. 0 or -errno; conn_end frees.
 */
int conn_equip(struct conn *c, uint8_t *mem);
/* Move the queue pair from RESET to INIT, or from INIT to RTS. 0 or -errno. */
int conn_ready(struct conn *c, enum ibv_qp_state state);
/*
 * Stop the queue pair, and hand everything but the struct to the reaper. Until c->destroyed, an
 * operation that the device had begun may still be executed, for us or for the peer. Blocks nobody.
 */
void conn_end(struct conn *c);
/* What the reaper does: free everything but the struct, the queue pair first. */
void conn_destroy(struct reap *item);
/* Is an ended link of this direction and host not destroyed yet? out: NULL for a responder's. */
bool conn_lingers(const struct verbs *v, const struct transport_out *out, uint16_t host);
/* Send a message of the hello. 0 or -errno. */
int conn_send_hello(struct conn *c, const uint8_t *data, size_t len);
/* Receive buffer n; and post it again. */
const uint8_t *conn_recv_at(const struct conn *c, uint32_t n);
int conn_recv(struct conn *c, uint32_t n);
/* How many READs and atomics may be outstanding: the least of the device's and our limit. */
uint8_t conn_depth(int device);

/*
 * The wr_id of a request of c, about slot or buffer n: {serial 32, host 16, kind 8, index 8}. The
 * completion queue of our links has completions of connections that ended: the serial tells.
 */
static inline uint64_t conn_wr(const struct conn *c, enum verbs_wr what, uint32_t n)
{
	return (uint64_t)c->serial << 32 | (uint32_t)c->host << 16 | (uint32_t)what << 8 | n;
}

static inline enum verbs_wr conn_wr_kind(uint64_t wr_id)
{
	return (enum verbs_wr)(wr_id >> 8 & 0xff);
}

static inline uint32_t conn_wr_index(uint64_t wr_id)
{
	return (uint32_t)wr_id & 0xff;
}

/* The link of ours whose request it was; NULL: it has ended. */
static inline struct conn *conn_wr_call(const struct verbs *v, uint64_t wr_id)
{
	struct conn *c = v->calls[(wr_id >> 16 & 0xffff) - 1];

	return c && c->serial == wr_id >> 32 ? c : NULL;
}

/* The completion queue of all our links. 0 or -errno. */
int conn_make_calls_queue(struct verbs *v);
/* Is it on the device that we opened? */
bool conn_same_device(const struct verbs *v, const struct rdma_cm_id *id);
/* Zeroed pages for the device, not inherited by fork; NULL: errno. */
void *conn_map(size_t len);

/* --- our links (call.c) --------------------------------------- */

int verbs_call(struct transport *t, struct transport_out *o, struct mono now);
void verbs_hang_up(struct transport *t, struct transport_out *o);
int verbs_submit(struct transport *t, struct transport_out *o, struct transport_slot *s,
		 struct mono now);
int verbs_flush(struct transport *t, struct transport_out *o);
/* An event of the connection manager. */
void call_event(struct conn *c, const struct rdma_cm_event *e, struct mono now);
void call_completed(struct conn *c, const struct ibv_wc *wc, struct mono now);
/* After its last completion: end a connection that broke. */
void call_broke(struct conn *c, struct mono now);
/* The link before may be destroyed now: then begin the call. */
void call_resume(struct conn *c, struct mono now);
/* The peer used the link, which only we may use. */
void call_violated(struct conn *c, const char *what, struct mono now);

/* --- peers' links (serve.c) ------------------------------------ */

/* A new caller. Owns e->id from here. */
void serve_caller(struct verbs *v, const struct rdma_cm_event *e, struct mono now);
void serve_event(struct conn *c, const struct rdma_cm_event *e, struct mono now);
void serve_completed(struct conn *c, const struct ibv_wc *wc, struct mono now);
void serve_broke(struct conn *c, struct mono now);
/* The device refused a request of the peer. */
void serve_violated(struct conn *c, const char *how);
/* The old link of its host may be destroyed now: then send the keys of the region. */
void serve_resume(struct conn *c, struct mono now);
/* Disconnect a caller whose hello takes too long. */
void serve_due(struct conn *c, struct mono now);
/* It was destroyed: if it counted as an unproven caller, it does no more. */
void serve_destroyed(struct conn *c);
void verbs_evict(struct transport *t, uint16_t host);
bool verbs_serves(const struct transport *t, uint16_t host);

/* --- events of descriptors (event.c) --------------------------- */

/* One epoll descriptor for the channel, completions, the device and the reaper. 0 or -errno. */
int verbs_watch_descriptors(struct verbs *v);
void verbs_progress(struct transport *t, struct mono now);
int verbs_arm(struct transport *t, struct mono now, struct mono *due);
int verbs_fd(struct transport *t);

#endif
