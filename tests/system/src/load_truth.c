// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * load_truth: what was done, by the charging rule, and printing it.
 *
 * Written from the rule in flow.h alone, so that it can disagree with ibmon.
 */
#include <inttypes.h>
#include <unistd.h>

#include "tests/system/src/load.h"

const char *const load_op_names[LOAD_OPS] = { "SEND", "SEND_IMM",  "WRITE",   "WRITE_IMM",
					      "READ", "FETCH_ADD", "CMP_SWAP" };
const char *const load_type_names[LOAD_TYPES] = { "RC", "UC", "UD" };

uint64_t load_mtus(enum load_type type, enum load_op op, uint64_t bytes, uint32_t mtu)
{
	if (type == LOAD_UD || op == LOAD_FETCH_ADD || op == LOAD_CMP_SWAP || bytes == 0)
		return 1;
	return bytes / mtu + (bytes % mtu != 0);
}

void load_account(struct load_truth *t, const struct load_wr *w, bool error)
{
	uint64_t mtus = load_mtus(t->type, w->op, w->bytes, t->mtu);

	t->wrs++;
	t->ops[w->op]++;
	if (mtus > t->largest_mtus)
		t->largest_mtus = mtus;
	if (error) {
		t->errors++;
	} else if (w->op == LOAD_READ) {
		t->mtus_recv += mtus;
		t->bytes_recv += w->bytes;
	} else {
		t->mtus_sent += mtus;
		t->bytes_sent += w->bytes;
	}
}

void load_add(struct load_truth *sum, const struct load_truth *t)
{
	sum->wrs += t->wrs;
	sum->errors += t->errors;
	sum->unknown += t->unknown;
	sum->unknown_mtus += t->unknown_mtus;
	sum->refused += t->refused;
	sum->aborted += t->aborted;
	sum->signalled += t->signalled;
	sum->mtus_sent += t->mtus_sent;
	sum->mtus_recv += t->mtus_recv;
	sum->bytes_sent += t->bytes_sent;
	sum->bytes_recv += t->bytes_recv;
	for (int i = 0; i < LOAD_OPS; i++)
		sum->ops[i] += t->ops[i];
}

static void print_counts(FILE *f, const struct load_truth *t)
{
	fprintf(f,
		"\"wrs\":%" PRIu64 ",\"errors\":%" PRIu64 ",\"unknown\":%" PRIu64
		",\"unknown_mtus\":%" PRIu64 ",\"refused\":%" PRIu64 ",\"aborted\":%" PRIu64
		",\"signalled\":%" PRIu64 ",\"mtus_sent\":%" PRIu64 ",\"mtus_recv\":%" PRIu64
		",\"bytes_sent\":%" PRIu64 ",\"bytes_recv\":%" PRIu64 ",\"ops\":{",
		t->wrs, t->errors, t->unknown, t->unknown_mtus, t->refused, t->aborted,
		t->signalled, t->mtus_sent, t->mtus_recv, t->bytes_sent, t->bytes_recv);
	for (int i = 0; i < LOAD_OPS; i++)
		fprintf(f, "%s\"%s\":%" PRIu64, i ? "," : "", load_op_names[i], t->ops[i]);
	fputs("}}", f);
}

void load_print(FILE *f, const struct load_truth *t, uint32_t n, const struct load_opts *o,
		double seconds, bool stalled)
{
	struct load_truth sum = { 0 };

	fprintf(f,
		"{\"program\":\"rdmaload\",\"pid\":%d,\"seed\":%" PRIu64
		",\"seconds\":%.6f,\"stalled\":%s,\"qps\":[",
		(int)getpid(), o->seed, seconds, stalled ? "true" : "false");
	for (uint32_t i = 0; i < n; i++) {
		load_add(&sum, &t[i]);
		fprintf(f,
			"%s{\"qpn\":%" PRIu32 ",\"peer\":%" PRIu32
			",\"type\":\"%s\",\"mtu\":%" PRIu32 ",\"slots\":%" PRIu32
			",\"largest_mtus\":%" PRIu64 ",",
			i ? "," : "", t[i].qpn, t[i].peer, load_type_names[t[i].type], t[i].mtu,
			t[i].slots, t[i].largest_mtus);
		print_counts(f, &t[i]);
	}
	fputs("],\"total\":{", f);
	print_counts(f, &sum);
	fputs("}\n", f);
	fflush(f);
}
