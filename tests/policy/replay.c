// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * replay: runs a policy over a recorded trace, outside of the daemon.
 *
 * A trace comes in on standard input and the plans go out on standard output;
 * compare.py holds them against those of a second implementation. Words are
 * separated by blanks, figures are decimal, a cap is milli-percent or 0 for
 * none, empty lines and those that begin with # are skipped:
 *
 *	policy NAME	begins a trace: no guest, no link, all state zero
 *	param NAME VALUE	before the trace's first tick
 *	link INDEX BYTES_S MTU	from now on; indices come in order, or again
 *	tick NOW EPOCH_START EPOCH_NS INTERVAL_NS EPOCH
 *	guest SLOT FLAGS LINK WEIGHT CEILING MIN VCPUS CAP CAP_TIME RATE ALLOCATED BALANCE
 *	usage FLAGS MSG_BYTES CPU_NS MTUS_SENT MTUS_RECV BYTES_SENT BYTES_RECV WRS LOST BACKLOG
 *	report FLAGS N SUM IO_SUM IO_SUMSQ_HI IO_SUMSQ_LO
 *	sla BASE BASE_IO BASE_DEV TOLERANCE
 *	kept		the guest is POLICY_NEW and was restarted: its block stays
 *	decide		ends the tick
 *
 * usage, report, sla and kept are the last guest's, and zero when left out. Each
 * trace gives "policy NAME", each tick "tick NUMBER" and a line a guest:
 *
 *	plan SLOT LIMITED MPCT RATE REASON VF_BYTES_S WHY0 WHY1 WHY2 WHY3 STANDS
 *
 * State is kept as the engine keeps it: blocks of exactly the sizes the policy
 * asks for, zero at the beginning, a guest's also when it is POLICY_NEW and not
 * kept.
 * Exit: 0; 1 after one sentence that names the line.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policies/policies.h"

enum {
	FIELDS_MAX = 12,
	VCPUS_MAX = 4096,
	WEIGHT_MAX = 65535,
	FLAGS_ALL = POLICY_EXEMPT | POLICY_CAPPABLE | POLICY_NEW,
	UNTOUCHED = 0xa5, /* what a plan holds before the policy wrote it, and unused input */
};

#define BYTES_S_MAX (1ull << 40)
#define TIME_MAX    INT64_MAX

struct replay {
	const struct policy_ops *ops;
	void *params, *global, *guests;
	struct policy_in *in;
	struct plan *plan;
	uint64_t ticks;
	bool ticking;		    /* between tick and decide */
	bool kept[FLOW_GUESTS_MAX]; /* by entry of in->guest[] */
	unsigned long line;
};

/* One figure of a line. */
struct field {
	const char *name;
	uint64_t min, max;
};

static const struct field tick_fields[] = {
	{ "now", 0, TIME_MAX },
	{ "epoch start", 0, TIME_MAX },
	{ "epoch", 1, TIME_MAX },
	{ "interval", 1, TIME_MAX },
	{ "number of the epoch", 0, UINT64_MAX },
	{ NULL, 0, 0 },
};

static const struct field guest_fields[] = {
	{ "slot", 0, FLOW_GUESTS_MAX - 1 },
	{ "flags", 0, FLAGS_ALL },
	{ "link", 0, FLOW_LINKS_MAX - 1 },
	{ "weight", 1, WEIGHT_MAX },
	{ "ceiling", 0, UINT32_MAX },
	{ "minimum", 0, UINT32_MAX },
	{ "vcpus", 1, VCPUS_MAX },
	{ "cap", 0, UINT32_MAX },
	{ "time of the cap", 0, TIME_MAX },
	{ "rate", 0, UINT32_MAX },
	{ "allocation", 0, INT64_MAX },
	{ "balance", 0, INT64_MAX },
	{ NULL, 0, 0 },
};

static const struct field usage_fields[] = {
	{ "flags", 0, UINT32_MAX },
	{ "bytes of the largest message", 0, UINT32_MAX },
	{ "CPU time", 0, UINT64_MAX },
	{ "MTUs sent", 0, UINT64_MAX },
	{ "MTUs received", 0, UINT64_MAX },
	{ "bytes sent", 0, UINT64_MAX },
	{ "bytes received", 0, UINT64_MAX },
	{ "work requests", 0, UINT64_MAX },
	{ "lost", 0, UINT64_MAX },
	{ "backlog", 0, UINT64_MAX },
	{ "send queues with work", 0, UINT64_MAX },
	{ NULL, 0, 0 },
};

static const struct field report_fields[] = {
	{ "flags", 0, UINT32_MAX },
	{ "samples", 0, UINT64_MAX },
	{ "sum", 0, UINT64_MAX },
	{ "sum of I/O", 0, UINT64_MAX },
	{ "high half of the sum of squares", 0, UINT64_MAX },
	{ "low half of the sum of squares", 0, UINT64_MAX },
	{ NULL, 0, 0 },
};

static const struct field sla_fields[] = {
	{ "base", 0, UINT64_MAX },
	{ "base of I/O", 0, UINT64_MAX },
	{ "base deviation", 0, UINT64_MAX },
	{ "tolerance", 0, UINT32_MAX },
	{ NULL, 0, 0 },
};

static const struct field link_fields[] = {
	{ "link", 0, FLOW_LINKS_MAX - 1 },
	{ "bytes a second", 1, BYTES_S_MAX },
	{ "MTU", 256, 4096 },
	{ NULL, 0, 0 },
};

static int refuse(const struct replay *r, const char *what)
{
	fprintf(stderr, "replay: line %lu: %s; correct the trace\n", r->line, what);
	return -EINVAL;
}

static int refuse_value(const struct replay *r, const struct field *f, const char *word)
{
	fprintf(stderr,
		"replay: line %lu: %s is \"%s\", which is not a number from %" PRIu64 " to %" PRIu64
		"; correct the trace\n",
		r->line, f->name, word ? word : "", f->min, f->max);
	return -EINVAL;
}

/* A word that is digits only, from min to max. */
static int to_number(const struct replay *r, const struct field *f, const char *word, uint64_t *v)
{
	unsigned long long got;
	char *end;

	if (!word || *word < '0' || *word > '9')
		return refuse_value(r, f, word);
	errno = 0;
	got = strtoull(word, &end, 10);
	if (errno || *end || got < f->min || got > f->max)
		return refuse_value(r, f, word);
	*v = got;
	return 0;
}

/* The rest of the line, of which nothing may be left over; f ends with name NULL. */
static int to_numbers(const struct replay *r, const struct field *f, char **save, uint64_t *v)
{
	int rc;

	for (; f->name; f++, v++) {
		rc = to_number(r, f, strtok_r(NULL, " \t", save), v);
		if (rc)
			return rc;
	}
	if (strtok_r(NULL, " \t", save))
		return refuse(r, "there are more figures than this line has");
	return 0;
}

static struct cap to_cap(uint64_t mpct)
{
	return mpct ? (struct cap){ 1, (uint32_t)mpct } : CAP_NONE;
}

static uint64_t *param_at(const struct replay *r, const struct policy_param *p)
{
	return (uint64_t *)(void *)((char *)r->params + p->offset);
}

static void *blocks(size_t n, size_t size)
{
	return calloc(n, size ? size : 1);
}

static void drop_blocks(struct replay *r)
{
	free(r->params);
	free(r->global);
	free(r->guests);
	r->params = r->global = r->guests = NULL;
}

static int on_policy(struct replay *r, char **save)
{
	const char *name = strtok_r(NULL, " \t", save);
	const struct policy_param *p;

	r->ops = name ? policy_find(name) : NULL;
	if (!r->ops || strtok_r(NULL, " \t", save))
		return refuse(r, "this is not the name of one built-in policy");
	drop_blocks(r);
	r->params = blocks(1, r->ops->params_size);
	r->global = blocks(1, r->ops->global_size);
	r->guests = blocks(FLOW_GUESTS_MAX, r->ops->guest_size);
	if (!r->params || !r->global || !r->guests)
		return refuse(r, "there is no memory for this policy");
	for (p = r->ops->params; p && p->name; p++)
		*param_at(r, p) = p->def;
	memset(r->in, 0, sizeof(*r->in));
	r->ticks = 0;
	r->ticking = false;
	printf("policy %s\n", r->ops->name);
	return 0;
}

static int on_param(struct replay *r, char **save)
{
	const char *name = strtok_r(NULL, " \t", save);
	const struct policy_param *p = r->ops->params;
	struct field f[2] = { { NULL, 0, 0 }, { NULL, 0, 0 } };
	uint64_t v;
	int rc;

	while (p && p->name && name && strcmp(p->name, name))
		p++;
	if (!p || !p->name || !name)
		return refuse(r, "the policy has no such parameter");
	if (r->ticks || r->ticking)
		return refuse(r, "parameters stand before the first tick");
	f[0] = (struct field){ p->name, p->min, p->max };
	rc = to_numbers(r, f, save, &v);
	if (rc)
		return rc;
	*param_at(r, p) = v;
	return 0;
}

static int on_link(struct replay *r, char **save)
{
	uint64_t v[FIELDS_MAX];
	int rc = to_numbers(r, link_fields, save, v);

	if (rc)
		return rc;
	if (r->ticking || v[0] > r->in->links)
		return refuse(r, "links stand before a tick, in the order of their indices");
	if (v[2] & (v[2] - 1))
		return refuse(r, "the MTU is not a power of two");
	if (v[0] == r->in->links)
		r->in->links++;
	r->in->link[v[0]] = (struct policy_link){ .bytes_s = v[1], .mtu = (uint32_t)v[2] };
	return 0;
}

static int on_tick(struct replay *r, char **save)
{
	uint64_t v[FIELDS_MAX];
	int rc = to_numbers(r, tick_fields, save, v);

	if (rc)
		return rc;
	if (r->ticking)
		return refuse(r, "the tick before lacks its decide");
	r->ticking = true;
	r->in->now.ns = (int64_t)v[0];
	r->in->epoch_start.ns = (int64_t)v[1];
	r->in->epoch_ns = (int64_t)v[2];
	r->in->interval_ns = (int64_t)v[3];
	r->in->epoch = v[4];
	r->in->guests = 0;
	return 0;
}

static void fill_guest(struct policy_guest *g, const uint64_t *v)
{
	*g = (struct policy_guest){
		.slot = (uint32_t)v[0],
		.flags = (uint32_t)v[1],
		.link = (uint32_t)v[2],
		.weight = (uint32_t)v[3],
		.bounds = { to_cap(v[4]), (uint32_t)v[5], (uint32_t)v[6] },
		.cap = to_cap(v[7]),
		.cap_time = { (int64_t)v[8] },
		.rate = { (uint32_t)v[9] },
		.allocated = { (int64_t)v[10] },
		.balance = { (int64_t)v[11] },
		.usage = { .slot = (uint32_t)v[0], .link = (uint32_t)v[2] },
		.report = { .slot = (uint32_t)v[0] },
	};
}

static int on_guest(struct replay *r, char **save)
{
	uint32_t n = r->in->guests;
	uint64_t v[FIELDS_MAX];
	int rc = to_numbers(r, guest_fields, save, v);

	if (rc)
		return rc;
	if (!r->ticking)
		return refuse(r, "a guest stands between tick and decide");
	if (n && v[0] <= r->in->guest[n - 1].slot)
		return refuse(r, "guests stand in ascending slots");
	if (v[2] >= r->in->links)
		return refuse(r, "the guest's link does not exist");
	fill_guest(&r->in->guest[n], v);
	r->kept[n] = false;
	r->in->guests = n + 1;
	return 0;
}

/* The guest that the line is about, or NULL after a complaint. */
static struct policy_guest *last_guest(const struct replay *r)
{
	if (r->ticking && r->in->guests)
		return &r->in->guest[r->in->guests - 1];
	(void)refuse(r, "there is no guest before it in this tick");
	return NULL;
}

static int on_usage(struct replay *r, char **save)
{
	struct policy_guest *g = last_guest(r);
	uint64_t v[FIELDS_MAX];
	int rc = g ? to_numbers(r, usage_fields, save, v) : -EINVAL;

	if (rc)
		return rc;
	g->usage = (struct usage){
		.slot = g->slot,
		.link = g->link,
		.flags = (uint32_t)v[0],
		.msg_bytes = (uint32_t)v[1],
		.cpu_ns = v[2],
		.mtus_sent = v[3],
		.mtus_recv = v[4],
		.bytes_sent = v[5],
		.bytes_recv = v[6],
		.wrs = v[7],
		.lost = v[8],
		.backlog = v[9],
		.queues = v[10],
	};
	return 0;
}

static int on_report(struct replay *r, char **save)
{
	struct policy_guest *g = last_guest(r);
	uint64_t v[FIELDS_MAX];
	int rc = g ? to_numbers(r, report_fields, save, v) : -EINVAL;

	if (rc)
		return rc;
	g->report = (struct report){
		.slot = g->slot,
		.flags = (uint32_t)v[0],
		.n = v[1],
		.sum_ns = v[2],
		.io_sum_ns = v[3],
		.io_sumsq_hi = v[4],
		.io_sumsq_lo = v[5],
	};
	return 0;
}

static int on_sla(struct replay *r, char **save)
{
	struct policy_guest *g = last_guest(r);
	uint64_t v[FIELDS_MAX];
	int rc = g ? to_numbers(r, sla_fields, save, v) : -EINVAL;

	if (rc)
		return rc;
	g->sla = (struct sla){ v[0], v[1], v[2], (uint32_t)v[3], 0 };
	return 0;
}

static int on_kept(struct replay *r, char **save)
{
	const struct policy_guest *g = last_guest(r);

	if (!g)
		return -EINVAL;
	if (strtok_r(NULL, " \t", save))
		return refuse(r, "nothing stands after kept");
	if (!(g->flags & POLICY_NEW))
		return refuse(r, "only a guest that is new can be kept");
	r->kept[r->in->guests - 1] = true;
	return 0;
}

static void print_plan(const struct replay *r)
{
	const struct plan_guest *p;
	uint32_t i;

	printf("tick %" PRIu64 "\n", r->ticks);
	for (i = 0; i < r->in->guests; i++) {
		p = &r->plan->guest[r->in->guest[i].slot];
		printf("plan %u %u %u %u %u %" PRIu64 " %" PRId64 " %" PRId64 " %" PRId64
		       " %" PRId64 " %" PRId64 "\n",
		       r->in->guest[i].slot, p->cap.limited, p->cap.mpct, p->rate.q16, p->reason,
		       p->vf_bytes_s, p->why[0], p->why[1], p->why[2], p->why[3], p->stands.m);
	}
}

/* A policy that looks at guests or links that there are not sees nonsense. */
static void spoil_unused(struct policy_in *in)
{
	memset(&in->guest[in->guests], UNTOUCHED,
	       (FLOW_GUESTS_MAX - in->guests) * sizeof(in->guest[0]));
	memset(&in->link[in->links], UNTOUCHED, (FLOW_LINKS_MAX - in->links) * sizeof(in->link[0]));
}

static int on_decide(struct replay *r, char **save)
{
	size_t size = r->ops->guest_size;
	uint32_t i;

	if (strtok_r(NULL, " \t", save))
		return refuse(r, "nothing stands after decide");
	if (!r->ticking)
		return refuse(r, "decide without a tick");
	for (i = 0; i < r->in->guests; i++)
		if (size && (r->in->guest[i].flags & POLICY_NEW) && !r->kept[i])
			memset((char *)r->guests + r->in->guest[i].slot * size, 0, size);
	spoil_unused(r->in);
	memset(r->plan, UNTOUCHED, sizeof(*r->plan));
	r->ops->decide(r->in, r->params, r->global, r->guests, r->plan);
	print_plan(r);
	r->ticks++;
	r->ticking = false;
	return 0;
}

static const struct {
	const char *word;
	int (*run)(struct replay *r, char **save);
} lines[] = {
	{ "policy", on_policy }, { "param", on_param }, { "link", on_link },
	{ "tick", on_tick },	 { "guest", on_guest }, { "usage", on_usage },
	{ "report", on_report }, { "sla", on_sla },	{ "kept", on_kept },
	{ "decide", on_decide },
};

static int run_line(struct replay *r, char *text)
{
	char *save = NULL, *word;
	size_t i;

	text[strcspn(text, "\n")] = '\0';
	word = strtok_r(text, " \t", &save);
	if (!word || *word == '#')
		return 0;
	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		if (strcmp(word, lines[i].word))
			continue;
		if (i && !r->ops)
			return refuse(r, "a trace begins with its policy");
		return lines[i].run(r, &save);
	}
	return refuse(r, "it begins with a word that no line of a trace begins with");
}

static int run(struct replay *r)
{
	char *text = NULL;
	size_t size = 0;
	int rc = 0;

	while (!rc && getline(&text, &size, stdin) >= 0) {
		r->line++;
		rc = run_line(r, text);
	}
	if (!rc && r->ticking)
		rc = refuse(r, "the last tick lacks its decide");
	free(text);
	return rc;
}

/* What is published of each policy, so that it can be compared too. */
static int show(void)
{
	const struct policy_ops *const *ops;
	const struct policy_param *p;
	size_t n;

	for (ops = policies_builtin; *ops; ops++) {
		for (n = 0; (*ops)->reasons[n];)
			n++;
		printf("policy %s reasons %zu\n", (*ops)->name, n);
		for (p = (*ops)->params; p && p->name; p++)
			printf("param %s %s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", p->name,
			       p->unit, p->min, p->max, p->def);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct replay r = { 0 };
	int rc = -ENOMEM;

	if (argc == 2 && !strcmp(argv[1], "--show"))
		return show();
	if (argc != 1) {
		fprintf(stderr, "usage: %s [--show] <TRACE\n", argv[0]);
		return 2;
	}
	r.in = calloc(1, sizeof(*r.in));
	r.plan = calloc(1, sizeof(*r.plan));
	if (r.in && r.plan)
		rc = run(&r);
	drop_blocks(&r);
	free(r.in);
	free(r.plan);
	return rc ? 1 : 0;
}
