// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fuzz_tcp: a peer's bytes through tcp's parsers, on both sides, without a socket.
 *
 * Input: a byte, then steps. PROVEN: the bytes of a caller whose hello is over;
 * what comes back is held against a second, plain reading of the same bytes. UNPROVEN:
 * from the first byte on: nothing is served, however it goes. ANSWERS: what a
 * host answers to eight requests of ours (of one byte each: kind and size).
 * CLIENT (a byte: its rights): as PROVEN, but the caller is a client, and asks for more.
 * A step: a byte n; under 200: n bytes arrive; under 250: the caller takes some of
 * its answers; from 250: there is, or is no more, room for messages.
 */
#include <errno.h>

#include "src/transport/tcp/tcp.h"
#include "tests/fuzz/fuzz.h"

enum { PROVEN, UNPROVEN, ANSWERS, CLIENT, MODES };
enum { PART = 4096, HOST = 3, INPUT = 4096 };

static const uint8_t key[] = "a key of the fuzzer's own";

/* What the front would hold; it is the first member, so that both are one. */
struct fake {
	struct transport t;
	bool full; /* no room for messages */
	uint32_t messages, alarms, refused, over;
	struct transport_slot *expect; /* the next that may be done */
	uint32_t done;
};

static struct fake *fake_of(struct transport *t)
{
	return (struct fake *)t;
}

/* --- the front, faked ------------------------------------------------------------------ */

static void never(const char *what)
{
	fprintf(stderr, "broken promise: never: %s\n", what);
	abort();
}

int front_random(void *buf, size_t len)
{
	memset(buf, 7, len);
	return 0;
}

int front_proven(struct transport *t, uint16_t host, const struct hello_self *peer)
{
	(void)t;
	FUZZ_REQUIRE(host >= 1 && host <= TRANSPORT_HOSTS_MAX && peer->generation && peer->start);
	return 0;
}

bool front_message_fits(const struct transport *t, uint16_t host)
{
	FUZZ_REQUIRE(host == HOST);
	return !((const struct fake *)t)->full;
}

void front_message(struct transport *t, uint16_t host, const void *data, uint32_t len)
{
	FUZZ_REQUIRE(host == HOST && data && len >= 1 && len <= TRANSPORT_MESSAGE_MAX);
	FUZZ_REQUIRE(!fake_of(t)->full);
	fake_of(t)->messages++;
}

void front_alarm(struct transport *t, uint16_t host, const char *fmt, ...)
{
	FUZZ_REQUIRE(host <= TRANSPORT_HOSTS_MAX && strlen(fmt) > 10);
	fake_of(t)->alarms++;
}

void front_refused(struct transport *t, uint16_t host, int why, struct mono now)
{
	(void)now;
	FUZZ_REQUIRE(host <= TRANSPORT_HOSTS_MAX && why < 0);
	fake_of(t)->refused++;
}

void front_caller_over(struct transport *t)
{
	fake_of(t)->over++;
}

int front_up(struct transport *t, struct transport_out *o, const struct hello_self *peer,
	     const size_t bytes[TRANSPORT_PARTS], struct mono now)
{
	(void)t, (void)o, (void)peer, (void)bytes, (void)now;
	never("a link that stands came up");
	return 0;
}

void front_down(struct transport *t, struct transport_out *o, int why, const char *text,
		struct mono now)
{
	(void)t, (void)o, (void)why, (void)text, (void)now;
	never("tcp_call_handle_answers reports by what it returns");
}

void front_done(struct transport *t, struct transport_out *o, struct transport_slot *s,
		enum transport_outcome outcome, uint64_t old, const void *data, int why)
{
	(void)o, (void)old;
	FUZZ_REQUIRE(s == fake_of(t)->expect);
	FUZZ_REQUIRE(outcome == TRANSPORT_DONE ? why == 0 : why < 0 && why >= -4095);
	FUZZ_REQUIRE(outcome == TRANSPORT_DONE || outcome == TRANSPORT_REFUSED);
	FUZZ_REQUIRE(!data == !(outcome == TRANSPORT_DONE && s->op.kind == TRANSPORT_READ));
	fake_of(t)->done++;
	fake_of(t)->expect++;
}

/* --- a second reading -------------------------------------------------------------------- */

/* What a plain responder, to whom all bytes come at once, would have said. */
struct model {
	uint8_t *said;
	size_t len, room;
	uint64_t words[PART / 8];
	const uint8_t *table;
	uint32_t requests, messages;
	bool reads_only, silent; /* no right to atomics, to SEND */
	bool broken;		 /* it would have hung up */
};

static uint64_t number(const uint8_t *at, int bytes)
{
	return bytes ? at[0] | number(at + 1, bytes - 1) << 8 : 0;
}

static void model_says(struct model *m, uint8_t type, uint8_t slot, const void *data, uint32_t len)
{
	uint8_t header[8] = { 'R', 'x', type, slot, (uint8_t)len, (uint8_t)(len >> 8) };

	if (m->room - m->len < 8 + len) {
		m->room = 2 * m->room + 8 + len;
		m->said = realloc(m->said, m->room);
		if (!m->said)
			abort();
	}
	memcpy(m->said + m->len, header, 8);
	if (len)
		memcpy(m->said + m->len + 8, data, len);
	m->len += 8 + len;
}

static void model_refuses(struct model *m, uint8_t slot, uint32_t why)
{
	uint8_t four[4] = { (uint8_t)why };

	model_says(m, 7, slot, four, 4);
}

/* Type 2 reads; 3 and 4 change one word. */
static void model_serves(struct model *m, uint8_t type, uint8_t slot, const uint8_t *d)
{
	uint64_t part = number(d, 4), at = number(d + 4, 4), old;
	uint64_t len = type == 2 ? number(d + 8, 4) : 8;

	if (type != 2 && m->reads_only)
		model_refuses(m, slot, EPERM);
	else if (part > 3)
		model_refuses(m, slot, EINVAL);
	else if (type != 2 && part != 1)
		model_refuses(m, slot, EACCES);
	else if (at & 7 || len & 7 || !len || len > 16384)
		model_refuses(m, slot, EINVAL);
	else if (part == 3 || at >= PART || len > PART - at) /* part 3 is not there */
		model_refuses(m, slot, ERANGE);
	else if (type == 2)
		model_says(m, 6, slot, (part == 1 ? (const uint8_t *)m->words : m->table) + at,
			   (uint32_t)len);
	else {
		old = m->words[at / 8];
		if (type == 4)
			m->words[at / 8] += number(d + 8, 8);
		else if (old == number(d + 8, 8))
			m->words[at / 8] = number(d + 16, 8);
		model_says(m, 6, slot, &old, 8);
	}
}

static void model_reads(struct model *m, const uint8_t *at, size_t left)
{
	static const uint8_t length[] = { 0, 0, 12, 24, 16 };

	while (left >= 8 && !m->broken) {
		uint64_t len = number(at + 4, 4);
		uint8_t type = at[2];

		m->broken = at[0] != 'R' || at[1] != 'x' || type < 1 || type > 7 || len > 1024;
		if (m->broken || left < 8 + len)
			return;
		if (type == 5 && len && m->silent) {
			model_refuses(m, at[3], EPERM);
		} else if (type == 5 && len) {
			m->messages++;
			model_says(m, 6, at[3], NULL, 0);
		} else if (type >= 2 && type <= 4 && len == length[type]) {
			m->requests++;
			model_serves(m, type, at[3], at + 8);
		} else {
			m->broken = true;
		}
		at += 8 + len;
		left -= 8 + len;
	}
}

/* --- the responder ------------------------------------------------------------------------ */

struct rig {
	struct fake fake;
	struct tcp_region region;
	struct tcp_serve serve;
	int rc;
	uint8_t sent[INPUT]; /* all that arrived */
	size_t sent_len;
	uint8_t *got; /* all that the caller took */
	size_t got_len, got_room;
};

static void rig_init(struct rig *r)
{
	uint8_t *table = malloc(PART);

	memset(r, 0, sizeof(*r));
	r->fake.t.conf = (struct transport_conf){
		.host = 2, .generation = 5, .start = 1, .cluster = "fuzz"
	};
	r->fake.t.conf.key = key;
	r->fake.t.conf.key_len = sizeof(key) - 1;
	r->region.words = calloc(1, PART);
	if (!table || !r->region.words)
		abort();
	for (size_t i = 0; i < PART; i++)
		table[i] = (uint8_t)(i * 7 + i / 256);
	r->region.part[TRANSPORT_TABLE] = table;
	r->region.part[TRANSPORT_WORDS] = (const void *)r->region.words;
	r->region.part[TRANSPORT_LOAD] = table;
	r->region.bytes[0] = r->region.bytes[1] = r->region.bytes[2] = PART;
	FUZZ_REQUIRE(!tcp_serve_init(&r->serve, &r->fake.t, &r->region, (struct mono){ 1 }));
}

static void rig_fini(struct rig *r)
{
	tcp_serve_fini(&r->serve);
	FUZZ_REQUIRE(r->fake.over == 1);
	free((void *)(uintptr_t)r->region.part[TRANSPORT_TABLE]);
	free((void *)(uintptr_t)r->region.words);
	free(r->got);
}

static void drain(struct rig *r, size_t n)
{
	struct tcp_buf *out = &r->serve.out;

	if (n > tcp_buf_used(out))
		n = tcp_buf_used(out);
	if (r->got_room - r->got_len < n) {
		r->got_room = 2 * r->got_room + n;
		r->got = realloc(r->got, r->got_room);
		if (!r->got)
			abort();
	}
	if (n)
		memcpy(r->got + r->got_len, out->at + out->head, n);
	r->got_len += n;
	tcp_buf_drop(out, n);
}

static void go(struct rig *r)
{
	for (int i = 0; i < 3 && r->rc >= 0; i++)
		r->rc = tcp_serve_step(&r->serve, (struct mono){ 1 });
	FUZZ_REQUIRE(tcp_buf_used(&r->serve.out) <= r->serve.out.room);
	FUZZ_REQUIRE(r->rc != TCP_MORE || !tcp_serve_room(&r->serve) || r->serve.host);
}

/* n bytes arrive, as far as there is room for them; false: there is none. */
static bool arrive(struct rig *r, struct bytes *in, size_t n)
{
	while (n && in->left && r->rc >= 0) {
		size_t room;
		uint8_t *at = tcp_buf_space(&r->serve.in, &room);

		room = room < n ? room : n;
		room = room < in->left ? room : in->left;
		if (!room)
			return false;
		take(in, at, room);
		memcpy(r->sent + r->sent_len, at, room);
		r->sent_len += room;
		tcp_buf_add(&r->serve.in, room);
		n -= room;
		go(r);
	}
	return true;
}

static void steps(struct rig *r, struct bytes *in)
{
	while (in->left && r->rc >= 0) {
		uint8_t n = take8(in);

		if (n >= 250) {
			r->fake.full = !r->fake.full;
			go(r);
		} else if (n >= 200) {
			drain(r, (size_t)(n - 199) * 256);
			go(r);
		} else if (!arrive(r, in, n)) {
			/* Only who is owed answers, or waits for the user, is not read. */
			FUZZ_REQUIRE(r->rc != TCP_IDLE);
			r->fake.full = false;
			drain(r, SIZE_MAX);
			go(r);
		}
	}
}

/* A friend of ours does the hello as it should be. */
static void prove(struct rig *r, enum transport_role role, uint32_t rights)
{
	struct transport_conf conf = r->fake.t.conf;
	uint8_t message[HELLO_MAX], nonce[HELLO_NONCE] = { 1 };
	struct hello h;
	size_t len;

	conf.host = HOST;
	conf.role = role;
	conf.rights = rights;
	r->fake.t.list.of[HOST - 1].listed = true;
	r->fake.t.list.of[HOST - 1].role = (uint8_t)role;
	r->fake.t.list.of[HOST - 1].rights = (uint8_t)rights;
	hello_begin(&h, HELLO_CALLER, &conf, 2, nonce);
	len = hello_write_call(&h, message);
	while (h.keys_len == 0) {
		struct tcp_frame f;
		int n;

		memcpy(tcp_frame_put(&r->serve.in, TCP_HELLO, 0, (uint32_t)len), message, len);
		if (tcp_serve_step(&r->serve, (struct mono){ 1 }) == TCP_PROVEN)
			FUZZ_REQUIRE(!tcp_serve_welcome(&r->serve));
		n = tcp_frame_look(&r->serve.out, HELLO_MAX, &f);
		FUZZ_REQUIRE(n > 0 && f.type == TCP_HELLO);
		FUZZ_REQUIRE(hello_receive(&h, f.data, f.len, message, &len) >= 0);
		tcp_buf_drop(&r->serve.out, (size_t)n);
	}
	FUZZ_REQUIRE(h.keys_len == TCP_KEYS && r->serve.host == HOST &&
		     !tcp_buf_used(&r->serve.out));
}

static void compare(struct rig *r, enum transport_role role, uint32_t rights)
{
	struct model m = { .table = r->region.part[TRANSPORT_TABLE],
			   .silent = role == TRANSPORT_CLIENT,
			   .reads_only = role == TRANSPORT_CLIENT && !rights };

	model_reads(&m, r->sent, r->sent_len);
	FUZZ_REQUIRE((r->rc < 0) == m.broken);
	FUZZ_REQUIRE(r->got_len == m.len && (!m.len || !memcmp(r->got, m.said, m.len)));
	FUZZ_REQUIRE(!memcmp((const void *)(uintptr_t)r->region.words, m.words, PART));
	FUZZ_REQUIRE(r->fake.t.stats.served == m.requests && r->fake.messages == m.messages);
	FUZZ_REQUIRE(!m.broken || r->fake.alarms);
	free(m.said);
}

static void proven(struct bytes *in, enum transport_role role, uint32_t rights)
{
	struct rig r;

	rig_init(&r);
	prove(&r, role, rights);
	steps(&r, in);
	r.fake.full = false;
	do {
		drain(&r, SIZE_MAX);
		if (r.rc >= 0)
			go(&r);
	} while (tcp_buf_used(&r.serve.out) || r.rc > TCP_IDLE);
	compare(&r, role, rights);
	rig_fini(&r);
}

static void unproven(struct bytes *in)
{
	struct rig r;

	rig_init(&r);
	steps(&r, in);
	tcp_serve_gone(&r.serve, (struct mono){ 1 });
	drain(&r, SIZE_MAX);
	FUZZ_REQUIRE(r.rc != TCP_PROVEN && !r.serve.host);
	FUZZ_REQUIRE(!r.fake.t.stats.served && !r.fake.messages);
	FUZZ_REQUIRE(r.got_len <= TCP_HELLO_FRAME && r.fake.refused <= 2);
	FUZZ_REQUIRE(r.rc >= 0 || r.fake.refused);
	rig_fini(&r);
}

/* --- the caller ------------------------------------------------------------------------------ */

struct asked {
	struct fake fake;
	struct transport_out out;
	struct transport_slot slot[TRANSPORT_SLOTS];
	struct tcp_call call;
};

static void ask(struct asked *a, uint32_t i, uint8_t byte)
{
	struct transport_slot *s = &a->out.slot[i];

	s->index = i;
	s->op = (struct transport_op){ .kind = byte % TRANSPORT_KINDS, .len = 8 };
	if (s->op.kind == TRANSPORT_READ)
		s->op.len = 8 * (1 + (uint32_t)byte / 4);
	s->op.data = s->message;
	FUZZ_REQUIRE(!tcp_call_submit(&a->call, s));
}

/* How many answers are good, and whether what follows is none. */
static uint32_t read_answers(const struct asked *a, const uint8_t *at, size_t left, bool *broken)
{
	uint32_t n = 0;

	for (*broken = false; left >= 8; n++) {
		const struct transport_op *op = &a->out.slot[n].op;
		uint64_t len = number(at + 4, 4);
		uint32_t want = at[2] == 7 ? 4 : op->kind == TRANSPORT_SEND ? 0 : op->len;

		*broken = at[0] != 'R' || at[1] != 'x' || at[2] < 1 || at[2] > 7 || len > 16384;
		if (*broken || left < 8 + len)
			return n;
		*broken = n == TRANSPORT_DEPTH || at[2] < 6 || at[3] != n || len != want;
		if (*broken)
			return n;
		at += 8 + len;
		left -= 8 + len;
	}
	return n;
}

static void answers(struct bytes *in)
{
	struct asked *a = calloc(1, sizeof(*a));
	size_t room, left = 0;
	uint8_t *at;
	uint32_t n;
	bool broken;
	int rc = 0;

	if (!a || tcp_buf_init(&a->call.in, 2 * TCP_ANSWER_MAX) ||
	    tcp_buf_init(&a->call.out, 8 * TCP_REQUEST_MAX))
		abort();
	a->call.state = TCP_CALL_UP;
	a->call.conn.fd = -1;
	a->out.slot = a->slot;
	a->fake.expect = a->out.slot;
	for (uint32_t i = 0; i < TRANSPORT_DEPTH; i++)
		ask(a, i, take8(in));
	n = read_answers(a, in->at, in->left, &broken);
	while (in->left && !rc) {
		left = 1 + in->left / 3;
		at = tcp_buf_space(&a->call.in, &room);
		FUZZ_REQUIRE(room >= left);
		take(in, at, left);
		tcp_buf_add(&a->call.in, left);
		rc = tcp_call_handle_answers(&a->call, &a->fake.t, &a->out, (struct mono){ 1 });
	}
	FUZZ_REQUIRE(a->fake.done == n && rc == (broken ? -EPROTO : 0));
	tcp_call_fini(&a->call);
	free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes in = { data, size < INPUT ? size : INPUT };

	switch (take8(&in) % MODES) {
	case PROVEN:
		proven(&in, TRANSPORT_MEMBER, 0);
		break;
	case CLIENT:
		proven(&in, TRANSPORT_CLIENT, take8(&in) & TRANSPORT_RIGHTS);
		break;
	case UNPROVEN:
		unproven(&in);
		break;
	default:
		answers(&in);
	}
	return 0;
}
