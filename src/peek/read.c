// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * read: one host's region, READ after READ: header, host, services, nodes, words, loads, the host
 * again until its heartbeat has changed, and the loads again.
 *
 * main.c passes the transport's events and the time. What comes from a host is hostile: region.c
 * checks each copy. No process of the host takes part, but over the transport tcp.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "src/peek/peek.h"

enum { TRIES = 8 };		  /* of a READ whose record was being written each time */
#define EMPTY_NS (50 * NS_PER_MS) /* until a record is read again that was not written yet */

void peek_begin(struct peek_host *h, const struct cluster_host *conf)
{
	memset(h, 0, sizeof(*h));
	h->conf = conf;
}

static void fail(struct peek_host *h, const char *what)
{
	snprintf(h->note, sizeof(h->note), "%s", what);
	h->stage = PEEK_FAILED;
}

static void fail_region(struct peek_host *h, int rc)
{
	snprintf(h->note, sizeof(h->note), "its region %s", region_why(rc));
	h->stage = PEEK_FAILED;
}

/* --- the READs of a stage --------------------------------------------------------- */

/* Of these records: none means that there is nothing to read. */
static void plan_records(struct peek_host *h, enum region_which which, uint32_t n)
{
	h->reads = region_reads(&h->header, which, 0, n, h->read);
}

static void plan_bytes(struct peek_host *h, enum region_part part, uint32_t len)
{
	h->read[0] = (struct region_read){ .part = part, .len = len, .n = 1 };
	h->reads = 1;
}

static void begin_stage(struct peek_host *h, enum peek_stage stage)
{
	h->stage = stage;
	h->at = h->tries = h->reads = 0;
	h->began.ns = h->due.ns = 0;
	switch (stage) {
	case PEEK_HEADER:
		plan_bytes(h, REGION_TABLE, sizeof(struct region_header));
		break;
	case PEEK_HOST:
	case PEEK_BEAT:
		plan_records(h, REGION_T_HOST, 1);
		break;
	case PEEK_SERVICES:
		plan_records(h, REGION_T_SERVICES, h->host.services);
		break;
	case PEEK_NODES:
		plan_records(h, REGION_T_NODES, h->host.nodes);
		break;
	case PEEK_WORDS:
		plan_bytes(h, REGION_WORDS, REGION_WORDS_BYTES);
		break;
	case PEEK_LOADS:
	case PEEK_LOADS_AGAIN:
		plan_records(h, REGION_T_LOADS, h->header.table[REGION_T_LOADS].count);
		break;
	default:
		break;
	}
}

/* The next stage that has anything to read. */
static void next_stage(struct peek_host *h)
{
	do
		begin_stage(h, h->stage + 1);
	while (h->stage < PEEK_DONE && !h->reads);
}

/* --- results ---------------------------------------------------------------------- */

static int take_records(struct peek_host *h, enum region_which which, const void *data)
{
	const struct region_read *r = &h->read[h->at];
	int rc = 0;

	for (uint32_t i = r->first; !rc && i < r->first + r->n; i++) {
		const void *copy = region_in(&h->header, which, r, data, i);

		rc = which == REGION_T_SERVICES ? region_parse_service(copy, &h->service[i])
						: region_parse_node(copy, &h->node[i]);
	}
	return rc;
}

static int take_loads(struct peek_host *h, struct load_record *to, const void *data)
{
	const struct region_read *r = &h->read[h->at];

	for (uint32_t i = r->first; i < r->first + r->n; i++) {
		int rc = region_parse_load(region_in(&h->header, REGION_T_LOADS, r, data, i), i,
					   &to[i]);

		if (rc == -ENOMSG) /* there is no such node */
			to[i].head.seq = 0;
		else if (rc)
			return rc;
	}
	return 0;
}

/* The loads again. -EINPROGRESS: one has not been sampled since it was read first. */
static int take_newer_loads(struct peek_host *h, const void *data, struct mono now)
{
	const struct region_read *r = &h->read[h->at];
	int rc = take_loads(h, h->load[1], data);

	if (!h->began.ns)
		h->began = now;
	for (uint32_t i = r->first; !rc && i < r->first + r->n; i++)
		if (h->load[1][i].head.seq && h->load[1][i].beat == h->load[0][i].beat)
			rc = -EINPROGRESS;
	return rc;
}

/* Its heartbeat again. -EINPROGRESS: it has not changed yet. */
static int take_beat(struct peek_host *h, const void *data, struct mono now)
{
	struct region_host again;
	int rc = region_parse_host(&h->header, data, &again);

	if (rc)
		return rc;
	h->beats = again.beat != h->host.beat;
	if (!h->began.ns)
		h->began = now;
	return h->beats ? 0 : -EINPROGRESS;
}

static int take(struct peek_host *h, const void *data, struct mono now)
{
	switch (h->stage) {
	case PEEK_HEADER:
		return region_parse_header(data, (uint16_t)h->conf->number, h->generation,
					   &h->header);
	case PEEK_HOST:
		return region_parse_host(&h->header, data, &h->host);
	case PEEK_SERVICES:
		return take_records(h, REGION_T_SERVICES, data);
	case PEEK_NODES:
		return take_records(h, REGION_T_NODES, data);
	case PEEK_WORDS:
		memcpy(h->words, data, sizeof(h->words));
		return 0;
	case PEEK_LOADS:
		return take_loads(h, h->load[0], data);
	case PEEK_LOADS_AGAIN:
		return take_newer_loads(h, data, now);
	default:
		return take_beat(h, data, now);
	}
}

static void read_done(struct peek_host *h, const void *data, struct mono now)
{
	int rc = take(h, data, now);

	if (rc == -EINPROGRESS)
		return;
	/* A resexd that has just been started: its first record comes when its guests are known. */
	if (rc == -ENOMSG) {
		snprintf(h->note, sizeof(h->note),
			 "its region holds nothing yet: it was started just now; try again");
		h->due = mono_add(now, EMPTY_NS);
		return;
	}
	/* Torn: its owner was writing. A record is written in far less than a round trip. */
	if (rc == -EAGAIN && ++h->tries < TRIES)
		return;
	if (rc) {
		fail_region(h, rc);
		return;
	}
	h->tries = 0;
	h->note[0] = '\0';
	if (++h->at == h->reads)
		next_stage(h);
}

static void result(struct peek_host *h, const struct transport_event *ev, struct mono now)
{
	if (!h->posted || ev->tag != h->serial || peek_over(h))
		return;
	h->posted = false;
	if (ev->outcome == TRANSPORT_DONE && ev->len == h->read[h->at].len)
		read_done(h, ev->data, now);
	else if (ev->outcome == TRANSPORT_REFUSED)
		fail(h, "it refused to be read: see resex events on it");
	else
		fail(h, "it did not answer a READ in time");
}

void peek_event(struct peek_host *h, const struct transport_event *ev, struct mono now)
{
	if (ev->type == TRANSPORT_RESULT)
		result(h, ev, now);
	if (peek_over(h))
		return;
	if (ev->type == TRANSPORT_UP) {
		/* A newer link may be to another start: all is read anew. */
		h->generation = ev->generation;
		h->posted = h->beats = false;
		h->note[0] = '\0';
		memset(h->load, 0, sizeof(h->load));
		begin_stage(h, PEEK_HEADER);
	} else if (ev->type == TRANSPORT_DOWN) {
		h->stage = PEEK_LINK;
		snprintf(h->note, sizeof(h->note), "it %s", ev->text);
	} else if (ev->type == TRANSPORT_ALARM && h->stage == PEEK_LINK) {
		/* One of the two refuses the other: the next call would end in the same way. */
		fail(h, ev->text);
	}
}

/* --- time ------------------------------------------------------------------------- */

static const struct mono never = { INT64_MAX };

struct mono peek_step(struct peek_host *h, struct transport *t, const struct peek_pace *pace,
		      struct mono now)
{
	struct transport_op op = { .kind = TRANSPORT_READ,
				   .host = (uint16_t)h->conf->number,
				   .deadline = mono_add(now, pace->timeout_ns) };

	if (peek_over(h) || h->stage == PEEK_LINK || h->posted)
		return never;
	if (h->stage == PEEK_BEAT || h->stage == PEEK_LOADS_AGAIN) {
		if (h->began.ns && mono_sub(now, h->began) >= pace->silent_ns) {
			h->stage = PEEK_DONE;
			return never;
		}
	}
	if (mono_sub(now, h->due) < 0)
		return h->due;
	if (h->stage == PEEK_BEAT || h->stage == PEEK_LOADS_AGAIN)
		h->due = mono_add(now, pace->beat_ns);
	op.part = h->read[h->at].part; /* the directory has the transport's numbers */
	op.offset = h->read[h->at].offset;
	op.len = h->read[h->at].len;
	op.tag = ++h->serial;
	if (transport_post(t, &op, 1, now, NULL) == 1)
		h->posted = true;
	else
		fail(h, "its region is smaller than this release expects: run the same release");
	return never;
}

void peek_give_up(struct peek_host *h)
{
	if (peek_over(h))
		return;
	if (h->stage == PEEK_BEAT || h->stage == PEEK_LOADS_AGAIN) {
		h->stage = PEEK_DONE;
		return;
	}
	if (!h->note[0])
		snprintf(h->note, sizeof(h->note),
			 h->stage == PEEK_LINK
				 ? "no link: its resexd does not run, cannot be reached at %s, or "
				   "refuses this client: run resex events there"
				 : "there was no time to read it: give a longer --within",
			 h->conf->address);
	h->stage = PEEK_FAILED;
}
