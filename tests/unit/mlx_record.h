/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mlx_record: record one queue pair over the fake device, as tests/golden/mlx/README says. Included
 * once a program, after mlx5_rig.h or mlx4_rig.h. RESEX_RECORD=FOLDER keeps the recordings there.
 */
#ifndef RESEX_TESTS_MLX_RECORD_H
#define RESEX_TESTS_MLX_RECORD_H

#include <stdio.h>
#include <unistd.h>

#include "tests/unit/mlx_replay.h"
#include "tests/unit/mlx_rig.h"

enum { RECORD_STEPS = 900, RECORD_SENDS = 16, RECORD_ENTRIES = 15 };

struct record {
	FILE *f; /* in memory: the truth comes before it */
	char *bytes;
	size_t len;
	uint32_t snaps;
	uint8_t *was[2]; /* memory of the send queue and completion queue, recorded last */
};

static inline void put_varint(FILE *f, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		putc((int)(v & 0x7f) | 0x80, f);
	putc((int)v, f);
}

/* Whole pages, and one with the doorbell record at its begin: of the memory that is mapped. */
static inline uint8_t *record_memory(const struct copy *c, size_t *len)
{
	size_t pages = (c->bytes + GUEST_PAGE - 1) / GUEST_PAGE * GUEST_PAGE;
	uint8_t *mem = calloc(1, pages + GUEST_PAGE);

	memcpy(mem, c->from, c->bytes);
	if (c->db)
		for (int i = 0; i < 2; i++)
			((uint32_t *)(mem + pages))[i] = c->db[i];
	*len = pages + (c->db ? GUEST_PAGE : 0);
	return mem;
}

static inline void put_changes(struct record *r, int which, const struct copy *c)
{
	size_t len, at = 0;
	uint8_t *mem = record_memory(c, &len);

	if (!r->was[which])
		r->was[which] = calloc(1, len);
	for (size_t i = 0; i < len; i += 8) {
		size_t end = i;

		while (end < len && memcmp(mem + end, r->was[which] + end, 8) != 0)
			end += 8;
		if (end == i)
			continue;
		put_varint(r->f, (i - at) / 8 + 1);
		put_varint(r->f, (end - i) / 8);
		fwrite(mem + i, 1, end - i, r->f);
		at = i = end;
	}
	put_varint(r->f, 0);
	free(r->was[which]);
	r->was[which] = mem;
}

static inline void put_record(struct record *r, const struct provider_rig *x)
{
	put_varint(r->f, 1000000);
	put_varint(r->f, x->qp[0].told);
	put_varint(r->f, x->qp[0].posted);
	put_changes(r, 0, &x->cqc);
	put_changes(r, 1, &x->qp[0].sq);
	r->snaps++;
}

static inline void put_file(const struct record *r, const struct provider_rig *x, const char *path)
{
	static const char *const ops[OP_KINDS] = { "SEND",     "WRITE",	    "READ",
						   "CMP_SWAP", "FETCH_ADD", "LOCAL" };
	const struct rig_qp *q = &x->qp[0];
	const struct ring_totals *t = &q->want;
	FILE *f = fopen(path, "wb");

	assert_non_null(f);
	fprintf(f, "resex-golden 1\nprovider %s\ntype %s\nmtu %d\nsnaps %u\n",
		(int)PROVIDER == GUEST_PROVIDER_MLX4 ? "mlx4" : "mlx5",
		q->type == IBV_QPT_UD ? "UD" : "RC", RIG_MTU, r->snaps);
	fprintf(f, "ring cq %u %u %u\nring sq %u %u %u\n", x->cqc.desc.number,
		x->cqc.desc.elem_size, x->cqc.desc.entries, q->sq.desc.number, q->sq.desc.elem_size,
		q->sq.desc.entries);
	fprintf(f, "wrs %llu\nsignalled %llu\nmtus_sent %llu\nmtus_recv %llu\n",
		(unsigned long long)t->wrs, (unsigned long long)x->polled,
		(unsigned long long)t->mtus_sent, (unsigned long long)t->mtus_recv);
	fprintf(f, "bytes_sent %llu\nbytes_recv %llu\n", (unsigned long long)t->bytes_sent,
		(unsigned long long)t->bytes_recv);
	for (int i = 0; i < OP_KINDS; i++)
		fprintf(f, "op_%s %llu\n", ops[i], (unsigned long long)t->ops[i]);
	fprintf(f, "\n");
	fwrite(r->bytes, 1, r->len, f);
	assert_int_equal(fclose(f), 0);
}

/* Posted, executed, polled and recorded at random; no queue is lapped between two records. */
static inline void record_work(struct record *r, struct provider_rig *x)
{
	static const struct wanted first = { .opcode = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED };
	uint64_t newest[RIG_QPS] = { 0 };
	struct rig_qp *q = &x->qp[0];
	struct ibv_ah *ah = address(x);
	struct prop p = { .state = 7 };
	struct wanted w;

	put_record(r, x);
	assert_int_equal(post(x, q, &first, ah), 0);
	assert_int_equal(rig_execute(q, 1), 1);
	put_record(r, x);
	for (int step = 0; step < RECORD_STEPS; step++) {
		if (step % 6 == 5)
			put_record(r, x);
		w = draw(&p, q->type);
		if (prop_one_in(&p, 3))
			post(x, q, &w, ah);
		else if (prop_one_in(&p, 2))
			rig_execute(q, (uint32_t)prop_range(&p, 1, 4));
		else
			poll_all(x, newest, (uint32_t)prop_range(&p, 1, 4));
	}
	while (post(x, q, &first, ah))
		assert_true(rig_execute(q, 1) + poll_all(x, newest, UINT32_MAX) > 0);
	while (q->told < q->posted)
		assert_true(rig_execute(q, 1) + poll_all(x, newest, UINT32_MAX) > 0);
	poll_all(x, newest, UINT32_MAX);
	put_record(r, x);
	ibv_destroy_ah(ah);
}

/* What is recorded is read again, so that the recorder is tested as often as the readers. */
static inline void record_and_replay(struct provider_rig *x, const char *name)
{
	const char *folder = getenv("RESEX_RECORD");
	struct record r = { .f = NULL };
	struct replay again;
	char path[256];
	int fd;

	rig_watch_cq(x, PROVIDER);
	r.f = open_memstream(&r.bytes, &r.len);
	assert_non_null(r.f);
	record_work(&r, x);
	fclose(r.f);
	snprintf(path, sizeof(path), "%s/%s.ring", folder ? folder : "/tmp", name);
	if (!folder) {
		strcpy(path, "/tmp/record.XXXXXX");
		fd = mkstemp(path);
		assert_true(fd >= 0);
		close(fd);
	}
	put_file(&r, x, path);
	free(r.bytes);
	free(r.was[0]);
	free(r.was[1]);
	rig_close(x);
	replay_begin(&again, path);
	replay_all(&again);
	replay_end(&again);
	if (!folder)
		unlink(path);
}

#endif
