/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * role: a node of kind "switch" is prepared for the service that its word names, before it gets
 * requests of that service. Pure. Each host does this for its own nodes.
 *
 *	word, kept -----------------------+
 *	acknowledgements of all balancers +-> role_step() -> the hook runs (hook.h)
 *	the hook's end -------------------+               -> the file "roles"
 *	                                                  -> role_ready(), which balancers read
 *
 * Rules. tests/model/role.pml shows that a request is at the node only while the node serves the
 * service of that request, and that each of them is needed:
 *
 *	1 A word counts only if it is kept (move.h): for its host, and for each balancer. So no
 *	  word comes back when a host crashes.
 *	2 The hook runs only when each balancer has acknowledged the exact word. A member that
 *	  holds another cluster.json may be one by that.
 *	3 Before the hook runs, the file says that the node's service is not known. It names a
 *	  service again when the hook has ended well.
 *	4 A balancer acknowledges a word when no request of another service than the word's is at
 *	  the node, and its proxy sends none. It does not cease to watch a proxy that may send some
 *	  (src/cluster/balances.h, balances_may_reload).
 *	5 A balancer sends requests only when the host publishes that the node is ready for exactly
 *	  the word that the balancer has read. One that does so already goes on while newer words
 *	  name the same service.
 *	6 If the service is not known at the start, the hook checks first whether it is that of the
 *	  word. Balancers of that service may send requests all the time.
 *
 * A hook that fails is tried again. A node that is not ready for longer than reconf.give_up is
 * moved back by a balancer of the service that it served before (src/cluster/reconf.c).
 */
#ifndef RESEX_RECONF_ROLE_H
#define RESEX_RECONF_ROLE_H

#include <stdbool.h>
#include <stdint.h>

#include "src/core/units.h"
#include "src/reconf/hook.h"

/* As in region_node.phase, and so for ever. */
enum role_phase {
	ROLE_UNSEEN,   /* no word counts yet, or the node is of kind "both" */
	ROLE_READY,    /* it serves the service of its word */
	ROLE_WAITS,    /* for acknowledgements, or after a hook that failed */
	ROLE_SWITCHES, /* the hook makes it serve the word's service */
	ROLE_CHECKS,   /* the hook checks whether it does */
	ROLE_PHASES,
};

#define ROLE_AGAIN_NS (2 * NS_PER_S) /* between two hooks, after one that failed */

struct role {
	enum role_phase phase;
	uint16_t service;	/* that it was prepared for; 0: not known */
	uint16_t from;		/* the newest one that was known; 0: none */
	uint64_t word;		/* the newest that counts; 0: none */
	uint16_t target;	/* SWITCHES, CHECKS: the service that the hook was called for */
	bool running;		/* a hook is */
	bool asked;		/* a hook was, since the start */
	struct mono again;	/* no hook before */
	struct mono checks_end; /* CHECKS: after this the hook switches again */
};

struct role_in {
	uint64_t word;	   /* as read last; 0: not read */
	bool kept;	   /* exactly this word is */
	bool acknowledged; /* this word is, by each balancer */
	enum hook_state hook;
	int64_t check_ns; /* a check is tried again for so long */
};

/* What its owner does now. It answers by the next call, or by role_failed(). */
enum role_does {
	ROLE_NOTHING,
	ROLE_SWITCH, /* save role.service, which is 0 now, and run the hook for role.target */
	ROLE_CHECK,  /* run the hook's check for role.target */
	ROLE_SAVE,   /* save role.service, for which the node is prepared now */
};

/* service, from: by the file "roles"; 0: not known. */
void role_init(struct role *r, uint16_t service, uint16_t from);
enum role_does role_step(struct role *r, const struct role_in *in, struct mono now);
/* What role_step() asked for could not be begun. */
void role_failed(struct role *r, struct mono now);
/* The exact word for which it is ready; 0: none. */
uint64_t role_ready(const struct role *r);
/* When role_step() must be called again, besides when something has changed. */
struct mono role_due(const struct role *r);

#endif
