// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tape_encode: records of a tick, as the sampler copied them, as bytes of the file; and its words
 * and scans from these bytes. The writer's thread and a replay call it, the sampler never. See
 * tape.h, and src/trace/format.h for the bytes.
 */
#include "src/tick/tape.h"

static void take(const uint8_t **at, void *p, size_t n)
{
	memcpy(p, *at, n);
	*at += n;
}

/* --- words: a byte says which of eight guests have another one ------------------------- */

static uint64_t state_of(uint64_t word)
{
	return word & TAPE_STATE_MASK;
}

static void put_word(struct trace_out *o, uint64_t word, uint64_t *was)
{
	const bool other = state_of(word) != state_of(*was);
	uint64_t d = trace_of_difference(word >> TAPE_STATE_BITS, *was >> TAPE_STATE_BITS);

	trace_put(o, d << 1 | other);
	if (other)
		trace_put(o, state_of(word));
	*was = word;
}

/* The words of a tick whose guests all run, by the low halves of their CPU times. */
static void widen(const uint32_t *low, const uint64_t *was, uint32_t n, uint64_t *word)
{
	for (uint32_t i = 0; i < n; i++) {
		const uint64_t before = was[i] >> TAPE_STATE_BITS;
		const uint64_t cpu_ns = before + (uint32_t)(low[i] - (uint32_t)before);

		word[i] = cpu_ns << TAPE_STATE_BITS | TAPE_RUNS;
	}
}

static void put_words(struct trace_out *o, const uint64_t *word, uint64_t *was, uint32_t n)
{
	for (uint32_t i = 0; i < n; i += 8) {
		uint32_t some = n - i < 8 ? n - i : 8, mask = 0;

		for (uint32_t k = 0; k < some; k++)
			mask |= (uint32_t)(word[i + k] != was[i + k]) << k;
		trace_put_byte(o, (uint8_t)mask);
		for (uint32_t k = 0; k < some; k++)
			if (mask >> k & 1)
				put_word(o, word[i + k], &was[i + k]);
	}
}

static uint64_t get_word(struct trace_in *in, uint64_t was)
{
	uint64_t v = trace_get(in, UINT64_MAX), state = state_of(was);
	uint64_t cpu_ns = trace_add_difference(was >> TAPE_STATE_BITS, v >> 1);

	if (v & 1)
		state = trace_get(in, TAPE_STATE_MASK);
	if (cpu_ns >> (64 - TAPE_STATE_BITS))
		in->bad = true;
	return cpu_ns << TAPE_STATE_BITS | state;
}

void tape_get_words(struct trace_in *in, uint64_t *word, uint32_t guests)
{
	for (uint32_t i = 0; i < guests && !in->bad; i += 8) {
		uint8_t mask = 0;

		trace_get_bytes(in, &mask, 1);
		for (uint32_t k = 0; k < 8; k++)
			if (mask >> k & 1) {
				if (i + k >= guests) {
					in->bad = true;
					return;
				}
				word[i + k] = get_word(in, word[i + k]);
			}
	}
}

/* --- scans: most figures are 0: a mask says which are not, in this order ------------------- */

#define U(m) TRACE_FIELD(usage, m)
#define R(m) TRACE_FIELD(report, m)

static const struct trace_field of_usage[] = {
	U(flags),      U(msg_bytes), U(mtus_sent), U(mtus_recv), U(bytes_sent),
	U(bytes_recv), U(wrs),	     U(lost),	   U(backlog),	 U(queues),
};
static const struct trace_field of_report[] = {
	R(flags), R(n), R(sum_ns), R(io_sum_ns), R(io_sumsq_hi), R(io_sumsq_lo),
};

enum {
	USAGE_FIELDS = sizeof(of_usage) / sizeof(of_usage[0]),
	REPORT_FIELDS = sizeof(of_report) / sizeof(of_report[0]),
	FIELDS = USAGE_FIELDS + REPORT_FIELDS,
};

static void put_scan(struct trace_out *o, bool found, const struct usage *u,
		     const struct report *rep)
{
	uint64_t v[FIELDS];
	uint32_t mask = 0;

	for (uint32_t i = 0; i < USAGE_FIELDS; i++)
		v[i] = trace_load_field(u, &of_usage[i]);
	for (uint32_t i = 0; i < REPORT_FIELDS; i++)
		v[USAGE_FIELDS + i] = trace_load_field(rep, &of_report[i]);
	for (uint32_t i = 0; i < FIELDS; i++)
		mask |= (uint32_t)(v[i] != 0) << i;
	trace_put(o, u->slot + 1);
	trace_put(o, mask << 1 | found);
	for (uint32_t i = 0; i < FIELDS; i++)
		if (v[i])
			trace_put(o, v[i]);
}

/* The scan at *at, which goes on to the next. */
static bool take_scan(const uint8_t **at, struct usage *u, struct report *rep)
{
	uint64_t v[TAPE_FIGURES];
	struct tape_scan sc;

	take(at, &sc, sizeof(sc));
	for (uint32_t i = 0; i < TAPE_FIGURES; i++)
		v[i] = sc.figure[i];
	if (sc.wide)
		take(at, v, sizeof(v));
	*u = (struct usage){
		.slot = sc.slot,
		.flags = sc.flags,
		.msg_bytes = sc.msg_bytes,
		.mtus_sent = v[0],
		.mtus_recv = v[1],
		.bytes_sent = v[2],
		.bytes_recv = v[3],
		.wrs = v[4],
		.lost = v[5],
		.backlog = v[6],
		.queues = v[7],
	};
	*rep = (struct report){ 0 };
	if (sc.reports)
		take(at, rep, sizeof(*rep));
	return sc.found;
}

void tape_get_scan(struct trace_in *in, bool *found, struct usage *u, struct report *rep)
{
	uint64_t mask = trace_get(in, (2u << FIELDS) - 1);

	*found = mask & 1;
	mask >>= 1;
	for (uint32_t i = 0; i < USAGE_FIELDS; i++)
		trace_get_field(in, u, &of_usage[i], mask >> i & 1);
	for (uint32_t i = 0; i < REPORT_FIELDS; i++)
		trace_get_field(in, rep, &of_report[i], mask >> (USAGE_FIELDS + i) & 1);
}

/* --- records ----------------------------------------------------------------------------- */

static void put_answers(struct trace_out *o, const uint8_t **at, const struct tape_tick *t)
{
	for (uint32_t i = 0; i < t->answers; i++) {
		struct tape_answer a;

		take(at, &a, sizeof(a));
		trace_put(o, a.slot + 1);
		trace_put(o, a.answer);
		trace_put_difference(o, (uint64_t)a.answered, (uint64_t)t->now_ns);
	}
	trace_put(o, 0);
}

static void put_again(struct trace_out *o, const struct tape_tick *t)
{
	uint64_t any = 0;

	for (uint32_t i = 0; i < FLOW_GUESTS_MAX / 64; i++)
		any |= t->again[i];
	trace_put(o, any != 0);
	for (uint32_t i = 0; any && i < FLOW_GUESTS_MAX / 64; i++)
		trace_put(o, t->again[i]);
}

/* Where whole words are: behind the scans. */
static const uint8_t *behind_scans(const uint8_t *at, uint32_t scans)
{
	struct report rep;
	struct usage u;

	while (scans--)
		take_scan(&at, &u, &rep);
	return at;
}

static void encode_words(struct tape_encoder *e, const uint8_t **at, const struct tape_tick *t,
			 struct trace_out *o)
{
	uint32_t low[FLOW_GUESTS_MAX];
	uint64_t word[FLOW_GUESTS_MAX];

	memcpy(low, *at, t->words * sizeof(low[0]));
	*at += tape_low_bytes(t->words);
	if (t->wide)
		memcpy(word, behind_scans(*at, t->scans), t->words * sizeof(word[0]));
	else
		widen(low, e->word, t->words, word);
	put_words(o, word, e->word, t->words);
}

static void encode_tick(struct tape_encoder *e, const uint8_t *at, struct trace_out *o)
{
	struct tape_tick t;

	take(&at, &t, sizeof(t));
	trace_put_difference(o, (uint64_t)t.now_ns, (uint64_t)e->now_ns);
	e->now_ns = t.now_ns;
	put_answers(o, &at, &t);
	put_again(o, &t);
	trace_put(o, (uint32_t)-t.list_rc);
	if (!t.list_rc)
		encode_words(e, &at, &t, o);
	for (uint32_t i = 0; i < t.scans; i++) {
		struct report rep;
		struct usage u;
		bool found = take_scan(&at, &u, &rep);

		put_scan(o, found, &u, &rep);
	}
	trace_put(o, 0);
}

static void encode_plans(const uint8_t *at, uint32_t bytes, struct trace_out *o)
{
	struct tape_plan p;

	for (const uint8_t *end = at + bytes; at < end;) {
		take(&at, &p, sizeof(p));
		trace_put(o, p.slot + 1);
		trace_put(o, p.cap);
		trace_put(o, p.rate_q16);
		trace_put(o, p.reason);
		trace_put(o, p.serial);
		trace_put(o, p.wanted);
	}
	trace_put(o, 0);
}

static void encode_accounts(const uint8_t *at, uint32_t bytes, struct trace_out *o)
{
	struct tape_account a;

	for (const uint8_t *end = at + bytes; at < end;) {
		take(&at, &a, sizeof(a));
		trace_put(o, a.slot + 1);
		tape_put_account(o, &a.account, &a.plan);
	}
	trace_put(o, 0);
}

void tape_encode(void *encoder, const struct trace_ring_head *h, const uint8_t *payload,
		 struct trace_out *o)
{
	struct tape_encoder *e = encoder;

	switch (h->kind) {
	case TRACE_TICK:
		encode_tick(e, payload, o);
		break;
	case TRACE_DECIDED:
		encode_plans(payload, h->bytes, o);
		break;
	case TRACE_ACCOUNTS:
		encode_accounts(payload, h->bytes, o);
		break;
	case TRACE_SET:
		/* Words are in the order of the set: from here on of another one. */
		memset(e->word, 0, sizeof(e->word));
		trace_put_bytes(o, payload, h->bytes);
		break;
	default:
		trace_put_bytes(o, payload, h->bytes);
	}
}
