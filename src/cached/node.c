// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * node: a cached host's transport and region in libevent's loop, and step functions on them.
 *
 * One turn: what came in -> steps -> what is due -> sleep until the transport or a step function
 * has something to do. A request from outside (node_ask) runs its step at once, and lets a turn
 * follow, since what it posted may have ended by then without waking anybody.
 */
#include "src/cached/node.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/cached/outbox.h"
#include "src/reconf/runner.h"
#include "src/shared/region.h"
#include "src/util/clock.h"

enum {
	EVENTS = 64,
	/* In one turn. Peers may request without end, and the loop has others to serve. */
	POLLS = 8,
	PREFIX = 0x5243, /* of the transport's tags: there is no other user */
	NOTES_MAX = 20,	 /* lines about links and alarms that may follow each other at once */
};

#define NOTE_NS	     NS_PER_S /* and then one in so long */
#define SLEEP_MAX_NS (60 * NS_PER_S)

static_assert((int)OUTBOX_BYTES == (int)NODE_SEND_MAX, "a message has room");

/* A user, with what the runner does not know of it. */
struct place {
	struct node *node;
	struct node_user user;
	uint32_t number;
	bool marked; /* its number is in node.marked */
	/* As of its newest step, which alone changes it: many users are asked often. */
	struct mono due;
};

struct node {
	struct transport *t;
	struct runner *runner;
	struct event_base *base;
	struct log *log;
	struct events *events; /* NULL: none are kept */
	struct clock real, *clock;
	struct event *ready, *due;
	uint64_t generation;
	uint32_t tags; /* the next one that is free */
	struct place *place[RUNNER_USERS_MAX];
	uint32_t places;
	uint32_t marked[RUNNER_USERS_MAX]; /* users whose `after` is to be called */
	uint32_t marks;
	bool settles; /* their `after` is being called */
	bool turns;   /* within a turn: it arms at its end */
	bool is_soon; /* a turn follows at once */
	node_message *on_message;
	void *on_message_owner;
	struct outbox outbox;
	/* Lines for the log: how many were spent, up to when. */
	int64_t notes;
	struct mono noted;
	uint64_t quiet; /* lines that were left out */
};

struct mono node_now(const struct node *n)
{
	return n->clock->now(n->clock);
}

/* --- after steps ------------------------------------------------------------------- */

static void mark(struct place *p)
{
	if (p->marked || !p->user.after)
		return;
	p->marked = true;
	p->node->marked[p->node->marks++] = p->number;
}

/* Call `after` of all that took part in a step; what these ask may mark more. */
static void settle(struct node *n)
{
	if (n->settles)
		return;
	n->settles = true;
	while (n->marks) {
		struct place *p = n->place[n->marked[--n->marks]];

		p->marked = false;
		p->user.after(p->user.owner);
	}
	n->settles = false;
}

static void place_step(void *state, const struct step_event *ev, struct mono now,
		       struct step_out *out)
{
	struct place *p = state;

	p->user.step(p->user.state, ev, now, out);
	p->due = p->user.due(p->user.state);
	mark(p);
}

static struct mono place_due(const void *state)
{
	const struct place *p = state;

	return p->due;
}

/* --- turns ------------------------------------------------------------------------- */

static void run_after(struct node *n, int64_t ns)
{
	struct timeval tv = { 0, 0 };

	if (ns > SLEEP_MAX_NS)
		ns = SLEEP_MAX_NS;
	if (ns > 0) {
		tv.tv_sec = ns / NS_PER_S;
		tv.tv_usec = (ns % NS_PER_S + NS_PER_US - 1) / NS_PER_US;
	}
	evtimer_add(n->due, &tv);
}

/* Not from within the loop's callback: libevent would serve nobody else before. */
static void turn_soon(struct node *n)
{
	if (n->turns || n->is_soon)
		return;
	n->is_soon = true;
	run_after(n, 0);
}

static bool may_note(struct node *n, struct mono now)
{
	int64_t more = mono_sub(now, n->noted) / NOTE_NS;

	if (more > 0) {
		n->notes = n->notes > more ? n->notes - more : 0;
		n->noted = mono_add(n->noted, more * NOTE_NS);
	}
	if (n->notes == NOTES_MAX) {
		n->quiet++;
		return false;
	}
	n->notes++;
	if (n->quiet)
		log_msg(n->log, LOG_LVL_WARNING, "links: %llu lines were left out",
			(unsigned long long)n->quiet);
	n->quiet = 0;
	return true;
}

static void note(struct node *n, const struct transport_event *ev, struct mono now)
{
	enum log_level level = LOG_LVL_WARNING;
	char text[256];

	if (ev->type == TRANSPORT_RESULT || ev->type == TRANSPORT_MESSAGE || !may_note(n, now))
		return;
	if (ev->type == TRANSPORT_UP) {
		level = LOG_LVL_INFO;
		snprintf(text, sizeof(text), "host %u: the link is up", ev->host);
	} else if (ev->type == TRANSPORT_DOWN) {
		snprintf(text, sizeof(text), "host %u: the link is down: %s", ev->host, ev->text);
	} else {
		snprintf(text, sizeof(text), "%s", ev->text);
	}
	log_msg(n->log, level, "%s", text);
	events_add(n->events, "%s", text);
}

void node_set_events(struct node *n, struct events *e)
{
	n->events = e;
}

static void handle(struct node *n, const struct transport_event *ev, struct mono now)
{
	runner_event(n->runner, ev, now);
	if (ev->type == TRANSPORT_MESSAGE && n->on_message) {
		struct step_event se = {
			.type = STEP_MESSAGE, .host = ev->host, .message = ev->data, .len = ev->len
		};

		n->on_message(n->on_message_owner, &se, now);
	}
	note(n, ev, now);
	settle(n);
}

/*
 * Does a poll, and all that follows from it. The clock is read again behind the poll: a step is
 * told of no time before its event (fresh.h). 0: sleep until a descriptor or *due.
 */
static int poll_once(struct node *n, struct mono *due)
{
	struct transport_event ev[EVENTS];
	size_t got = transport_poll(n->t, node_now(n), ev, EVENTS);
	struct mono now = node_now(n);

	for (size_t i = 0; i < got; i++)
		handle(n, &ev[i], now);
	runner_tick(n->runner, now);
	settle(n);
	*due = runner_due_at(n->runner);
	if (got == EVENTS || due->ns <= now.ns)
		return 1;
	return 0;
}

static void turn(struct node *n)
{
	struct mono due = { 0 }, busy = { 0 };
	int more = 1;

	n->turns = true;
	for (int i = 0; i < POLLS && more; i++) {
		more = poll_once(n, &due);
		if (!more)
			more = transport_arm(n->t, node_now(n), &busy);
	}
	n->turns = false;
	n->is_soon = more != 0;
	run_after(n, more ? 0 : mono_sub(mono_earlier(due, busy), node_now(n)));
}

static void on_turn(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	turn(arg);
}

/* --- users ------------------------------------------------------------------------- */

uint32_t node_tags(struct node *n, uint32_t tags)
{
	uint32_t first = n->tags;

	if (tags < 1 || tags > UINT32_MAX - first)
		return 0;
	n->tags += tags;
	return first;
}

int node_add(struct node *n, const struct node_user *u)
{
	struct place *p = calloc(1, sizeof(*p));
	struct runner_user ru = {
		.state = p, .step = place_step, .due = place_due, .tag = u->tag, .tags = u->tags
	};
	int rc = p ? runner_add(n->runner, &ru) : -ENOMEM;

	if (rc) {
		free(p);
		return rc;
	}
	p->node = n;
	p->user = *u;
	p->number = n->places;
	p->due = u->due(u->state);
	n->place[n->places++] = p;
	runner_links(n->runner, p, node_now(n));
	settle(n);
	turn_soon(n);
	return 0;
}

void node_on_message(struct node *n, node_message *fn, void *owner)
{
	n->on_message = fn;
	n->on_message_owner = owner;
}

void node_ask(struct node *n, const void *state, uint32_t what, const void *wish)
{
	struct mono now = node_now(n);

	for (uint32_t i = 0; i < n->places; i++)
		if (n->place[i]->user.state == state)
			runner_ask(n->runner, n->place[i], what, wish, now);
	settle(n);
	turn_soon(n);
}

void node_send(struct node *n, uint16_t host, const void *message, uint32_t len)
{
	const struct outbox_wish w = { .host = host, .len = len, .message = message };

	if (len > NODE_SEND_MAX || host < 1 || host > REGION_HOSTS_MAX ||
	    !transport_link(n->t, host))
		return;
	node_ask(n, &n->outbox, OUTBOX_SEND, &w);
}

static void step_outbox(void *state, const struct step_event *ev, struct mono now,
			struct step_out *out)
{
	(void)now;
	outbox_step(state, ev, out);
}

static struct mono never(const void *state)
{
	(void)state;
	return (struct mono){ INT64_MAX };
}

static int add_outbox(struct node *n)
{
	const struct node_user u = { .state = &n->outbox,
				     .step = step_outbox,
				     .due = never,
				     .tag = node_tags(n, OUTBOX_MAX),
				     .tags = OUTBOX_MAX };

	outbox_init(&n->outbox, u.tag);
	return node_add(n, &u);
}

uint64_t node_generation(const struct node *n)
{
	return n->generation;
}

void *node_part(struct node *n, enum transport_part part)
{
	return transport_part(n->t, part);
}

uint32_t node_link(const struct node *n, uint16_t host)
{
	return transport_link(n->t, host);
}

int node_share(const struct node *n, uint16_t host, int *fd)
{
	return transport_share(n->t, host, fd);
}

/* --- opening ----------------------------------------------------------------------- */

/* What this host serves: a proxy nothing but a header. */
static struct region_cache served(const struct cached_conf *c)
{
	if (c->self->role == CLUSTER_PROXY)
		return (struct region_cache){ 0 };
	return (struct region_cache){ .words = (uint32_t)c->cluster.cache.words,
				      .slots = (uint32_t)c->cluster.cache.slots };
}

static int open_transport(struct node *n, const struct cached_conf *c, struct conf_error *e)
{
	const struct transport_backend *b = transport_backends[c->cluster.transport];
	const struct region_cache region = served(c);
	struct transport_conf tc = {
		.host = (uint16_t)c->self->number,
		.generation = n->generation,
		.generation_max = REGION_EPOCH_MAX,
		.agreement = cluster_cache_agreement(&c->cluster),
		.key = c->key.bytes,
		.key_len = c->key.len,
		.port = b->has_ports ? (uint16_t)c->self->port : 0,
		.hellos_max = (uint32_t)c->cluster.callers,
		.hellos_second = (uint32_t)c->cluster.callers_second,
		.seed = n->generation << 8 | c->self->number,
	};
	char text[256] = "";
	int rc;

	region_cache_bytes(&region, tc.bytes);
	strcpy(tc.cluster, c->cluster.cluster); /* conf's arrays are as long */
	strcpy(tc.address, c->self->address);
	rc = b->open(&n->t, &tc, node_now(n), text);
	if (rc)
		conf_error_set(e, conf_exit(rc), "transport \"%s\": %s", b->name,
			       text[0] ? text : strerror(-rc));
	return rc;
}

/*
 * All call the application servers, these their own memory, too. They add the proxies as well, to
 * answer them.
 */
static bool is_called(const struct cached_conf *c, const struct cluster_cached *h)
{
	return h->role == CLUSTER_APP || c->self->role == CLUSTER_APP;
}

static int add_hosts(struct node *n, const struct cached_conf *c, struct conf_error *e)
{
	for (uint32_t i = 0; i < c->cluster.caches; i++) {
		struct transport_peer p;
		int rc;

		if (!is_called(c, &c->cluster.cached[i]))
			continue;
		cluster_cached_peer(&c->cluster, i, &p);
		rc = transport_add(n->t, &p, node_now(n));
		if (!rc)
			continue;
		conf_error_set(e, conf_exit(rc), "host \"%s\" cannot be called at \"%s\": %s",
			       p.name, p.address,
			       rc == -EINVAL ? "give an IP address and a port; for shm, a folder"
					     : strerror(-rc));
		return rc;
	}
	return 0;
}

/* They call this host, such as resex-peek; it calls none of them. */
static int add_clients(struct node *n, const struct cached_conf *c, struct conf_error *e)
{
	for (uint32_t i = 0; i < c->cluster.clients; i++) {
		struct transport_peer p;
		int rc;

		cluster_client_peer(&c->cluster, i, &p);
		rc = transport_add(n->t, &p, node_now(n));
		if (!rc)
			continue;
		conf_error_set(e, conf_exit(rc), "client \"%s\" cannot be added: %s", p.name,
			       strerror(-rc));
		return rc;
	}
	return 0;
}

static int open_loop(struct node *n)
{
	n->ready = event_new(n->base, transport_fd(n->t), EV_READ | EV_PERSIST, on_turn, n);
	n->due = evtimer_new(n->base, on_turn, n);
	if (!n->ready || !n->due || event_add(n->ready, NULL))
		return -ENOMEM;
	run_after(n, 0);
	return 0;
}

/*
 * In this order: a start that cannot serve at its address counts no generation; the header is
 * written before it has a reader, and links are opened last.
 */
static int open_all(struct node *n, const struct cached_conf *c, struct conf_error *e)
{
	const struct region_cache region = served(c);
	int rc = cluster_generation_next(c->state_dir, &n->generation, e);

	if (!rc)
		rc = open_transport(n, c, e);
	if (!rc)
		rc = cluster_generation_count(c->state_dir, n->generation, e);
	if (rc)
		return rc;
	region_init_cache(transport_table(n->t), (uint16_t)c->self->number, n->generation, &region);
	rc = runner_open(&n->runner, n->t, c->cluster.timeout_ns, PREFIX);
	if (!rc)
		rc = open_loop(n);
	if (!rc)
		rc = add_outbox(n);
	if (rc) {
		conf_error_set(e, RESEX_FAILURE, "no memory for the links to other hosts");
		return rc;
	}
	rc = add_hosts(n, c, e);
	return rc ? rc : add_clients(n, c, e);
}

int node_open(struct node **out, const struct cached_conf *c, struct event_base *base,
	      struct log *log, struct conf_error *e)
{
	struct node *n = calloc(1, sizeof(*n));
	int rc;

	if (!n) {
		conf_error_set(e, RESEX_FAILURE, "no memory for the links to other hosts");
		return -ENOMEM;
	}
	n->base = base;
	n->log = log;
	n->tags = 1; /* 0 says that there are no more */
	clock_real(&n->real);
	n->clock = &n->real;
	n->noted = node_now(n);
	rc = open_all(n, c, e);
	if (rc)
		node_close(n);
	else
		*out = n;
	return rc;
}

void node_close(struct node *n)
{
	if (!n)
		return;
	if (n->ready)
		event_free(n->ready);
	if (n->due)
		event_free(n->due);
	runner_close(n->runner);
	transport_close(n->t);
	for (uint32_t i = 0; i < n->places; i++)
		free(n->place[i]);
	free(n);
}
