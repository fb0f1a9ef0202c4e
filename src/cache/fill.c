// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fill: from the READ of a page's words to the home's answer.
 *
 * cache.h has the rules, and tests/model/cache.pml (`filler`) searches them.
 */
#include <string.h>

#include "src/cache/broken.h"
#include "src/cache/cache.h"
#include "src/cache/fill.h"
#include "src/reconf/put.h"

enum { WORD, LOG, REQUEST };

static uint32_t bit(uint32_t kind)
{
	return 1u << kind;
}

void fill_init(struct fill *f, const struct fill_conf *c)
{
	memset(f, 0, sizeof(*f));
	f->conf = *c;
	f->serial = c->serial;
	f->cut = true;
}

/* --- from state to state ------------------------------------------------------- */

static void end(struct fill *f, enum fill_result result)
{
	f->state = FILL_IDLE;
	f->result = result;
	f->todo = 0;
}

static uint32_t word_offset(const struct fill *f)
{
	return f->conf.offset + 8 * f->word;
}

/* One READ has both words. */
static bool are_adjacent(const struct fill *f)
{
	return f->conf.log == word_offset(f) + 8 || f->conf.log + 8 == word_offset(f);
}

static void begin(struct fill *f, uint32_t word, struct mono now)
{
	if (!fill_ready(f))
		return;
	f->serial++;
	f->word = word;
	f->version = 0;
	f->log = 0;
	f->result = FILL_NONE;
	f->state = IS_BROKEN(NUMBER_LATE) ? FILL_COMPUTES : FILL_READS;
	f->until = mono_add(now, f->conf.read_ns);
	f->todo = are_adjacent(f) ? bit(WORD) : bit(WORD) | bit(LOG);
	f->rest = f->todo;
	if (f->cut)
		end(f, FILL_CUT);
	else if (word >= f->conf.words)
		end(f, FILL_BAD);
}

/* As the home demands it of a fill, but for what its message cannot carry. */
static enum fill_result check_page(const struct fill *f, const struct fill_page *p)
{
	const struct home_snapshot *s = p->snapshot;

	if (p->tags > HOME_FILL_TAGS_MAX || (f->word == 0) != (p->tags == 0))
		return FILL_BAD;
	if (s && (s->oldest == 0 || s->oldest > s->next))
		return FILL_BAD;
	if (s && s->n > HOME_NUMBERS_MAX - p->tags)
		return FILL_TOO_LARGE;
	return FILL_NONE;
}

static void build(struct fill *f, const struct fill_page *p)
{
	const struct home_snapshot *s = p->snapshot;

	f->request = (struct home_request){
		.kind = HOME_REQUEST,
		.number = f->conf.number,
		.serial = f->serial,
		.word = f->word,
		.tags = (uint16_t)p->tags,
		.version = f->version,
		.log = f->log,
	};
	if (p->tags)
		memcpy(f->request.list, p->tag, p->tags * sizeof(p->tag[0]));
	if (!s)
		return;
	f->request.oldest = s->oldest;
	f->request.next = s->next;
	f->request.running = (uint16_t)s->n;
	if (s->n)
		memcpy(f->request.list + p->tags, s->running, s->n * sizeof(s->running[0]));
}

static void computed(struct fill *f, const struct fill_page *p, struct mono now)
{
	enum fill_result wrong;

	/* R2 a: a page of an earlier fill was computed before these words were READ */
	if (f->state != FILL_COMPUTES || p->serial != f->serial)
		return;
	wrong = IS_BROKEN(NUMBER_LATE) && f->rest ? FILL_LATE : check_page(f, p);
	if (wrong != FILL_NONE) {
		end(f, wrong);
		return;
	}
	build(f, p);
	f->state = FILL_ASKS;
	f->until = mono_add(now, f->conf.answer_ns);
	f->todo = bit(REQUEST);
}

static void ask(struct fill *f, const struct step_event *ev, struct mono now)
{
	if (ev->what == FILL_BEGIN)
		begin(f, *(const uint32_t *)ev->wish, now);
	else if (ev->what == FILL_COMPUTED)
		computed(f, ev->wish, now);
	else if (ev->what == FILL_GIVE_UP && f->state != FILL_IDLE)
		end(f, FILL_GIVEN_UP);
}

/* --- results ------------------------------------------------------------------- */

/* false: it is not of as many words. */
static bool take(struct fill *f, const struct step_event *ev, uint32_t kind)
{
	bool log_first = f->conf.log < word_offset(f);

	if (are_adjacent(f)) {
		if (ev->words != 2)
			return false;
		f->version = ev->data[log_first ? 1 : 0];
		f->log = ev->data[log_first ? 0 : 1];
	} else if (kind == WORD) {
		f->version = ev->old;
	} else {
		f->log = ev->old;
	}
	f->rest &= ~bit(kind);
	return true;
}

/* R7 d: a closed word is 0. Words of two lives of the home would be refused. */
static bool are_open(const struct fill *f)
{
	if (!f->version)
		return false;
	if (IS_BROKEN(NUMBER_FROM_ZERO))
		return true;
	if (IS_BROKEN(VERSIONS_FROM_ZERO))
		return true;
	return cache_word_generation(f->version) == cache_word_generation(f->log);
}

static void was_read(struct fill *f, const struct step_event *ev, uint32_t kind)
{
	if (f->state != FILL_READS && !(IS_BROKEN(NUMBER_LATE) && f->state == FILL_COMPUTES))
		return;
	if (ev->outcome == STEP_LOST || ev->outcome == STEP_UNKNOWN || ev->link != f->link)
		end(f, FILL_CUT); /* R7 l */
	else if (ev->outcome == STEP_REFUSED || !take(f, ev, kind))
		end(f, FILL_FAILED);
	else if (f->rest == 0 && !are_open(f))
		end(f, FILL_CLOSED);
	else if (f->rest == 0)
		f->state = FILL_COMPUTES; /* R2 a: both are there */
}

/* DONE: the home has the request. Its answer is a message. */
static void was_asked(struct fill *f, const struct step_event *ev)
{
	if (f->state != FILL_ASKS)
		return;
	/* R2 j: after UNKNOWN the home may have registered it. Its answer is not waited for. */
	if (ev->outcome == STEP_LOST || ev->outcome == STEP_UNKNOWN)
		end(f, FILL_CUT);
	else if (ev->outcome == STEP_REFUSED)
		end(f, FILL_FAILED);
}

static void result(struct fill *f, const struct step_event *ev)
{
	uint32_t kind = ev->tag - f->conf.tag;

	if (kind >= FILL_TAGS || !(f->sent & bit(kind)))
		return;
	f->sent &= ~bit(kind);
	if ((ev->outcome == STEP_LOST || ev->outcome == STEP_UNKNOWN) && ev->link >= f->link)
		f->cut = true;
	if (kind == REQUEST)
		was_asked(f, ev);
	else
		was_read(f, ev, kind);
}

static void message(struct fill *f, const struct step_event *ev)
{
	struct home_answer a;

	if (ev->host != f->conf.home || ev->len != sizeof(a))
		return;
	memcpy(&a, ev->message, sizeof(a));
	if (a.kind != HOME_ANSWER || a.number != f->conf.number || a.serial != f->serial ||
	    f->state != FILL_ASKS || f->todo || a.refusal > HOME_FULL)
		return;
	f->refusal = (enum home_refusal)a.refusal;
	if (a.refusal != HOME_REGISTERED)
		end(f, FILL_REFUSED);
	else if (a.version == f->version)
		end(f, FILL_REGISTERED);
}

/* R7 l: the words were READ on another link. The home may be in another life. */
static void new_link(struct fill *f, const struct step_event *ev)
{
	if (ev->host != f->conf.home || ev->link <= f->link)
		return;
	f->link = ev->link;
	f->cut = false;
	if (f->state != FILL_IDLE)
		end(f, FILL_CUT);
}

/* --- operations ---------------------------------------------------------------- */

static struct step_op op_of(const struct fill *f, uint32_t kind)
{
	struct step_op op = {
		.host = f->conf.home,
		.link = f->link,
		.tag = f->conf.tag + kind,
	};

	if (kind == REQUEST) {
		op.kind = STEP_SEND;
		op.data = &f->request;
		op.len = home_request_bytes(f->request.tags, f->request.running);
		return op;
	}
	op.kind = STEP_READ;
	op.part = STEP_VERSIONS;
	op.offset = kind == WORD ? word_offset(f) : f->conf.log;
	op.len = 8;
	op.allowed_ns = f->conf.read_ns;
	if (are_adjacent(f)) {
		op.offset = f->conf.log < op.offset ? f->conf.log : op.offset;
		op.len = 16;
	}
	return op;
}

static void put(struct fill *f, struct step_out *out)
{
	for (uint32_t kind = 0; kind < FILL_TAGS; kind++) {
		if (!(f->todo & bit(kind)))
			continue;
		if (!step_put(out, op_of(f, kind)))
			return;
		f->todo &= ~bit(kind);
		f->sent |= bit(kind);
	}
}

static bool waits(const struct fill *f)
{
	return f->state == FILL_READS || f->state == FILL_ASKS;
}

void fill_step(struct fill *f, const struct step_event *ev, struct mono now, struct step_out *out)
{
	if (ev->type == STEP_RESULT)
		result(f, ev);
	else if (ev->type == STEP_MESSAGE)
		message(f, ev);
	else if (ev->type == STEP_LINK)
		new_link(f, ev);
	else if (ev->type == STEP_ASK)
		ask(f, ev, now);
	if (waits(f) && now.ns >= f->until.ns)
		end(f, FILL_LATE);
	put(f, out);
}

struct mono fill_due(const struct fill *f)
{
	if (f->todo) /* there was no room */
		return (struct mono){ 0 };
	return waits(f) ? f->until : (struct mono){ INT64_MAX };
}

enum fill_state fill_state(const struct fill *f)
{
	return f->state;
}

bool fill_ready(const struct fill *f)
{
	return f->state == FILL_IDLE && f->sent == 0;
}

uint64_t fill_serial(const struct fill *f)
{
	return f->serial;
}

enum fill_result fill_result(const struct fill *f)
{
	return f->result;
}

enum home_refusal fill_refusal(const struct fill *f)
{
	return f->refusal;
}

uint64_t fill_version(const struct fill *f)
{
	bool may = f->result == FILL_REGISTERED ||
		   (f->result == FILL_REFUSED && IS_BROKEN(STORED_UNREGISTERED));

	return may ? f->version : 0; /* R2 j */
}
