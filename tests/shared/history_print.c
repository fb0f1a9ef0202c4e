// SPDX-License-Identifier: GPL-2.0-or-later
/* history_print: the records of a history, for people. */
#include "tests/shared/history.h"

static void print_effect(FILE *f, const struct history_record *r)
{
	static const char *const kinds[] = { "read", "cas", "faa" };
	static const char *const words[] = { "lock", "counter", "node", "ack" };
	uint32_t kind = r->offset / REGION_PAGE % 4;

	fprintf(f, "%s %s %u of host %u: ", kinds[r->op], words[kind], r->offset % REGION_PAGE / 8,
		r->target);
	if (kind == 1)
		fprintf(f, "%llu -> %llu", (unsigned long long)r->old, (unsigned long long)r->now);
	else
		fprintf(f, "%u.%llx -> %u.%llx%s", region_word_id(r->old),
			(unsigned long long)region_word_seq(r->old), region_word_id(r->now),
			(unsigned long long)region_word_seq(r->now),
			r->op == STEP_CAS && r->old != r->compare ? " (failed)" : "");
}

void history_print(FILE *f, const struct history_record *r)
{
	static const char *const types[] = {
		"boots",     "word",	 "has begun",	  "CRASHES",
		"",	     "",	 "may act under", "gets members, quorate",
		"load high", "load low", "PAUSES",	  "note"
	};

	fprintf(f, "%10.3f ms  host %u.%u ", (double)r->t / 1e6, r->host, r->boot);
	if (r->type == HISTORY_EFFECT)
		print_effect(f, r);
	else if (r->type == HISTORY_SEEN)
		fprintf(f, "sees node %u of host %u", r->offset % REGION_PAGE / 8, r->target);
	else if (r->type == HISTORY_WORD)
		fprintf(f, "word %#x begins as %#llx", r->offset, (unsigned long long)r->now);
	else
		fprintf(f, "%s service %u value %llu", types[r->type], r->service,
			(unsigned long long)r->value);
	fputc('\n', f);
}

void history_dump(FILE *f, const struct history *h)
{
	uint64_t from = h->n > HISTORY_LAST ? h->n - HISTORY_LAST : 0;

	for (uint64_t i = from; i < h->n; i++)
		history_print(f, &h->last[i % HISTORY_LAST]);
	fprintf(f, "violation: %s: %s\n", history_name(h->violation), h->text);
}
