// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * replay: what decide.h decides in the clusters that standard input describes, for compare.py. A
 * line is a word and its numbers:
 *
 *	begin OFF MARGIN REST FREEZE CHECK BUDGET BUDGET_NS
 *	service MINIMUM GUARANTEE SHARE MAXIMUM PRIORITY HIGH LOW
 *	node SERVICE HOME ALIVE FIXED PENDING KNOWN LOAD CAPACITY MAY
 *	goes NODE SERVICE		from now on the node serves this service
 *	load NODE KNOWN LOAD
 *	scan TIME			a scan has ended
 *	ask SERVICE HIGH TIME		prints a line: DONOR WAIT, loads before and after, STEPS,
 *					three numbers of each step, and the reason as a sentence
 *	asked SERVICE TIME		the plan was carried out
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "src/reconf/decide.h"

enum { FIELDS = 9 };

struct replay {
	struct decide d;
	struct decide_view v;
	struct decide_plan p;
};

static bool begin(struct replay *r, const uint64_t *f)
{
	const struct decide_conf c = { .off = (uint32_t)f[0],
				       .margin = (uint32_t)f[1],
				       .rest_ns = (int64_t)f[2],
				       .freeze_ns = (int64_t)f[3],
				       .check_ns = (int64_t)f[4],
				       .budget = (uint32_t)f[5],
				       .budget_ns = (int64_t)f[6] };

	memset(r, 0, sizeof(*r));
	decide_init(&r->d, &c);
	return c.budget > 0;
}

static bool service(struct replay *r, const uint64_t *f)
{
	if (r->v.services == DECIDE_SERVICES_MAX)
		return false;
	r->v.service[r->v.services++] = (struct decide_service){ .minimum = (uint32_t)f[0],
								 .guarantee = (uint32_t)f[1],
								 .share = (uint32_t)f[2],
								 .maximum = (uint32_t)f[3],
								 .priority = (uint32_t)f[4],
								 .high = (uint32_t)f[5],
								 .low = (uint32_t)f[6] };
	return true;
}

static bool node(struct replay *r, const uint64_t *f)
{
	if (r->v.nodes == DECIDE_NODES_MAX)
		return false;
	r->v.node[r->v.nodes++] = (struct decide_node){ .service = (uint16_t)f[0],
							.home = (uint16_t)f[1],
							.alive = f[2],
							.fixed = f[3],
							.pending = f[4],
							.known = f[5],
							.load = (uint32_t)f[6],
							.capacity = (uint32_t)f[7],
							.may = f[8] };
	return true;
}

static bool goes(struct replay *r, const uint64_t *f)
{
	if (f[0] >= r->v.nodes)
		return false;
	r->v.node[f[0]].service = (uint16_t)f[1];
	return true;
}

static bool load(struct replay *r, const uint64_t *f)
{
	if (f[0] >= r->v.nodes)
		return false;
	r->v.node[f[0]].known = f[1];
	r->v.node[f[0]].load = (uint32_t)f[2];
	return true;
}

static bool scan(struct replay *r, const uint64_t *f)
{
	decide_seen(&r->d, &r->v, (struct mono){ (int64_t)f[0] });
	return true;
}

static bool ask(struct replay *r, const uint64_t *f)
{
	struct decide_plan *p = &r->p;

	if (decide(&r->d, &r->v, (uint32_t)f[0], f[1], (struct mono){ (int64_t)f[2] }, p))
		return false;
	printf("%u %" PRId64 " %u %u %u %u %u", p->donor, p->wait_ns, p->taker_before,
	       p->donor_before, p->taker_after, p->donor_after, p->steps);
	for (uint32_t i = 0; i < p->steps; i++)
		printf(" %u %u %u", p->step[i].taker, p->step[i].donor, p->step[i].node);
	printf("\t%s\n", decide_why_text(p->why));
	return true;
}

static bool asked(struct replay *r, const uint64_t *f)
{
	if (f[0] >= r->v.services)
		return false;
	decide_asked(&r->d, (uint32_t)f[0], &r->p, (struct mono){ (int64_t)f[1] });
	return true;
}

static const struct {
	const char *word;
	int fields;
	bool (*does)(struct replay *r, const uint64_t *f);
} lines[] = {
	{ "begin", 7, begin }, { "service", 7, service }, { "node", 9, node },
	{ "goes", 2, goes },   { "load", 3, load },	  { "scan", 1, scan },
	{ "ask", 3, ask },     { "asked", 2, asked },
};

enum { LINES = sizeof(lines) / sizeof(lines[0]) };

/* False: the word does not begin a line that is known, or the line is damaged. */
static bool take(struct replay *r, const char *word)
{
	uint64_t f[FIELDS] = { 0 };
	int i = 0;

	while (i < LINES && strcmp(lines[i].word, word) != 0)
		i++;
	if (i == LINES)
		return false;
	for (int k = 0; k < lines[i].fields; k++)
		if (scanf("%" SCNu64, &f[k]) != 1)
			return false;
	return lines[i].does(r, f);
}

int main(void)
{
	static struct replay r;
	char word[16];

	for (unsigned int n = 1; scanf("%15s", word) == 1; n++) {
		if (take(&r, word))
			continue;
		fprintf(stderr, "replay: line %u: \"%s\" and its numbers are no line\n", n, word);
		return 1;
	}
	return 0;
}
