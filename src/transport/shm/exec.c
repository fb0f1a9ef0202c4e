// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * exec: an operation is planned (the injected faults say when, or never), executed on the
 * peer's memory, and finished.
 *
 * Without faults, submit does all three. With faults, an operation whose link ended may
 * still be executed, as on a network, until the responder raises our epoch (shm_orphan).
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "resex/life_abi.h"
#include "src/transport/shm/shm.h"

/* --- faults ---------------------------------------------------------------- */

/* xorshift64: fast, and the same sequence for the same seed, so that a run repeats. */
static uint64_t next_random(struct shm *s)
{
	s->rng ^= s->rng << 13;
	s->rng ^= s->rng >> 7;
	s->rng ^= s->rng << 17;
	return s->rng;
}

static bool random_chance(struct shm *s, uint32_t permille)
{
	return permille && next_random(s) % 1000 < permille;
}

static int64_t random_between(struct shm *s, int64_t min, int64_t max)
{
	return max > min ? min + (int64_t)(next_random(s) % (uint64_t)(max - min + 1)) : min;
}

/* t + ns, but not before floor, and without overflow. */
static struct mono time_after(struct mono t, int64_t ns, struct mono floor)
{
	struct mono sum = { t.ns > INT64_MAX - ns ? INT64_MAX : t.ns + ns };

	return sum.ns < floor.ns ? floor : sum;
}

static bool is_atomic(const struct transport_op *op)
{
	return op->kind == TRANSPORT_CAS64 || op->kind == TRANSPORT_FAA64;
}

static void plan_operation(struct shm *s, struct shm_out *o, struct shm_entry *e, struct mono now)
{
	const struct shm_faults *f = &s->faults;
	bool late = random_chance(s, f->late_permille);

	/* exec_last is the floor: on a reliable connection delays do not change the order. */
	e->exec = time_after(now, random_between(s, f->out_min_ns, f->out_max_ns), o->exec_last);
	if (late && is_atomic(&e->op)) {
		e->exec = time_after(e->op.deadline, random_between(s, 1, 1 + f->late_max_ns),
				     e->exec);
		o->lost_back = true; /* its deadline ends the link before */
	}
	e->done = time_after(e->exec, random_between(s, f->back_min_ns, f->back_max_ns), now);
	o->exec_last = e->exec;
	if (random_chance(s, f->drop_permille) || o->cut || (late && !is_atomic(&e->op)))
		o->lost = true;
	if (random_chance(s, f->drop_back_permille))
		o->lost_back = true;
	/*
	 * Of the link, not of the operation: a reliable connection gives up after a loss, and
	 * nothing behind it is executed or answered.
	 */
	e->lost = o->lost;
	e->lost_back = o->lost_back;
	e->tear = e->op.kind == TRANSPORT_READ && random_chance(s, f->tear_permille);
}

/* --- execution ------------------------------------------------------------------ */

/*
 * Sequentially consistent, as the increment in serve.c: an operation that begins after the epoch
 * was raised sees it. One thread uses a handle, so we cannot be between this check and an operation
 * while we receive the KEYS of a newer link. Only a removal by the responder may fall between them,
 * and then one operation counts as executed before it.
 */
static bool link_destroyed(const struct shm *s, const struct shm_map *m)
{
	return __atomic_load_n(&m->epochs[s->t.conf.host - 1], __ATOMIC_SEQ_CST) != m->epoch;
}

/*
 * The CPU executes what an HCA would: all processes use the same lock-free instructions on the same
 * memory, so their atomics are atomic against each other.
 */
static uint64_t execute_atomic(const struct shm_map *m, const struct transport_op *op)
{
	uint64_t *word = (uint64_t *)m->mem[TRANSPORT_WORDS] + op->offset / 8;
	uint64_t old = op->compare;

	if (op->kind == TRANSPORT_FAA64)
		return __atomic_fetch_add(word, op->value, __ATOMIC_SEQ_CST);
	__atomic_compare_exchange_n(word, &old, op->value, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
	return old;
}

static void *slot_data(const struct shm_out *o, const struct transport_slot *slot)
{
	return o->data + (size_t)slot->index * TRANSPORT_READ_MAX;
}

/*
 * Copy words from .. to - 1 of a READ. A record may be torn, a word never. -ECONNRESET: the owner
 * was dead when they had been copied. Its next life may have told others since what these words do
 * not show. It is asked behind the copy (life_abi.h): after a check before it, it could still die.
 */
static int copy_words(const struct shm_out *o, const struct shm_entry *e, uint32_t from,
		      uint32_t to)
{
	const uint64_t *src = (const uint64_t *)o->map.mem[e->op.part] + e->op.offset / 8;
	uint64_t *dst = slot_data(o, e->slot);

	for (uint32_t i = from; i < to; i++)
		dst[i] = __atomic_load_n(&src[i], __ATOMIC_SEQ_CST);
	return life_lives(__atomic_load_n(o->map.life, __ATOMIC_SEQ_CST)) ? 0 : -ECONNRESET;
}

/*
 * The socket has no room: wait until it has. The watch is changed only when needed: it is a system
 * call, and a SEND mostly finds room.
 */
static void wait_for_room(struct shm *s, uint32_t i, bool stuck)
{
	struct shm_out *o = &s->out[i];

	if (o->stuck == stuck)
		return;
	o->stuck = stuck;
	shm_watch(s->epoll, EPOLL_CTL_MOD, o->fd, EPOLLIN | (stuck ? (uint32_t)EPOLLOUT : 0),
		  SHM_ID_OUT + i);
}

static int execute_entry(struct shm *s, uint32_t i, struct shm_entry *e)
{
	struct shm_out *o = &s->out[i];
	uint32_t words = e->op.len / 8;
	int rc;

	if (link_destroyed(s, &o->map))
		return -ECONNRESET;
	if (e->op.kind == TRANSPORT_SEND) {
		/* A full socket is not an error: the SEND stays first in the queue, in order. */
		rc = shm_send(o->fd, e->op.data, e->op.len, NULL);
		wait_for_room(s, i, rc == -EAGAIN);
		if (rc)
			return rc;
	} else if (e->op.kind == TRANSPORT_READ) {
		rc = copy_words(o, e, 0, e->tear ? words / 2 : words);
		if (rc)
			return rc;
	} else {
		e->old = execute_atomic(&o->map, &e->op);
	}
	e->executed = true;
	return 0;
}

/* Execute the operations that are due, in order, up to a lost one. */
static int execute_due(struct shm *s, uint32_t i, struct mono now)
{
	struct shm_out *o = &s->out[i];
	int rc = 0;

	for (uint32_t k = 0; k < o->n && !rc; k++) {
		struct shm_entry *e = &o->queue[k];

		if (e->lost || e->exec.ns > now.ns)
			break;
		if (!e->executed)
			rc = execute_entry(s, i, e);
	}
	/* A SEND without room stops the operations behind it, and is tried again. */
	return rc == -EAGAIN ? 0 : rc;
}

static int finish_due(struct shm *s, uint32_t i, struct mono now)
{
	struct shm_out *o = &s->out[i];
	int rc = 0;

	while (o->n) {
		/* A copy: the entry leaves the queue before the front gets the result. */
		struct shm_entry e = o->queue[0];

		if (!e.executed || e.lost_back || e.done.ns > now.ns)
			return 0;
		if (o->cut) {
			o->queue[0].lost_back = true;
			return 0;
		}
		/*
		 * A torn READ: its second half is read only now. Records must find this out
		 * (record.h).
		 */
		if (e.tear)
			rc = copy_words(o, &e, e.op.len / 16, e.op.len / 8);
		if (rc)
			return rc;
		memmove(o->queue, o->queue + 1, --o->n * sizeof(o->queue[0]));
		front_done(&s->t, &s->t.out[i], e.slot, TRANSPORT_DONE, e.old,
			   e.op.kind == TRANSPORT_READ ? slot_data(o, e.slot) : NULL, 0);
	}
	return 0;
}

/* Operations of the link before. Their results are not used. */
static void run_late(struct shm *s, struct shm_out *o, struct mono now)
{
	while (o->lates && o->late[0].exec.ns <= now.ns) {
		if (link_destroyed(s, &o->late_map)) {
			shm_forget_late(o);
			return;
		}
		execute_atomic(&o->late_map, &o->late[0].op);
		memmove(o->late, o->late + 1, --o->lates * sizeof(o->late[0]));
	}
	if (!o->lates)
		shm_forget_late(o);
}

void shm_run(struct shm *s, uint32_t i, struct mono now)
{
	struct shm_out *o = &s->out[i];
	int rc, torn;

	/* Operations of the link before are older than all in the queue. */
	run_late(s, o, now);
	rc = execute_due(s, i, now);
	torn = finish_due(s, i, now);
	/* After finish_due: results that are due come before the DOWN. */
	if (rc || torn)
		front_down(&s->t, &s->t.out[i], rc ? rc : torn, FRONT_CLOSED, now);
	if (!o->n && !o->lates)
		hostset_set(&s->busy, i + 1, false);
}

int shm_submit(struct transport *t, struct transport_out *to, struct transport_slot *slot,
	       struct mono now)
{
	struct shm *s = shm_of(t);
	struct shm_out *o = shm_out(s, to);
	uint32_t i = (uint32_t)(o - s->out);
	struct shm_entry *e = &o->queue[o->n];

	if (link_destroyed(s, &o->map))
		return -ECONNRESET;
	/* There is room: the front keeps at most TRANSPORT_DEPTH operations outstanding. */
	*e = (struct shm_entry){ .op = slot->op, .slot = slot };
	plan_operation(s, o, e, now);
	o->n++;
	hostset_set(&s->busy, i + 1, true);
	shm_run(s, i, now);
	return 0;
}

/* --- the end of a link ------------------------------------------------------------- */

void shm_forget_late(struct shm_out *o)
{
	shm_unmap(&o->late_map);
	o->lates = 0;
}

void shm_orphan(struct shm *s, struct shm_out *o)
{
	shm_forget_late(o);
	for (uint32_t k = 0; k < o->n; k++) {
		struct shm_entry *e = &o->queue[k];

		/*
		 * A late READ has no effect that a host could see, and a late SEND would need the
		 * socket.
		 */
		if (!e->lost && !e->executed && is_atomic(&e->op))
			o->late[o->lates++] = *e;
	}
	o->n = 0;
	o->stuck = o->lost = o->lost_back = false;
	o->exec_last.ns = 0;
	if (o->lates)
		o->late_map = o->map;
	else
		shm_unmap(&o->map);
	memset(&o->map, 0, sizeof(o->map));
	if (o->lates)
		hostset_set(&s->busy, (uint32_t)(o - s->out) + 1, true);
}

static void lower_due(struct mono *due, struct mono t)
{
	if (t.ns < due->ns)
		*due = t;
}

void shm_run_due(const struct shm *s, struct mono *due)
{
	for (uint16_t h = hostset_next(&s->busy, 0); h; h = hostset_next(&s->busy, h)) {
		const struct shm_out *o = &s->out[h - 1];
		uint32_t k = 0;

		if (o->lates)
			lower_due(due, o->late[0].exec);
		if (o->n && o->queue[0].executed && !o->queue[0].lost_back)
			lower_due(due, o->queue[0].done);
		while (k < o->n && o->queue[k].executed)
			k++;
		if (k < o->n && !o->queue[k].lost && !o->stuck)
			lower_due(due, o->queue[k].exec);
	}
}
