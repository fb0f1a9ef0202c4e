// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fuzz_cache: messages of hostile hosts to a home, to a fill and to a proxy's evidence, through
 * home_step, home_reply, fill_step, fresh_step and fresh_reply.
 *
 * Input: commands, each a byte and what it needs. A message has the form of one of its kind, with a
 * few bytes overwritten and another length; each is memory of its own, no longer than it says.
 * After each command the home must be sound: its lists and their index are the same, no word comes
 * back, and what is registered is touched by no update that is pending.
 */
#include "src/cache/fill.h"
#include "src/cache/fresh.h"
#include "src/cache/home.h"
#include "tests/fuzz/fuzz.h"

enum { SELF = 1, MEMBERS = 3, SLOTS = 2, WORDS = 4, LISTINGS = 8, LOG = 3, LINK = 7 };
enum { T_HOME = 100, T_FILL = 200, T_FRESH = 300, VERSIONS = 64, LOG_AT = 128 };

struct rig {
	struct bytes in;
	struct home home;
	struct fill fill;
	struct fresh fresh;
	void *block;
	uint64_t word[WORDS], log_word, last[WORDS], last_log;
	struct step_out out;
	struct step_op op[8]; /* outstanding, oldest first */
	uint32_t ops;
	int64_t now;
	uint32_t generation;
};

/* --- the home is sound ------------------------------------------------------------- */

static void check_lists(const struct home *h)
{
	uint32_t listed = 0, chained = 0;

	for (uint32_t w = 0; w < WORDS; w++)
		for (uint32_t i = h->list[w]; i; i = h->listing[i - 1].more)
			FUZZ_REQUIRE(++listed <= LISTINGS && h->listing[i - 1].word == w);
	for (uint32_t b = 0; b < h->buckets; b++)
		for (uint32_t i = h->bucket[b]; i; i = h->listing[i - 1].next)
			FUZZ_REQUIRE(++chained <= LISTINGS);
	FUZZ_REQUIRE(listed == chained && listed + h->frees == LISTINGS);
}

static void check_pending(const struct home *h)
{
	FUZZ_REQUIRE(home_pendings(h) <= (MEMBERS + 1) * SLOTS);
	for (uint32_t i = 0; i < home_pendings(h); i++) {
		struct home_pending p = home_pending(h, i);

		FUZZ_REQUIRE(p.member >= 1 && p.member <= MEMBERS && p.slot < SLOTS);
		FUZZ_REQUIRE(p.tags >= 1 && p.tags <= UPDATE_TAGS_MAX);
		FUZZ_REQUIRE(cache_update_fence(p.name) != 0);
		FUZZ_REQUIRE(home_pending_of(h, p.member).ns <= p.since.ns);
	}
	FUZZ_REQUIRE(h->kept <= LOG && h->kept <= h->ended);
}

/* R3, R7 d: a word never comes back, and is 0 while the home is not open. */
static void check_words(struct rig *r)
{
	bool open = r->home.state == HOME_OPEN;

	for (uint32_t w = 0; w < WORDS; w++) {
		FUZZ_REQUIRE((r->word[w] != 0) == open);
		FUZZ_REQUIRE(!open || r->word[w] >= r->last[w]);
		r->last[w] = open ? r->word[w] : r->last[w];
	}
	FUZZ_REQUIRE((r->log_word != 0) == open && (!open || r->log_word >= r->last_log));
	r->last_log = open ? r->log_word : r->last_log;
}

static void check(struct rig *r)
{
	check_lists(&r->home);
	check_pending(&r->home);
	check_words(r);
	FUZZ_REQUIRE(r->out.n <= STEP_OPS_MAX);
}

/* --- events ------------------------------------------------------------------------ */

enum to { TO_HOME = 1, TO_FILL = 2, TO_FRESH = 4, TO_ALL = 7 };

static void step_to(struct rig *r, enum to to, const struct step_event *ev)
{
	struct mono now = { r->now };

	r->out.n = r->out.taken = 0;
	if (to & TO_HOME)
		home_step(&r->home, ev, now, &r->out);
	if (to & TO_FILL)
		fill_step(&r->fill, ev, now, &r->out);
	if (to & TO_FRESH)
		fresh_step(&r->fresh, ev, now, &r->out);
	for (uint32_t i = 0; i < r->out.n && r->ops < sizeof(r->op) / sizeof(r->op[0]); i++)
		r->op[r->ops++] = r->out.op[i];
	check(r);
}

static void step(struct rig *r, const struct step_event *ev)
{
	step_to(r, TO_ALL, ev);
}

static void ask(struct rig *r, enum to to, uint32_t what, const void *wish)
{
	step_to(r, to, &(struct step_event){ .type = STEP_ASK, .what = what, .wish = wish });
}

/* A message of so many bytes, some of them overwritten. */
static void tell(struct rig *r, uint16_t host, const void *message, uint32_t len)
{
	int32_t more = (int8_t)take8(&r->in);
	uint32_t n = more < 0 && (uint32_t)-more > len ? len : (uint32_t)((int32_t)len + more / 8);
	uint8_t *copy = malloc(n ? n : 1);
	struct step_event ev = { .type = STEP_MESSAGE, .host = host, .message = copy, .len = n };
	struct home_answer answer;
	struct fresh_answer clock;

	if (!copy)
		abort();
	memset(copy, 0, n ? n : 1);
	memcpy(copy, message, n < len ? n : len);
	for (uint32_t left = take8(&r->in) % 4; left && n; left--) {
		uint32_t at = take16(&r->in) % n;

		copy[at] = take8(&r->in);
	}
	if (n && home_reply(&r->home, &ev, &answer)) {
		FUZZ_REQUIRE(answer.kind == HOME_ANSWER && answer.refusal <= HOME_FULL &&
			     !answer.zero);
		FUZZ_REQUIRE(answer.refusal != HOME_REGISTERED || answer.version != 0);
		check(r);
	}
	if (n && fresh_reply(copy, n, (struct mono){ r->now }, &clock))
		FUZZ_REQUIRE(clock.kind == FRESH_ANSWER && clock.clock_ns == r->now);
	if (n)
		step(r, &ev);
	free(copy);
}

static uint64_t some_tag(struct rig *r)
{
	return take8(&r->in) % 6 + 1;
}

static void update(struct rig *r, uint8_t which)
{
	struct update_message m = { .kind = which & 1 ? UPDATE_MARK : UPDATE_END,
				    .slot = which >> 1 & 1,
				    .tags = which >> 2 & 3,
				    .epoch = which >> 4 & 3,
				    .transaction = take8(&r->in),
				    .name = cache_update_name(8 + (which >> 6), take8(&r->in)) };

	for (uint32_t i = 0; i < 4; i++)
		m.tag[i] = some_tag(r);
	tell(r, take8(&r->in) % (MEMBERS + 2), &m, sizeof(m));
}

static void request(struct rig *r, uint8_t which)
{
	struct home_request q = { .kind = HOME_REQUEST,
				  .number = 1,
				  .serial = take8(&r->in),
				  .word = which % WORDS,
				  .tags = which % WORDS ? (which >> 2 & 3) + 1u : 0,
				  .version = r->word[which % WORDS],
				  .log = r->log_word };

	for (uint32_t i = 0; i < q.tags; i++)
		q.list[i] = some_tag(r);
	if (which & 0x80) {
		q.oldest = take8(&r->in);
		q.next = q.oldest + (which >> 4 & 7);
		q.running = which >> 4 & 1;
		q.list[q.tags] = q.oldest;
	}
	tell(r, take8(&r->in) % (MEMBERS + 2), &q, home_request_bytes(q.tags, q.running));
}

/* R2 b: nothing that is pending touches what is registered. */
static void fill_here(struct rig *r, uint8_t which)
{
	uint64_t tag[4] = { some_tag(r), some_tag(r), some_tag(r), some_tag(r) };
	struct home_fill f = { .word = which % WORDS,
			       .version = r->word[which % WORDS],
			       .log = r->log_word,
			       .tags = which % WORDS ? (which >> 2 & 3) + 1u : 0,
			       .tag = tag };

	if (home_register(&r->home, &f) != HOME_REGISTERED)
		return;
	for (uint32_t i = 0; i < home_pendings(&r->home); i++) {
		struct home_pending p = home_pending(&r->home, i);

		FUZZ_REQUIRE(f.word != 0);
		for (uint32_t k = 0; k < p.tags * f.tags; k++)
			FUZZ_REQUIRE(p.tag[k / f.tags] != tag[k % f.tags]);
	}
	check(r);
}

/* The oldest operation ends. */
static void result(struct rig *r, uint8_t which)
{
	struct step_op op = r->op[0];
	uint64_t data[2] = { take8(&r->in), r->log_word };
	struct step_event ev = { .type = STEP_RESULT,
				 .host = op.host,
				 .link = LINK + (which >> 7),
				 .tag = op.tag,
				 .outcome = (enum step_outcome)(which & 3),
				 .data = data,
				 .words = op.len / 8 };

	if (!r->ops)
		return;
	memmove(&r->op[0], &r->op[1], --r->ops * sizeof(op));
	if (op.kind == STEP_READ && op.offset >= VERSIONS && op.offset < LOG_AT)
		data[0] = r->word[(op.offset - VERSIONS) / 8 % WORDS];
	else if (op.kind == STEP_READ && op.offset == LOG_AT)
		data[0] = r->log_word;
	ev.old = ev.outcome == STEP_DONE ? data[0] : 0;
	step(r, &ev);
}

static void answer(struct rig *r, uint8_t which)
{
	struct home_answer a = { .kind = HOME_ANSWER,
				 .number = 1,
				 .serial = fill_serial(&r->fill),
				 .version = which & 0x80 ? r->fill.version : take8(&r->in),
				 .refusal = which % 16 };

	tell(r, SELF, &a, sizeof(a));
	if (fill_version(&r->fill))
		FUZZ_REQUIRE(fill_result(&r->fill) == FILL_REGISTERED && r->fill.version != 0);
}

static void computed(struct rig *r, uint8_t which)
{
	uint64_t tag[HOME_FILL_TAGS_MAX + 1] = { 1, 2, 3 }, running[130] = { 9 };
	struct home_snapshot s = { .oldest = take8(&r->in),
				   .next = take8(&r->in),
				   .n = which & 0x40 ? take8(&r->in) % 130 : 0,
				   .running = running };
	struct fill_page p = { .serial = fill_serial(&r->fill) - (which >> 7),
			       .tags = which & 0x20 ? take8(&r->in) % (HOME_FILL_TAGS_MAX + 2) : 2,
			       .tag = tag,
			       .snapshot = which & 0x10 ? &s : NULL };

	ask(r, TO_FILL, which & 8 ? FILL_GIVE_UP : FILL_COMPUTED, &p);
}

static void clock_told(struct rig *r, uint8_t which)
{
	struct fresh_answer a = { FRESH_ANSWER, r->fresh.question.serial - (which & 1),
				  (int64_t)take64(&r->in) >> (which & 63) };
	struct fresh_question q = { FRESH_QUESTION, which };

	if (which & 0x80)
		tell(r, SELF, &q, sizeof(q));
	else
		tell(r, SELF, &a, sizeof(a));
	/* R7 h: no evidence without an answer and a beat */
	if (!r->fresh.known || !r->fresh.stamp)
		FUZZ_REQUIRE(!fresh_covers(&r->fresh, r->fresh.link, (struct mono){ r->now }));
}

static void look(struct rig *r, uint8_t which)
{
	uint32_t fence[UPDATE_HOSTS] = { 0 };
	uint64_t raised[UPDATE_HOSTS] = { 0 };
	struct home_look l = { .rows = { { which & 15 } }, .fence = fence, .raised = raised };

	for (uint32_t h = 1; h <= MEMBERS; h++) {
		fence[h] = 8 + take8(&r->in) % 4;
		raised[h] = take8(&r->in);
	}
	ask(r, TO_HOME, HOME_LOOKED, &l);
}

static void life(struct rig *r, uint8_t which)
{
	if (which & 1)
		home_close(&r->home);
	if (which & 2)
		home_join(&r->home);
	if (which & 4 && home_open(&r->home, r->generation + 1, which >> 4 & 3, which >> 3))
		r->generation++;
	if (which & 8)
		home_evict(&r->home, which >> 4);
	check(r);
}

static void command(struct rig *r)
{
	uint8_t what = take8(&r->in), which = take8(&r->in);
	uint32_t word = which % (WORDS + 1);

	r->now += take8(&r->in) * 100;
	switch (what % 12) {
	case 0:
	case 1:
		return update(r, which);
	case 2:
		return request(r, which);
	case 3:
		return fill_here(r, which);
	case 4:
	case 5:
		return result(r, which);
	case 6:
		return answer(r, which);
	case 7:
		return computed(r, which);
	case 8:
		return clock_told(r, which);
	case 9:
		return look(r, which);
	case 10:
		return life(r, which);
	default:
		if (which & 0x80)
			step(r, &(struct step_event){ .type = STEP_LINK,
						      .host = which & 3,
						      .link = LINK + (which >> 2 & 3) });
		else
			ask(r, TO_FILL, FILL_BEGIN, &word);
	}
}

static void begin(struct rig *r)
{
	struct home_conf hc = { .self = SELF,
				.members = MEMBERS,
				.slots = SLOTS,
				.words = WORDS,
				.listings = LISTINGS,
				.log = LOG,
				.stride = 64,
				.tag = T_HOME,
				.check_ns = 100,
				.word = r->word,
				.log_word = &r->log_word };
	struct fill_conf fc = { .home = SELF,
				.number = 1,
				.tag = T_FILL,
				.words = WORDS,
				.offset = VERSIONS,
				.log = LOG_AT,
				.read_ns = 20000,
				.answer_ns = 20000 };
	struct fresh_conf ec = { .home = SELF,
				 .tag = T_FRESH,
				 .fresh_ns = 5000,
				 .check_ns = 1000,
				 .ask_ns = 9000,
				 .drift_ppm = 200 };

	r->block = malloc(home_bytes(&hc));
	if (!r->block || !home_init(&r->home, &hc, r->block))
		abort();
	fill_init(&r->fill, &fc);
	fresh_init(&r->fresh, &ec);
	home_join(&r->home);
	r->generation = 1;
	FUZZ_REQUIRE(home_open(&r->home, 1, 1, 5));
	for (uint16_t h = 1; h <= MEMBERS; h++)
		step(r, &(struct step_event){ .type = STEP_LINK, .host = h, .link = LINK });
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rig r = { .in = { data, size }, .now = 1000000 };

	begin(&r);
	while (r.in.left)
		command(&r);
	free(r.block);
	return 0;
}
