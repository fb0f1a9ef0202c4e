// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fuzz_replay: a hostile trace, replayed to its end by the sampler's own ticks and a policy.
 *
 * Input: a byte of control (enum), then the file as it is; or records, each as its kind, 2 bytes of
 * length, and payload. They are put into blocks with right checksums, which no fuzzer finds, behind
 * a good CONF and POLICY, which may be followed by others.
 */
#include "src/lab/replay.h"
#include "tests/fuzz/fuzz.h"

enum {
	POLICY_BITS = 3,
	RECORDS = 1 << 2,
	OTHER = 1 << 3, /* replayed under another policy than that of the trace */
};

/* --- guests' memory: a replay never reads it -------------------------------------------- */

void scan_guest(struct scan_guest *g, int64_t elapsed_ns, struct usage *u, struct report *rep,
		struct window *whole, struct scan_result *res)
{
	(void)g, (void)elapsed_ns, (void)u, (void)rep, (void)whole, (void)res;
	FUZZ_REQUIRE(!"a replay scanned");
}

void scan_rested(struct scan_guest *g, struct usage *u)
{
	(void)u;
	FUZZ_REQUIRE(!g->rings);
}

void scan_before(struct scan_guest *g, const struct scan_guest *after)
{
	(void)g, (void)after;
}

void scan_prefetch(const struct scan_guest *g, int64_t elapsed_ns)
{
	(void)g, (void)elapsed_ns;
}

void scan_fault_delivered(const struct scan_guest *g, uint32_t id)
{
	(void)g, (void)id;
}

bool scan_load(const struct scan_guest *g, struct guest_load_page *copy)
{
	(void)g, (void)copy;
	return false;
}

void ring_show(struct ring *r)
{
	(void)r;
}

/* --- a trace ------------------------------------------------------------------------------ */

struct trace {
	uint8_t bytes[1 << 20];
	size_t n;
	uint32_t number;
};

static void put_block(struct trace *t, size_t n)
{
	trace_block_fill(t->bytes + t->n, (uint32_t)n, t->number++);
	t->n += TRACE_BLOCK_HEAD + n;
}

static struct trace_out begin(struct trace *t)
{
	uint8_t *at = t->bytes + t->n + TRACE_BLOCK_HEAD + TRACE_RECORD_HEAD;

	return (struct trace_out){ at, t->bytes + sizeof(t->bytes), false };
}

static void end(struct trace *t, enum trace_kind kind, const struct trace_out *o)
{
	uint8_t *record = t->bytes + t->n + TRACE_BLOCK_HEAD;

	record[0] = (uint8_t)kind;
	trace_store32(record + 1, (uint32_t)(o->at - record) - TRACE_RECORD_HEAD);
	put_block(t, (size_t)(o->at - record));
}

static struct policy_inst *new_policy(uint8_t i)
{
	struct policy_inst *pi;

	if (policy_new(&pi, policies_builtin[i & POLICY_BITS], false))
		abort();
	return pi;
}

static void begin_trace(struct trace *t, uint8_t control)
{
	const struct tape_conf conf = {
		.interval_ns = NS_PER_MS,
		.epoch_ns = NS_PER_S,
		.links = 2,
		.link = { { "a", 1u << 30, 1024, PRICE_PAPER_2011 },
			  { "b", 12500000000, 4096, PRICE_SCALED } },
	};
	struct policy_inst *pi = new_policy(control);
	struct trace_out o;

	trace_head_fill(t->bytes);
	t->n = TRACE_HEAD;
	o = begin(t);
	tape_put_conf(&o, &conf);
	end(t, TRACE_CONF, &o);
	o = begin(t);
	tape_put_policy(&o, pi);
	end(t, TRACE_POLICY, &o);
	policy_free(pi);
}

static void put_records(struct trace *t, struct bytes *in)
{
	while (in->left && t->n < sizeof(t->bytes) / 2) {
		uint8_t kind = take8(in);
		size_t n = take16(in);
		struct trace_out o = begin(t);

		n = n < in->left ? n : in->left;
		trace_put_bytes(&o, in->at, n);
		end(t, (enum trace_kind)kind, &o);
		in->at += n;
		in->left -= n;
	}
}

static void run(const struct trace *t, struct policy_inst *other)
{
	FILE *f = fmemopen((void *)(uintptr_t)t->bytes, t->n, "r");
	char why[REPLAY_TEXT] = "";
	struct replay *r = NULL;
	int rc;

	if (!f)
		abort();
	rc = replay_open(&r, f, other, why);
	if (!rc)
		while ((rc = replay_tick(r, why)) > 0)
			FUZZ_REQUIRE(!resos_check(&r->s.ledger));
	/* One sentence for people. */
	FUZZ_REQUIRE(!rc == !why[0] && !strchr(why, '\n'));
	replay_close(r);
	fclose(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct trace t;
	struct bytes in = { data, size };
	uint8_t control = take8(&in);

	t.n = t.number = 0;
	if (control & RECORDS) {
		begin_trace(&t, control);
		put_records(&t, &in);
	} else {
		t.n = in.left;
		memcpy(t.bytes, in.at, in.left);
	}
	if (t.n && t.n <= sizeof(t.bytes))
		run(&t, control & OTHER ? new_policy(control >> 4) : NULL);
	return 0;
}
