/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * runner: step functions over a transport.
 *
 * It hands each event to the protocols, posts what they put out, and brings each
 * operation's one result back (step.h). What finds its link full waits here, in
 * order, until its deadline, counted from the step that put it out. It owns
 * neither the transport nor the protocols, and has no thread and no clock: who
 * polls the transport hands its events on.
 */
#ifndef RESEX_RECONF_RUNNER_H
#define RESEX_RECONF_RUNNER_H

#include "src/reconf/lock.h"
#include "src/reconf/step.h"
#include "src/transport/transport.h"

enum {
	RUNNER_USERS_MAX = 4,
	RUNNER_OPS_MAX = 1024, /* outstanding operations of one user, at most */
};

typedef void runner_step(void *state, const struct step_event *ev, struct mono now,
			 struct step_out *out);
typedef struct mono runner_due(const void *state);

/* A protocol: its state, and what works on it. Its tags are tag .. tag + tags - 1. */
struct runner_user {
	void *state;
	runner_step *step;
	runner_due *due;
	uint32_t tag, tags;
};

/* A lock as a user; its tags are those of its conf. */
struct runner_user runner_lock(struct lock *l);

struct runner;

/*
 * deadline_ns: of every operation; the protocols' own conf.deadline_ns. prefix: the
 * upper 32 bits of the transport's tags, by which others on the same transport
 * know theirs. -ENOMEM.
 */
int runner_open(struct runner **r, struct transport *t, int64_t deadline_ns, uint32_t prefix);
void runner_close(struct runner *r);

/* -ENOSPC: RUNNER_USERS_MAX are there. Its step is not called yet. */
int runner_add(struct runner *r, const struct runner_user *u);

/*
 * An event of the transport: results with our prefix, UP; others are ignored.
 * Protocols are stepped from within this and the three below.
 */
void runner_event(struct runner *r, const struct transport_event *ev, struct mono now);
/* STEP_VIEW, to all. */
void runner_view(struct runner *r, uint64_t view, uint64_t members, bool quorate, struct mono now);
/* STEP_ASK, to the user of this state. */
void runner_ask(struct runner *r, const void *state, uint32_t what, struct mono now);
/* STEP_TICK, to those that are due; posts what waited for room. */
void runner_tick(struct runner *r, struct mono now);

/* When runner_tick has something to do; INT64_MAX: not before an event. */
struct mono runner_due_at(const struct runner *r);

#endif
