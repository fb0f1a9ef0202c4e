// SPDX-License-Identifier: GPL-2.0-or-later
/* rig_ops: post operations for a test and wait for their results; fail the test (rig.h). */
#include <stdio.h>
#include <string.h>

#include "tests/transport/referee.h"
#include "tests/unit/prop.h"

enum { FAR_S = 60 }; /* a deadline that no operation should meet */

static struct {
	void (*fn)(void *arg, const char *text);
	void *arg;
} breaks;

void broken_calls(void (*fn)(void *arg, const char *text), void *arg)
{
	breaks.fn = fn;
	breaks.arg = arg;
}

void broken(const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (breaks.fn)
		breaks.fn(breaks.arg, text);
	print_error("%s\n", text);
	fail();
	abort();
}

struct transport_op op_read(uint16_t host, enum transport_part part, uint32_t off, uint32_t len)
{
	return (struct transport_op){
		.kind = TRANSPORT_READ, .host = host, .part = part, .offset = off, .len = len
	};
}

struct transport_op op_cas(uint16_t host, uint32_t off, uint64_t compare, uint64_t value)
{
	return (struct transport_op){ .kind = TRANSPORT_CAS64,
				      .host = host,
				      .part = TRANSPORT_WORDS,
				      .offset = off,
				      .len = 8,
				      .compare = compare,
				      .value = value };
}

struct transport_op op_faa(uint16_t host, uint32_t off, uint64_t value)
{
	return (struct transport_op){ .kind = TRANSPORT_FAA64,
				      .host = host,
				      .part = TRANSPORT_WORDS,
				      .offset = off,
				      .value = value };
}

struct transport_op op_send(uint16_t host, const void *data, uint32_t len)
{
	return (struct transport_op){
		.kind = TRANSPORT_SEND, .host = host, .data = data, .len = len
	};
}

size_t host_post(struct host *h, struct transport_op *op, size_t n, int *why)
{
	struct mono now = rig_now(h->rig);
	uint32_t link[TRANSPORT_HOSTS_MAX + 1] = { 0 };
	size_t taken;
	int because = 0;

	for (uint16_t i = 1; i <= TRANSPORT_HOSTS_MAX; i++)
		link[i] = transport_link(h->t, i);
	for (size_t i = 0; i < n; i++) {
		op[i].tag = ++h->tag;
		if (!op[i].deadline.ns)
			op[i].deadline = mono_add(now, FAR_S * NS_PER_S);
	}
	taken = transport_post(h->t, op, n, now, &because);
	if (taken > n || (taken < n && because >= 0))
		broken("post took %zu of %zu, why %d", taken, n, because);
	for (size_t i = 0; i < taken; i++)
		referee_posted(&h->ref, &op[i], link[op[i].host]);
	if (h->ref.error[0])
		broken("host %u: %s", h->number, h->ref.error);
	if (taken < n && why)
		*why = because;
	return taken;
}

uint64_t host_post1(struct host *h, struct transport_op op)
{
	int why = 0;

	if (host_post(h, &op, 1, &why) != 1)
		broken("host %u: an operation of kind %d to host %u was not taken: %s", h->number,
		       (int)op.kind, op.host, strerror(-why));
	return op.tag;
}

int host_refuses(struct host *h, struct transport_op op)
{
	int why = 0;

	if (host_post(h, &op, 1, &why))
		broken("host %u: an operation of kind %d, host %u, part %d, offset %u, length %u "
		       "was taken",
		       h->number, (int)op.kind, op.host, (int)op.part, op.offset, op.len);
	return why;
}

const struct seen *host_do(struct host *h, struct transport_op op)
{
	uint64_t tag = host_post1(h, op);

	UNTIL(h->rig, host_result(h, tag));
	return host_result(h, tag);
}

static const struct transport_event *must_do(struct host *h, struct transport_op op)
{
	const struct transport_event *ev = &host_do(h, op)->ev;

	if (ev->outcome != TRANSPORT_DONE)
		broken("host %u: kind %d to host %u ended as %d (%s), not DONE", h->number,
		       (int)op.kind, op.host, (int)ev->outcome, strerror(-ev->why));
	return ev;
}

uint64_t host_cas(struct host *h, uint16_t host, uint32_t off, uint64_t compare, uint64_t value)
{
	return must_do(h, op_cas(host, off, compare, value))->old;
}

uint64_t host_faa(struct host *h, uint16_t host, uint32_t off, uint64_t value)
{
	return must_do(h, op_faa(host, off, value))->old;
}

uint64_t host_word(struct host *h, uint16_t host, uint32_t off)
{
	uint64_t word;

	memcpy(&word, must_do(h, op_read(host, TRANSPORT_WORDS, off, 8))->data, sizeof(word));
	return word;
}
