// SPDX-License-Identifier: GPL-2.0-or-later
/* outbox: keeps messages while they are sent. */
#include "src/cached/outbox.h"

#include <string.h>

#include "src/reconf/put.h"

void outbox_init(struct outbox *b, uint32_t tag)
{
	memset(b, 0, sizeof(*b));
	b->tag = tag;
	b->free = 1;
	for (uint32_t i = 0; i + 1 < OUTBOX_MAX; i++)
		b->letter[i].next = i + 2;
}

static void send(struct outbox *b, const struct outbox_wish *w, struct step_out *out)
{
	struct outbox_letter *l = b->free ? &b->letter[b->free - 1] : NULL;
	struct step_op op = { .kind = STEP_SEND, .host = w->host, .len = w->len };

	if (!l || b->waits[w->host] == OUTBOX_HOST_MAX) {
		b->dropped++;
		return;
	}
	op.data = l->data;
	op.tag = b->tag + b->free - 1;
	if (!step_put(out, op)) {
		b->dropped++;
		return;
	}
	memcpy(l->data, w->message, w->len);
	l->sent = true;
	b->free = l->next;
	b->waits[w->host]++;
}

/* Whatever became of it. */
static void result(struct outbox *b, const struct step_event *ev)
{
	uint32_t i = ev->tag - b->tag;

	if (i >= OUTBOX_MAX || !b->letter[i].sent)
		return;
	b->letter[i].sent = false;
	b->letter[i].next = b->free;
	b->free = i + 1;
	b->waits[ev->host]--;
}

void outbox_step(struct outbox *b, const struct step_event *ev, struct step_out *out)
{
	if (ev->type == STEP_RESULT)
		result(b, ev);
	else if (ev->type == STEP_ASK && ev->what == OUTBOX_SEND)
		send(b, ev->wish, out);
}
