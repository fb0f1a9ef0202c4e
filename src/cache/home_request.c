// SPDX-License-Identifier: GPL-2.0-or-later
/* home_request: requests of fills on other hosts, and their answers. See home.h. */
#include <string.h>

#include "src/cache/home.h"

_Static_assert(sizeof(struct home_request) <= STEP_MESSAGE_MAX, "it fits into a message");

static bool is_request(const struct step_event *ev)
{
	uint32_t kind;

	if (ev->len < sizeof(kind))
		return false;
	memcpy(&kind, ev->message, sizeof(kind));
	return kind == HOME_REQUEST;
}

/* len: what came of it, <= sizeof(*q). It must be all that q counts, and no more. */
static enum home_refusal register_request(struct home *h, const struct home_request *q,
					  uint32_t len)
{
	struct home_snapshot s = { .oldest = q->oldest, .next = q->next, .n = q->running };
	struct home_fill f = {
		.word = q->word,
		.version = q->version,
		.log = q->log,
		.tags = q->tags,
		.tag = q->list,
		.snapshot = q->oldest ? &s : NULL,
	};

	if (len != home_request_bytes(q->tags, q->running))
		return HOME_BAD;
	if (!f.snapshot && (q->next || q->running))
		return HOME_BAD;
	s.running = q->list + q->tags;
	return home_register(h, &f);
}

bool home_reply(struct home *h, const struct step_event *ev, struct home_answer *answer)
{
	struct home_request q;
	enum home_refusal refusal;

	if (!is_request(ev))
		return false;
	if (ev->host < 1 || ev->host > h->conf.members || ev->len > sizeof(q) ||
	    ev->len < offsetof(struct home_request, list)) {
		h->refused++;
		return false;
	}
	memcpy(&q, ev->message, ev->len);
	refusal = register_request(h, &q, ev->len);
	h->refused += refusal == HOME_BAD;
	*answer = (struct home_answer){
		.kind = HOME_ANSWER,
		.number = q.number,
		.serial = q.serial,
		.version = refusal == HOME_BAD ? 0 : h->conf.word[q.word],
		.refusal = (uint32_t)refusal,
	};
	return true;
}
