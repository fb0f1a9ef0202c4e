// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hit: requests for version words, the READs that they share, and their answers. See hit.h.
 *
 * A word is in its home's queue, or its READ is outstanding. It is forgotten when nobody waits for
 * it: then its READ, if there is one, only takes a place until its result.
 */
#include "src/cache/hit.h"

#include <string.h>

#include "src/cache/broken.h"
#include "src/core/random.h"
#include "src/reconf/put.h"

enum { WORDS_MAX = 1 << 28 };
#define OFFSET_MAX (1u << 31)

/* --- memory -------------------------------------------------------------------- */

static uint32_t buckets_of(const struct hit_conf *c)
{
	uint32_t n = 1;

	while (n < c->requests)
		n *= 2;
	return n;
}

static bool is_good(const struct hit_conf *c)
{
	return c->requests >= 1 && c->requests <= HIT_REQUESTS_MAX && c->words >= 1 &&
	       c->words <= WORDS_MAX && c->offset <= OFFSET_MAX && c->timeout_ns > 0 && c->fresh;
}

size_t hit_bytes(const struct hit_conf *c)
{
	if (!is_good(c))
		return 0;
	return c->requests * (sizeof(struct hit_request) + sizeof(struct hit_word)) +
	       buckets_of(c) * sizeof(uint32_t);
}

bool hit_init(struct hit *h, const struct hit_conf *c, void *block)
{
	if (!is_good(c))
		return false;
	memset(h, 0, sizeof(*h));
	memset(block, 0, hit_bytes(c));
	h->conf = *c;
	h->request = block;
	h->word = (struct hit_word *)(h->request + c->requests);
	h->bucket = (uint32_t *)(h->word + c->requests);
	h->buckets = buckets_of(c);
	for (uint32_t i = c->requests; i > 0; i--) {
		h->request[i - 1].more = h->free;
		h->word[i - 1].next = h->free_word;
		h->free = i;
		h->free_word = i;
	}
	for (uint32_t host = 0; host < HIT_HOSTS; host++)
		h->home[host].cut = true;
	return true;
}

static struct hit_request *request_at(struct hit *h, uint32_t number)
{
	return &h->request[number - 1];
}

static struct hit_word *word_at(struct hit *h, uint32_t number)
{
	return &h->word[number - 1];
}

/* --- words --------------------------------------------------------------------- */

static uint32_t *bucket_of(struct hit *h, uint16_t home, uint32_t word)
{
	uint64_t x = (uint64_t)home << 32 | word;

	return &h->bucket[random_next(&x) & (h->buckets - 1)];
}

static uint32_t find_word(struct hit *h, uint16_t home, uint32_t word)
{
	uint32_t i = *bucket_of(h, home, word);

	while (i && (word_at(h, i)->home != home || word_at(h, i)->word != word))
		i = word_at(h, i)->more;
	return i;
}

/* At the end of its home's queue. */
static void enqueue(struct hit *h, uint32_t number)
{
	struct hit_word *w = word_at(h, number);
	struct hit_home *home = &h->home[w->home];

	w->next = 0;
	w->prev = home->last;
	if (home->last)
		word_at(h, home->last)->next = number;
	else
		home->first = number;
	home->last = number;
	hostset_set(&h->queued, w->home, true);
}

static void dequeue(struct hit *h, uint32_t number)
{
	struct hit_word *w = word_at(h, number);
	struct hit_home *home = &h->home[w->home];

	if (w->prev)
		word_at(h, w->prev)->next = w->next;
	else
		home->first = w->next;
	if (w->next)
		word_at(h, w->next)->prev = w->prev;
	else
		home->last = w->prev;
	if (!home->first)
		hostset_set(&h->queued, w->home, false);
}

/* There is a free one: each that is in use has a request that is not answered. */
static uint32_t new_word(struct hit *h, uint16_t home, uint32_t word)
{
	uint32_t number = h->free_word, *bucket = bucket_of(h, home, word);
	struct hit_word *w = word_at(h, number);

	h->free_word = w->next;
	*w = (struct hit_word){ .home = home, .word = word, .more = *bucket };
	*bucket = number;
	enqueue(h, number);
	return number;
}

/* It is in no queue. */
static void forget_word(struct hit *h, uint32_t number)
{
	struct hit_word *w = word_at(h, number);
	uint32_t *at = bucket_of(h, w->home, w->word);

	while (*at != number)
		at = &word_at(h, *at)->more;
	*at = w->more;
	w->next = h->free_word;
	h->free_word = number;
}

/* --- requests ------------------------------------------------------------------ */

static uint32_t new_request(struct hit *h, const struct hit_wish *wish, struct mono now)
{
	uint32_t number = h->free;
	struct hit_request *r = request_at(h, number);

	h->free = r->more;
	*r = (struct hit_request){
		.answer = { .id = wish->id, .home = wish->home, .word = wish->word },
		.until = mono_add(now, h->conf.timeout_ns),
		.older = h->newest,
	};
	if (h->newest)
		request_at(h, h->newest)->newer = number;
	else
		h->oldest = number;
	h->newest = number;
	return number;
}

static void answer(struct hit *h, uint32_t number, enum cache_ring_why why, uint64_t version)
{
	struct hit_request *r = request_at(h, number);

	if (r->older)
		request_at(h, r->older)->newer = r->newer;
	else
		h->oldest = r->newer;
	if (r->newer)
		request_at(h, r->newer)->older = r->older;
	else
		h->newest = r->older;
	r->answer.why = why;
	r->answer.version = version;
	r->more = 0;
	if (h->done)
		request_at(h, h->done_at)->more = number;
	else
		h->done = number;
	h->done_at = number;
}

/* This one, and those behind it that wait for the same. */
static void answer_all(struct hit *h, uint32_t first, enum cache_ring_why why, uint64_t version)
{
	for (uint32_t i = first, next; i; i = next) {
		next = request_at(h, i)->more;
		answer(h, i, why, version);
	}
}

static void await(struct hit *h, uint32_t word, uint32_t request)
{
	struct hit_word *w = word_at(h, word);

	if (w->waiting)
		request_at(h, w->waiting_at)->more = request;
	else
		w->waiting = request;
	w->waiting_at = request;
}

static bool is_home(const struct hit *h, uint32_t host)
{
	return host < HIT_HOSTS && h->conf.fresh[host];
}

static void ask(struct hit *h, const struct hit_wish *wish, struct mono now)
{
	uint32_t request, word;

	if (hit_full(h))
		return;
	h->asked++;
	request = new_request(h, wish, now);
	if (!is_home(h, wish->home) || wish->word >= h->conf.words) {
		answer(h, request, CACHE_RING_BAD, 0);
		return;
	}
	word = find_word(h, wish->home, wish->word);
	if (!word)
		word = new_word(h, wish->home, wish->word);
	await(h, word, request); /* also if it is being READ: that READ does not cover it */
}

/* Nobody waits for it any more. */
static void abandon(struct hit *h, uint32_t word)
{
	struct hit_home *home = &h->home[word_at(h, word)->home];

	if (!word_at(h, word)->sent)
		dequeue(h, word);
	for (uint32_t i = 0; i < HIT_READS; i++)
		if (home->place[i] == word)
			home->place[i] = 0;
	forget_word(h, word);
}

/* Requests came in one order to all lists, so the oldest is the first in its own. */
static void expire(struct hit *h, struct mono now)
{
	while (h->oldest && request_at(h, h->oldest)->until.ns <= now.ns) {
		uint32_t i = h->oldest;
		const struct hit_request *r = request_at(h, i);
		uint32_t word = find_word(h, r->answer.home, r->answer.word);
		struct hit_word *w = word_at(h, word);

		if (w->covered)
			w->covered = r->more;
		else
			w->waiting = r->more;
		if (!w->covered && !w->waiting)
			abandon(h, word);
		answer(h, i, CACHE_RING_LOST, 0);
	}
}

/* --- results ------------------------------------------------------------------- */

static enum cache_ring_why why_of(const struct hit *h, const struct hit_word *w,
				  const struct step_event *ev, struct mono now)
{
	struct mono when = IS_BROKEN(CHECKED_AT_POST) ? w->sent_at : now;

	if (ev->outcome != STEP_DONE)
		return CACHE_RING_LOST;
	/* R7 j, l: it ends while there is evidence, which is of the same life of the home */
	if (!fresh_covers(h->conf.fresh[ev->host], ev->link, when))
		return CACHE_RING_STALE;
	return ev->old == 0 ? CACHE_RING_CLOSED : CACHE_RING_VERIFIED; /* R7 d */
}

static void was_read(struct hit *h, uint32_t word, enum cache_ring_why why, uint64_t version)
{
	struct hit_word *w = word_at(h, word);

	answer_all(h, w->covered, why, why == CACHE_RING_VERIFIED ? version : 0);
	w->covered = 0;
	w->sent = false;
	if (w->waiting)
		enqueue(h, word);
	else
		forget_word(h, word);
}

static void result(struct hit *h, const struct step_event *ev, struct mono now)
{
	uint32_t n = ev->tag - h->conf.tag, place = n % HIT_READS, word;
	struct hit_home *home;

	if (n >= HIT_TAGS || ev->host != n / HIT_READS + 1)
		return;
	home = &h->home[ev->host];
	if (!(home->sent & 1u << place))
		return;
	home->sent &= ~(1u << place);
	if ((ev->outcome == STEP_LOST || ev->outcome == STEP_UNKNOWN) && ev->link >= home->link)
		home->cut = true;
	word = home->place[place];
	if (word)
		was_read(h, word, why_of(h, word_at(h, word), ev, now), ev->old);
}

static void new_link(struct hit *h, const struct step_event *ev)
{
	if (!is_home(h, ev->host) || ev->link <= h->home[ev->host].link)
		return;
	h->home[ev->host].link = ev->link;
	h->home[ev->host].cut = false;
}

/* --- operations ---------------------------------------------------------------- */

/* HIT_READS: none is free. */
static uint32_t free_place(const struct hit_home *home)
{
	uint32_t place = 0;

	while (place < HIT_READS && home->sent & 1u << place)
		place++;
	return place;
}

static bool put_read(struct hit *h, uint32_t number, uint32_t place, struct mono now,
		     struct step_out *out)
{
	struct hit_word *w = word_at(h, number);
	struct hit_home *home = &h->home[w->home];
	struct step_op op = {
		.kind = STEP_READ,
		.part = STEP_VERSIONS,
		.host = w->home,
		.offset = h->conf.offset + 8 * w->word,
		.len = 8,
		.allowed_ns = h->conf.timeout_ns,
		.link = home->link,
		.tag = h->conf.tag + (w->home - 1u) * HIT_READS + place,
	};

	if (!step_put(out, op))
		return false;
	h->reads++;
	home->sent |= 1u << place;
	home->place[place] = number;
	w->sent = true;
	w->sent_at = now;
	w->covered = w->waiting;
	w->waiting = 0;
	return true;
}

/* false: there is no room in this step. */
static bool put_home(struct hit *h, uint16_t host, struct mono now, struct step_out *out)
{
	struct hit_home *home = &h->home[host];

	for (uint32_t word = home->first; word; word = home->first) {
		uint32_t place = free_place(home);

		if (home->cut) {
			dequeue(h, word);
			answer_all(h, word_at(h, word)->waiting, CACHE_RING_LOST, 0);
			forget_word(h, word);
			continue;
		}
		if (place == HIT_READS)
			return true;
		if (!put_read(h, word, place, now, out))
			return false;
		dequeue(h, word);
	}
	return true;
}

/* A home for which there was no room is the first in the next step. */
static void put(struct hit *h, struct mono now, struct step_out *out)
{
	for (uint32_t n = hostset_count(&h->queued); n; n--) {
		uint16_t host = hostset_next(&h->queued, h->turn);

		if (!host)
			host = hostset_next(&h->queued, 0);
		if (!host || !put_home(h, host, now, out))
			return;
		h->turn = host;
	}
}

void hit_step(struct hit *h, const struct step_event *ev, struct mono now, struct step_out *out)
{
	if (ev->type == STEP_RESULT)
		result(h, ev, now);
	else if (ev->type == STEP_LINK)
		new_link(h, ev);
	else if (ev->type == STEP_ASK && ev->what == HIT_ASK)
		ask(h, ev->wish, now);
	expire(h, now);
	put(h, now, out);
}

struct mono hit_due(const struct hit *h)
{
	for (uint16_t i = hostset_next(&h->queued, 0); i; i = hostset_next(&h->queued, i))
		if (free_place(&h->home[i]) < HIT_READS) /* there was no room in the step */
			return (struct mono){ 0 };
	return h->oldest ? h->request[h->oldest - 1].until : (struct mono){ INT64_MAX };
}

bool hit_full(const struct hit *h)
{
	return !h->free;
}

bool hit_take(struct hit *h, struct hit_answer *a)
{
	uint32_t number = h->done;
	struct hit_request *r;

	if (!number)
		return false;
	r = request_at(h, number);
	*a = r->answer;
	h->done = r->more;
	r->more = h->free;
	h->free = number;
	return true;
}
