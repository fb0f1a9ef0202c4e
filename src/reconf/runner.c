// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * runner: between the step functions and a transport: events in, operations out.
 *
 * Everything that is still to be done is a job in one queue, in the order in which it arose: an
 * operation to post, or the result of one that could not be posted. So a protocol gets each result
 * as an event of its own, never from within its own step.
 */
#include "src/reconf/runner.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

static_assert((int)STEP_READ_MAX == (int)TRANSPORT_READ_MAX, "what is longer, post refuses");
static_assert((int)STEP_MESSAGE_MAX == (int)TRANSPORT_MESSAGE_MAX, "as of READs");

/* An operation to post, or a result to return, in the order in which they arose. */
struct job {
	bool is_result; /* give ev to user; otherwise post op */
	uint32_t user;
	struct step_event ev;
	struct step_op op;
	struct mono deadline;
};

struct runner {
	struct transport *t;
	int64_t deadline_ns;
	uint32_t prefix;
	struct runner_user user[RUNNER_USERS_MAX];
	uint32_t users;
	uint32_t link[TRANSPORT_HOSTS_MAX]; /* newest, by host - 1 */
	struct step_out out;
	struct job job[RUNNER_OPS_MAX];
	uint32_t n;
};

int runner_open(struct runner **out, struct transport *t, int64_t deadline_ns, uint32_t prefix)
{
	struct runner *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->t = t;
	r->deadline_ns = deadline_ns;
	r->prefix = prefix;
	*out = r;
	return 0;
}

void runner_close(struct runner *r)
{
	free(r);
}

static void step_lock(void *state, const struct step_event *ev, struct mono now,
		      struct step_out *out)
{
	lock_step(state, ev, now, out);
}

static struct mono due_lock(const void *state)
{
	return lock_due(state);
}

struct runner_user runner_lock(struct lock *l)
{
	return (struct runner_user){ l, step_lock, due_lock, l->conf.tag, LOCK_TAGS };
}

static void step_move(void *state, const struct step_event *ev, struct mono now,
		      struct step_out *out)
{
	move_step(state, ev, now, out);
}

static struct mono due_move(const void *state)
{
	return move_due(state);
}

struct runner_user runner_move(struct move *m)
{
	return (struct runner_user){ m, step_move, due_move, m->conf.tag, MOVE_TAGS };
}

static void step_keep(void *state, const struct step_event *ev, struct mono now,
		      struct step_out *out)
{
	keep_step(state, ev, now, out);
}

static struct mono due_keep(const void *state)
{
	return keep_due(state);
}

struct runner_user runner_keep(struct keep *k)
{
	return (struct runner_user){ k, step_keep, due_keep, k->conf.tag, KEEP_TAGS };
}

int runner_add(struct runner *r, const struct runner_user *u)
{
	if (r->users == RUNNER_USERS_MAX)
		return -ENOSPC;
	r->user[r->users++] = *u;
	return 0;
}

/* --- one step ------------------------------------------------------------------- */

/* A protocol may ask for less time than all have, and never gets more. */
static struct mono deadline_of(const struct runner *r, const struct step_op *op, struct mono now)
{
	bool less = op->allowed_ns > 0 && op->allowed_ns < r->deadline_ns;

	return mono_add(now, less ? op->allowed_ns : r->deadline_ns);
}

static void step_user(struct runner *r, uint32_t user, const struct step_event *ev, struct mono now)
{
	uint32_t room = RUNNER_OPS_MAX - r->n;

	r->out.n = 0;
	r->out.taken = room < STEP_OPS_MAX ? STEP_OPS_MAX - room : 0;
	r->user[user].step(r->user[user].state, ev, now, &r->out);
	/*
	 * The deadline counts from this step, not from the post: the lease arithmetic of lock.h
	 * needs a bound on how late an operation may still be executed.
	 */
	for (uint32_t i = 0; i < r->out.n; i++)
		r->job[r->n++] = (struct job){ .user = user,
					       .op = r->out.op[i],
					       .deadline = deadline_of(r, &r->out.op[i], now) };
}

static void step_all(struct runner *r, const struct step_event *ev, struct mono now)
{
	for (uint32_t i = 0; i < r->users; i++)
		step_user(r, i, ev, now);
}

/* --- posting -------------------------------------------------------------------- */

static struct transport_op transport_op_of(const struct runner *r, const struct job *d)
{
	static const enum transport_kind kinds[] = { [STEP_READ] = TRANSPORT_READ,
						     [STEP_CAS] = TRANSPORT_CAS64,
						     [STEP_FAA] = TRANSPORT_FAA64,
						     [STEP_SEND] = TRANSPORT_SEND };
	static const enum transport_part parts[] = { [STEP_WORDS] = TRANSPORT_WORDS,
						     [STEP_TABLE] = TRANSPORT_TABLE,
						     [STEP_LOAD] = TRANSPORT_LOAD,
						     [STEP_VERSIONS] = TRANSPORT_VERSIONS };
	bool has_len = d->op.kind == STEP_READ || d->op.kind == STEP_SEND;

	return (struct transport_op){ .kind = kinds[d->op.kind],
				      .host = d->op.host,
				      .part = parts[d->op.part],
				      .offset = d->op.offset,
				      .len = has_len ? d->op.len : 8,
				      .data = d->op.data,
				      .compare = d->op.compare,
				      .value = d->op.value,
				      .tag = (uint64_t)r->prefix << 32 | d->op.tag,
				      .deadline = d->deadline };
}

/* Make the result of an operation that was not posted. */
static void not_posted(const struct runner *r, struct job *d, int why)
{
	d->is_result = true;
	d->ev = (struct step_event){ .type = STEP_RESULT,
				     .host = d->op.host,
				     .link = r->link[d->op.host - 1],
				     .tag = d->op.tag,
				     /*
				 * LOST promises a newer link (step.h). After any other cause the
				 * link is up, and none comes.
				 */
				     .outcome = why == -ENOTCONN ? STEP_LOST : STEP_REFUSED };
}

/* Its compare was read on a link that is not the newest: the word there may be another one. */
static bool is_of_older_link(const struct runner *r, const struct job *d)
{
	return d->op.link && d->op.link != transport_link(r->t, d->op.host);
}

/* false: the link has no room now. true: posted, or turned into its result. */
static bool post_or_result(struct runner *r, struct job *d, struct mono now)
{
	struct transport_op op = transport_op_of(r, d);
	int why;

	if (transport_post(r->t, &op, 1, now, &why) == 1)
		return true;
	if (why == -EAGAIN)
		return false;
	not_posted(r, d, why);
	return true;
}

/*
 * Do all jobs that can be done now. Steps append more, which this loop reaches as well. Jobs
 * that stay keep their order.
 */
static void run_jobs(struct runner *r, struct mono now)
{
	/* Hosts whose links have no room: later operations to them must not overtake. */
	struct hostset full = { { 0 } };
	uint32_t kept = 0;

	for (uint32_t i = 0; i < r->n; i++) {
		struct job d = r->job[i];
		/*
		 * rule: a CAS is posted on the link on which its compare was read
		 *
		 * LOST, while the step does not know of the newer link: its STEP_LINK comes. (The
		 * DOWN of a link comes before the UP of the next one, and jobs are done after each
		 * event.)
		 */
		if (!d.is_result && is_of_older_link(r, &d))
			not_posted(r, &d,
				   d.op.link == r->link[d.op.host - 1] ? -ENOTCONN : -ESTALE);
		/*
		 * The two kinds of jobs do not wait for each other: a result needs no room on a
		 * link.
		 */
		if (!d.is_result &&
		    (hostset_has(&full, d.op.host) || !post_or_result(r, &d, now))) {
			hostset_set(&full, d.op.host, true);
			r->job[kept++] = d;
		} else if (d.is_result) {
			step_user(r, d.user, &d.ev, now);
		}
	}
	r->n = kept;
}

/* --- events ---------------------------------------------------------------------- */

static void operation_result(struct runner *r, const struct transport_event *ev, struct mono now)
{
	static const enum step_outcome outcomes[] = { [TRANSPORT_DONE] = STEP_DONE,
						      [TRANSPORT_REFUSED] = STEP_REFUSED,
						      [TRANSPORT_LOST] = STEP_LOST,
						      [TRANSPORT_UNKNOWN] = STEP_UNKNOWN };
	uint32_t tag = (uint32_t)ev->tag;
	struct step_event se = { .type = STEP_RESULT,
				 .host = ev->host,
				 .link = ev->link,
				 .tag = tag,
				 .outcome = outcomes[ev->outcome],
				 .old = ev->old };

	if (ev->tag >> 32 != r->prefix)
		return;
	/* Late, and its link goes on: LOST promises a newer link (step.h). */
	if (ev->outcome == TRANSPORT_LOST && transport_link(r->t, ev->host) == ev->link)
		se.outcome = STEP_REFUSED;
	/* The transport aligns its buffers for words. */
	if (ev->outcome == TRANSPORT_DONE && ev->kind == TRANSPORT_READ) {
		se.data = ev->data;
		se.words = ev->len / 8;
		se.old = se.data[0];
	}
	for (uint32_t i = 0; i < r->users; i++)
		if (tag - r->user[i].tag < r->user[i].tags)
			step_user(r, i, &se, now);
}

static void message(struct runner *r, const struct transport_event *ev, struct mono now)
{
	struct step_event se = {
		.type = STEP_MESSAGE, .host = ev->host, .message = ev->data, .len = ev->len
	};

	step_all(r, &se, now);
}

void runner_event(struct runner *r, const struct transport_event *ev, struct mono now)
{
	if (ev->type == TRANSPORT_RESULT) {
		operation_result(r, ev, now);
	} else if (ev->type == TRANSPORT_UP) {
		struct step_event se = { .type = STEP_LINK, .host = ev->host, .link = ev->link };

		/* Before the steps: they may put out operations that fail at once on this link. */
		r->link[ev->host - 1] = ev->link;
		step_all(r, &se, now);
	} else if (ev->type == TRANSPORT_MESSAGE) {
		message(r, ev, now);
	}
	run_jobs(r, now);
}

void runner_view(struct runner *r, uint64_t view, struct hostset members, bool quorate,
		 struct mono now)
{
	struct step_event se = {
		.type = STEP_VIEW, .view = view, .members = members, .quorate = quorate
	};

	step_all(r, &se, now);
	run_jobs(r, now);
}

void runner_ask(struct runner *r, const void *state, uint32_t what, const void *wish,
		struct mono now)
{
	struct step_event se = { .type = STEP_ASK, .what = what, .wish = wish };

	for (uint32_t i = 0; i < r->users; i++)
		if (r->user[i].state == state)
			step_user(r, i, &se, now);
	run_jobs(r, now);
}

/* Those whose UP has been seen: that of a newer one comes as an event. */
void runner_links(struct runner *r, const void *state, struct mono now)
{
	for (uint32_t i = 0; i < r->users; i++) {
		if (r->user[i].state != state)
			continue;
		for (uint32_t k = 0; k < TRANSPORT_HOSTS_MAX; k++) {
			struct step_event se = { .type = STEP_LINK,
						 .host = (uint16_t)(k + 1),
						 .link = r->link[k] };

			if (se.link && transport_link(r->t, se.host) == se.link)
				step_user(r, i, &se, now);
		}
	}
	run_jobs(r, now);
}

void runner_tick(struct runner *r, struct mono now)
{
	struct step_event se = { .type = STEP_TICK };

	for (uint32_t i = 0; i < r->users; i++)
		if (r->user[i].due(r->user[i].state).ns <= now.ns)
			step_user(r, i, &se, now);
	run_jobs(r, now);
}

struct mono runner_due_at(const struct runner *r)
{
	struct mono due = { INT64_MAX };

	for (uint32_t i = 0; i < r->users; i++) {
		due = mono_earlier(due, r->user[i].due(r->user[i].state));
	}
	for (uint32_t i = 0; i < r->n; i++)
		due = mono_earlier(due, r->job[i].deadline);
	return due;
}
