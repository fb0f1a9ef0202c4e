// SPDX-License-Identifier: GPL-2.0-or-later
/* claim: see claim.h. The checks are in the order in which a value may be looked at. */
#include "src/load/claim.h"

#include <errno.h>

#include "src/load/index.h"
#include "src/shared/record.h"

/* What a guest may say of its own record. */
enum { CLAIM_FLAGS = LOAD_OVERRUN | LOAD_NO_WAIT | LOAD_IDLE_REPAIRED | LOAD_NO_RUNNING };

void load_claim_forget(struct load_claim *c)
{
	*c = (struct load_claim){ .looked = c->looked };
}

static bool in_range(const struct load_record *r, uint32_t vcpus)
{
	const uint64_t time[] = { r->busy_ns,  r->irq_ns,  r->softirq_ns,	   r->iowait_ns,
				  r->steal_ns, r->wait_ns, (uint64_t)r->sampled_ns };

	for (size_t i = 0; i < sizeof(time) / sizeof(time[0]); i++)
		if (time[i] > LOAD_CLAIM_TIME_MAX)
			return false;
	return (r->source == LOAD_ULM || r->source == LOAD_KLM) && r->beat && r->cpus &&
	       r->cpus <= LOAD_CPUS_MAX && r->cpus <= vcpus &&
	       r->period_ns >= GUEST_LOAD_PERIOD_MIN_NS && r->period_ns <= GUEST_LOAD_PERIOD_MAX_NS;
}

/*
 * iowait may go back on an honest guest: the kernel's times of idle CPUs do. Another source has
 * times of its own.
 */
static bool went_back(const struct load_claim *c, const struct load_record *r)
{
	const struct load_record *was = &c->record;

	if (was->source != r->source)
		return false;
	return was->beat && (r->sampled_ns <= c->guest_ns || r->busy_ns < was->busy_ns ||
			     r->irq_ns < was->irq_ns || r->softirq_ns < was->softirq_ns ||
			     r->steal_ns < was->steal_ns || r->wait_ns < was->wait_ns);
}

static void keep(struct load_claim *c, const struct load_record *r, struct mono now)
{
	c->head = r->head;
	c->guest_ns = r->sampled_ns;
	c->record = *r;
	c->record.head = (struct region_record){ 0 };
	c->record.node = 0;
	c->record.flags &= CLAIM_FLAGS;
	c->record.sampled_ns = now.ns;
	c->record.softirq_pending = c->record.queued = 0;
	c->record.served = c->record.latency_ns = 0;
	for (size_t i = 0; i < sizeof(r->reserved) / sizeof(r->reserved[0]); i++)
		c->record.reserved[i] = 0;
}

/* A record whose checksum is right. 1, 0 or an error of load_claim_take(). */
static int take_record(struct load_claim *c, const struct load_record *r, uint32_t vcpus,
		       struct mono now)
{
	if (!in_range(r, vcpus))
		return -ERANGE;
	/* The beat of an agent that was started again is lower. */
	if (c->record.beat == r->beat)
		return 0;
	if (went_back(c, r))
		return -ESTALE;
	keep(c, r, now);
	return 1;
}

int load_claim_take(struct load_claim *c, const struct guest_load_page *copy, uint32_t vcpus,
		    struct mono now)
{
	const struct load_record *r = &copy->record;
	int64_t late_ns = c->looked.ns ? mono_sub(now, c->looked) : -1;
	int rc = copy->magic == GUEST_LOAD_MAGIC ? 0 : -EPROTO;

	c->looked = now;
	if (!rc && c->record.beat && record_unchanged(r, &c->head))
		return 0;
	if (!rc)
		rc = record_check(r, REGION_LOAD, sizeof(*r));
	if (!rc)
		rc = take_record(c, r, vcpus, now);
	if (rc == 1)
		c->late_ns = late_ns;
	else if (rc < 0 && rc != -EAGAIN)
		load_claim_forget(c);
	return rc;
}

const char *load_claim_text(int rc)
{
	switch (rc) {
	case -EAGAIN:
		return "it is always half-written";
	case -ENOMSG:
		return "nothing is written yet";
	case -EPROTO:
		return "it holds no load record";
	case -ERANGE:
		return "a value is out of its range";
	case -ESTALE:
		return "a time or the guest's clock went back";
	default:
		return "it cannot be read";
	}
}
