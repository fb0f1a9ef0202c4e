// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * print: the rings that were found, as a table or as JSON, for once.c. Receive queues are
 * printed, too, though they are never published. See print.h.
 */
#include "config.h"

#include <inttypes.h>

#include "ibmon/agent/print.h"

static const char *kind_name(enum ring_class k)
{
	return k == CLASS_SQ ? "sq" : k == CLASS_CQ ? "cq" : k == CLASS_RECV ? "recv" : "unknown";
}

static const char *proof_name(enum ring_proof p)
{
	return p == PROOF_ORDER	    ? "order"
	       : p == PROOF_COUNT   ? "count"
	       : p == PROOF_CONTENT ? "content"
				    : "none";
}

/* The owner is shown, not the process that maps the ring now: usually it created the ring. */
void print_text(FILE *out, const struct track *t)
{
	fprintf(out, "%-7s %-15s %-9s %-7s %8s %6s %8s %6s  %-10s %s\n", "PID", "COMMAND", "DEVICE",
		"KIND", "NUMBER", "ELEM", "ENTRIES", "PAGES", "OFFSET", "PROOF");
	for (size_t i = 0; i < track_rings(t); i++) {
		const struct track_ring *r = track_ring(t, i);
		const struct class_ring *w = &r->what;

		fprintf(out, "%-7d %-15s uverbs%-3u %-7s %8u %6u %8u %6u  0x%-8" PRIx64 " %s\n",
			(int)r->owner, r->comm, r->uverbs, kind_name(w->kind), w->number, w->elem,
			w->slots, r->frames, w->pgoff, proof_name(w->proof));
	}
}

/* comm holds printable ASCII only. */
static void print_quoted(FILE *out, const char *s)
{
	fputc('"', out);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fputc('\\', out);
		fputc(*s, out);
	}
	fputc('"', out);
}

void print_json(FILE *out, const struct track *t)
{
	fputs("{\"rings\":[", out);
	for (size_t i = 0; i < track_rings(t); i++) {
		const struct track_ring *r = track_ring(t, i);
		const struct class_ring *w = &r->what;

		fprintf(out, "%s\n{\"pid\":%d,\"comm\":", i ? "," : "", (int)r->owner);
		print_quoted(out, r->comm);
		fprintf(out,
			",\"device\":\"uverbs%u\",\"kind\":\"%s\",\"number\":%u,\"elem_size\":%u,"
			"\"entries\":%u,\"frames\":%u,\"offset\":%" PRIu64 ",\"proof\":\"%s\"}",
			r->uverbs, kind_name(w->kind), w->number, w->elem, w->slots, r->frames,
			w->pgoff, proof_name(w->proof));
	}
	fputs("\n]}\n", out);
}
