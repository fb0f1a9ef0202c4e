// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * events: the queue of events for the user.
 *
 * It never grows, and never loses a RESULT, an UP or a DOWN. It holds at most
 * TRANSPORT_DEPTH results, one UP and one DOWN of a link, because a link is not called
 * again before the user has taken them. Messages and alarms, which other hosts cause, have
 * room of their own. Those beyond it are counted, and an alarm says so.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/transport/front/front.h"

enum {
	MESSAGES = TRANSPORT_HOSTS_MAX * TRANSPORT_DEPTH,
	MESSAGES_HOST = 8 * TRANSPORT_DEPTH, /* of one host: others have room, too */
	ALARMS = 64,
	ALARM_BURST = 4, /* of one host; then one a second */
	EVENTS = TRANSPORT_HOSTS_MAX * (TRANSPORT_DEPTH + 2) + MESSAGES + ALARMS,
};

/* Bytes of an event without text, the NUL included. A text is most of an event; most have none. */
enum { PLAIN_EVENT = offsetof(struct transport_event, text) + 1 };

struct front_event {
	struct transport_event ev;
	struct transport_slot *slot; /* of a RESULT */
};

struct alarm_rate {
	struct mono since;
	uint32_t spent; /* of ALARM_BURST */
	uint32_t hidden;
};

struct front_queue {
	struct front_event event[EVENTS];
	uint32_t head, n;
	uint8_t message[MESSAGES][TRANSPORT_MESSAGE_MAX];
	uint32_t message_head, messages;
	uint32_t messages_returned; /* of messages: in use by the user until the next poll */
	uint16_t messages_of[TRANSPORT_HOSTS_MAX + 1];
	uint32_t alarms;
	struct alarm_rate rate[TRANSPORT_HOSTS_MAX + 1];
};

int events_init(struct transport *t)
{
	t->queue = calloc(1, sizeof(*t->queue));
	return t->queue ? 0 : -ENOMEM;
}

void events_fini(struct transport *t)
{
	free(t->queue);
	t->queue = NULL;
}

bool events_any(const struct transport *t)
{
	return t->queue->n > 0;
}

/* i: less than twice EVENTS. */
static uint32_t in_ring(uint32_t i)
{
	return i < EVENTS ? i : i - EVENTS;
}

/*
 * EVENTS is the sum of the bounds of all types, and each caller below keeps its own bound: so there
 * is always room, and no event must be dropped or refused here.
 */
static struct transport_event *push_event(struct transport *t, enum transport_event_type type,
					  uint16_t host, struct transport_slot *slot)
{
	struct front_queue *q = t->queue;
	struct front_event *e;

	/* The same places again, which are in the CPU's cache. */
	if (!q->n)
		q->head = 0;
	e = &q->event[in_ring(q->head + q->n++)];
	memset(&e->ev, 0, PLAIN_EVENT);
	e->ev.type = type;
	e->ev.host = host;
	e->slot = slot;
	return &e->ev;
}

static struct transport_event *push_result(struct transport *t, struct transport_out *o,
					   struct transport_slot *s, enum transport_outcome outcome,
					   int why)
{
	struct transport_event *ev = push_event(t, TRANSPORT_RESULT, out_host(t, o), s);

	ev->link = o->link;
	ev->why = why;
	ev->kind = s->op.kind;
	ev->outcome = outcome;
	ev->tag = s->op.tag;
	o->events++;
	t->stats.outcomes[outcome]++;
	return ev;
}

struct transport_event *events_result(struct transport *t, struct transport_out *o,
				      struct transport_slot *s, enum transport_outcome outcome,
				      int why)
{
	struct transport_event *ev = push_result(t, o, s, outcome, why);

	slot_move(o, s, SLOT_OVER);
	return ev;
}

void events_late(struct transport *t, struct transport_out *o, struct transport_slot *s)
{
	push_result(t, o, s, TRANSPORT_LOST, -ETIME);
	s->told = false;
	slot_move(o, s, SLOT_LATE);
}

void events_late_over(struct transport_out *o, struct transport_slot *s)
{
	slot_move(o, s, s->told ? SLOT_FREE : SLOT_OVER);
}

void events_link(struct transport *t, struct transport_out *o, enum transport_event_type type,
		 int why, const char *text)
{
	struct transport_event *ev = push_event(t, type, out_host(t, o), NULL);

	ev->link = o->link;
	ev->why = why;
	if (type == TRANSPORT_UP)
		ev->generation = o->generation;
	if (text)
		snprintf(ev->text, sizeof(ev->text), "host %u (%s): %s", ev->host, o->peer.name,
			 text);
	o->events++;
}

bool front_message_fits(const struct transport *t, uint16_t host)
{
	return t->queue->messages < MESSAGES && t->queue->messages_of[host] < MESSAGES_HOST;
}

void front_message(struct transport *t, uint16_t host, const void *data, uint32_t len)
{
	struct front_queue *q = t->queue;
	struct transport_event *ev;
	uint8_t *room;

	if (!host || host > TRANSPORT_HOSTS_MAX || !len || len > TRANSPORT_MESSAGE_MAX)
		return;
	if (!front_message_fits(t, host)) {
		front_alarm(
			t, host,
			"a message of host %u was dropped: it sends faster than this host receives",
			host);
		return;
	}
	room = q->message[(q->message_head + q->messages++) % MESSAGES];
	memcpy(room, data, len);
	q->messages_of[host]++;
	ev = push_event(t, TRANSPORT_MESSAGE, host, NULL);
	ev->data = room;
	ev->len = len;
}

/* Rate-limit the alarms of one host. */
static bool may_alarm(struct transport *t, struct alarm_rate *r)
{
	int64_t passed = mono_sub(t->now, r->since) / NS_PER_S;

	/* One more alarm a second, up to the burst. If time went back, begin with a full burst. */
	if (passed) {
		r->spent = passed < 0 || passed >= r->spent ? 0 : r->spent - (uint32_t)passed;
		r->since = t->now;
	}
	if (r->spent == ALARM_BURST || t->queue->alarms == ALARMS) {
		r->hidden++;
		return false;
	}
	r->spent++;
	t->queue->alarms++;
	return true;
}

void front_alarm(struct transport *t, uint16_t host, const char *fmt, ...)
{
	struct alarm_rate *r;
	struct transport_event *ev;
	char more[32] = "";
	va_list ap;

	/* Alarms without a known host share one rate: strangers cannot use up a host's alarms. */
	if (host > TRANSPORT_HOSTS_MAX)
		host = 0;
	r = &t->queue->rate[host];
	t->stats.alarms++;
	if (!may_alarm(t, r))
		return;
	ev = push_event(t, TRANSPORT_ALARM, host, NULL);
	va_start(ap, fmt);
	vsnprintf(ev->text, sizeof(ev->text), fmt, ap);
	va_end(ap);
	if (r->hidden)
		snprintf(more, sizeof(more), " (and %u more)", r->hidden);
	if (strlen(ev->text) + strlen(more) < sizeof(ev->text)) /* or a word would be cut */
		strcat(ev->text, more);
	r->hidden = 0;
}

void events_return(struct transport *t)
{
	struct front_queue *q = t->queue;

	/*
	 * Messages leave the ring in the order in which they came: the returned ones are its
	 * oldest.
	 */
	q->message_head = (q->message_head + q->messages_returned) % MESSAGES;
	q->messages -= q->messages_returned;
	q->messages_returned = 0;
	if (hostset_empty(&t->returned))
		return;
	for (uint16_t h = hostset_next(&t->returned, 0); h; h = hostset_next(&t->returned, h)) {
		struct transport_out *o = &t->out[h - 1];

		while (o->returned)
			slot_move(o, &o->slot[__builtin_ctz(o->returned)], SLOT_FREE);
	}
	t->returned = (struct hostset){ { 0 } };
}

/* An event of a link left the queue. Only the data of a READ still needs the slot. */
static void link_event_taken(struct transport *t, const struct front_event *e)
{
	struct transport_out *o = &t->out[e->ev.host - 1];

	if (e->slot) {
		if (e->slot->round > t->round)
			t->round = e->slot->round;
		if (e->ev.data)
			hostset_set(&t->returned, e->ev.host, true);
		if (e->slot->state == SLOT_LATE)
			e->slot->told = true;
		else
			slot_move(o, e->slot, e->ev.data ? SLOT_RETURNED : SLOT_FREE);
	}
	/* A link is not called again while events of it wait: now it may be. */
	if (!--o->events && o->state == LINK_WAITS)
		front_due(t, o->due);
}

size_t events_take(struct transport *t, struct transport_event *ev, size_t max)
{
	struct front_queue *q = t->queue;
	size_t n;

	for (n = 0; n < max && q->n; n++) {
		const struct front_event *e = &q->event[q->head];

		if (e->ev.text[0])
			ev[n] = e->ev;
		else
			memcpy(&ev[n], &e->ev, PLAIN_EVENT);
		q->head = in_ring(q->head + 1);
		q->n--;
		if (e->ev.type == TRANSPORT_ALARM) {
			q->alarms--;
		} else if (e->ev.type == TRANSPORT_MESSAGE) {
			/*
			 * The user reads the message until the next poll: only then is its place
			 * free. But it no longer counts against its sender.
			 */
			q->messages_returned++;
			q->messages_of[e->ev.host]--;
		} else {
			link_event_taken(t, e);
		}
	}
	return n;
}
