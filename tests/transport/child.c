// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * child: the main loop of a host in a process of its own: open, do the ordered work, report, close.
 * The parent's side is proc.c; orders and reports are in shared memory (proc.h).
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "tests/transport/proc.h"

enum { FD_ARENA = 1000, FD_NUDGE = 1001, LOG_MAX = 512 };

struct child {
	struct arena *arena;
	struct orders *o;
	struct rig *rig;
	struct host *h;
	uint32_t went;	/* the newest go whose work was begun */
	uint64_t left;	/* of the work */
	size_t counted; /* place in the log */
	uint64_t word;	/* as last read: WORK_RAISE, WORK_EXCLUDE */
	uint64_t waits; /* tag whose result the work waits for */
	enum { FREE, READING, LOCKING, INSIDE, RAISING, UNLOCKING } stage;
};

static void say_broken(void *arg, const char *text)
{
	struct orders *o = arg;

	snprintf(o->error, sizeof(o->error), "%s", text);
	atomic_store(&o->wrong, 1);
	_exit(3);
}

/* --- work ------------------------------------------------------------------- */

/* Post as many as the transport accepts, but not more than are left to do. */
static void add(struct child *c)
{
	struct transport_op op = op_faa(c->o->target, c->o->offset, 1);
	int why = 0;

	while (c->h->ref.n < c->left && host_post(c->h, &op, 1, &why) == 1)
		op.deadline.ns = 0;
}

static void chat(struct child *c)
{
	while (c->h->ref.n < c->left) {
		uint64_t text[2] = { c->o->times - c->left + c->h->ref.n, c->o->conf.host };
		struct transport_op op = op_send(c->o->target, text, sizeof(text));
		int why = 0;

		if (host_post(c->h, &op, 1, &why) != 1)
			return;
	}
}

static void next(struct child *c, int stage, struct transport_op op)
{
	c->stage = (unsigned)stage;
	c->waits = host_post1(c->h, op);
}

static uint64_t old_of(const struct transport_event *ev)
{
	uint64_t word = ev->old;

	if (ev->kind == TRANSPORT_READ)
		memcpy(&word, ev->data, sizeof(word));
	return word;
}

/* Add 1 by READ and CAS64, again until it succeeds. */
static void raise_word(struct child *c, const struct transport_event *ev)
{
	uint64_t was = ev ? old_of(ev) : 0;

	if (c->stage == RAISING && was == c->word && --c->left == 0)
		return;
	if (c->stage == READING || (c->stage == RAISING && was != c->word)) {
		c->word = was;
		next(c, RAISING, op_cas(c->o->target, c->o->offset, was, was + 1));
	} else {
		next(c, READING, op_read(c->o->target, TRANSPORT_WORDS, c->o->offset, 8));
	}
}

/* The lock's word is the number of its holder; the next word is a count, by READ and CAS64. */
static void exclude(struct child *c, const struct transport_event *ev)
{
	uint16_t to = c->o->target;
	uint32_t lock = c->o->offset;
	uint64_t was = ev ? old_of(ev) : 0, me = c->o->conf.host;

	switch (c->stage) {
	case LOCKING:
		if (was)
			break;
		if (atomic_fetch_add(&c->arena->inside, 1))
			broken("somebody else is inside");
		c->arena->plain++;
		next(c, INSIDE, op_read(to, TRANSPORT_WORDS, lock + 8, 8));
		return;
	case INSIDE:
		c->word = was;
		next(c, RAISING, op_cas(to, lock + 8, was, was + 1));
		return;
	case RAISING:
		if (was != c->word)
			broken("alone, and yet the word went from %llu to %llu",
			       (unsigned long long)c->word, (unsigned long long)was);
		atomic_fetch_sub(&c->arena->inside, 1);
		next(c, UNLOCKING, op_cas(to, lock, me, 0));
		return;
	case UNLOCKING:
		if (was != me)
			broken("the lock that host %u held says %llu", c->o->conf.host,
			       (unsigned long long)was);
		if (--c->left == 0)
			return;
		break;
	case FREE:
	case READING:
		break;
	}
	next(c, LOCKING, op_cas(to, lock, 0, me));
}

static void one(struct child *c)
{
	for (uint32_t i = 0; i < c->o->ops; i++) {
		struct transport_op op = c->o->op[i];
		int why = 0;

		if (host_post(c->h, &op, 1, &why) == 0)
			atomic_fetch_add(&c->o->outcomes[TRANSPORT_LOST], 1);
	}
}

static void begin_work(struct child *c)
{
	c->went = atomic_load(&c->o->go);
	c->left = c->o->times;
	c->stage = FREE;
	if (c->o->work == WORK_ONE)
		one(c);
	else if (c->o->work == WORK_RAISE)
		raise_word(c, NULL);
	else if (c->o->work == WORK_EXCLUDE)
		exclude(c, NULL);
}

static void result(struct child *c, const struct transport_event *ev)
{
	atomic_fetch_add(&c->o->outcomes[ev->outcome], 1);
	if (c->o->work == WORK_ONE || c->o->work == WORK_NONE)
		return;
	if (ev->outcome != TRANSPORT_DONE)
		broken("kind %d ended as %d: %s", (int)ev->kind, (int)ev->outcome,
		       strerror(-ev->why));
	if (c->o->work == WORK_ADD || c->o->work == WORK_CHAT)
		c->left--;
	else if (ev->tag != c->waits)
		broken("an operation that was not waited for has a result");
	else if (c->o->work == WORK_RAISE)
		raise_word(c, ev);
	else
		exclude(c, ev);
}

static void do_work(struct child *c)
{
	if (c->went != atomic_load(&c->o->go))
		begin_work(c);
	if (c->went == atomic_load(&c->o->over))
		return;
	if (c->o->work == WORK_ADD)
		add(c);
	if (c->o->work == WORK_CHAT)
		chat(c);
	if (c->o->work == WORK_ONE || c->o->work == WORK_NONE ? !c->h->ref.n : !c->left)
		atomic_store(&c->o->over, c->went);
}

/* --- the loop --------------------------------------------------------------- */

static void account(struct child *c)
{
	struct transport_stats s;
	uint64_t up = 0;

	for (; c->counted < c->h->n; c->counted++)
		if (c->h->log[c->counted].ev.type == TRANSPORT_RESULT)
			result(c, &c->h->log[c->counted].ev);
	for (uint16_t i = 1; i <= PROC_HOSTS; i++)
		up |= host_up(c->h, i) ? bit(i) : 0;
	transport_stats(c->h->t, &s);
	atomic_store(&c->o->up, up);
	atomic_store(&c->o->ups, c->h->ref.ups);
	atomic_store(&c->o->downs, c->h->ref.downs);
	atomic_store(&c->o->alarms, c->h->ref.alarms);
	atomic_store(&c->o->messages, c->h->ref.messages);
	atomic_store(&c->o->served, s.served);
	atomic_fetch_add(&c->o->turns, 1);
	if (c->h->n > LOG_MAX) {
		host_forget(c->h);
		c->counted = 0;
	}
}

/* Drain the pipe by which the parent wakes us. If the parent is gone, end. */
static void drain_nudges(void)
{
	char buf[64];
	ssize_t n;

	while ((n = read(FD_NUDGE, buf, sizeof(buf))) > 0)
		;
	if (n == 0)
		_exit(2);
}

static void run(struct child *c)
{
	while (!atomic_load(&c->o->quit)) {
		drain_nudges();
		do_work(c); /* before the poll: the process may have been stopped meanwhile */
		rig_poll(c->rig);
		account(c);
		do_work(c);
		if (!rig_sleep(c->rig, INT64_MAX))
			broken("slept for ever");
	}
	host_audit(c->h);
	host_close(c->h);
	atomic_store(&c->o->closed, 1);
}

static void open_child(struct child *c)
{
	struct transport_conf conf = c->o->conf;
	uint64_t *words = NULL;
	char text[256] = "";
	int rc;

	c->h = &c->rig->host[0];
	c->h->rig = c->rig;
	c->h->number = conf.host;
	conf.key = c->o->key;
	if (c->o->first_word) {
		words = malloc(conf.bytes[TRANSPORT_WORDS]);
		for (size_t i = 0; words && i < conf.bytes[TRANSPORT_WORDS] / 8; i++)
			words[i] = c->o->first_word + i;
	}
	conf.words = words;
	rc = c->rig->backend->open(&c->h->t, &conf, rig_now(c->rig), text);
	free(words);
	atomic_store(&c->o->open_rc, rc);
	if (!rc) {
		c->rig->hosts = 1;
		for (uint16_t i = 1; i <= PROC_HOSTS; i++)
			if (c->o->friends & bit(i))
				host_add(c->h, i);
	}
	atomic_store(&c->o->opened, 1);
	if (rc)
		_exit(0);
}

static const struct traits *find(const struct traits *table, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(table[i].name, name))
			return &table[i];
	return NULL;
}

int proc_main(int argc, char **argv, const struct traits *table, size_t n)
{
	static struct rig rig;
	struct child c = { .rig = &rig };
	const struct traits *is = argc == 7 ? find(table, n, argv[3]) : NULL;

	c.arena = mmap(NULL, sizeof(*c.arena), PROT_READ | PROT_WRITE, MAP_SHARED, FD_ARENA, 0);
	if (!is || c.arena == MAP_FAILED)
		return 2;
	c.o = &c.arena->orders[atoi(argv[2])];
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fcntl(FD_NUDGE, F_SETFL, O_NONBLOCK);
	broken_calls(say_broken, c.o);
	rig_init(&rig, is, argv[5], argv[6]);
	rig.port = (uint16_t)atoi(argv[4]);
	rig.wake_fd = FD_NUDGE;
	open_child(&c);
	run(&c);
	host_forget(c.h);
	free(rig.host[0].log);
	return 0;
}
