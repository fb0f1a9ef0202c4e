/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * conn: one connection: its queue pair, posting to it, and counts of what it did.
 *
 *	client, bulk: resolve (finds the device) -> queue -> connect -> post ... -> close
 *	server:       queue -> accept -> established -> post ... -> close
 */
#ifndef RESEX_BENCHEX_CONN_H
#define RESEX_BENCHEX_CONN_H

#include "src/benchex/hello.h"
#include "src/benchex/net.h"
#include "src/benchex/plan.h"

struct bx_conn {
	struct rdma_cm_id *id;
	struct bx_dev *dev;
	struct bx_qp truth; /* what it really sent and received */
	char peer[64];
};

/* All return 0 or -errno; "prints": after a sentence on stderr. */

/* Resolve the address and route to the server. Prints. */
int bx_conn_resolve(struct bx_net *n, struct bx_conn *c);
/* Make the queue pair. Completions go to queue `which` of the device. A receive has one piece. */
int bx_conn_queue(struct bx_conn *c, struct ibv_pd *pd, int which, uint32_t sends, uint32_t recvs,
		  uint32_t pieces);
/* Connect to the server. Prints. */
int bx_conn_connect(struct bx_net *n, struct bx_conn *c, const struct bx_hello *h,
		    struct bx_reply *reply);
/* Server: accept a peer that asked to connect; the queue pair exists. */
int bx_conn_accept(struct bx_conn *c, const struct rdma_conn_param *theirs,
		   const struct bx_reply *r);
/* After connecting: grant the peer these rights to memory, and note path MTU and peer QPN. */
int bx_conn_established(struct bx_conn *c, unsigned int rights);
/* Disconnect. Work that has not completed yet completes with an error. */
void bx_conn_disconnect(struct bx_conn *c);
/* Destroy queue pair and id. Its completions may still be in the completion queue. */
void bx_conn_destroy(struct bx_conn *c);

struct bx_wr {
	struct bx_tag tag; /* has op and bytes */
	const struct ibv_sge *piece;
	int pieces;
	uint64_t remote;
	uint32_t rkey;
	uint32_t imm;
	uint64_t compare, swap; /* fetch_add: compare is added */
};

int bx_conn_post(struct bx_conn *c, const struct bx_wr *wr);
int bx_conn_recv(struct bx_conn *c, struct bx_tag tag, struct ibv_sge *piece);
/* Count a completion of this connection that is not of a receive. */
void bx_conn_ended(struct bx_conn *c, struct bx_tag t, const struct ibv_wc *wc);

#endif
