/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * runner: step functions over a transport.
 *
 * It passes each event to the protocols, posts the operations that they put out, and
 * returns the one result of each operation (step.h). An operation whose link is full waits
 * here, in order, until its deadline, which counts from the step that put it out. When
 * RUNNER_OPS_MAX wait, a step has no room (step.h), so no operation is dropped. The runner
 * owns neither the transport nor the protocols, and has no thread and no clock: its caller
 * polls the transport and passes the events to it.
 */
#ifndef RESEX_RECONF_RUNNER_H
#define RESEX_RECONF_RUNNER_H

#include "src/reconf/keep.h"
#include "src/reconf/lock.h"
#include "src/reconf/move.h"
#include "src/reconf/step.h"
#include "src/transport/transport.h"

enum {
	RUNNER_USERS_MAX = 2048,
	RUNNER_OPS_MAX = 4096, /* operations of all users that wait here, at most */
};

typedef void runner_step(void *state, const struct step_event *ev, struct mono now,
			 struct step_out *out);
typedef struct mono runner_due(const void *state);

/* A protocol: its state and its functions. It uses the tags tag .. tag + tags - 1. */
struct runner_user {
	void *state;
	runner_step *step;
	runner_due *due;
	uint32_t tag, tags;
};

/* A lock as a user, with the tags of its conf. */
struct runner_user runner_lock(struct lock *l);
/* A move with its locks and counters, with the tags of its conf. */
struct runner_user runner_move(struct move *m);
/* A host's keeping of its words, with the tags of its conf. */
struct runner_user runner_keep(struct keep *k);

struct runner;

/*
 * deadline_ns: of every operation that does not ask for less (step_op.allowed_ns); the same as the
 * protocols' conf.deadline_ns. prefix: the
 * upper 32 bits of the transport's tags: other users of the same transport have others.
 * -ENOMEM.
 */
int runner_open(struct runner **r, struct transport *t, int64_t deadline_ns, uint32_t prefix);
void runner_close(struct runner *r);

/* Does not call its step yet. -ENOSPC: there are RUNNER_USERS_MAX already. */
int runner_add(struct runner *r, const struct runner_user *u);
/*
 * STEP_LINK of each link that is up, to the user of this state: for one that was added when links
 * were up already.
 */
void runner_links(struct runner *r, const void *state, struct mono now);

/*
 * An event of the transport. Uses results with our prefix, UP and MESSAGE; ignores others. This
 * function and those below call the protocols' step functions.
 */
void runner_event(struct runner *r, const struct transport_event *ev, struct mono now);
/* STEP_VIEW, to all. */
void runner_view(struct runner *r, uint64_t view, struct hostset members, bool quorate,
		 struct mono now);
/* STEP_ASK, to the user of this state. wish: as in step_event; NULL: none. */
void runner_ask(struct runner *r, const void *state, uint32_t what, const void *wish,
		struct mono now);
/* STEP_TICK, to the users that are due. Posts operations that waited for room. */
void runner_tick(struct runner *r, struct mono now);

/* When to call runner_tick next. INT64_MAX: not before an event. */
struct mono runner_due_at(const struct runner *r);

#endif
