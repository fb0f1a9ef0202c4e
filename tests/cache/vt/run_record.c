// SPDX-License-Identifier: GPL-2.0-or-later
/* run_record: the history of a schedule: its newest records, and a hash of all. */
#include <stdarg.h>

#include "tests/cache/vt/run_priv.h"

static const char *const kinds[RUN_KINDS] = { "calm", "death",	 "crashes",  "pauses",
					      "cuts", "commits", "removals", "storm" };
static const char *const violations[RUN_VIOLATIONS] = { "fine",	  "stale",   "early",
							"writes", "pending", "member",
							"cached", "delay",   "world" };

const char *run_kind_name(enum run_kind k)
{
	return kinds[k];
}

const char *run_violation_name(enum run_violation v)
{
	return violations[v];
}

static void print(FILE *f, const struct run_record *n)
{
	fprintf(f, "%10.3f ms  %u %s %llx %llx %llx\n", (double)n->t / NS_PER_MS, n->host, n->what,
		(unsigned long long)n->a, (unsigned long long)n->b, (unsigned long long)n->c);
}

static uint64_t mix(uint64_t hash, uint64_t x)
{
	hash = (hash ^ x) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

void run_note(struct run *r, const char *what, uint16_t host, uint64_t a, uint64_t b, uint64_t c)
{
	struct run_record *n = &r->history[r->records++ % RUN_HISTORY];

	*n = (struct run_record){ r->w.now, what, host, a, b, c };
	r->hash = mix(mix(mix(r->hash, (uint64_t)n->t ^ (uint64_t)host << 48), a ^ b << 7),
		      c ^ (uint64_t)(unsigned char)what[0] << 56 ^
			      (uint64_t)(unsigned char)what[1]);
	if (r->verbose)
		print(r->verbose, n);
}

void run_fail(struct run *r, enum run_violation v, const char *format, ...)
{
	va_list ap;

	if (r->violation)
		return;
	r->violation = v;
	va_start(ap, format);
	vsnprintf(r->text, sizeof(r->text), format, ap);
	va_end(ap);
}

void run_dump(FILE *f, const struct run *r)
{
	uint64_t first = r->records > RUN_HISTORY ? r->records - RUN_HISTORY : 0;

	for (uint64_t i = first; i < r->records; i++)
		print(f, &r->history[i % RUN_HISTORY]);
}
