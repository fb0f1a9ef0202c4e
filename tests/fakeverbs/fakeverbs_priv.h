/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fakeverbs_priv: between fakeverbs.c, which answers commands, and the adapters. */
#ifndef RESEX_TESTS_FAKEVERBS_PRIV_H
#define RESEX_TESTS_FAKEVERBS_PRIV_H

#include <stddef.h>

#include "tests/fakeverbs/fakeverbs.h"

struct ib_uverbs_create_qp; /* the kernel's part of a command */

/* A request that was posted. */
struct fakeverbs_request {
	uint32_t opcode; /* the adapter's */
	uint32_t bytes;	 /* that a READ asks for */
	uint16_t blocks;
	bool signalled; /* it asks for a completion */
};

/* Is there no room for a completion? */
bool fakeverbs_is_full(const struct fakeverbs_cq *c);

/* What differs between adapters. cmd and resp are the provider's own parts of a command. */
struct fakeverbs_adapter {
	const char *provider;
	const char *modalias;
	const char *abi_version;
	size_t context_resp, pd_resp, cq_cmd, cq_resp, qp_cmd, qp_resp, resize_cmd;
	void (*context)(const struct fakeverbs_conf *conf, const void *cmd, void *resp);
	void (*pd)(uint32_t number, void *resp);
	void (*cq)(struct fakeverbs_cq *cq, const struct fakeverbs_conf *conf, const void *cmd,
		   void *resp);
	void (*resize)(struct fakeverbs_cq *cq, uint32_t entries, const void *cmd);
	void (*qp)(struct fakeverbs_qp *qp, const struct ib_uverbs_create_qp *core, const void *cmd,
		   void *resp);
	/* The oldest request that was not executed. False: there is none. */
	bool (*next)(const struct fakeverbs_qp *qp, struct fakeverbs_request *q);
	/* Write its completion. There is room. */
	void (*done)(const struct fakeverbs_qp *qp, const struct fakeverbs_request *q);
	void (*failed)(const struct fakeverbs_qp *qp, const struct fakeverbs_request *q);
	bool (*receive)(struct fakeverbs_qp *qp, uint32_t bytes, const void *scatter);
};

extern const struct fakeverbs_adapter fakeverbs_mlx5;
extern const struct fakeverbs_adapter fakeverbs_mlx4;

#endif
