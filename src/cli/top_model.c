// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * top_model: replies to rows, and keys to choices. See top_model.h.
 *
 * A reply is not trusted: whatever listens at the socket may send any JSON. Texts are bounded here,
 * and cleaned when they are drawn.
 */
#ifdef HAVE_CONFIG_H
#include "config.h" /* qsort_r */
#endif
#include "src/cli/top_model.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/util/utf8.h"

/* For so long it is said that resexd was started anew. */
#define RESTART_SHOWN_NS (10 * NS_PER_S)

static const char *const words[TOP_COLUMNS] = {
	[TOP_NAME] = "name",	 [TOP_SENT] = "sent",		[TOP_RECV] = "recv",
	[TOP_CPU] = "cpu",	 [TOP_BALANCE] = "balance",	[TOP_CAP] = "cap",
	[TOP_CAPPED] = "capped", [TOP_MEAN] = "mean",		[TOP_P99] = "p99",
	[TOP_RESOS] = "resos",	 [TOP_MTUS_SENT] = "mtus-sent", [TOP_MTUS_RECV] = "mtus-recv",
	[TOP_WEIGHT] = "weight", [TOP_VCPUS] = "vcpus",		[TOP_ID] = "id",
	[TOP_RINGS] = "rings",	 [TOP_STATE] = "state",
};

const char *top_column_word(enum top_column c)
{
	return words[c];
}

enum top_column top_column_find(const char *word)
{
	int c = 0;

	while (c < TOP_COLUMNS && strcasecmp(words[c], word) != 0)
		c++;
	return (enum top_column)c;
}

void top_model_init(struct top_model *m)
{
	*m = (struct top_model){ .sort = TOP_SENT };
}

void top_model_free(struct top_model *m)
{
	free(m->guests);
	json_decref(m->info);
	json_decref(m->why);
	json_decref(m->rings);
	json_decref(m->hosts);
	json_decref(m->locks);
	top_model_init(m);
}

/* Cut at a whole character. */
static void take_text(char *to, size_t size, const json_t *v)
{
	snprintf(to, size, "%s", json_is_string(v) ? json_string_value(v) : "");
	utf8_mend(to);
}

/* A guest of a reply: an element of an array, or of each array of a brief one. */
struct source {
	const json_t *guests;
	size_t i;
};

static const json_t *own(const struct source *s, const char *key)
{
	if (json_is_array(s->guests))
		return json_object_get(json_array_get(s->guests, s->i), key);
	return json_array_get(json_object_get(s->guests, key), s->i);
}

/* Of the last second. */
static const json_t *rate(const struct source *s, const char *key)
{
	return json_is_array(s->guests) ? json_object_get(own(s, "rates"), key) : own(s, key);
}

static const json_t *latency(const struct source *s, const char *key, const char *brief)
{
	return json_is_array(s->guests) ? json_object_get(rate(s, "latency_us"), key)
					: own(s, brief);
}

static double number(const json_t *v)
{
	return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

static void take_guest(struct top_guest *g, const struct source *s)
{
	take_text(g->name, sizeof(g->name), own(s, "name"));
	take_text(g->uuid, sizeof(g->uuid), own(s, "uuid"));
	take_text(g->state, sizeof(g->state), own(s, "state"));
	for (int c = 0; c < TOP_COLUMNS; c++)
		g->v[c] = (double)NAN;
	g->v[TOP_SENT] = number(rate(s, "bytes_sent_s"));
	g->v[TOP_RECV] = number(rate(s, "bytes_recv_s"));
	g->v[TOP_CPU] = number(rate(s, "cpu_percent"));
	g->v[TOP_CAPPED] = number(rate(s, "capped_percent"));
	g->v[TOP_RESOS] = number(rate(s, "resos_percent"));
	g->v[TOP_MTUS_SENT] = number(rate(s, "mtus_sent_s"));
	g->v[TOP_MTUS_RECV] = number(rate(s, "mtus_recv_s"));
	g->v[TOP_MEAN] = number(latency(s, "mean", "latency_us"));
	g->v[TOP_P99] = number(latency(s, "p99", "latency_p99_us"));
	g->v[TOP_CAP] = number(own(s, "cap"));
	g->v[TOP_WEIGHT] = number(own(s, "weight"));
	g->v[TOP_VCPUS] = number(own(s, "vcpus"));
	g->v[TOP_ID] = number(own(s, "domid"));
	g->v[TOP_RINGS] = number(own(s, "rings"));
	g->v[TOP_BALANCE] = 100 * number(own(s, "balance")) / number(own(s, "allocated"));
	if (!isfinite(g->v[TOP_BALANCE])) /* nothing was allocated */
		g->v[TOP_BALANCE] = (double)NAN;
	g->full_cap = 100 * g->v[TOP_VCPUS];
}

static bool is_word(enum top_column c)
{
	return c == TOP_NAME || c == TOP_STATE;
}

static int compare_words(const char *a, const char *b)
{
	int d = strcasecmp(a, b);

	return d ? d : strcmp(a, b);
}

static int compare_column(const struct top_guest *a, const struct top_guest *b, enum top_column c,
			  bool reverse)
{
	double x = a->v[c], y = b->v[c];
	int d;

	if (is_word(c)) {
		d = c == TOP_NAME ? compare_words(a->name, b->name)
				  : compare_words(a->state, b->state);
		return reverse ? -d : d;
	}
	if (isnan(x) || isnan(y)) /* whatever the order: no figure is not a small one */
		return isnan(x) - isnan(y);
	d = (x < y) - (x > y);
	return reverse ? -d : d;
}

/* Equal ones keep one order from round to round, lest rows jump. */
static int compare_guests(const void *pa, const void *pb, void *arg)
{
	const struct top_guest *a = pa, *b = pb;
	const struct top_model *m = arg;
	int d = compare_column(a, b, m->sort, m->reverse);

	if (!d)
		d = compare_words(a->name, b->name);
	return d ? d : strcmp(a->uuid, b->uuid);
}

/* The choice follows the guest; when the guest is gone, it stays at the place. */
static void find_chosen(struct top_model *m)
{
	for (size_t i = 0; i < m->n; i++)
		if (*m->chosen && !strcmp(m->guests[i].uuid, m->chosen)) {
			m->at = i;
			return;
		}
	if (m->at >= m->n)
		m->at = m->n ? m->n - 1 : 0;
	snprintf(m->chosen, sizeof(m->chosen), "%s", m->n ? m->guests[m->at].uuid : "");
}

void top_model_sort(struct top_model *m)
{
	if (m->n)
		qsort_r(m->guests, m->n, sizeof(m->guests[0]), compare_guests, m);
	find_chosen(m);
}

static int take_list(struct top_model *m, const json_t *r, struct mono now)
{
	struct source from = { .guests = json_object_get(r, "guests") };
	size_t n = json_array_size(
		json_is_array(from.guests) ? from.guests : json_object_get(from.guests, "name"));
	struct top_guest *guests = calloc(n ? n : 1, sizeof(*guests));

	if (!guests)
		return -ENOMEM;
	for (; from.i < n; from.i++) {
		take_guest(&guests[from.i], &from);
		guests[from.i].index = from.i;
	}
	free(m->guests);
	m->guests = guests;
	m->n = n;
	take_text(m->policy, sizeof(m->policy), json_object_get(r, "policy"));
	m->epoch = json_integer_value(json_object_get(r, "epoch"));
	m->simulated = json_is_true(json_object_get(r, "simulated"));
	m->seen = true;
	m->listed = now;
	top_model_sort(m);
	return 0;
}

static void keep(json_t **at, json_t *r)
{
	json_decref(*at);
	*at = json_incref(r);
}

/*
 * Ticks are counted from the daemon's start on: a smaller count is another daemon's. A larger one
 * may be, too, after some time: top_model_connected() knows better, but not from all places.
 */
static void take_info(struct top_model *m, json_t *r, struct mono now)
{
	json_int_t before = json_integer_value(json_object_get(m->info, "ticks"));

	if (json_integer_value(json_object_get(r, "ticks")) < before)
		m->restarted = now;
	keep(&m->info, r);
}

int top_model_reply(struct top_model *m, enum top_reply what, json_t *r, struct mono now)
{
	m->waits = false;
	m->lost[0] = 0;
	m->refused[what][0] = 0;
	switch (what) {
	case TOP_LIST:
		return take_list(m, r, now);
	case TOP_INFO:
		take_info(m, r, now);
		break;
	case TOP_WHY:
		keep(&m->why, r);
		break;
	case TOP_RINGLIST:
		keep(&m->rings, r);
		break;
	case TOP_HOSTS:
		keep(&m->hosts, r);
		break;
	case TOP_LOCKS:
		keep(&m->locks, r);
		break;
	case TOP_REPLIES:
		break;
	}
	return 0;
}

/* What was shown is not so any more: a guest is gone, a host has left its cluster. */
void top_model_refused(struct top_model *m, enum top_reply what, const char *sentence)
{
	json_t **const kept[TOP_REPLIES] = { [TOP_WHY] = &m->why,
					     [TOP_RINGLIST] = &m->rings,
					     [TOP_HOSTS] = &m->hosts,
					     [TOP_LOCKS] = &m->locks };

	m->waits = false;
	m->lost[0] = 0;
	snprintf(m->refused[what], sizeof(m->refused[what]), "%s", sentence);
	utf8_mend(m->refused[what]);
	if (kept[what])
		keep(kept[what], NULL);
}

void top_model_connected(struct top_model *m, long pid, struct mono now)
{
	if (m->pid && pid && pid != m->pid)
		m->restarted = now;
	m->pid = pid;
}

void top_model_asked(struct top_model *m, struct mono now)
{
	m->waits = true;
	m->asked = now;
}

void top_model_lost(struct top_model *m, const char *sentence)
{
	m->waits = false;
	snprintf(m->lost, sizeof(m->lost), "%s", sentence);
	utf8_mend(m->lost);
}

bool top_model_hung(const struct top_model *m, struct mono now)
{
	return m->waits && mono_sub(now, m->asked) >= TOP_HUNG_NS;
}

static long long seconds(struct mono now, struct mono then)
{
	return (long long)(mono_sub(now, then) / NS_PER_S);
}

bool top_model_trouble(const struct top_model *m, struct mono now, char *text, size_t size)
{
	char age[64] = "";

	*text = 0;
	if (m->seen)
		snprintf(age, sizeof(age), "; the rows are %lld s old", seconds(now, m->listed));
	if (m->lost[0]) {
		snprintf(text, size, "%s%s", m->lost, age);
		return true;
	}
	if (top_model_hung(m, now)) {
		snprintf(text, size, "resexd has not answered for %lld s%s", seconds(now, m->asked),
			 age);
		return true;
	}
	if (m->refused[TOP_LIST][0]) {
		snprintf(text, size, "%s", m->refused[TOP_LIST]);
		return true;
	}
	if (m->restarted.ns && mono_sub(now, m->restarted) < RESTART_SHOWN_NS)
		snprintf(text, size, "resexd was started anew %lld s ago",
			 seconds(now, m->restarted));
	return false;
}

const struct top_guest *top_model_chosen(const struct top_model *m)
{
	return m->n ? &m->guests[m->at] : NULL;
}

/* A reply may be of the guest that was chosen before. */
const json_t *top_model_detail(const struct top_model *m, const json_t *reply)
{
	const json_t *g = json_array_get(json_object_get(reply, "guests"), 0);
	const char *uuid = json_string_value(json_object_get(g, "uuid"));

	return m->n && uuid && !strcmp(uuid, m->chosen) ? g : NULL;
}

/* Up to the first row, or the last one. */
static size_t step(size_t at, size_t n, enum top_key key, size_t rows)
{
	size_t last = n ? n - 1 : 0;

	switch (key) {
	case TOP_KEY_UP:
		return at ? at - 1 : 0;
	case TOP_KEY_DOWN:
		return at < last ? at + 1 : last;
	case TOP_KEY_PAGE_UP:
		return at > rows ? at - rows : 0;
	case TOP_KEY_PAGE_DOWN:
		return last > at && last - at > rows ? at + rows : last;
	case TOP_KEY_HOME:
		return 0;
	case TOP_KEY_END:
		return last;
	default:
		return at;
	}
}

static void choose(struct top_model *m, enum top_key key, size_t rows)
{
	if (m->page == TOP_PAGE_HOSTS) {
		m->host_at = step(m->host_at, json_array_size(json_object_get(m->hosts, "hosts")),
				  key, rows);
		return;
	}
	m->at = step(m->at, m->n, key, rows);
	snprintf(m->chosen, sizeof(m->chosen), "%s", m->n ? m->guests[m->at].uuid : "");
}

static void sort_by(struct top_model *m, int by)
{
	m->sort = (enum top_column)(((int)m->sort + by + TOP_COLUMNS) % TOP_COLUMNS);
	m->reverse = false;
	top_model_sort(m);
}

/* With the help on the screen, any key takes it away. */
void top_model_key(struct top_model *m, enum top_key key, size_t rows)
{
	bool helped = m->help;

	if (key != TOP_KEY_NONE)
		m->help = false;
	switch (key) {
	case TOP_KEY_LEFT:
		sort_by(m, -1);
		break;
	case TOP_KEY_RIGHT:
		sort_by(m, 1);
		break;
	case TOP_KEY_REVERSE:
		m->reverse = !m->reverse;
		top_model_sort(m);
		break;
	case TOP_KEY_PAGE:
		m->page = m->page == TOP_PAGE_GUESTS ? TOP_PAGE_HOSTS : TOP_PAGE_GUESTS;
		break;
	case TOP_KEY_GUESTS:
		m->page = TOP_PAGE_GUESTS;
		break;
	case TOP_KEY_HOSTS:
		m->page = TOP_PAGE_HOSTS;
		break;
	case TOP_KEY_HELP:
		m->help = !helped;
		break;
	default:
		choose(m, key, rows);
	}
}
