// SPDX-License-Identifier: GPL-2.0-or-later
/* actor: wanted caps in mailboxes -> the hypervisor's scheduler. See actor.h. */
#include "src/tick/actor.h"

#include <errno.h>
#include <unistd.h>

#include "src/core/caps.h"

/* Mail of a new generation: the sampler knows better which cap is in force. */
static void learn(struct actor_cap *c, uint32_t domid, uint64_t expect)
{
	bool mine = c->domid == domid && !c->foreign;
	uint16_t before = c->percent;

	*c = (struct actor_cap){
		.domid = domid,
		.generation = mail_generation(expect),
		.percent = mail_percent(expect),
		.other = mine ? before : mail_percent(expect),
	};
}

static int set_over(struct actor *a, const struct actor_cap *c, uint16_t was, uint16_t percent,
		    struct hv_sched_params *found)
{
	if (a->ho->written)
		written_note(&a->ho->written[c - a->cap], c->domid, was, percent);
	return a->ops->set_cap(a->hv, c->domid, cap_from_percent(was), cap_from_percent(percent),
			       found);
}

/* Did another program set a weight only, with a cap that it had read before our last ones? */
static bool weight_only(const struct actor_cap *c, const struct hv_sched_params *found,
			struct mono now)
{
	if (!c->weight || found->weight == c->weight)
		return false;
	for (int i = 0; i < ACTOR_RECENT; i++)
		if (c->recent[i].replaced.ns &&
		    mono_sub(now, c->recent[i].replaced) < ACTOR_RECENT_NS &&
		    c->recent[i].percent == cap_to_percent(found->cap))
			return true;
	return false;
}

static void note_set(struct actor_cap *c, uint16_t percent, uint32_t weight, struct mono now)
{
	uint32_t i = c->sets++ % ACTOR_RECENT;

	c->recent[i].percent = c->percent;
	c->recent[i].replaced = now;
	c->percent = percent;
	c->weight = weight;
}

static int set_cap(struct actor *a, struct actor_cap *c, uint16_t percent)
{
	struct mono now = a->clock.now(&a->clock);
	struct hv_sched_params found;
	int rc;

	if (c->foreign)
		return -ECANCELED;
	rc = set_over(a, c, c->percent, percent, &found);
	if (rc == -ECANCELED && c->other != c->percent && cap_to_percent(found.cap) == c->other)
		rc = set_over(a, c, c->other, percent, &found);
	if (rc == -ECANCELED && weight_only(c, &found, now))
		rc = set_over(a, c, (uint16_t)cap_to_percent(found.cap), percent, &found);
	if (!rc)
		note_set(c, percent, found.weight, now);
	c->other = percent; /* a call that failed may have set it */
	if (rc == -ECANCELED) {
		c->foreign = true;
		c->found = (uint16_t)cap_to_percent(found.cap);
	}
	return rc;
}

/*
 * The domain is the one in the mail: the slot may have another guest since it was written.
 * The time is stored before the answer, because the sampler reads both once it sees the
 * answer's serial.
 */
static void carry_out(struct actor *a, uint32_t slot)
{
	struct mailbox *m = &a->ho->mail[slot];
	struct actor_cap *c = &a->cap[slot];
	uint64_t w = atomic_load_explicit(&m->want, memory_order_acquire);
	uint64_t expect = atomic_load_explicit(&m->expect, memory_order_acquire);
	int rc;

	/* Newer mail is being written. The slot is marked again after that. */
	if (mail_serial(expect) != mail_serial(w))
		return;
	if (c->domid != mail_domid(w) || c->generation != mail_generation(expect))
		learn(c, mail_domid(w), expect);
	rc = set_cap(a, c, mail_percent(w));
	atomic_store(&m->answered, a->clock.now(&a->clock).ns);
	atomic_store_explicit(&m->answer,
			      mail_pack(mail_serial(w), (uint16_t)(rc < 0 ? -rc : 0),
					rc == -ECANCELED ? c->found : mail_percent(w)),
			      memory_order_release);
}

void actor_once(struct actor *a)
{
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX / 64; i++) {
		/*
		 * Clear the bits first: mail written while this turn reads is marked again.
		 * At worst the same mail is carried out twice.
		 */
		uint64_t bits = atomic_exchange_explicit(&a->ho->dirty[i], 0, memory_order_acq_rel);

		while (bits) {
			uint32_t b = (uint32_t)__builtin_ctzll(bits);

			bits &= bits - 1;
			carry_out(a, i * 64 + b);
		}
	}
}

void actor_run(struct actor *a)
{
	while (!atomic_load_explicit(&a->ho->stop, memory_order_acquire)) {
		uint64_t n;

		/* An eventfd adds up: one read ends all wake-ups since the last. */
		if (read(a->ho->actor_fd, &n, sizeof(n)) < 0 && errno != EINTR)
			break;
		actor_once(a);
	}
	/* Mail that was sent between the last turn and stop. */
	actor_once(a);
}
