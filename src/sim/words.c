// SPDX-License-Identifier: GPL-2.0-or-later
// SIMULATOR: hosts with words and links between them, in virtual time; see words.h.
#include "src/sim/words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TIMER_ARRIVES, TIMER_COMES_BACK, TIMER_TICK, TIMER_LINK };

static_assert((int)TIMER_LINK < (int)WORDS_TIMERS, "words_timer() knows them all");

#define NO_JOB UINT32_MAX

/* An operation that was put out and has no result. */
struct job {
	struct step_op op;
	uint16_t from;
	uint32_t link; /* it was posted on */
	enum step_outcome outcome;
	bool over; /* its result was given before its time: the timer only frees it */
	uint64_t *data;
	uint32_t next; /* in the free list */
	bool used;
};

struct host {
	uint64_t *words, *load;
	struct mono tick; /* the soonest timer that is set */
	struct words_count count;
	struct {
		uint32_t number;
		bool down;
	} link[WORDS_HOSTS_MAX]; /* to the others */
};

struct words {
	struct words_conf c;
	struct web *web;
	struct host *host; /* the first is number 1 */
	struct job *job;
	uint32_t jobs, free;
	uint64_t data[STEP_READ_MAX / 8]; /* of the READ whose result is given */
	int error;
};

static struct host *host_of(struct words *w, uint16_t host)
{
	return &w->host[host - 1];
}

/* --- operations ------------------------------------------------------------------- */

static uint32_t job_new(struct words *w)
{
	uint32_t i = w->free;
	struct job *more;

	if (i != NO_JOB) {
		w->free = w->job[i].next;
		return i;
	}
	more = realloc(w->job, (2 * w->jobs + 64) * sizeof(*more));
	if (!more) {
		w->error = -ENOMEM;
		return NO_JOB;
	}
	w->job = more;
	memset(w->job + w->jobs, 0, (w->jobs + 64) * sizeof(*more));
	for (i = 2 * w->jobs + 63; i > w->jobs; i--) {
		w->job[i].next = w->free;
		w->free = i;
	}
	w->jobs = 2 * w->jobs + 64;
	return i;
}

static void job_free(struct words *w, uint32_t i)
{
	free(w->job[i].data);
	w->job[i] = (struct job){ .next = w->free };
	w->free = i;
}

/* The memory of the operation at its host; NULL: it is no operation that can be made. */
static uint64_t *place_of(struct words *w, const struct step_op *op)
{
	const struct host *h = host_of(w, op->host);
	uint32_t size = op->part == STEP_WORDS	? REGION_WORDS_BYTES
			: op->part == STEP_LOAD ? w->c.load_bytes
						: 0;
	uint32_t len = op->kind == STEP_READ ? op->len : 8;

	if (op->kind > STEP_FAA || (op->kind != STEP_READ && op->part != STEP_WORDS))
		return NULL;
	if (op->offset % 8 || len % 8 || !len || len > STEP_READ_MAX || len > size ||
	    op->offset > size - len)
		return NULL;
	return (op->part == STEP_WORDS ? h->words : h->load) + op->offset / 8;
}

/* Of an operation that is put out now; DONE: it goes on its way. */
static enum step_outcome outcome_of(struct words *w, uint16_t from, const struct step_op *op)
{
	const struct host *h = host_of(w, from);

	if (!op->host || op->host > w->c.hosts)
		return STEP_REFUSED;
	if (h->link[op->host - 1].down)
		return STEP_LOST;
	/* Of an older link: the newer one is known, and no STEP_LINK comes. */
	if (op->link && op->link != h->link[op->host - 1].number)
		return STEP_REFUSED;
	return place_of(w, op) ? STEP_DONE : STEP_REFUSED;
}

static void post(struct words *w, uint16_t from, const struct step_op *op, int64_t now)
{
	uint32_t i = job_new(w);
	struct host *h = host_of(w, from);
	struct job *j = &w->job[i];

	if (i == NO_JOB)
		return;
	*j = (struct job){
		.op = *op, .from = from, .outcome = outcome_of(w, from, op), .used = true
	};
	if (op->host && op->host <= w->c.hosts)
		j->link = h->link[op->host - 1].number;
	if (op->kind <= STEP_FAA)
		h->count.put[op->kind]++;
	if (j->outcome == STEP_LOST)
		web_timer(w->web, now, w->c.timer + TIMER_COMES_BACK, i);
	else
		web_timer(w->web, now + w->c.there_ns, w->c.timer + TIMER_ARRIVES, i);
}

static void arrives(struct words *w, uint32_t i, int64_t now)
{
	struct job *j = &w->job[i];
	uint64_t *place, old;

	web_timer(w->web, now + w->c.back_ns, w->c.timer + TIMER_COMES_BACK, i);
	if (j->outcome != STEP_DONE)
		return;
	place = place_of(w, &j->op);
	if (j->op.kind == STEP_READ) {
		j->data = malloc(j->op.len);
		if (!j->data)
			w->error = -ENOMEM;
		else
			memcpy(j->data, place, j->op.len);
		return;
	}
	old = *place;
	if (j->op.kind == STEP_FAA)
		*place += j->op.value;
	else if (old == j->op.compare)
		*place = j->op.value;
	j->op.compare = old; /* what comes back */
}

/* --- processes -------------------------------------------------------------------- */

static void set_tick(struct words *w, uint16_t host, int64_t now)
{
	struct host *h = host_of(w, host);
	struct mono due = w->c.due(w->c.arg, host);

	if (due.ns > WEB_NS_MAX || due.ns >= h->tick.ns)
		return;
	h->tick.ns = due.ns > now ? due.ns : now;
	web_timer(w->web, h->tick.ns, w->c.timer + TIMER_TICK, host);
}

void words_event(struct words *w, uint16_t host, const struct step_event *ev, int64_t now)
{
	struct step_out out = { .n = 0 };

	w->c.step(w->c.arg, host, ev, (struct mono){ now }, &out);
	for (uint32_t i = 0; i < out.n; i++)
		post(w, host, &out.op[i], now);
	set_tick(w, host, now);
}

/* The result of job i, which is free after it. */
static void give_result(struct words *w, uint32_t i, int64_t now)
{
	struct job *j = &w->job[i];
	struct step_event ev = { .type = STEP_RESULT,
				 .host = j->op.host,
				 .link = j->link,
				 .tag = j->op.tag,
				 .outcome = j->outcome };
	struct words_count *count = &host_of(w, j->from)->count;
	uint16_t from = j->from;

	count->refused += j->outcome == STEP_REFUSED;
	count->lost += j->outcome == STEP_LOST || j->outcome == STEP_UNKNOWN;
	if (j->outcome == STEP_DONE && j->op.kind == STEP_READ && j->data) {
		/* A step may put out more: then jobs move in memory. */
		memcpy(w->data, j->data, j->op.len);
		ev.data = w->data;
		ev.words = j->op.len / 8;
		ev.old = w->data[0];
	} else if (j->outcome == STEP_DONE) {
		ev.old = j->op.compare;
	}
	j->over = true;
	words_event(w, from, &ev, now);
}

static void tick(struct words *w, uint16_t host, int64_t now)
{
	struct host *h = host_of(w, host);

	/* A sooner one was set after this one, and has come. */
	if (h->tick.ns != now)
		return;
	h->tick.ns = INT64_MAX;
	if (w->c.due(w->c.arg, host).ns <= now)
		words_event(w, host, &(struct step_event){ .type = STEP_TICK }, now);
	else
		set_tick(w, host, now);
}

static void link_up(struct words *w, uint16_t from, uint16_t to, int64_t now)
{
	struct host *h = host_of(w, from);
	struct step_event ev = { .type = STEP_LINK, .host = to };

	h->link[to - 1].down = false;
	ev.link = ++h->link[to - 1].number;
	words_event(w, from, &ev, now);
}

void words_relink(struct words *w, uint16_t from, uint16_t to, int64_t now)
{
	host_of(w, from)->link[to - 1].down = true;
	for (uint32_t i = 0; i < w->jobs; i++) {
		struct job *j = &w->job[i];

		if (!j->used || j->over || j->from != from || j->op.host != to ||
		    j->outcome != STEP_DONE)
			continue;
		j->outcome = j->op.kind == STEP_READ ? STEP_LOST : STEP_UNKNOWN;
		give_result(w, i, now);
	}
	web_timer(w->web, now + w->c.back_ns, w->c.timer + TIMER_LINK, (uint32_t)from << 16 | to);
}

bool words_timer(struct words *w, uint32_t what, uint32_t of, int64_t now)
{
	switch (what - w->c.timer) {
	case TIMER_ARRIVES:
		arrives(w, of, now);
		return true;
	case TIMER_COMES_BACK:
		if (!w->job[of].over)
			give_result(w, of, now);
		job_free(w, of);
		return true;
	case TIMER_TICK:
		tick(w, (uint16_t)of, now);
		return true;
	case TIMER_LINK:
		link_up(w, (uint16_t)(of >> 16), (uint16_t)of, now);
		return true;
	default:
		return false;
	}
}

/* --- the whole -------------------------------------------------------------------- */

void words_begin(struct words *w, struct web *web)
{
	struct step_event view = { .type = STEP_VIEW,
				   .members = hostset_first(w->c.hosts),
				   .quorate = true };

	w->web = web;
	for (uint32_t i = 1; i <= w->c.hosts; i++)
		for (uint32_t k = 1; k <= w->c.hosts; k++)
			link_up(w, (uint16_t)i, (uint16_t)k, 0);
	for (uint32_t i = 1; i <= w->c.hosts; i++)
		words_event(w, (uint16_t)i, &view, 0);
}

int words_open(struct words **out, const struct words_conf *c)
{
	struct words *w;
	bool whole = true;

	if (!c->hosts || c->hosts > WORDS_HOSTS_MAX || c->load_bytes % 8 ||
	    c->load_bytes > STEP_READ_MAX || c->there_ns < 1 || c->there_ns > WEB_NS_MAX ||
	    c->back_ns < 1 || c->back_ns > WEB_NS_MAX)
		return -EINVAL;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->c = *c;
	w->free = NO_JOB;
	w->host = calloc(c->hosts, sizeof(*w->host));
	for (uint32_t i = 0; w->host && i < c->hosts; i++) {
		struct host *h = &w->host[i];

		h->tick.ns = INT64_MAX;
		h->words = calloc(1, REGION_WORDS_BYTES);
		h->load = calloc(1, c->load_bytes + 8);
		whole = whole && h->words && h->load;
	}
	if (!w->host || !whole) {
		words_close(w);
		return -ENOMEM;
	}
	*out = w;
	return 0;
}

void words_close(struct words *w)
{
	if (!w)
		return;
	for (uint32_t i = 0; w->host && i < w->c.hosts; i++) {
		free(w->host[i].words);
		free(w->host[i].load);
	}
	for (uint32_t i = 0; i < w->jobs; i++)
		free(w->job[i].data);
	free(w->job);
	free(w->host);
	free(w);
}

uint64_t *words_of(struct words *w, uint16_t host)
{
	return host_of(w, host)->words;
}

uint64_t *words_load_of(struct words *w, uint16_t host)
{
	return host_of(w, host)->load;
}

void words_counted(const struct words *w, uint16_t host, struct words_count *c)
{
	*c = w->host[host - 1].count;
}

int words_error(const struct words *w)
{
	return w->error;
}
