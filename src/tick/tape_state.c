// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tape_state: the sampler's state as records, and back, by one table for both directions. tape.c
 * writes it when a recording begins; src/lab/replay_load.c reads it. See tape.h.
 */
#include "src/tick/tape.h"

#include "src/tick/sampler.h"

#define N(table) (sizeof(table) / sizeof((table)[0]))
#define U(m)	 TRACE_FIELD(usage, m)
#define G(m)	 TRACE_FIELD(set_guest, m)
#define S(m)	 TRACE_FIELD(slot, m)
#define A(m)	 TRACE_FIELD(account, m)
#define P(m)	 TRACE_FIELD(plan_guest, m)
#define Q(m)	 TRACE_FIELD(policy_guest, m)
#define R(m)	 TRACE_FIELD(report, m)
#define T(m)	 TRACE_FIELD(period, m)
#define L(m)	 TRACE_FIELD(ledger, m)

static const struct trace_field of_usage[] = {
	U(flags),      U(msg_bytes), U(cpu_ns), U(mtus_sent), U(mtus_recv), U(bytes_sent),
	U(bytes_recv), U(wrs),	     U(lost),	U(backlog),   U(queues),
};

static const struct trace_field of_guest[] = {
	G(key.created),
	G(key.domid),
	G(slot),
	G(flags),
	G(vcpus),
	G(weight),
	G(link),
	G(own.limited),
	G(own.mpct),
	G(own_generation),
	G(bounds.ceiling.limited),
	G(bounds.ceiling.mpct),
	G(bounds.min_mpct),
	G(bounds.vcpus),
	G(sla.base_ns),
	G(sla.base_io_ns),
	G(sla.base_dev_ns),
	G(sla.tolerance),
	G(unreadable),
	G(last_rate),
	G(unreadable_mtus_s),
	G(kept),
};

/* All that a later tick reads, but for what is only shown. */
static const struct trace_field of_slot[] = {
	S(cpu_prev),	    S(cpu_left),	S(cpu_owed),	     S(cpu_known),   S(fresh),
	S(empty_reported),  S(rings_reported),	S(looked),	     S(worked),	     S(still),
	S(pending),	    S(foreign),		S(foreign_reported), S(settled),     S(wanted),
	S(unread.mtus),	    S(unread.ns),	S(unread.active),    S(unread.rate), S(unread.part),
	S(unread.ahead),    S(unread.total),	S(cap_errno),	     S(met.limited), S(met.mpct),
	S(rate_wanted.q16), S(applied.limited), S(applied.mpct),     S(cap_time.ns), S(generation),
	S(serial),	    S(known_serial),	S(sent.ns),
};

static const struct trace_field of_account[] = {
	A(flags),	  A(link),	A(vcpus),   A(weight),	    A(rate.q16),
	A(allocated.m),	  A(balance.m), A(spent.m), A(overdraft.m), A(charged_io.m),
	A(charged_cpu.m), A(rem_io),	A(rem_cpu),
};

static const struct trace_field of_plan[] = {
	P(cap.limited), P(cap.mpct), P(rate.q16), P(reason), P(vf_bytes_s),
	P(why[0]),	P(why[1]),   P(why[2]),	  P(why[3]), P(stands.m),
};

static const struct trace_field of_seat[] = {
	Q(flags),    Q(cap.limited), Q(cap.mpct),  Q(cap_time.ns),
	Q(rate.q16), Q(allocated.m), Q(balance.m),
};

static const struct trace_field of_report[] = {
	R(flags), R(n), R(sum_ns), R(io_sum_ns), R(io_sumsq_hi), R(io_sumsq_lo),
};

static const struct trace_field of_period[] = {
	T(last.ns), T(epoch_start.ns), T(epoch), T(ticks), T(late), T(starved), T(back),
};

static const struct trace_field of_ledger[] = {
	L(supply.m), L(overcommit.m), L(retired.m), L(dropped.m), L(epoch),
};

/* --- conf --------------------------------------------------------------------- */

static const struct trace_field of_conf[] = {
	TRACE_FIELD(tape_conf, interval_ns), TRACE_FIELD(tape_conf, epoch_ns),
	TRACE_FIELD(tape_conf, wall_ns),     TRACE_FIELD(tape_conf, observe),
	TRACE_FIELD(tape_conf, simulated),   TRACE_FIELD(tape_conf, links),
};

static const struct trace_field of_link[] = {
	TRACE_FIELD(link_conf, bytes_s),
	TRACE_FIELD(link_conf, mtu),
};

static void put_name(struct trace_out *o, const char name[FLOW_NAME_MAX])
{
	size_t n = strnlen(name, FLOW_NAME_MAX - 1);

	trace_put(o, n);
	trace_put_bytes(o, name, n);
}

static void get_name(struct trace_in *in, char name[FLOW_NAME_MAX])
{
	size_t n = (size_t)trace_get(in, FLOW_NAME_MAX - 1);

	memset(name, 0, FLOW_NAME_MAX);
	trace_get_bytes(in, name, n);
}

void tape_put_conf(struct trace_out *o, const struct tape_conf *c)
{
	trace_put_fields(o, c, of_conf, N(of_conf));
	put_name(o, c->version);
	for (uint32_t i = 0; i < c->links; i++) {
		put_name(o, c->link[i].name);
		trace_put_fields(o, &c->link[i], of_link, N(of_link));
		trace_put(o, c->link[i].profile == PRICE_PAPER_2011);
	}
}

void tape_get_conf(struct trace_in *in, struct tape_conf *c)
{
	trace_get_fields(in, c, of_conf, N(of_conf));
	get_name(in, c->version);
	if (c->links > FLOW_LINKS_MAX)
		in->bad = true;
	for (uint32_t i = 0; i < c->links && !in->bad; i++) {
		get_name(in, c->link[i].name);
		trace_get_fields(in, &c->link[i], of_link, N(of_link));
		c->link[i].profile = trace_get(in, 1) ? PRICE_PAPER_2011 : PRICE_SCALED;
	}
}

/* --- policies --------------------------------------------------------------- */

void tape_put_policy(struct trace_out *o, const struct policy_inst *pi)
{
	const struct policy_ops *ops = pi->ops;
	size_t n = strlen(ops->name);

	trace_put(o, n);
	trace_put_bytes(o, ops->name, n);
	trace_put(o, ops->params_size);
	trace_put_bytes(o, pi->params, ops->params_size);
	trace_put(o, ops->global_size);
	trace_put_bytes(o, pi->global, ops->global_size);
}

bool tape_put_block(struct trace_out *o, const struct policy_inst *pi, uint32_t slot)
{
	size_t n = pi->ops->guest_size, i = 0;
	const uint8_t *block = (const uint8_t *)pi->guests + slot * n;

	while (i < n && !block[i])
		i++;
	if (i == n)
		return false;
	trace_put(o, slot);
	trace_put_bytes(o, block, n);
	return true;
}

/* --- sets -------------------------------------------------------------------- */

void tape_put_set_guest(struct trace_out *o, const struct set_guest *g)
{
	trace_put_bytes(o, g->key.uuid, sizeof(g->key.uuid));
	trace_put_fields(o, g, of_guest, N(of_guest));
}

void tape_get_set_guest(struct trace_in *in, struct set_guest *g)
{
	trace_get_bytes(in, g->key.uuid, sizeof(g->key.uuid));
	trace_get_fields(in, g, of_guest, N(of_guest));
}

/* --- start --------------------------------------------------------------------- */

void tape_put_start(struct trace_out *o, const struct sampler *s)
{
	trace_put_fields(o, &s->period, of_period, N(of_period));
	trace_put_fields(o, &s->ledger, of_ledger, N(of_ledger));
	trace_put(o, s->snap_at);
	trace_put(o, s->snap_ticks);
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX / 64; i++)
		trace_put(o, s->again[i]);
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++) {
		const struct mailbox *m = &s->ho->mail[i];
		uint64_t want = atomic_load(&m->want);

		if (!want)
			continue;
		trace_put(o, i + 1);
		trace_put(o, want);
		trace_put(o, atomic_load(&m->expect));
	}
	trace_put(o, 0);
}

void tape_get_start(struct trace_in *in, struct sampler *s)
{
	uint64_t slot;

	trace_get_fields(in, &s->period, of_period, N(of_period));
	trace_get_fields(in, &s->ledger, of_ledger, N(of_ledger));
	s->snap_at = trace_get(in, UINT64_MAX);
	s->snap_ticks = (uint32_t)trace_get(in, UINT32_MAX);
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX / 64; i++)
		s->again[i] = trace_get(in, UINT64_MAX);
	while ((slot = trace_get(in, FLOW_GUESTS_MAX)) != 0) {
		atomic_store(&s->ho->mail[slot - 1].want, trace_get(in, UINT64_MAX));
		atomic_store(&s->ho->mail[slot - 1].expect, trace_get(in, UINT64_MAX));
	}
}

static bool is_asked(const struct sampler *s, uint32_t slot)
{
	return s->asked.word[slot / 64] >> (slot % 64) & 1;
}

void tape_put_slot(struct trace_out *o, const struct sampler *s, uint32_t slot)
{
	const struct slot *sl = &s->slot[slot];

	trace_put(o, slot);
	trace_put(o, is_asked(s, slot));
	trace_put_fields(o, sl, of_slot, N(of_slot));
	trace_put_fields(o, &sl->last_look, of_usage, N(of_usage));
	trace_put_fields(o, sl->seat, of_seat, N(of_seat));
	trace_put_fields(o, &sl->seat->usage, of_usage, N(of_usage));
	trace_put_fields(o, &sl->seat->report, of_report, N(of_report));
	tape_put_account(o, &s->ledger.acc[slot], &s->plan.guest[slot]);
}

void tape_put_account(struct trace_out *o, const struct account *a, const struct plan_guest *p)
{
	trace_put_fields(o, a, of_account, N(of_account));
	trace_put_fields(o, p, of_plan, N(of_plan));
}

void tape_get_slot(struct trace_in *in, struct sampler *s, uint32_t slot)
{
	struct slot *sl = &s->slot[slot];

	if (trace_get(in, 1))
		slot_bit_set(&s->asked, slot);
	trace_get_fields(in, sl, of_slot, N(of_slot));
	sl->last_look = (struct usage){ .slot = slot, .link = sl->guest->link };
	trace_get_fields(in, &sl->last_look, of_usage, N(of_usage));
	trace_get_fields(in, sl->seat, of_seat, N(of_seat));
	trace_get_fields(in, &sl->seat->usage, of_usage, N(of_usage));
	trace_get_fields(in, &sl->seat->report, of_report, N(of_report));
	trace_get_fields(in, &s->ledger.acc[slot], of_account, N(of_account));
	trace_get_fields(in, &s->plan.guest[slot], of_plan, N(of_plan));
}
