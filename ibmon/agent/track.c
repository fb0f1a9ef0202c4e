// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * track: mappings of users -> rings, published to the sink and withdrawn. agent.c calls it
 * for each scan. track_users.c finds the users, track_kinds.c the kinds of rings. See
 * track.h.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ibmon/agent/proc.h"
#include "ibmon/agent/track.h"
#include "ibmon/agent/track_priv.h"
#include "resex/guest_abi.h"

int track_open(struct track **out, const struct track_sink *sink, void *ctx, const struct log *log)
{
	struct track *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->sink = sink;
	t->ctx = ctx;
	t->log = log;
	devices_init(&t->devices, DEVICES_SYSFS, log);
	*out = t;
	return 0;
}

static void ring_free(struct track_ring *r)
{
	free(r->frame);
	free(r);
}

void track_close(struct track *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->rings; i++)
		ring_free(t->ring[i]);
	track_users_close(t);
	track_qpns_close(t);
	devices_close(&t->devices);
	free(t);
}

size_t track_rings(const struct track *t)
{
	return t->rings;
}

const struct track_ring *track_ring(const struct track *t, size_t i)
{
	return t->ring[i];
}

void track_devices(struct track *t)
{
	devices_forget(&t->devices);
}

/* The sink's begin(), once before the first change of a scan. */
static void sink_begin(struct track *t)
{
	if (!t->writing)
		t->sink->begin(t->ctx);
	t->writing = true;
}

/*
 * Withdrawn by publish_all(), so that readers wait only while pages are written, not while the
 * kinds of rings are found. A ring that was refused for lack of room may fit from then on.
 */
static void withdraw_ring(struct track *t, struct track_ring *r)
{
	if (!r->id)
		return;
	t->withdraw[t->withdraws++] = r->id;
	r->id = 0;
	t->room = true;
	t->changes++;
}

/* The order of the others must stay: classify needs it. */
static void ring_drop(struct track *t, size_t i)
{
	struct track_ring *r = t->ring[i];

	track_qpns_drop(t, r);
	withdraw_ring(t, r);
	log_msg(t->log, LOG_LVL_DEBUG, "pid %d (%s): ring at offset 0x%llx is gone", (int)r->owner,
		r->comm, (unsigned long long)r->what.pgoff);
	ring_free(r);
	memmove(&t->ring[i], &t->ring[i + 1], (t->rings - i - 1) * sizeof(t->ring[0]));
	t->rings--;
	t->changes++;
}

/* The ring of a mapping, by device, page offset and size. NULL: a new one. */
static struct track_ring *ring_find(struct track *t, const struct maps_ring *m)
{
	for (size_t i = 0; i < t->rings; i++) {
		struct track_ring *r = t->ring[i];

		if (r->what.pgoff == m->pgoff && r->uverbs == m->uverbs &&
		    r->what.bytes == m->end - m->start)
			return r;
	}
	return NULL;
}

/*
 * Check the mapping and the header it begins with. A new ring, or NULL. The name in maps
 * can be anything, so the device of the mapped file is compared too. The header is the
 * process's memory: only values that fit the size of the mapping count.
 */
static struct track_ring *ring_read(struct track *t, const struct track_user *u,
				    const struct maps_ring *m)
{
	const pid_t pid = u->pid;
	const struct device *dev = devices_find(&t->devices, m->uverbs);
	uint32_t header[2];
	struct track_ring *r;
	uint64_t pages;
	dev_t mapped;

	if (!dev || !dev->rxe || proc_mapped_device(pid, m, &mapped) || mapped != dev->dev)
		return NULL;
	if (proc_read(pid, m->start, header, sizeof(header)) ||
	    !classify_header(header[0], header[1], m->end - m->start))
		return NULL;
	r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	r->what.pgoff = m->pgoff;
	r->what.bytes = m->end - m->start;
	r->what.elem = 1u << header[0];
	r->what.slots = header[1] + 1;
	/* a ring too large to be published: only its first frame is read, to notice changes */
	pages = r->what.bytes / HEADER_PAGE;
	r->frames = pages <= GUEST_RING_FRAMES_MAX ? (uint32_t)pages : 1;
	r->too_large = pages > GUEST_RING_FRAMES_MAX;
	if (r->too_large)
		log_msg(t->log, LOG_LVL_WARNING,
			"pid %d: a ring of %u entries is not published: it has more than %d pages",
			(int)pid, r->what.slots, GUEST_RING_FRAMES_MAX);
	r->frame = calloc(r->frames, sizeof(*r->frame));
	if (!r->frame || pagemap_frames(&t->pagemap, m->start, r->frames, r->frame)) {
		ring_free(r);
		return NULL;
	}
	return r;
}

/* One name for all its rings, and one look. */
static void owner_name(const struct track *t, struct track_ring *r)
{
	for (size_t i = 0; i < t->rings; i++) {
		if (t->ring[i]->owner != r->owner)
			continue;
		memcpy(r->comm, t->ring[i]->comm, sizeof(r->comm));
		return;
	}
	proc_comm(r->owner, r->comm);
}

/*
 * Add the ring of a mapping. NULL: not a ring of rxe, or no room. The first process in
 * which a ring is found is its owner, also when a child maps it later.
 */
static struct track_ring *ring_add(struct track *t, const struct track_user *u,
				   const struct maps_ring *m, struct mono now)
{
	const pid_t pid = u->pid;
	struct track_ring *r;
	size_t at = t->rings;

	if (t->rings == TRACK_RINGS_MAX) {
		if (!t->warned_rings)
			log_msg(t->log, LOG_LVL_WARNING,
				"more than %d rings: those of pid %d and later ones are not "
				"watched",
				TRACK_RINGS_MAX, (int)pid);
		t->warned_rings = true;
		return NULL;
	}
	r = ring_read(t, u, m);
	if (!r)
		return NULL;
	r->uverbs = m->uverbs;
	r->owner = pid;
	r->found = now;
	owner_name(t, r);
	/* sorted by device and page offset: classify needs that order */
	while (at > 0 && (t->ring[at - 1]->uverbs > r->uverbs ||
			  (t->ring[at - 1]->uverbs == r->uverbs &&
			   t->ring[at - 1]->what.pgoff > r->what.pgoff)))
		at--;
	memmove(&t->ring[at + 1], &t->ring[at], (t->rings - at) * sizeof(t->ring[0]));
	t->ring[at] = r;
	t->rings++;
	t->changes++;
	return r;
}

/* Find new rings of a user, and note those that it still maps. False: it maps none. */
static bool user_scan(struct track *t, const struct track_user *u, struct mono now)
{
	int n = proc_rings(u->pid, t->found, TRACK_USER_RINGS_MAX);

	/* After the mappings were read: each of them has its frames by now. */
	pagemap_init(&t->pagemap, u->pagemap);
	for (int i = 0; i < n; i++) {
		const struct maps_ring *m = &t->found[i];
		struct track_ring *r = ring_find(t, m);

		if (r && !track_same_frame(t, r, m->start)) {
			for (size_t k = 0; k < t->rings; k++)
				if (t->ring[k] == r)
					ring_drop(t, k);
			r = NULL;
		}
		if (!r)
			r = ring_add(t, u, m, now);
		if (!r || r->seen == t->scan)
			continue;
		r->seen = t->scan;
		r->pid = u->pid;
		r->addr = m->start;
	}
	return n > 0;
}

/* A ring of this kind is published once. */
static void publish_ring(struct track *t, struct track_ring *r, enum ring_class kind)
{
	int rc;

	if (r->id || r->refused || r->too_large || r->what.kind != kind)
		return;
	sink_begin(t);
	rc = t->sink->publish(t->ctx, r, &r->id);
	if (rc == 0) {
		r->published = kind;
		t->changes++;
		return;
	}
	r->refused = true;
	if (!t->warned_full)
		log_msg(t->log, LOG_LVL_WARNING,
			"pid %d (%s): a ring of %u pages, and maybe later ones, cannot be "
			"published now: %s",
			(int)r->owner, r->comm, r->frames,
			rc == -ENOSPC ? "the guest ABI has no room left" : strerror(-rc));
	t->warned_full = true;
}

static void withdraw_noted(struct track *t)
{
	for (size_t i = 0; i < t->withdraws; i++) {
		sink_begin(t);
		t->sink->withdraw(t->ctx, t->withdraw[i]);
	}
	t->withdraws = 0;
	for (size_t i = 0; t->room && i < t->rings; i++)
		t->ring[i]->refused = false;
	t->room = false;
}

/* The number of send queues that were refused. */
static uint32_t publish_send_queues(struct track *t)
{
	uint32_t refused = 0;

	for (size_t i = 0; i < t->rings; i++) {
		publish_ring(t, t->ring[i], CLASS_SQ);
		refused += t->ring[i]->refused && t->ring[i]->what.kind == CLASS_SQ;
	}
	return refused;
}

/* Completion queues give way to n send queues, which alone are charged. False: there are none. */
static bool give_way(struct track *t, uint32_t n)
{
	for (size_t i = 0; i < t->rings && t->withdraws < n; i++)
		if (t->ring[i]->what.kind == CLASS_CQ)
			withdraw_ring(t, t->ring[i]);
	return t->withdraws;
}

/*
 * Withdraw before publishing: that may make room. A ring whose kind was corrected is withdrawn, and
 * published again as what it is.
 */
static void publish_all(struct track *t)
{
	uint32_t refused, unpublished = 0;

	for (size_t i = 0; i < t->rings; i++)
		if (t->ring[i]->id && t->ring[i]->what.kind != t->ring[i]->published)
			withdraw_ring(t, t->ring[i]);
	withdraw_noted(t);
	while ((refused = publish_send_queues(t)) && give_way(t, refused))
		withdraw_noted(t);
	for (size_t i = 0; i < t->rings; i++) {
		const struct track_ring *r = t->ring[i];

		if (!refused)
			publish_ring(t, t->ring[i], CLASS_CQ);
		unpublished += r->what.kind == CLASS_SQ && !r->id;
	}
	if (unpublished != t->unpublished)
		t->sink->unpublished(t->ctx, unpublished);
	t->unpublished = unpublished;
}

/* publish_all() withdraws a ring that is published as another kind than its own. */
bool track_again(struct track *t, pid_t owner, uint32_t qpn)
{
	bool found = false;

	for (size_t i = 0; qpn && i < t->rings; i++) {
		struct track_ring *r = t->ring[i];

		if (r->owner != owner || r->what.number != qpn || r->what.kind != CLASS_SQ ||
		    !r->id)
			continue;
		r->published = CLASS_UNKNOWN;
		found = true;
	}
	return found;
}

static bool had_rings(const struct track *t, pid_t pid)
{
	for (size_t i = 0; i < t->rings; i++)
		if (t->ring[i]->pid == pid)
			return true;
	return false;
}

/* Scan the users from the first on. True: one lost all its rings. */
static bool scan_users(struct track *t, size_t first, struct mono now)
{
	bool lost = false;

	for (size_t i = first; i < t->users; i++) {
		track_user_look(&t->user[i]);
		if (!user_scan(t, &t->user[i], now))
			lost |= had_rings(t, t->user[i].pid);
	}
	return lost;
}

/*
 * Read the maps of all users: add new rings, drop those that no user maps. A process that exits
 * or executes another program loses all its rings at once; a child that inherited them keeps them
 * alive. The child is found before they are dropped: a ring that is withdrawn and published again
 * would be another one for dom0, which would count its history twice.
 */
static void scan_all(struct track *t, struct mono now)
{
	size_t known = t->users;

	t->scan++;
	if (scan_users(t, 0, now)) {
		track_list(t);
		track_look(t, TRACK_LOOK_FILES);
		scan_users(t, known, now);
	}
	for (size_t i = t->rings; i-- > 0;)
		if (t->ring[i]->seen != t->scan)
			ring_drop(t, i);
}

/*
 * All changes of a scan are between one begin and one end: readers see the registry before
 * them or after them, and read it again once.
 */
unsigned int track_scan(struct track *t, struct mono now, bool full)
{
	t->changes = 0;
	if (full || !track_users_quiet(t))
		scan_all(t, now);
	track_kinds(t, full);
	publish_all(t);
	if (t->writing)
		t->sink->end(t->ctx);
	t->writing = false;
	return t->changes;
}

void track_gone(struct track *t, pid_t pid, struct mono now)
{
	track_user_remove(t, pid);
	if (!had_rings(t, pid))
		return;
	/* a child that inherited the rings keeps them alive: find it before they are dropped */
	track_list(t);
	track_look(t, TRACK_LOOK_FILES);
	track_scan(t, now, true);
}
