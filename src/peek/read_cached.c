// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * read_cached: one cached host's region, READ after READ: header; of an application server also
 * beat, log word and version words, ack words, and the beat again until it has changed.
 *
 * main.c passes the transport's events and the time. What comes from a host is hostile: region.c
 * checks the header, and words are only counted and shown.
 */
#include <stdio.h>
#include <string.h>

#include "src/cache/cache.h"
#include "src/peek/peek.h"

void peek_cached_begin(struct peek_cached *h, const struct cluster_cached *conf)
{
	memset(h, 0, sizeof(*h));
	h->conf = conf;
}

static void fail(struct peek_cached *h, const char *what)
{
	snprintf(h->note, sizeof(h->note), "%s", what);
	h->stage = PEEK_CACHED_FAILED;
}

static void begin_stage(struct peek_cached *h, enum peek_cached_stage stage)
{
	const uint32_t bytes[] = {
		[PEEK_CACHED_HEADER] = sizeof(struct region_header),
		[PEEK_CACHED_WORDS] = region_cache_word_offset(h->serves.words),
		[PEEK_CACHED_ACKS] = REGION_CACHE_ACKS_STRIDE * h->serves.slots,
		[PEEK_CACHED_BEAT] = 8,
	};

	h->stage = stage;
	h->at = 0;
	h->began.ns = h->due.ns = 0;
	if (!peek_cached_over(h))
		h->bytes = bytes[stage];
}

/* --- results ---------------------------------------------------------------------- */

static void take_header(struct peek_cached *h, const void *data)
{
	int rc = region_parse_cache(data, (uint16_t)h->conf->number, h->generation, &h->serves);
	bool app = h->conf->role == CLUSTER_APP;

	if (rc) {
		snprintf(h->note, sizeof(h->note), "its region %s", region_why(rc));
		h->stage = PEEK_CACHED_FAILED;
	} else if (app != (h->serves.words > 0)) {
		fail(h, app ? "it is a proxy: correct its role in cluster.json"
			    : "it is an application server: correct its role in cluster.json");
	} else {
		begin_stage(h, app ? PEEK_CACHED_WORDS : PEEK_CACHED_DONE);
	}
}

static uint64_t word_in(const void *data, uint32_t offset)
{
	uint64_t word;

	memcpy(&word, (const uint8_t *)data + offset, sizeof(word));
	return word;
}

/* The first READ has the beat and the log word, too. */
static void take_words(struct peek_cached *h, const void *data)
{
	uint32_t from = h->at < REGION_CACHE_WORDS ? REGION_CACHE_WORDS - h->at : 0;

	if (h->at == 0) {
		h->beat = word_in(data, REGION_CACHE_BEAT);
		h->log = word_in(data, REGION_CACHE_LOG);
		h->open = h->moved = 0;
	}
	for (uint32_t i = from; i < h->len; i += 8) {
		uint64_t word = word_in(data, i);

		h->open += word != 0;
		h->moved += cache_word_count(word) != 0;
	}
}

static void take_piece(struct peek_cached *h, const void *data)
{
	if (h->stage == PEEK_CACHED_WORDS)
		take_words(h, data);
	else
		memcpy((uint8_t *)h->ack + h->at, data, h->len);
	h->at += h->len;
	if (h->at < h->bytes)
		return;
	/* A closed one beats no more. */
	begin_stage(h, h->stage == PEEK_CACHED_WORDS ? PEEK_CACHED_ACKS
		       : h->beat		     ? PEEK_CACHED_BEAT
						     : PEEK_CACHED_DONE);
}

static void take_beat(struct peek_cached *h, const void *data, struct mono now)
{
	if (!h->began.ns)
		h->began = now;
	h->beats = word_in(data, 0) != h->beat;
	if (h->beats)
		h->stage = PEEK_CACHED_DONE;
}

static void result(struct peek_cached *h, const struct transport_event *ev, struct mono now)
{
	if (!h->posted || ev->tag != h->serial || peek_cached_over(h))
		return;
	h->posted = false;
	if (ev->outcome == TRANSPORT_REFUSED) {
		fail(h, "it refused to be read: see its log");
	} else if (ev->outcome != TRANSPORT_DONE || ev->len != h->len) {
		fail(h, "it did not answer a READ in time");
	} else if (h->stage == PEEK_CACHED_HEADER) {
		take_header(h, ev->data);
	} else if (h->stage == PEEK_CACHED_BEAT) {
		take_beat(h, ev->data, now);
	} else {
		take_piece(h, ev->data);
	}
}

void peek_cached_event(struct peek_cached *h, const struct transport_event *ev, struct mono now)
{
	if (ev->type == TRANSPORT_RESULT)
		result(h, ev, now);
	if (peek_cached_over(h))
		return;
	if (ev->type == TRANSPORT_UP) {
		/* A newer link may be to another start: all is read anew. */
		h->generation = ev->generation;
		h->posted = h->beats = false;
		h->note[0] = '\0';
		begin_stage(h, PEEK_CACHED_HEADER);
	} else if (ev->type == TRANSPORT_DOWN) {
		h->stage = PEEK_CACHED_LINK;
		snprintf(h->note, sizeof(h->note), "it %s", ev->text);
	} else if (ev->type == TRANSPORT_ALARM && h->stage == PEEK_CACHED_LINK) {
		/* One of the two refuses the other: the next call would end in the same way. */
		fail(h, ev->text);
	}
}

/* --- time ------------------------------------------------------------------------- */

static const struct mono never = { INT64_MAX };

/* The next piece of this stage. */
static void plan(const struct peek_cached *h, struct transport_op *op)
{
	uint32_t left = h->bytes - h->at;

	op->len = left < TRANSPORT_READ_MAX ? left : TRANSPORT_READ_MAX;
	op->offset = h->at;
	op->part = TRANSPORT_VERSIONS;
	if (h->stage == PEEK_CACHED_HEADER)
		op->part = TRANSPORT_TABLE;
	if (h->stage == PEEK_CACHED_ACKS) {
		op->part = TRANSPORT_WORDS;
		op->offset += REGION_CACHE_ACKS;
	}
}

struct mono peek_cached_step(struct peek_cached *h, struct transport *t,
			     const struct peek_pace *pace, struct mono now)
{
	struct transport_op op = { .kind = TRANSPORT_READ,
				   .host = (uint16_t)h->conf->number,
				   .deadline = mono_add(now, pace->timeout_ns) };

	if (peek_cached_over(h) || h->stage == PEEK_CACHED_LINK || h->posted)
		return never;
	if (h->stage == PEEK_CACHED_BEAT) {
		if (h->began.ns && mono_sub(now, h->began) >= pace->silent_ns) {
			h->stage = PEEK_CACHED_DONE;
			return never;
		}
		if (mono_sub(now, h->due) < 0)
			return h->due;
		h->due = mono_add(now, pace->beat_ns);
	}
	plan(h, &op);
	op.tag = ++h->serial;
	h->len = op.len;
	if (transport_post(t, &op, 1, now, NULL) == 1)
		h->posted = true;
	else
		fail(h, "its region is smaller than it says: run the same release");
	return never;
}

void peek_cached_give_up(struct peek_cached *h)
{
	if (peek_cached_over(h))
		return;
	if (h->stage == PEEK_CACHED_BEAT) {
		h->stage = PEEK_CACHED_DONE;
		return;
	}
	if (!h->note[0])
		snprintf(h->note, sizeof(h->note),
			 h->stage == PEEK_CACHED_LINK
				 ? "no link: its resex-cached does not run, cannot be reached at "
				   "%s, or refuses this client: see its log"
				 : "there was no time to read it: give a longer --within",
			 h->conf->address);
	h->stage = PEEK_CACHED_FAILED;
}
