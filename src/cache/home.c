// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * home: a home keeps updates, marks, acknowledges, and registers fills or refuses.
 *
 * cache.h has the rules, and tests/model/cache.pml (`home`, `filler`) searches them.
 */
#include <string.h>

#include "src/cache/broken.h"
#include "src/cache/home_priv.h"

/* --- memory -------------------------------------------------------------------- */

static uint32_t buckets_for(uint32_t listings)
{
	uint32_t n = 1;

	while (n < listings)
		n *= 2;
	return n;
}

static bool is_sound(const struct home_conf *c)
{
	return c->self >= 1 && c->self <= c->members && c->members <= REGION_HOSTS_MAX &&
	       c->slots >= 1 && c->slots <= HOME_SLOTS_MAX && c->words >= 1 && c->listings >= 1 &&
	       c->listings <= HOME_LISTINGS_MAX && c->log >= 1 && c->log <= HOME_LOG_MAX &&
	       (c->acks | c->stride) % 8 == 0 && c->stride >= 8u * c->members &&
	       c->acks + (uint64_t)c->slots * c->stride <= UINT32_MAX &&
	       c->tag <= UINT32_MAX - home_slots_of(c) && c->word && c->log_word;
}

/* The next n bytes of the block; *used stays a multiple of 8. */
static void *carve(char *block, size_t *used, size_t n)
{
	void *at = block ? block + *used : NULL;

	*used += (n + 7) / 8 * 8;
	return at;
}

/* block NULL: only the size. */
static size_t place(struct home *h, const struct home_conf *c, char *block)
{
	size_t used = 0, slots = home_slots_of(c);

	h->buckets = buckets_for(c->listings);
	h->slot = carve(block, &used, slots * sizeof(*h->slot));
	h->log = carve(block, &used, c->log * sizeof(*h->log));
	h->listing = carve(block, &used, c->listings * sizeof(*h->listing));
	h->todo = carve(block, &used, home_todo_words(c) * sizeof(*h->todo));
	h->active = carve(block, &used, slots * sizeof(*h->active));
	h->bucket = carve(block, &used, h->buckets * sizeof(*h->bucket));
	h->list = carve(block, &used, c->words * sizeof(*h->list));
	return used;
}

size_t home_bytes(const struct home_conf *c)
{
	struct home h;

	return is_sound(c) ? place(&h, c, NULL) : 0;
}

/* --- words --------------------------------------------------------------------- */

/* A peer READs it at any time: it is stored whole, and before what follows. */
static void store(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_SEQ_CST);
}

/* R3 b: above those of earlier lives */
static uint64_t first_word(const struct home *h)
{
	return cache_word(IS_BROKEN(VERSIONS_FROM_ZERO) ? 1 : h->generation, 0);
}

/* R1 d */
static uint64_t log_word(const struct home *h)
{
	return cache_word(IS_BROKEN(NUMBER_FROM_ZERO) ? 1 : h->generation,
			  h->ended < CACHE_COUNT_MAX ? h->ended : CACHE_COUNT_MAX);
}

static void move(struct home *h, uint32_t word)
{
	/* R7 d: a closed word stays 0 */
	if (h->state == HOME_OPEN)
		store(&h->conf.word[word], cache_word_next(h->conf.word[word]));
}

/* --- lists --------------------------------------------------------------------- */

/* Tags are hashes, but their low bits may not be. */
static uint32_t *bucket_of(const struct home *h, uint64_t tag)
{
	return &h->bucket[(tag * 0x9e3779b97f4a7c15ull >> 32) & (h->buckets - 1)];
}

static struct home_listing *listing(const struct home *h, uint32_t number)
{
	return &h->listing[number - 1];
}

static void unlink_listing(struct home *h, uint32_t number)
{
	struct home_listing *l = listing(h, number);

	if (l->next)
		listing(h, l->next)->prev = l->prev;
	if (l->prev)
		listing(h, l->prev)->next = l->next;
	else
		*bucket_of(h, l->tag) = l->next;
	l->more = h->free;
	h->free = number;
	h->frees++;
}

static void forget_list(struct home *h, uint32_t word)
{
	uint32_t more;

	for (uint32_t i = h->list[word]; i; i = more) {
		more = listing(h, i)->more;
		unlink_listing(h, i);
	}
	h->list[word] = 0;
}

/* Tags that are in no list. */
static void move_without_list(struct home *h, uint64_t tag)
{
	if (cache_tag_is_word(tag))
		home_evict(h, (uint32_t)tag);
	for (uint32_t w = 0; tag == CACHE_TAG_ALL && w < h->conf.words; w++)
		if (h->list[w])
			home_evict(h, w);
}

/* R1 b, R3 a: each listed page of this tag. The first of them is looked for until there is none. */
static void move_listed(struct home *h, uint64_t tag)
{
	uint32_t i = *bucket_of(h, tag);

	if (tag == CACHE_TAG_ALL || cache_tag_is_word(tag)) {
		move_without_list(h, tag);
		return;
	}
	while (i) {
		struct home_listing *l = listing(h, i);

		if (l->tag != tag) {
			i = l->next;
			continue;
		}
		if (!IS_BROKEN(UNMOVED))
			move(h, l->word);
		forget_list(h, l->word);
		i = *bucket_of(h, tag);
	}
}

static bool is_listed(const struct home *h, uint32_t word, uint64_t tag, uint32_t *length)
{
	*length = 0;
	for (uint32_t i = h->list[word]; i; i = listing(h, i)->more) {
		if (listing(h, i)->tag == tag)
			return true;
		++*length;
	}
	return false;
}

static void add_listing(struct home *h, uint32_t word, uint64_t tag)
{
	uint32_t number = h->free, *bucket = bucket_of(h, tag);
	struct home_listing *l = listing(h, number);

	h->free = l->more;
	h->frees--;
	*l = (struct home_listing){ tag, word, *bucket, 0, h->list[word] };
	if (*bucket)
		listing(h, *bucket)->prev = number;
	*bucket = number;
	h->list[word] = number;
}

static bool has_room(const struct home *h, const struct home_fill *f)
{
	uint32_t need = 0, length = 0, longest = 0;

	for (uint32_t i = 0; i < f->tags; i++) {
		if (!is_listed(h, f->word, f->tag[i], &length))
			need++;
		longest = length > longest ? length : longest;
	}
	return need == 0 || (need <= h->frees && longest + need <= HOME_LIST_MAX);
}

static void add_list(struct home *h, const struct home_fill *f)
{
	uint32_t length;

	for (uint32_t i = 0; i < f->tags; i++)
		if (!is_listed(h, f->word, f->tag[i], &length))
			add_listing(h, f->word, f->tag[i]);
}

#ifdef BROKEN_REGISTERS_IN_TWO_STEPS
/* By home: what was checked, and is listed after the next event but one. */
static struct {
	struct home_fill fill;
	uint64_t tag[HOME_FILL_TAGS_MAX];
	uint32_t in;
} later[UPDATE_HOSTS];

static void list(struct home *h, const struct home_fill *f)
{
	later[h->conf.self].fill = *f;
	memcpy(later[h->conf.self].tag, f->tag, f->tags * sizeof(f->tag[0]));
	later[h->conf.self].fill.tag = later[h->conf.self].tag;
	later[h->conf.self].in = 2;
}

static void list_later(struct home *h)
{
	struct home_fill *f = &later[h->conf.self].fill;

	if (later[h->conf.self].in && --later[h->conf.self].in == 0 && h->state == HOME_OPEN &&
	    has_room(h, f))
		add_list(h, f);
}
#else
static void list(struct home *h, const struct home_fill *f)
{
	add_list(h, f);
}
#endif

void home_evict(struct home *h, uint32_t word)
{
	if (word >= h->conf.words)
		return;
	if (!IS_BROKEN(EVICTED_SILENTLY))
		move(h, word);
	forget_list(h, word);
}

uint32_t home_listed(const struct home *h, uint64_t tag, uint32_t *word, uint32_t max)
{
	uint32_t n = 0;

	for (uint32_t i = *bucket_of(h, tag); i && n < max; i = listing(h, i)->next)
		if (listing(h, i)->tag == tag)
			word[n++] = listing(h, i)->word;
	return n;
}

/* --- pending, and the log --------------------------------------------------------- */

/* R2 g: what no snapshot is asked about any more */
static void forget_oldest(struct home *h)
{
	const struct home_ended *e = &h->log[(h->ended + 1) % h->conf.log];
	uint32_t doubt = cache_update_fence(e->name) + 1;

	if (e->transaction != HOME_UNKNOWN) {
		if (e->transaction > h->forgotten)
			h->forgotten = e->transaction;
		return;
	}
	h->doubts += h->doubt[e->member] == 0;
	if (doubt > h->doubt[e->member])
		h->doubt[e->member] = doubt;
}

static void keep_ended(struct home *h, uint32_t index, uint64_t transaction)
{
	const struct home_slot *s = &h->slot[index];
	struct home_ended *e;

	if (h->kept == h->conf.log)
		forget_oldest(h);
	else
		h->kept++;
	h->ended++;
	e = &h->log[h->ended % h->conf.log];
	e->name = s->name;
	e->transaction = transaction;
	e->member = (uint16_t)(index / h->conf.slots);
	e->tags = s->tags;
	memcpy(e->tag, s->tag, s->tags * sizeof(s->tag[0]));
	if (h->state == HOME_OPEN)
		store(h->conf.log_word, log_word(h));
}

/* R1 c: the pending update of this slot has ended. */
static void log_ended(struct home *h, uint32_t index, uint64_t transaction)
{
	struct home_slot *s = &h->slot[index], *last;

	if (!IS_BROKEN(ENDED_FORGOTTEN))
		keep_ended(h, index, transaction);
	s->pending = false;
	last = &h->slot[h->active[--h->actives]];
	last->place = s->place;
	h->active[s->place] = h->active[h->actives];
}

/* --- what updaters tell ------------------------------------------------------------ */

/*
 * A newer name of the slot ends the one before. Of the same fence: the message says which one has
 * committed. Of another: its updater has died or was in doubt, and only a look shows the raise
 * (R2 h).
 */
static void end_before(struct home *h, uint32_t index, const struct update_message *m)
{
	const struct home_slot *s = &h->slot[index];
	bool same = cache_update_fence(s->name) == cache_update_fence(m->name);
	uint64_t unknown = IS_BROKEN(DROPPED_UNSEEN) ? 0 : HOME_UNKNOWN;

	if (s->pending)
		log_ended(h, index, same ? m->transaction : unknown);
}

static void move_touched(struct home *h, const uint64_t *tag, uint32_t tags)
{
	if (!IS_BROKEN(UNMOVED))
		move(h, 0);
	for (uint32_t i = 0; i < tags; i++)
		move_listed(h, tag[i]);
}

/* R1 a, b: it moves what it touches, and is kept, whether it touches anything or not. */
static void mark(struct home *h, uint32_t index, const struct update_message *m, struct mono now)
{
	struct home_slot *s = &h->slot[index];
	uint32_t frees = h->frees; /* NOLINT(clang-analyzer-deadcode.DeadStores): KEPT_IF_LISTED */

	end_before(h, index, m);
	if (!IS_BROKEN(ACK_BEFORE_MARK))
		move_touched(h, m->tag, m->tags);
	s->name = m->name;
	s->tags = m->tags;
	memcpy(s->tag, m->tag, m->tags * sizeof(m->tag[0]));
	if (IS_BROKEN(KEPT_IF_LISTED) && h->frees == frees)
		return;
	s->pending = true;
	s->since = now;
	s->epoch = m->epoch;
	s->place = h->actives;
	h->active[h->actives++] = index;
}

/* R4 c: after the mark */
static void acknowledge(struct home *h, uint32_t index)
{
	h->slot[index].ack = h->slot[index].name;
	home_want_ack(h, index, h->slot[index].was < h->slot[index].ack);
}

static void end(struct home *h, uint32_t index, const struct update_message *m, struct mono now)
{
	struct home_slot *s = &h->slot[index];

	/* Its mark has not come: the home was out, or comes back. What it touched is in the END. */
	if (m->name > s->name)
		mark(h, index, m, now);
	if (!s->pending || m->name != s->name)
		return;
	log_ended(h, index, m->transaction);
	s->ack = 0;
	home_want_ack(h, index, false);
}

static bool is_message(const struct home *h, const struct step_event *ev, struct update_message *m)
{
	if (ev->len != sizeof(*m) || ev->host < 1 || ev->host > h->conf.members)
		return false;
	memcpy(m, ev->message, sizeof(*m));
	return (m->kind == UPDATE_MARK || m->kind == UPDATE_END) && m->slot < h->conf.slots &&
	       m->tags >= 1 && m->tags <= UPDATE_TAGS_MAX && cache_update_fence(m->name) != 0 &&
	       m->transaction != HOME_UNKNOWN && m->zero == 0;
}

static bool is_ours(const struct step_event *ev)
{
	uint32_t kind;

	if (ev->len < sizeof(kind))
		return false;
	memcpy(&kind, ev->message, sizeof(kind));
	return kind == UPDATE_MARK || kind == UPDATE_END;
}

static void message(struct home *h, const struct step_event *ev, struct mono now)
{
	struct update_message m;
	uint32_t index;

	if (!is_message(h, ev, &m)) {
		h->refused += is_ours(ev);
		return;
	}
	if (h->state == HOME_OUT || (m.epoch < h->epoch && !IS_BROKEN(LATE_KEPT)))
		return;
	index = (uint32_t)ev->host * h->conf.slots + m.slot;
	if (m.kind == UPDATE_END) {
		end(h, index, &m, now);
		return;
	}
	if (m.name > h->slot[index].name) /* a smaller one is ignored */
		mark(h, index, &m, now);
	if (h->slot[index].pending || IS_BROKEN(KEPT_IF_LISTED)) /* the same may be sent again */
		acknowledge(h, index);
}

/* --- what a look shows ------------------------------------------------------------- */

#ifdef BROKEN_DROPPED_BY_MEMBER
/* By home and member: the row is not what it was at the look before. */
static bool is_raised(const struct home *h, const struct home_look *look, uint16_t member)
{
	static uint32_t seen[UPDATE_HOSTS][UPDATE_HOSTS];
	uint32_t *fence = &seen[h->conf.self][member];
	bool is = look->fence[member] > *fence;

	*fence = look->fence[member];
	return is;
}
#endif

/* R6 b, c: has the row been raised above the fence of this update? */
static bool is_below(const struct home_look *look, uint16_t member, uint32_t fence)
{
	return hostset_has(&look->rows, member) && fence < look->fence[member] &&
	       look->raised[member] != 0;
}

static void drop(struct home *h, uint32_t index, uint64_t transaction)
{
	log_ended(h, index, transaction);
	h->slot[index].ack = 0;
	home_want_ack(h, index, false);
}

static void drop_pending(struct home *h, const struct home_look *look)
{
	struct hostset raised = { 0 };

#ifdef BROKEN_DROPPED_BY_MEMBER
	for (uint16_t m = 1; m <= h->conf.members; m++)
		hostset_set(&raised, m, is_raised(h, look, m));
#endif
	for (uint32_t i = h->actives; i-- > 0;) {
		uint32_t index = h->active[i];
		uint16_t m = (uint16_t)(index / h->conf.slots);

		if (!is_below(look, m, cache_update_fence(h->slot[index].name)) &&
		    !hostset_has(&raised, m))
			continue;
		drop(h, index, IS_BROKEN(DROPPED_UNSEEN) ? 0 : look->raised[m]); /* R2 h */
	}
}

/* R2 h: by which transaction the rows were raised of those that ended by a newer fence */
static void resolve(struct home *h, const struct home_look *look)
{
	for (uint32_t k = 0; k < h->kept; k++) {
		struct home_ended *e = &h->log[(h->ended - k) % h->conf.log];

		if (e->transaction == HOME_UNKNOWN &&
		    is_below(look, e->member, cache_update_fence(e->name)))
			e->transaction = look->raised[e->member];
	}
	for (uint16_t m = 1; h->doubts && m <= h->conf.members; m++) {
		if (!h->doubt[m] || !is_below(look, m, h->doubt[m] - 1))
			continue;
		h->doubt[m] = 0;
		h->doubts--;
		if (look->raised[m] > h->forgotten)
			h->forgotten = look->raised[m];
	}
}

static void looked(struct home *h, const struct home_look *look)
{
	if (h->state == HOME_OUT)
		return;
	drop_pending(h, look);
	resolve(h, look);
}

/* --- what is pending, for others ------------------------------------------------- */

uint32_t home_pendings(const struct home *h)
{
	return h->actives;
}

struct home_pending home_pending(const struct home *h, uint32_t i)
{
	uint32_t index = h->active[i];
	const struct home_slot *s = &h->slot[index];

	return (struct home_pending){
		.member = (uint16_t)(index / h->conf.slots),
		.slot = (uint16_t)(index % h->conf.slots),
		.name = s->name,
		.since = s->since,
		.tags = s->tags,
		.tag = s->tag,
	};
}

struct mono home_pending_of(const struct home *h, uint16_t member)
{
	struct mono since = { INT64_MAX };

	for (uint32_t k = 0; member <= h->conf.members && k < h->conf.slots; k++) {
		const struct home_slot *s = &h->slot[(uint32_t)member * h->conf.slots + k];

		if (s->pending)
			since = mono_earlier(since, s->since);
	}
	return since;
}

/* --- events ------------------------------------------------------------------------ */

static void acked(struct home *h, const struct step_event *ev, struct mono now)
{
	uint32_t index;

	if (home_acked(h, ev, now, &index) && IS_BROKEN(ACK_BEFORE_MARK))
		move_touched(h, h->slot[index].tag, h->slot[index].tags);
}

static void new_link(struct home *h, const struct step_event *ev)
{
	home_new_link(h, ev);
	if (!IS_BROKEN(DROPPED_UNRAISED))
		return;
	for (uint32_t i = h->actives; i-- > 0;)
		if (h->active[i] / h->conf.slots == ev->host)
			drop(h, h->active[i], 0);
}

void home_step(struct home *h, const struct step_event *ev, struct mono now, struct step_out *out)
{
	if (ev->type == STEP_RESULT)
		acked(h, ev, now);
	else if (ev->type == STEP_LINK)
		new_link(h, ev);
	else if (ev->type == STEP_MESSAGE)
		message(h, ev, now);
	else if (ev->type == STEP_ASK && ev->what == HOME_LOOKED)
		looked(h, ev->wish);
#ifdef BROKEN_REGISTERS_IN_TWO_STEPS
	list_later(h);
#endif
	home_put_acks(h, now, out);
}

/* --- a fill is registered, or refused ------------------------------------------ */

static bool touches(const struct home_fill *f, const uint64_t *tag, uint32_t tags)
{
	if (f->word == 0) /* all updates touch it */
		return true;
	for (uint32_t i = 0; i < tags; i++) {
		if (tag[i] == CACHE_TAG_ALL || tag[i] == cache_tag_word(f->word))
			return true;
		for (uint32_t k = 0; k < f->tags; k++)
			if (tag[i] == f->tag[k])
				return true;
	}
	return false;
}

/* R2 b, c */
static bool one_is_pending(const struct home *h, const struct home_fill *f)
{
	for (uint32_t i = 0; i < h->actives; i++) {
		const struct home_slot *s = &h->slot[h->active[i]];

		if (touches(f, s->tag, s->tags))
			return true;
	}
	return false;
}

/* The k newest of the log; k <= kept. */
static bool one_has_ended(const struct home *h, const struct home_fill *f, uint64_t k)
{
	for (uint64_t n = h->ended; k > 0; k--, n--) {
		const struct home_ended *e = &h->log[n % h->conf.log];

		if (touches(f, e->tag, e->tags))
			return true;
	}
	return false;
}

/* R2 d, e: by the log word that was READ before the snapshot */
static enum home_refusal by_number(const struct home *h, const struct home_fill *f)
{
	uint64_t count = cache_word_count(f->log), since;

	if (cache_word_generation(f->log) !=
	    cache_word_generation(log_word(h))) /* of another life */
		return HOME_LOG_SHORT;
	if (count > h->ended)
		return HOME_BAD;
	if (h->ended >= CACHE_COUNT_MAX)
		return HOME_WORN;
	since = h->ended - count;
	if (since > h->kept && !IS_BROKEN(LOG_SHORT))
		return HOME_LOG_SHORT;
	if (IS_BROKEN(ENDED_IGNORED))
		return HOME_REGISTERED;
	return one_has_ended(h, f, since < h->kept ? since : h->kept) ? HOME_ENDED
								      : HOME_REGISTERED;
}

static bool sees(const struct home_snapshot *s, uint64_t transaction)
{
	if (transaction < s->oldest)
		return true;
	if (transaction >= s->next)
		return false;
	for (uint32_t i = 0; i < s->n; i++)
		if (s->running[i] == transaction)
			return false;
	return true;
}

/*
 * R2 f to h. Of what the log has forgotten, only the highest number is known, and a smaller one may
 * have run longer: all up to it must have ended before the snapshot.
 */
static enum home_refusal by_snapshot(const struct home *h, const struct home_fill *f)
{
	if (!sees(f->snapshot, h->joined) && !IS_BROKEN(JOIN_UNSEEN))
		return HOME_JOIN_UNSEEN;
	if ((h->doubts || h->forgotten >= f->snapshot->oldest) && !IS_BROKEN(LOG_SHORT))
		return HOME_LOG_SHORT;
	for (uint32_t k = 0; k < h->kept && !IS_BROKEN(UNSEEN_IGNORED); k++) {
		const struct home_ended *e = &h->log[(h->ended - k) % h->conf.log];

		if (!sees(f->snapshot, e->transaction) && touches(f, e->tag, e->tags))
			return HOME_UNSEEN;
	}
	return HOME_REGISTERED;
}

static bool is_fill(const struct home *h, const struct home_fill *f)
{
	const struct home_snapshot *s = f->snapshot;

	return f->word < h->conf.words && f->tags <= HOME_FILL_TAGS_MAX &&
	       (f->word == 0) == (f->tags == 0) && (!s || (s->oldest > 0 && s->oldest <= s->next));
}

enum home_refusal home_register(struct home *h, const struct home_fill *f)
{
	enum home_refusal refusal;

	if (!is_fill(h, f))
		return HOME_BAD;
	if (h->state != HOME_OPEN)
		return HOME_CLOSED;
	if (f->version != h->conf.word[f->word])
		return HOME_MOVED;
	if (cache_word_count(f->version) >= CACHE_COUNT_MAX)
		return HOME_WORN;
	if (one_is_pending(h, f) && !IS_BROKEN(PENDING_IGNORED))
		return HOME_PENDING;
	refusal = f->snapshot ? by_snapshot(h, f) : by_number(h, f);
	if (refusal != HOME_REGISTERED)
		return refusal;
	if (!has_room(h, f))
		return HOME_FULL;
	list(h, f);
	return HOME_REGISTERED;
}

/* --- a life of the home -------------------------------------------------------- */

/* R7 c: closed before anything is forgotten */
void home_close(struct home *h)
{
	if (IS_BROKEN(REJOIN_AS_WAS) && h->state == HOME_OPEN)
		return;
	h->state = HOME_OUT;
	for (uint32_t w = 0; w < h->conf.words; w++)
		store(&h->conf.word[w], 0);
	store(h->conf.log_word, 0);
	memset(h->list, 0, h->conf.words * sizeof(*h->list));
	memset(h->bucket, 0, h->buckets * sizeof(*h->bucket));
	h->free = 1;
	h->frees = h->conf.listings;
	for (uint32_t i = 0; i < h->conf.listings; i++)
		h->listing[i].more = i + 1 < h->conf.listings ? i + 2 : 0;
	for (size_t i = 0; i < home_slots_of(&h->conf); i++) {
		h->slot[i].pending = false;
		h->slot[i].ack = 0;
	}
	memset(h->todo, 0, home_todo_words(&h->conf) * sizeof(*h->todo));
	memset(h->doubt, 0, sizeof(h->doubt));
	h->doubts = 0;
	h->actives = 0;
	h->ended = 0;
	h->kept = 0;
	h->forgotten = 0;
	h->epoch = 0;
}

bool home_init(struct home *h, const struct home_conf *c, void *block)
{
	if (!is_sound(c))
		return false;
	memset(h, 0, sizeof(*h));
	h->conf = *c;
	memset(block, 0, place(h, c, block));
	home_close(h);
	return true;
}

/* R1 f: they committed before the join, whose transaction a snapshot must see, or never will. */
static void drop_late(struct home *h)
{
	for (uint32_t i = h->actives; i-- > 0;)
		if (h->slot[h->active[i]].epoch < h->epoch)
			drop(h, h->active[i], h->joined);
}

static void open_words(struct home *h)
{
	h->state = HOME_OPEN;
	store(h->conf.log_word, log_word(h));
	for (uint32_t w = 0; w < h->conf.words; w++)
		store(&h->conf.word[w], first_word(h));
}

void home_join(struct home *h)
{
	if (h->state == HOME_OUT)
		h->state = HOME_JOINS;
	if (IS_BROKEN(OPEN_BEFORE_JOIN) && h->state == HOME_JOINS) {
		h->generation++;
		open_words(h);
	}
}

bool home_open(struct home *h, uint32_t generation, uint32_t epoch, uint64_t transaction)
{
	if ((IS_BROKEN(REJOIN_AS_WAS) || IS_BROKEN(OPEN_BEFORE_JOIN)) && h->state == HOME_OPEN)
		return true;
	if (h->state != HOME_JOINS || generation <= h->generation ||
	    generation > REGION_EPOCH_MAX || transaction == 0)
		return false;
	h->generation = generation;
	h->joined = transaction;
	h->epoch = epoch;
	if (!IS_BROKEN(LATE_KEPT))
		drop_late(h);
	open_words(h);
	return true;
}
