// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lock_hosts: one host of several, each on its own machine. They acquire one lock in turn.
 *
 *	lock_hosts BACKEND NUMBER GENERATION ADDRESS-1 ADDRESS-2 ...
 *
 * Host 1 is the lock's home. It also has a token, {host 16, fence 48}, and a counter. The holder
 * writes its number and fence into the token, adds 1 to the counter, removes its number and
 * releases. The token shows whether mutual exclusion and fences work: after a clean release it has
 * no number; its fence is never above ours; no other host removes our number while our lease lasts.
 * A holder that is stopped in between leaves the lock unclean.
 *
 * At its end it releases, and prints the counts as one JSON object (signals: host_process.h).
 * sc_hosts.py runs all hosts.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/reconf/lock.h"
#include "src/shared/region.h"
#include "tests/shared/host_process.h"

enum {
	HOME = 1,
	SERVICE = 1,
	PORT = 7900,
	HOLD_MS = 1500,
	DEADLINE_MS = 1000,
	CHECK_MS = 50,
	THINK_MS = 20,
	PREFIX = 0x10c,
	WORK_TAG = 1000,
	TOKEN = REGION_NODE_WORDS,
	COUNT = REGION_COUNTERS + 8,
};

/* The steps under the lock; each is one operation. */
enum stage { STAGE_NONE, STAGE_LOOK, STAGE_ENTER, STAGE_ADD, STAGE_LEAVE };

struct work {
	struct lock *lock;
	enum stage stage;
	uint32_t tag; /* of the outstanding operation */
	uint64_t fence, mine, before;
	uint64_t turns, added, maybe_added, given_up, unclean;
	uint64_t count; /* our newest value of it */
	uint64_t violations;
	char what[160]; /* the first of them */
	struct mono since, waited_max;
	bool over; /* the lock may be released */
	bool dirty;
};

struct me {
	struct host_process p;
	struct lock lock;
	struct work work;
	struct mono again;
};

/* --- under the lock ---------------------------------------------------------------- */

static void violation(struct work *w, const char *what, uint64_t a, uint64_t b)
{
	if (!w->violations++)
		snprintf(w->what, sizeof(w->what), "%s: %" PRIx64 ", %" PRIx64, what, a, b);
}

static void put_operation(struct work *w, struct step_out *out, enum stage stage, struct step_op op)
{
	w->stage = stage;
	op.host = HOME;
	op.tag = ++w->tag;
	out->op[out->n++] = op;
}

static void end_turn(struct work *w, bool dirty)
{
	w->stage = STAGE_NONE;
	w->over = true;
	w->dirty = dirty;
	w->given_up += dirty;
}

/* May the next operation be put out? Only while the lease lasts. */
static bool may(struct work *w, struct mono now)
{
	if (lock_may_act(w->lock, now, 0))
		return true;
	end_turn(w, true);
	return false;
}

static void looked(struct work *w, uint64_t token, struct mono now, struct step_out *out)
{
	const struct step_op op = {
		.kind = STEP_CAS, .offset = TOKEN, .compare = token, .value = w->mine
	};

	if (region_word_id(token) && !lock_unclean(w->lock))
		violation(w, "had clean, but somebody is in", token, w->mine);
	if (token && region_word_seq(token) >= w->fence)
		violation(w, "the fence did not grow", token, w->mine);
	w->before = token;
	if (may(w, now))
		put_operation(w, out, STAGE_ENTER, op);
}

static void entered(struct work *w, uint64_t old, struct mono now, struct step_out *out)
{
	const struct step_op op = { .kind = STEP_FAA, .offset = COUNT, .value = 1 };

	if (old != w->before) {
		if (lock_may_act(w->lock, now, 0) && !lock_unclean(w->lock))
			violation(w, "somebody came in beside us", old, w->mine);
		/* A late operation of a former holder: the next turn reads again. */
		end_turn(w, true);
	} else if (may(w, now)) {
		put_operation(w, out, STAGE_ADD, op);
	}
}

static void added(struct work *w, uint64_t old, struct mono now, struct step_out *out)
{
	const struct step_op op = { .kind = STEP_CAS,
				    .offset = TOKEN,
				    .compare = w->mine,
				    .value = region_word(0, w->fence) };

	w->added++;
	w->count = old + 1;
	if (may(w, now))
		put_operation(w, out, STAGE_LEAVE, op);
}

static void left(struct work *w, uint64_t old, struct mono now)
{
	if (old != w->mine && lock_may_act(w->lock, now, 0))
		violation(w, "somebody was in while our lease lasted", old, w->mine);
	w->turns += old == w->mine;
	end_turn(w, old != w->mine);
}

static void take_result(struct work *w, const struct step_event *ev, struct mono now,
			struct step_out *out)
{
	if (ev->tag != w->tag || w->stage == STAGE_NONE)
		return;
	if (ev->outcome != STEP_DONE) {
		w->maybe_added += w->stage == STAGE_ADD && ev->outcome == STEP_UNKNOWN;
		end_turn(w, true);
		return;
	}
	switch (w->stage) {
	case STAGE_LOOK:
		looked(w, ev->old, now, out);
		break;
	case STAGE_ENTER:
		entered(w, ev->old, now, out);
		break;
	case STAGE_ADD:
		added(w, ev->old, now, out);
		break;
	default:
		left(w, ev->old, now);
	}
}

static void work_step(void *state, const struct step_event *ev, struct mono now,
		      struct step_out *out)
{
	const struct step_op look = { .kind = STEP_READ, .offset = TOKEN, .len = 8 };
	struct work *w = state;

	if (ev->type == STEP_RESULT)
		take_result(w, ev, now, out);
	if (ev->type != STEP_ASK)
		return;
	w->fence = lock_fence(w->lock);
	w->mine = region_word(w->lock->conf.self, w->fence);
	w->unclean += lock_unclean(w->lock);
	w->over = false;
	if (may(w, now))
		put_operation(w, out, STAGE_LOOK, look);
}

static struct mono work_due(const void *state)
{
	(void)state;
	return (struct mono){ INT64_MAX };
}

/* --- turns -------------------------------------------------------------------------- */

static void turn(struct me *m, struct mono now)
{
	struct work *w = &m->work;

	switch (lock_state(&m->lock)) {
	case LOCK_IDLE:
		w->stage = STAGE_NONE; /* lost by a view or a restart of the home */
		if (mono_sub(now, m->again) < 0 || host_process_stops())
			return;
		w->since = now;
		w->over = false;
		runner_ask(m->p.r, &m->lock, LOCK_ACQUIRE, NULL, now);
		return;
	case LOCK_HELD:
		if (w->over) {
			lock_mark(&m->lock, w->dirty);
			m->again = mono_add(now, THINK_MS * NS_PER_MS);
			runner_ask(m->p.r, &m->lock, LOCK_RELEASE, NULL, now);
		} else if (w->stage == STAGE_NONE) {
			if (mono_sub(now, w->since) > w->waited_max.ns)
				w->waited_max.ns = mono_sub(now, w->since);
			runner_ask(m->p.r, w, 0, NULL, now);
		}
		return;
	case LOCK_WAITING:
		if (host_process_stops())
			runner_ask(m->p.r, &m->lock, LOCK_RELEASE, NULL, now);
		return;
	default:
		return;
	}
}

static void print_counts(const struct me *m)
{
	const struct work *w = &m->work;
	const struct {
		const char *name;
		uint64_t value;
	} rows[] = {
		{ "host", m->p.self },
		{ "turns", w->turns },
		{ "added", w->added },
		{ "maybe_added", w->maybe_added },
		{ "count", w->count },
		{ "given_up", w->given_up },
		{ "unclean", w->unclean },
		{ "fence", w->fence },
		{ "waited_max_ms", (uint64_t)(w->waited_max.ns / NS_PER_MS) },
		{ "ups", m->p.ups },
		{ "downs", m->p.downs },
		{ "alarms", m->p.alarms },
		{ "violations", w->violations },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		printf("%s\"%s\": %" PRIu64, i ? ", " : "{", rows[i].name, rows[i].value);
	printf(", \"what\": \"%s\"}\n", w->what);
	fflush(stdout);
}

static void run(struct me *m)
{
	while (!host_process_stops() || lock_state(&m->lock) != LOCK_IDLE) {
		host_process_turn(&m->p);
		turn(m, host_process_now(&m->p));
		if (host_process_stops() > 1)
			break;
		if (host_process_is_asked())
			print_counts(m);
		host_process_sleep(&m->p);
	}
}

/* --- open ---------------------------------------------------------------------------- */

static int open_protocols(struct me *m, int hosts)
{
	const struct lock_conf lc = { .self = m->p.self,
				      .service = SERVICE,
				      .hold_ns = HOLD_MS * NS_PER_MS,
				      .deadline_ns = DEADLINE_MS * NS_PER_MS,
				      .drift_ppm = 1000,
				      .check_ns = CHECK_MS * NS_PER_MS,
				      .seed = m->p.self };
	/* Its tags grow with each operation: a late result matches none. */
	const struct runner_user work = { &m->work, work_step, work_due, WORK_TAG, 1u << 30 };
	struct runner_user lock;
	int rc;

	lock_init(&m->lock, &lc);
	lock = runner_lock(&m->lock);
	m->work.lock = &m->lock;
	m->work.tag = WORK_TAG;
	rc = runner_add(m->p.r, &lock);
	if (!rc)
		rc = runner_add(m->p.r, &work);
	if (!rc)
		runner_view(m->p.r, 0, hostset_first((uint32_t)hosts), true,
			    host_process_now(&m->p));
	return rc;
}

int main(int argc, char **argv)
{
	static uint64_t words[REGION_WORDS_BYTES / 8];
	struct host_process_conf c = { .name = "lock_hosts",
				       .port = PORT,
				       .words = words,
				       .deadline_ns = DEADLINE_MS * NS_PER_MS,
				       .prefix = PREFIX };
	struct me *m = calloc(1, sizeof(*m));
	int rc;

	if (!m || !host_process_args(&c, argc, argv)) {
		free(m);
		return 2;
	}
	rc = region_words(words, c.generation, NULL);
	words[TOKEN / 8] = 0;
	if (!rc)
		rc = host_process_open(&m->p, &c);
	if (!rc)
		rc = open_protocols(m, c.hosts);
	if (!rc) {
		fputs("open\n", stderr);
		run(m);
		print_counts(m);
	}
	host_process_close(&m->p);
	free(m);
	return rc ? 1 : 0;
}
