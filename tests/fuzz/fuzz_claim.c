// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fuzz_claim: load pages that a hostile guest shows, one after the other, through load_claim_take
 * and load_agree_add. Whatever it writes, what is accepted is within its bounds, no accepted time
 * goes back, and a guest that says other than the hypervisor counted is not believed for long.
 *
 * Input: steps of a byte op, one argument byte, and for some ops more:
 *	op % 8: 0 look; 1 write a word anywhere; 2 set a field and publish by the rule; 3 publish
 *	again; 4 cut: half of a new record; 5 magic; 6 an honest sample; 7 time passes
 */
#include <errno.h>

#include "src/load/agree.h"
#include "src/load/claim.h"
#include "src/load/index.h"
#include "src/shared/record.h"
#include "tests/fuzz/fuzz.h"

enum { VCPUS = 4, STEPS = 600 };

struct guest {
	struct guest_load_page page;
	struct load_record r; /* what it publishes by the rule */
	struct load_claim c;
	struct load_agree a;
	struct mono now;
	uint64_t cpu_ns;
	struct load_record was; /* accepted before */
};

static void publish(struct guest *g)
{
	record_write(&g->page.record, &g->r.head, REGION_LOAD, sizeof(g->r));
}

static void pass(struct guest *g, uint64_t ns)
{
	g->now.ns += (int64_t)ns;
	g->cpu_ns += ns / 2;
}

static void check_accepted(const struct guest *g)
{
	const struct load_record *r = &g->c.record, *was = &g->was;
	uint32_t known = LOAD_OVERRUN | LOAD_NO_WAIT | LOAD_IDLE_REPAIRED | LOAD_NO_RUNNING;

	FUZZ_REQUIRE(r->beat && r->cpus >= 1 && r->cpus <= VCPUS);
	FUZZ_REQUIRE(r->source == LOAD_ULM || r->source == LOAD_KLM);
	FUZZ_REQUIRE(!(r->flags & ~known) && !r->node && !r->queued && !r->served);
	FUZZ_REQUIRE(r->sampled_ns == g->now.ns);
	FUZZ_REQUIRE(r->busy_ns <= LOAD_CLAIM_TIME_MAX && r->wait_ns <= LOAD_CLAIM_TIME_MAX);
	FUZZ_REQUIRE(load_cpu_ns(r) <= 3 * LOAD_CLAIM_TIME_MAX);
	FUZZ_REQUIRE(r->period_ns >= 1000000 && r->period_ns <= 10000000000);
	if (!was->beat)
		return;
	FUZZ_REQUIRE(r->beat != was->beat);
	if (r->source != was->source) /* it has times of its own */
		return;
	FUZZ_REQUIRE(r->busy_ns >= was->busy_ns && r->irq_ns >= was->irq_ns &&
		     r->softirq_ns >= was->softirq_ns && r->steal_ns >= was->steal_ns &&
		     r->wait_ns >= was->wait_ns);
	if (r->beat > was->beat && r->sampled_ns > was->sampled_ns) {
		int index = load_index(was, r);

		FUZZ_REQUIRE(index == -EINVAL || (index >= 0 && index <= LOAD_INDEX_MAX));
	}
}

/* What is accepted stands on the page with a right checksum. */
static void check_page(const struct guest *g)
{
	FUZZ_REQUIRE(g->page.magic == GUEST_LOAD_MAGIC);
	FUZZ_REQUIRE(!record_check(&g->page.record, REGION_LOAD, sizeof(g->page.record)));
}

/* Believed: then in the newest window it was off by no more than the rule says. */
static void check_believed(const struct guest *g)
{
	int64_t off = (int64_t)g->a.used_mcpu - g->a.cpu_mcpu;

	FUZZ_REQUIRE(g->a.known && !g->a.disagrees);
	FUZZ_REQUIRE((off < 0 ? -off : off) <= 10 * LOAD_AGREE_PERCENT + VCPUS * 250 + 1);
}

static void look(struct guest *g)
{
	/* Of its very size: a reader that goes beyond it is found. */
	struct guest_load_page *copy = malloc(sizeof(*copy));
	int rc;

	if (!copy)
		abort();
	memcpy(copy, &g->page, sizeof(*copy));
	g->was = g->c.record;
	rc = load_claim_take(&g->c, copy, VCPUS, g->now);
	free(copy);
	FUZZ_REQUIRE(rc == 1 || rc == 0 || rc == -EAGAIN || rc == -ENOMSG || rc == -EPROTO ||
		     rc == -ERANGE || rc == -ESTALE);
	FUZZ_REQUIRE(strlen(load_claim_text(rc)) > 0);
	if (rc == 1) {
		struct load_used u = { .at = g->now,
				       .used_ns = load_cpu_ns(&g->c.record),
				       .steal_ns = g->c.record.steal_ns,
				       .cpu_ns = g->cpu_ns,
				       .late_ns = g->c.late_ns,
				       .cpus = g->c.record.cpus };

		check_accepted(g);
		check_page(g);
		/* As src/cluster/worker_claims.c does. */
		if (g->was.source != g->c.record.source)
			g->a.began = g->a.proven = false;
		load_agree_add(&g->a, &u, 10000000);
	} else if (rc == 0 || rc == -EAGAIN) {
		FUZZ_REQUIRE(!memcmp(&g->was, &g->c.record, sizeof(g->was)));
	} else {
		FUZZ_REQUIRE(!g->c.record.beat);
		if (rc != -ENOMSG)
			load_agree_fault(&g->a);
		FUZZ_REQUIRE(rc == -ENOMSG || !load_agree_believed(&g->a));
	}
	if (load_agree_believed(&g->a))
		check_believed(g);
}

static void write_word(struct bytes *in, void *at, size_t words)
{
	uint64_t v = take64(in);

	memcpy((uint8_t *)at + take8(in) % words * 8, &v, sizeof(v));
}

/* What an honest agent would write now, and the guest used. */
static void sample(struct guest *g, uint8_t percent)
{
	pass(g, 10000000);
	g->r.beat++;
	g->r.sampled_ns += 10000000;
	g->r.busy_ns += 100000ull * percent;
	publish(g);
}

static void cut(struct guest *g, uint8_t arg)
{
	struct guest_load_page before = g->page;
	size_t at = (size_t)(arg % (sizeof(g->r) / 8)) * 8;

	g->r.beat++;
	g->r.sampled_ns++;
	publish(g);
	memcpy((uint8_t *)&g->page.record + at, (const uint8_t *)&before.record + at,
	       sizeof(g->r) - at);
}

static void step(struct guest *g, struct bytes *in)
{
	uint8_t op = take8(in), arg = take8(in);

	switch (op % 8) {
	case 0:
		look(g);
		break;
	case 1:
		write_word(in, &g->page, sizeof(g->page) / 8);
		break;
	case 2:
		write_word(in, &g->r, sizeof(g->r) / 8);
		publish(g);
		break;
	case 3:
		publish(g);
		break;
	case 4:
		cut(g, arg);
		break;
	case 5:
		g->page.magic = GUEST_LOAD_MAGIC + arg % 3;
		break;
	case 6:
		for (int i = 0; i <= op / 8; i++) {
			sample(g, arg);
			look(g);
		}
		break;
	default:
		pass(g, arg * 20000000ull);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct guest g = { .page = { .magic = GUEST_LOAD_MAGIC },
			   .r = { .source = LOAD_ULM, .cpus = 2, .period_ns = 10000000 },
			   .now = { 1000000000 } };
	struct bytes in = { data, size };

	for (int i = 0; i < STEPS && in.left; i++)
		step(&g, &in);
	return 0;
}
