/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * methods: the methods of the control protocol. The server (server.c) calls them with a parsed
 * request; they read views of guests and the cluster, or change them, and build the reply.
 */
#ifndef RESEX_CONTROL_METHODS_H
#define RESEX_CONTROL_METHODS_H

#include "src/control/proto.h"
#include "src/guests/guests.h"

struct cluster;

/* One request, as the methods see it, and why it failed. */
struct call {
	struct guests *guests;
	struct cluster *cluster; /* NULL: this host is alone */
	const struct snapshot *sn;
	struct mono now;
	int64_t wall_ns;
	bool root; /* by peer credentials */
	/* What a method that returned CALL_LATER waits for; the server keeps it between calls. */
	struct rings_ask ask;	  /* totals of rings, from the sampler */
	struct policy_ask policy; /* the sampler, to take up a policy */
	struct caps_ask caps;	  /* a snapshot with the change of guests */
	uint64_t ticket;	  /* of cluster_break or cluster_move; 0: none */
	uint64_t reload;	  /* settings that come into force by cluster_reload; 0: none */
	bool trace;		  /* trace-stop, until the file is whole */
	json_t *reply;		  /* what is replied then; NULL: none */
	int exit;		  /* enum resex_exit of what failed */
	struct proto_error error;
};

/*
 * Not answered yet: call again with the same ask, policy, caps, ticket, reload, trace and reply,
 * and the newest snapshot. To give up, call guests_rings_end and json_decref(reply).
 */
enum { CALL_LATER = -1 };

struct method_param {
	const char *name;
	json_type type; /* JSON_TRUE: a boolean, true or false */
};

struct method {
	const char *name;
	bool modifies; /* root only */
	/*
	 * 0 and *result (owned by the caller); enum resex_exit with call->error filled; or
	 * CALL_LATER. None of them blocks.
	 */
	int (*run)(struct call *c, const json_t *params, json_t **result);
	const struct method_param *params; /* ended by name NULL */
};

extern const struct method methods[]; /* ended by name NULL */

/* Find the method, check rights and parameters, run it. As method.run. */
int method_call(struct call *c, const struct request *r, json_t **result);

#endif
