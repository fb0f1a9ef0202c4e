/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fake_node: node.h as the test writes it: no transport. Each host has the first words of a part
 * VERSIONS, and answers questions for its clock. An operation is executed, and its result told,
 * when the test says so.
 */
#ifndef RESEX_TESTS_FAKE_NODE_H
#define RESEX_TESTS_FAKE_NODE_H

#include "src/cached/node.h"

enum {
	FAKE_NODE_USERS = 16,
	FAKE_NODE_OPS = 256,
	FAKE_NODE_HOSTS = 32,
	FAKE_NODE_WORDS = 1024, /* of each host's part VERSIONS */
};

struct fake_node_op {
	struct step_op op;
	uint32_t link; /* on which it was posted */
};

struct node {
	struct mono now;
	int64_t home_ns; /* the homes' clocks are ahead by so much */
	struct node_user user[FAKE_NODE_USERS];
	uint32_t users, tags;
	uint32_t link[FAKE_NODE_HOSTS];
	uint64_t version[FAKE_NODE_HOSTS][FAKE_NODE_WORDS];
	struct fake_node_op op[FAKE_NODE_OPS];
	uint32_t ops;
	uint64_t reads, sends; /* executed so far */
	bool full;	       /* node_add refuses */
	bool far;	       /* node_share refuses */
};

struct node *fake_node_new(void);
void fake_node_free(struct node *n);
/* A newer link to host is up. */
void fake_node_link(struct node *n, uint16_t host);
/* It breaks: what is outstanding there is LOST. */
void fake_node_cut(struct node *n, uint16_t host);
/* Executes all that is outstanding, and all that follows. */
void fake_node_run(struct node *n);
/* Time passes; all that are due get a STEP_TICK. */
void fake_node_pass(struct node *n, int64_t ns);
/* The homes' looks succeed: their beats are their clocks now. */
void fake_node_beat(struct node *n, uint16_t host);

#endif
