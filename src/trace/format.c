// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * format: numbers, records and structs as bytes; see format.h. The sampler writes with it
 * (src/tick/tape.c), and a replay reads what may be any bytes.
 */
#include "src/trace/format.h"

#include <errno.h>

uint64_t trace_get(struct trace_in *in, uint64_t most)
{
	uint64_t v = 0;

	for (unsigned shift = 0; in->at < in->end && shift < 64; shift += 7) {
		const uint8_t byte = *in->at++;

		/* The tenth byte has one bit left. A last byte of 0 would be a second way. */
		if ((shift == 63 && byte > 1) || (shift && !byte))
			break;
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		if (v > most)
			break;
		return v;
	}
	in->bad = true;
	return 0;
}

uint64_t trace_get_difference(struct trace_in *in, uint64_t was)
{
	return trace_add_difference(was, trace_get(in, UINT64_MAX));
}

void trace_get_bytes(struct trace_in *in, void *p, size_t n)
{
	if ((size_t)(in->end - in->at) < n) {
		in->bad = true;
		memset(p, 0, n);
		return;
	}
	memcpy(p, in->at, n);
	in->at += n;
}

bool trace_in_ended(const struct trace_in *in)
{
	return !in->bad && in->at == in->end;
}

int trace_next(struct trace_in *block, enum trace_kind *kind, struct trace_in *payload)
{
	size_t left = (size_t)(block->end - block->at);
	uint32_t n;

	if (!left)
		return 0;
	if (left < TRACE_RECORD_HEAD || !block->at[0] || block->at[0] >= TRACE_KINDS)
		return -EBADMSG;
	n = trace_load32(block->at + 1);
	if (n > TRACE_RECORD_MAX - TRACE_RECORD_HEAD || n > left - TRACE_RECORD_HEAD)
		return -EBADMSG;
	*kind = (enum trace_kind)block->at[0];
	*payload = (struct trace_in){ .at = block->at + TRACE_RECORD_HEAD };
	payload->end = payload->at + n;
	block->at = payload->end;
	return 1;
}

uint64_t trace_load_field(const void *s, const struct trace_field *f)
{
	const uint8_t *at = (const uint8_t *)s + f->offset;
	uint64_t v8;
	uint32_t v4;
	uint16_t v2;

	switch (f->size) {
	case 1:
		return *at;
	case 2:
		memcpy(&v2, at, sizeof(v2));
		return v2;
	case 4:
		memcpy(&v4, at, sizeof(v4));
		return v4;
	default:
		memcpy(&v8, at, sizeof(v8));
		return v8;
	}
}

static void store_field(void *s, const struct trace_field *f, uint64_t v)
{
	uint8_t *at = (uint8_t *)s + f->offset;
	const uint32_t v4 = (uint32_t)v;
	const uint16_t v2 = (uint16_t)v;

	switch (f->size) {
	case 1:
		*at = (uint8_t)v;
		break;
	case 2:
		memcpy(at, &v2, sizeof(v2));
		break;
	case 4:
		memcpy(at, &v4, sizeof(v4));
		break;
	default:
		memcpy(at, &v, sizeof(v));
	}
}

void trace_get_field(struct trace_in *in, void *s, const struct trace_field *f, bool there)
{
	uint64_t most = f->is_bool ? 1 : UINT64_MAX >> (64 - 8 * f->size);

	store_field(s, f, there ? trace_get(in, most) : 0);
}

void trace_put_fields(struct trace_out *o, const void *s, const struct trace_field *f, size_t n)
{
	for (size_t i = 0; i < n; i++)
		trace_put(o, trace_load_field(s, &f[i]));
}

void trace_get_fields(struct trace_in *in, void *s, const struct trace_field *f, size_t n)
{
	for (size_t i = 0; i < n; i++)
		trace_get_field(in, s, &f[i], true);
}
