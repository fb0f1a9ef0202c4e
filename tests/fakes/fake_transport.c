// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fake_transport: keeps posted operations in a list; the test executes and completes them.
 * See fake_transport.h.
 */
#include "tests/fakes/fake_transport.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/shared/region.h"

static const uint8_t *part_of(const struct transport *t, const struct transport_op *op,
			      size_t *bytes)
{
	*bytes = op->part == TRANSPORT_TABLE ? t->bytes[op->host] : REGION_LOADS_BYTES;
	return op->part == TRANSPORT_TABLE ? t->table[op->host] : t->loads[op->host];
}

static int refuses(const struct transport *t, const struct transport_op *op, struct mono now)
{
	size_t bytes;

	if (op->kind != TRANSPORT_READ ||
	    (op->part != TRANSPORT_TABLE && op->part != TRANSPORT_LOAD) || op->len % 8 ||
	    op->offset % 8 || op->len == 0 || op->len > TRANSPORT_READ_MAX)
		return -EINVAL;
	if (!t->link[op->host])
		return -ENOTCONN;
	if (!part_of(t, op, &bytes) || op->offset > bytes || op->len > bytes - op->offset)
		return -ERANGE;
	if (mono_sub(op->deadline, now) <= 0)
		return -ETIME;
	return t->out[op->host] >= t->depth ? -EAGAIN : 0;
}

size_t transport_post(struct transport *t, const struct transport_op *op, size_t n, struct mono now,
		      int *why)
{
	for (size_t i = 0; i < n; i++) {
		int rc = refuses(t, &op[i], now);

		if (rc) {
			*why = rc;
			return i;
		}
		if (t->n >= FAKE_OPS_MAX)
			abort();
		t->op[t->n++] = op[i];
		t->out[op[i].host]++;
		t->posted++;
	}
	return n;
}

void fake_transport_end(struct transport *t, uint32_t i, enum transport_outcome outcome,
			struct transport_event *ev)
{
	struct transport_op op = t->op[i];
	size_t bytes;

	memmove(&t->op[i], &t->op[i + 1], (--t->n - i) * sizeof(op));
	t->out[op.host]--;
	*ev = (struct transport_event){
		.type = TRANSPORT_RESULT,
		.host = op.host,
		.link = t->link[op.host],
		.kind = op.kind,
		.outcome = outcome,
		.tag = op.tag,
	};
	if (outcome != TRANSPORT_DONE) {
		ev->why = -ECONNRESET;
		return;
	}
	memcpy(t->data, part_of(t, &op, &bytes) + op.offset, op.len);
	ev->data = t->data;
	ev->len = op.len;
}
