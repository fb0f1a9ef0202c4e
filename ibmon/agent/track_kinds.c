// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * track_kinds: find the kinds of rings, from the kernel's list of objects (classify)
 * and from entries written into them.
 *
 * Objects are matched with the rings of one process at a time. Rings still unknown are
 * then matched over all processes of the device: the kernel counts a queue pair that a
 * child created as the parent's.
 *
 * Entries decide: they correct, once, a kind that came from counting or order.
 */
#include "config.h"

#include <string.h>

#include "ibmon/agent/proc.h"
#include "ibmon/agent/track_priv.h"

enum {
	TRIES_FAST = 64,    /* so many scans with unknown rings each ask the kernel, */
	TRIES_SLOW = 32,    /* later scans once in so many */
	ENTRIES_LOOKED = 4, /* the newest entries of a ring */
	ENTRY_MAX = 4096,
	HEADER_BYTES = 384,
	PRODUCER_AT = 128,
};

/* The kernel allocates rings zeroed (vmalloc_user), so a slot of zeroes was never used. */
static bool all_zero(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

/*
 * The kind on which the newest entries agree, or CLASS_UNKNOWN. The slots just before the
 * producer index are the newest. The process may write them while they are read: entries
 * that contradict each other prove nothing.
 */
static enum ring_class kind_by_content(const struct track_ring *r)
{
	uint8_t entry[ENTRY_MAX];
	enum ring_class said = CLASS_UNKNOWN;
	uint32_t producer;

	if (proc_read(r->pid, r->addr + PRODUCER_AT, &producer, sizeof(producer)))
		return CLASS_UNKNOWN;
	for (uint32_t k = 1; k <= ENTRIES_LOOKED && k < r->what.slots; k++) {
		uint64_t slot = (producer - k) & (r->what.slots - 1);
		enum ring_class c;

		if (proc_read(r->pid, r->addr + HEADER_BYTES + slot * r->what.elem, entry,
			      r->what.elem))
			return CLASS_UNKNOWN;
		if (all_zero(entry, r->what.elem)) /* never written */
			break;
		c = classify_entry(entry, r->what.elem);
		if (c == CLASS_UNKNOWN)
			continue;
		if (said != CLASS_UNKNOWN && said != c)
			return CLASS_UNKNOWN;
		said = c;
	}
	return said;
}

static const char *kind_name(enum ring_class kind)
{
	return kind == CLASS_SQ	    ? "send queue"
	       : kind == CLASS_CQ   ? "completion queue"
	       : kind == CLASS_RECV ? "receive queue"
				    : "unknown";
}

static void check_content(struct track *t, struct track_ring *r)
{
	enum ring_class c;

	/*
	 * Elements of 64 bytes hold only receive work requests: classify() knows them by
	 * their size.
	 */
	if (r->what.proof == PROOF_CONTENT || r->what.elem < 128)
		return;
	c = kind_by_content(r);
	if (c == CLASS_UNKNOWN)
		return;
	if (r->what.kind != CLASS_UNKNOWN && r->what.kind != c) {
		log_msg(t->log, LOG_LVL_WARNING,
			"pid %d (%s): ring at offset 0x%llx is a %s by its entries, not a %s",
			(int)r->owner, r->comm, (unsigned long long)r->what.pgoff, kind_name(c),
			kind_name(r->what.kind));
		/* The number was that of another object. */
		r->what.number = 0;
	}
	if (r->what.kind != c)
		t->changes++;
	r->what.kind = c;
	r->what.proof = PROOF_CONTENT;
}

/* Cache of the processes of threads that created objects, for one round. */
struct owners {
	size_t n;
	struct {
		uint32_t tid;
		pid_t pid;
	} known[64];
};

/*
 * The kernel's list names the thread that created an object, rings are found by process.
 * Many objects usually have few threads.
 */
static pid_t owner_of(struct owners *o, uint32_t tid)
{
	pid_t pid;

	if (tid == 0)
		return 0;
	for (size_t i = 0; i < o->n; i++)
		if (o->known[i].tid == tid)
			return o->known[i].pid;
	pid = proc_tgid((pid_t)tid);
	if (o->n < sizeof(o->known) / sizeof(o->known[0])) {
		o->known[o->n].tid = tid;
		o->known[o->n++].pid = pid;
	}
	return pid;
}

/*
 * Select the objects of one process; pid 0: of all. The order of creation is known only
 * within one thread: two threads of a process may create rings at the same time.
 */
static void select_objects(struct track *t, struct owners *o, pid_t pid, struct class_objects *obj)
{
	const struct nldev_list *l = &t->objects;

	memset(obj, 0, sizeof(*obj));
	for (uint32_t i = 0; i < l->qps; i++)
		if (!pid || owner_of(o, l->qp[i].pid) == pid)
			t->qp[obj->qps++] = (struct class_qp){ l->qp[i].qpn, l->qp[i].shared,
							       l->qp[i].srqn };
	for (uint32_t i = 0; i < l->cqs; i++)
		if (!pid || owner_of(o, l->cq[i].pid) == pid)
			t->cq[obj->cqs++] = (struct class_cq){ l->cq[i].cqn, l->cq[i].cqe + 1 };
	for (uint32_t i = 0; i < l->srqs; i++)
		if (!pid || owner_of(o, l->srq[i].pid) == pid)
			t->srq[obj->srqs++] = l->srq[i].srqn;
	obj->qp = t->qp;
	obj->cq = t->cq;
	obj->srq = t->srq;
	obj->one_thread = pid && proc_one_thread(pid);
}

/* Select the rings of a process (0: of all) on a device. Their number; *open are unknown. */
static size_t select_rings(struct track *t, uint32_t uverbs, pid_t pid, size_t *open)
{
	size_t n = 0;

	*open = 0;
	for (size_t i = 0; i < t->rings; i++) {
		struct track_ring *r = t->ring[i];

		if (r->uverbs != uverbs || (pid && r->owner != pid))
			continue;
		*open += r->what.kind == CLASS_UNKNOWN;
		t->member[n] = r;
		t->group[n++] = r->what;
	}
	return n;
}

/* classify() works on copies, so that a round without a result changes nothing. */
static void classify_rings(struct track *t, struct owners *o, uint32_t uverbs, pid_t pid)
{
	struct class_objects obj;
	size_t open, n = select_rings(t, uverbs, pid, &open);

	if (!open)
		return;
	select_objects(t, o, pid, &obj);
	if (!classify(t->group, n, &obj))
		return;
	for (size_t i = 0; i < n; i++)
		t->member[i]->what = t->group[i];
}

static void classify_device(struct track *t, uint32_t uverbs)
{
	const struct device *dev = devices_find(&t->devices, uverbs);
	struct owners o = { 0 };
	bool all = true;
	int rc;

	if (!dev)
		return;
	rc = nldev_objects(t->devices.nl, dev->index, &t->objects);
	if (rc) {
		log_msg(t->log, LOG_LVL_DEBUG, "uverbs%u: list of objects: %s", uverbs,
			strerror(-rc));
		return;
	}
	/*
	 * The list and the scan are not of the same moment. classify() compares how many rings and
	 * objects there are, and does nothing when a ring was created in between. When as many were
	 * destroyed as well, the rings would get the numbers of those that came after them.
	 */
	for (size_t i = 0; i < t->users; i++) {
		if (track_user_same(t, &t->user[i]))
			classify_rings(t, &o, uverbs, t->user[i].pid);
		else
			all = false;
	}
	if (all)
		classify_rings(t, &o, uverbs, 0);
}

size_t track_unknown(const struct track *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->rings; i++)
		n += t->ring[i]->what.kind == CLASS_UNKNOWN;
	return n;
}

/*
 * Kinds proven by counting are looked at again only in full scans; those from order, each
 * time, because order is the weakest proof.
 */
void track_kinds(struct track *t, bool full)
{
	bool asked = false;
	uint32_t last = 0;

	for (size_t i = 0; i < t->rings; i++)
		if (full || t->ring[i]->what.proof <= PROOF_ORDER)
			check_content(t, t->ring[i]);
	/* New rings: the kernel's list may settle them, so ask in each scan again. */
	if (t->changes)
		t->tries = 0;
	if (!track_unknown(t) || (t->tries++ >= TRIES_FAST && t->tries % TRIES_SLOW))
		return;
	for (size_t i = 0; i < t->rings; i++) {
		uint32_t uverbs = t->ring[i]->uverbs;

		if (t->ring[i]->what.kind != CLASS_UNKNOWN || (asked && uverbs == last))
			continue;
		classify_device(t, uverbs);
		asked = true;
		last = uverbs;
	}
}
