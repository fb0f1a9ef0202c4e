// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * referee: checks every event against the rules that transport.h has for all events. rig.c gives it
 * each event after a poll, before a test sees it.
 */
#include <stdio.h>
#include <string.h>

#include "tests/transport/referee.h"

static bool foul(struct referee *r, const struct transport_event *ev, const char *what)
{
	static const char *const name[] = { "RESULT", "UP", "DOWN", "MESSAGE", "ALARM" };

	snprintf(r->error, sizeof(r->error), "%s of host %u, link %u, tag %llu, outcome %d: %s",
		 (size_t)ev->type < 5 ? name[ev->type] : "event of no type", ev->host, ev->link,
		 (unsigned long long)ev->tag, (int)ev->outcome, what);
	return false;
}

static bool is_text(const struct transport_event *ev)
{
	return ev->text[0] && memchr(ev->text, 0, sizeof(ev->text));
}

static struct pending *find(struct referee *r, uint64_t tag)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->pending[i].tag == tag)
			return &r->pending[i];
	return NULL;
}

void referee_posted(struct referee *r, const struct transport_op *op, uint32_t link)
{
	r->posted[op->kind]++;
	if (r->n < RIG_OPS)
		r->pending[r->n] = (struct pending){ op->tag, op->kind, op->host, link, op->len };
	else
		snprintf(r->error, sizeof(r->error),
			 "more operations were taken than there is room");
	r->n += r->n < RIG_OPS;
}

static bool done(struct referee *r, const struct transport_event *ev, const struct pending *p)
{
	if (ev->why)
		return foul(r, ev, "DONE, and yet there is a why");
	if (ev->kind == TRANSPORT_READ && (!ev->data || ev->len != p->len))
		return foul(r, ev, "a READ that is DONE has not the data that was asked for");
	return true;
}

static bool result(struct referee *r, const struct transport_event *ev)
{
	struct pending *p = find(r, ev->tag), was;

	if (!p)
		return foul(r, ev, "no operation of this tag is outstanding");
	was = *p;
	*p = r->pending[--r->n];
	if (was.kind != ev->kind || was.host != ev->host)
		return foul(r, ev, "kind or host is not the operation's");
	if (was.link != ev->link)
		return foul(r, ev, "it was posted on another link");
	if (r->up[ev->host] != ev->link)
		return foul(r, ev, "its link was not up, by the events so far");
	if ((size_t)ev->outcome >= 4)
		return foul(r, ev, "there is no such outcome");
	r->outcomes[ev->outcome]++;
	if (ev->outcome == TRANSPORT_DONE)
		return done(r, ev, &was);
	if (ev->why >= 0)
		return foul(r, ev, "not DONE, and no -errno says why");
	if (ev->outcome == TRANSPORT_UNKNOWN && ev->kind == TRANSPORT_READ)
		return foul(r, ev, "a READ is LOST, never UNKNOWN");
	return true;
}

static bool up(struct referee *r, const struct transport_event *ev)
{
	r->ups++;
	if (r->up[ev->host])
		return foul(r, ev, "the link before is still up");
	if (ev->link <= r->last[ev->host])
		return foul(r, ev, "link numbers count up");
	if (!ev->generation)
		return foul(r, ev, "a generation is not 0");
	r->up[ev->host] = r->last[ev->host] = ev->link;
	return true;
}

static bool down(struct referee *r, const struct transport_event *ev)
{
	r->downs++;
	if (!r->up[ev->host] || r->up[ev->host] != ev->link)
		return foul(r, ev, "that link is not up");
	for (size_t i = 0; i < r->n; i++)
		if (r->pending[i].host == ev->host && r->pending[i].link == ev->link)
			return foul(r, ev, "an operation of it has no result yet");
	r->up[ev->host] = 0;
	return is_text(ev) ? true : foul(r, ev, "no sentence");
}

bool referee_event(struct referee *r, const struct transport_event *ev)
{
	bool named = ev->host >= 1 && ev->host <= TRANSPORT_HOSTS_MAX;

	if (!named && (ev->type != TRANSPORT_ALARM || ev->host))
		return foul(r, ev, "there is no such host");
	switch (ev->type) {
	case TRANSPORT_RESULT:
		return result(r, ev);
	case TRANSPORT_UP:
		return up(r, ev);
	case TRANSPORT_DOWN:
		return down(r, ev);
	case TRANSPORT_MESSAGE:
		r->messages++;
		if (ev->link || !ev->data || !ev->len || ev->len > TRANSPORT_MESSAGE_MAX)
			return foul(r, ev, "link is not 0, or there is no message, or too much");
		return true;
	case TRANSPORT_ALARM:
		r->alarms++;
		return !ev->link && is_text(ev) ? true : foul(r, ev, "link, or no sentence");
	}
	return foul(r, ev, "there is no such event");
}

static bool differ(struct referee *r, const char *what, uint64_t said, uint64_t counted)
{
	if (said == counted)
		return false;
	snprintf(r->error, sizeof(r->error), "stats: %s is %llu; counted were %llu", what,
		 (unsigned long long)said, (unsigned long long)counted);
	return true;
}

bool referee_audit(struct referee *r, const struct transport_stats *s)
{
	static const char *const kind[] = { "ops[READ]", "ops[CAS64]", "ops[FAA64]", "ops[SEND]" };
	static const char *const outcome[] = { "outcomes[DONE]", "outcomes[REFUSED]",
					       "outcomes[LOST]", "outcomes[UNKNOWN]" };

	for (int i = 0; i < TRANSPORT_KINDS; i++)
		if (differ(r, kind[i], s->ops[i], r->posted[i]))
			return false;
	for (int i = 0; i < 4; i++)
		if (differ(r, outcome[i], s->outcomes[i], r->outcomes[i]))
			return false;
	/* When many alarms come in a row, some are only counted. */
	return !differ(r, "links_up", s->links_up, r->ups) &&
	       !differ(r, "links_down", s->links_down, r->downs) &&
	       (s->alarms >= r->alarms || !differ(r, "alarms", s->alarms, r->alarms));
}
