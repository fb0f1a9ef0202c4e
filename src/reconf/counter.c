// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * counter: read the own shared counter; keep the history T.
 *
 * The dual update counters are from section 3.1.2, the history T from 3.1.3, of Balaji et al. (see
 * choose.c). The paper compares for "more than"; counter.h says why this compares for "not equal".
 * move_locks.c asks for a look twice in a move: before the locks, and under them.
 */
#include <string.h>

#include "src/reconf/counter.h"
#include "src/reconf/put.h"

void counter_init(struct counter *c, const struct counter_conf *conf)
{
	memset(c, 0, sizeof(*c));
	c->conf = *conf;
	c->tag = conf->tag;
}

static void put_read(struct counter *c, struct step_out *out)
{
	/*
	 * A new tag for each READ: the result of one that was given up has another, and is ignored.
	 */
	uint32_t tag = c->conf.tag + (c->tag - c->conf.tag + 1) % COUNTER_TAGS;
	struct step_op op = {
		.kind = STEP_READ,
		.host = c->conf.self,
		.offset = region_counter_offset(c->conf.service),
		.len = 8,
		.tag = tag,
	};

	if (c->state != COUNTER_LOOKING || c->out || c->cut || !step_put(out, op))
		return;
	c->out = true;
	c->tag = tag;
}

static void compare(struct counter *c, uint64_t shared)
{
	/* The first value is only a beginning: moves before it may have changed this load, too. */
	bool ahead = !c->known || shared != c->local;

	c->state = ahead ? COUNTER_AHEAD : COUNTER_EQUAL;
	c->local = shared; /* rule: counter ahead: copy it */
	c->known = true;
	if (ahead)
		c->highs = 0; /* rule: and the history T starts again */
}

static void read_result(struct counter *c, const struct step_event *ev)
{
	if (!c->out || ev->tag != c->tag)
		return;
	c->out = false;
	if (ev->outcome == STEP_DONE) {
		compare(c, ev->old);
	} else if (ev->outcome == STEP_REFUSED) {
		c->state = COUNTER_UNREAD;
	} else {
		/*
		 * A READ changes nothing, so LOST and UNKNOWN are the same: read again on a newer
		 * link.
		 */
		c->cut = true;
		c->link = ev->link;
	}
}

void counter_step(struct counter *c, const struct step_event *ev, struct mono now,
		  struct step_out *out)
{
	(void)now;
	if (ev->type == STEP_RESULT) {
		read_result(c, ev);
	} else if (ev->type == STEP_LINK && ev->host == c->conf.self && ev->link > c->link) {
		c->cut = false;
	} else if (ev->type == STEP_ASK && ev->what == COUNTER_LOOK) {
		c->state = COUNTER_LOOKING;
		/* An earlier READ is too old: rule 4 needs a value from after the locks. */
		c->out = false;
	}
	put_read(c, out);
}

enum counter_state counter_state(const struct counter *c)
{
	return c->state;
}

void counter_check(struct counter *c, bool high)
{
	/* In a row: a small burst must not cause a move (the paper, 3.1.3). */
	c->highs = !high ? 0 : c->highs < UINT32_MAX ? c->highs + 1 : c->highs;
}

bool counter_high_for_t(const struct counter *c)
{
	return c->highs >= c->conf.checks;
}

void counter_moved(struct counter *c)
{
	c->highs = 0; /* rule: own move made: the history T starts again */
}
