// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fresh: how long the words of a home are used, by evidence that it is a member.
 *
 * cache.h has the rules. tests/model/fresh.pml searches them. tests/unit/test_fresh.c draws clocks
 * that drift.
 */
#include <string.h>

#include "src/cache/broken.h"
#include "src/cache/fresh.h"
#include "src/core/units.h"
#include "src/reconf/put.h"
#include "src/shared/lease.h"

enum { PPM = 1000000 };

/* No clock of a host is later: a stamp or an answer that is, is a lie. About 146 years. */
#define CLOCK_MAX (INT64_MAX / 2)

void fresh_init(struct fresh *f, const struct fresh_conf *c)
{
	memset(f, 0, sizeof(*f));
	f->conf = *c;
	f->tag = c->tag;
	f->cut = true;
}

/* --- what is known ------------------------------------------------------------- */

/* R7 i: by how much two clocks may have drifted apart in apart_ns of one of them. Rounded up. */
static int64_t drifted(const struct fresh *f, int64_t apart_ns)
{
	uint64_t ppm = IS_BROKEN(DIFFERENCE_NO_DRIFT) ? 0 : 2ull * f->conf.drift_ppm;
	uint64_t ns = sat_muldiv((uint64_t)apart_ns, ppm, PPM - f->conf.drift_ppm);

	return ns < CLOCK_MAX ? (int64_t)ns + 1 : CLOCK_MAX;
}

/*
 * R7 h: the stamp by the proxy's own clock, or earlier. At the answer the proxy's clock was at
 * least `asked`, so the difference is none too large, however late question and answer were.
 */
static void date(struct fresh *f)
{
	int64_t since = f->stamp - f->answered; /* both in 0 .. CLOCK_MAX */
	int64_t slack, until;

	if (!f->known || f->stamp == 0)
		return;
	slack = drifted(f, since < 0 ? -since : since);
	if (__builtin_add_overflow(f->asked, since, &until) ||
	    __builtin_sub_overflow(until, slack, &until) ||
	    __builtin_add_overflow(until, f->conf.fresh_ns, &until))
		return;
	/* Each pair and each stamp proves something, also when another has proven more. */
	if (until > f->until.ns)
		f->until.ns = until;
}

/* R7 l: another life of the home is another member, and its clock may be another one. */
static void forget(struct fresh *f)
{
	if (IS_BROKEN(EVIDENCE_KEPT))
		return;
	f->known = false;
	f->awaits = false;
	f->stamp = 0;
	f->until.ns = 0;
}

bool fresh_covers(const struct fresh *f, uint32_t link, struct mono completed)
{
	return fresh_holds(f->link, f->until, link, completed);
}

int64_t fresh_wait_ns(int64_t fresh_ns, uint32_t drift_ppm)
{
	if (IS_BROKEN(WAIT_NO_DRIFT))
		return fresh_ns;
	if (IS_BROKEN(WAIT_ONE_DRIFT))
		return fresh_ns + (int64_t)sat_muldiv((uint64_t)fresh_ns, drift_ppm, PPM);
	return lease_break_ns(fresh_ns, 0, drift_ppm); /* R7 k */
}

/* --- events -------------------------------------------------------------------- */

static void beat_read(struct fresh *f, const struct step_event *ev, struct mono now)
{
	if (ev->link != f->link || ev->old == 0 || ev->old > CLOCK_MAX)
		return;
	if (IS_BROKEN(ANOTHER_BEAT) && ev->old != (uint64_t)f->stamp)
		f->until = mono_add(now, f->conf.fresh_ns);
	if (IS_BROKEN(DIFFERENCE_SEEN) &&
	    (!f->known || now.ns - (int64_t)ev->old < f->asked - f->answered)) {
		f->known = true;
		f->asked = now.ns;
		f->answered = (int64_t)ev->old;
	}
	f->stamp = (int64_t)ev->old;
	date(f);
}

static void result(struct fresh *f, const struct step_event *ev, struct mono now)
{
	bool read = f->reads && ev->tag == f->read_tag;

	if (!read && !(f->sends && ev->tag == f->send_tag))
		return;
	if (read)
		f->reads = false;
	else
		f->sends = false;
	if (read && ev->outcome == STEP_DONE)
		beat_read(f, ev, now);
	/* REFUSED: again after a check. */
	if ((ev->outcome == STEP_LOST || ev->outcome == STEP_UNKNOWN) && ev->link >= f->link)
		f->cut = true;
}

static void message(struct fresh *f, const struct step_event *ev, struct mono now)
{
	struct fresh_answer a;

	if (ev->host != f->conf.home || ev->len != sizeof(a))
		return;
	memcpy(&a, ev->message, sizeof(a));
	/* R7 h: of this question. That to an earlier one was given before this one was asked. */
	if (a.kind != FRESH_ANSWER || !f->awaits || a.serial != f->question.serial ||
	    a.clock_ns <= 0 || a.clock_ns > CLOCK_MAX)
		return;
	f->awaits = false;
	if (IS_BROKEN(DIFFERENCE_SEEN))
		return;
	f->known = true;
	f->asked = IS_BROKEN(DIFFERENCE_AT_ANSWER) ? now.ns : f->put_at.ns;
	f->answered = a.clock_ns;
	f->next_ask = mono_add(now, f->conf.ask_ns);
	date(f);
}

static void new_link(struct fresh *f, const struct step_event *ev, struct mono now)
{
	if (ev->host != f->conf.home || ev->link <= f->link)
		return;
	f->link = ev->link;
	f->cut = false;
	forget(f);
	f->next_read = now;
	f->next_ask = now;
}

/* --- operations ---------------------------------------------------------------- */

/* A tag that no outstanding operation has. */
static uint32_t next_tag(struct fresh *f)
{
	do
		f->tag = f->conf.tag + (f->tag - f->conf.tag + 1) % FRESH_TAGS;
	while ((f->reads && f->tag == f->read_tag) || (f->sends && f->tag == f->send_tag));
	return f->tag;
}

static void put_read(struct fresh *f, struct mono now, struct step_out *out)
{
	struct step_op op = {
		.kind = STEP_READ,
		.part = STEP_VERSIONS,
		.host = f->conf.home,
		.offset = f->conf.offset,
		.len = 8,
		.link = f->link,
		.tag = next_tag(f),
	};

	if (!step_put(out, op))
		return;
	f->reads = true;
	f->read_tag = op.tag;
	f->next_read = mono_add(now, f->conf.check_ns);
}

static void put_question(struct fresh *f, struct mono now, struct step_out *out)
{
	struct step_op op = {
		.kind = STEP_SEND,
		.host = f->conf.home,
		.len = sizeof(f->question),
		.data = &f->question,
		.link = f->link,
		.tag = next_tag(f),
	};

	if (!step_put(out, op))
		return;
	f->question.kind = FRESH_QUESTION;
	f->question.serial++;
	f->sends = true;
	f->awaits = true;
	f->send_tag = op.tag;
	f->put_at = now; /* R7 h: before the question is posted */
	/* An answer that takes longer would date every beat as too old. */
	f->next_ask = mono_add(now, f->conf.fresh_ns);
}

void fresh_step(struct fresh *f, const struct step_event *ev, struct mono now, struct step_out *out)
{
	if (ev->type == STEP_RESULT)
		result(f, ev, now);
	else if (ev->type == STEP_MESSAGE)
		message(f, ev, now);
	else if (ev->type == STEP_LINK)
		new_link(f, ev, now);
	if (f->cut)
		return;
	if (!f->reads && now.ns >= f->next_read.ns)
		put_read(f, now, out);
	if (!f->sends && now.ns >= f->next_ask.ns)
		put_question(f, now, out);
}

struct mono fresh_due(const struct fresh *f)
{
	struct mono due = { INT64_MAX };

	if (f->cut)
		return due;
	if (!f->reads)
		due = f->next_read;
	return f->sends ? due : mono_earlier(due, f->next_ask);
}

/* --- the home ------------------------------------------------------------------ */

void fresh_look(struct fresh_beat *b, struct mono now)
{
	b->stamp = now.ns; /* R7 g */
}

uint64_t fresh_found(struct fresh_beat *b, bool member)
{
	bool beats = member || IS_BROKEN(BEAT_ALONE);
	uint64_t beat = beats ? (uint64_t)b->stamp : 0; /* R7 f */

	b->stamp = 0;
	return beat;
}

bool fresh_reply(const void *message, uint32_t len, struct mono now, struct fresh_answer *answer)
{
	struct fresh_question q;

	if (len != sizeof(q))
		return false;
	memcpy(&q, message, sizeof(q));
	if (q.kind != FRESH_QUESTION)
		return false;
	*answer = (struct fresh_answer){ FRESH_ANSWER, q.serial, now.ns };
	return true;
}
