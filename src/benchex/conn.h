/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * conn: one connection: its queue pair, what is posted to it, and its truth.
 *
 * Active side: resolve (finds the device) -> queue -> connect -> post ... -> close.
 */
#ifndef RESEX_BENCHEX_CONN_H
#define RESEX_BENCHEX_CONN_H

#include "src/benchex/hello.h"
#include "src/benchex/net.h"
#include "src/benchex/plan.h"

struct bx_conn {
	struct rdma_cm_id *id;
	struct bx_dev *dev;
	struct bx_qp truth;
	char peer[64];
};

/* All return 0, or -errno: what is wrong was said, by those that say so. */
int bx_conn_resolve(struct bx_net *n, struct bx_conn *c); /* says */
/* Its completions go to queue `which` of its device; a receive has one piece. */
int bx_conn_queue(struct bx_conn *c, struct ibv_pd *pd, int which, uint32_t sends, uint32_t recvs,
		  uint32_t pieces);
/* Connect to the server. Says. */
int bx_conn_connect(struct bx_net *n, struct bx_conn *c, const struct bx_hello *h,
		    struct bx_reply *reply);
/* Passive side, with queue pair: accept who asked to connect. */
int bx_conn_accept(struct bx_conn *c, const struct rdma_conn_param *theirs,
		   const struct bx_reply *r);
/* It is connected: give the peer these rights to memory, and learn what its truth needs. */
int bx_conn_established(struct bx_conn *c, unsigned int rights);
/* Say farewell: what is posted ends with an error unless it ended before. */
void bx_conn_disconnect(struct bx_conn *c);
/* Forget queue pair and id; completions of it may still be in its queue. */
void bx_conn_destroy(struct bx_conn *c);

struct bx_wr {
	struct bx_tag tag; /* op and bytes among it */
	const struct ibv_sge *piece;
	int pieces;
	uint64_t remote;
	uint32_t rkey;
	uint32_t imm;
	uint64_t compare, swap; /* or what is added */
};

int bx_conn_post(struct bx_conn *c, const struct bx_wr *wr);
int bx_conn_recv(struct bx_conn *c, struct bx_tag tag, struct ibv_sge *piece);
/* A completion of this connection, not of a receive: its truth knows. */
void bx_conn_ended(struct bx_conn *c, struct bx_tag t, const struct ibv_wc *wc);

#endif
