// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * guest_missed: walks of the registry, and rings that were read -> queue pairs missed. guest.c and
 * guest_show.c call it. See guest_missed.h.
 */
#include "ibmon/guest_missed.h"

#include "src/core/units.h"

static struct missed_ring *find(struct missed *m, uint32_t id)
{
	for (uint32_t i = 0; i < m->rings; i++)
		if (m->ring[i].id == id)
			return &m->ring[i];
	return NULL;
}

static void all_leave(struct missed *m)
{
	for (uint32_t i = 0; i < m->rings; i++)
		m->ring[i].here = false;
}

void missed_detach(struct missed *m)
{
	all_leave(m);
	m->walked = false;
}

/* The number of rings that the walk before did not have. */
static uint64_t note_rings(struct missed *m, const struct registry *reg)
{
	uint64_t added = 0;

	all_leave(m);
	for (uint32_t i = 0; i < reg->rings; i++) {
		struct missed_ring *r;

		if (reg->ring[i].kind != RING_SQ)
			continue;
		r = find(m, reg->ring[i].id);
		if (r) {
			r->here = true;
			continue;
		}
		added++;
		if (m->rings < sizeof(m->ring) / sizeof(m->ring[0]))
			m->ring[m->rings++] = (struct missed_ring){ .id = reg->ring[i].id,
								    .here = true };
		else
			m->missed = sat_add(m->missed, 1);
	}
	return added;
}

/*
 * What the agent published before the first walk, and what it did not see until then, was before
 * our time.
 */
void missed_walk(struct missed *m, const struct registry *reg, uint64_t unseen)
{
	bool first = !m->walked || reg->agent_pid != m->agent_pid ||
		     reg->sqs_published < m->published;
	uint64_t added, published;

	if (first) { /* ids begin anew */
		all_leave(m);
		missed_settle(m);
	}
	added = note_rings(m, reg);
	if (first) {
		m->unseen = unseen;
	} else {
		published = reg->sqs_published - m->published;
		if (published > added)
			m->missed = sat_add(m->missed, published - added);
		missed_unseen(m, unseen);
	}
	m->walked = true;
	m->agent_pid = reg->agent_pid;
	m->published = reg->sqs_published;
}

void missed_unseen(struct missed *m, uint64_t unseen)
{
	if (m->walked && unseen > m->unseen)
		m->missed = sat_add(m->missed, unseen - m->unseen);
	m->unseen = unseen;
}

void missed_read(struct missed *m, uint32_t id)
{
	struct missed_ring *r = find(m, id);

	if (r)
		r->read = true;
}

void missed_again(struct missed *m, uint32_t id)
{
	struct missed_ring *r = find(m, id);

	if (r && !r->read)
		r->again = true;
}

void missed_hold(struct missed *m, uint32_t id)
{
	struct missed_ring *r = find(m, id);

	if (r)
		r->here = true;
}

void missed_settle(struct missed *m)
{
	for (uint32_t i = m->rings; i-- > 0;) {
		if (m->ring[i].here)
			continue;
		if (m->ring[i].read && !m->ring[i].again)
			m->read++;
		else if (m->ring[i].again)
			m->resumed++;
		else
			m->missed = sat_add(m->missed, 1);
		m->ring[i] = m->ring[--m->rings];
	}
}

uint64_t missed_count_read(const struct missed *m)
{
	uint64_t n = m->read;

	for (uint32_t i = 0; i < m->rings; i++)
		n += m->ring[i].read && !m->ring[i].again;
	return n;
}

uint64_t missed_count_resumed(const struct missed *m)
{
	uint64_t n = m->resumed;

	for (uint32_t i = 0; i < m->rings; i++)
		n += m->ring[i].again;
	return n;
}
