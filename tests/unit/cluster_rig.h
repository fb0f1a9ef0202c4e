/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cluster_rig: hosts of one cluster in one process, over shm in one folder, by a
 * simulated time; each with guests of guests_rig.h. One thread does the work of all: of
 * control, and of each cluster's own thread, by its steps. The sockets between the hosts are
 * the kernel's: site_until lets simulated time pass until they have delivered.
 * Host 3 is bare: a transport without a daemon, which acquires and releases locks.
 */
#ifndef RESEX_TESTS_CLUSTER_RIG_H
#define RESEX_TESTS_CLUSTER_RIG_H

#include <poll.h>

#include "src/cluster/cluster_priv.h"
#include "tests/unit/guests_rig.h"

enum { SITES = 3, BARE = 3, SITE_KEY_MODE = 0600 };

#define BEAT	     (100 * MS)
#define SCAN	     (500 * MS)
#define TIMEOUT	     (1000 * MS)
#define SILENT_AFTER (2 * (BEAT + SCAN) + TIMEOUT) /* host-list calls a host silent then */

struct site {
	struct guests_rig *g;
	struct cluster *c; /* NULL: it does not run */
	bool stopped;	   /* as by SIGSTOP */
	bool busy;	   /* its control thread, with something else */
	struct mono due, control_due;
	uint64_t calls;	  /* of worker_step */
	uint64_t for_due; /* of them, those at the time that the call before returned */
};

struct sites {
	struct tmpdir dir;
	struct mono now;
	int64_t wall_set;	   /* the time of day is WALL, and this */
	struct site at[SITES + 1]; /* from 1 */
	struct transport *bare;	   /* of host 3 */
	uint64_t bare_starts;	   /* how often it was opened: its generation */
	bool corosync_hangs;
	struct transport_event ev; /* the newest result of bare */
};

static inline void site_key(struct sites *s, const char *name, const char *key)
{
	tmp_write(&s->dir, name, key);
	assert_int_equal(chmod(tmp_at(&s->dir, name), SITE_KEY_MODE), 0);
}

/* Members of cluster.json besides the hosts. */
#define SITE_TIMES                                                                                 \
	"\"heartbeat\": \"100ms\", \"scan\": \"500ms\", \"timeout\": \"1s\", \"hold\": \"2s\""

#define SITE_SERVICES "{\"name\": \"web\", \"number\": 1}, {\"name\": \"mail\", \"number\": 255}"

enum { SITE_TEXT = 8192 };

/* The cluster.json of host n with hosts 1 .. hosts, these services, and these members besides. */
static inline void site_text(const struct sites *s, int n, const char *cluster, int hosts,
			     const char *more, const char *services, char text[static SITE_TEXT])
{
	int at = snprintf(text, SITE_TEXT,
			  "{\"cluster\": \"%s\", \"host\": \"xen%d\", \"transport\": \"shm\",\n"
			  "\"key_file\": \"%s/key%d\", %s,\n\"hosts\": [",
			  cluster, n, s->dir.path, n, more);

	for (int i = 1; i <= hosts; i++)
		at += snprintf(text + at, SITE_TEXT - (size_t)at,
			       "%s{\"name\": \"xen%d\", \"number\": %d, \"address\": \"%s\"}",
			       i > 1 ? ", " : "", i, i, s->dir.path);
	snprintf(text + at, SITE_TEXT - (size_t)at, "],\n\"services\": [%s]}", services);
}

/* Write cluster.json of host n, with these members. */
static inline void site_write(struct sites *s, int n, const char *cluster, const char *more)
{
	char name[32], text[SITE_TEXT];

	site_text(s, n, cluster, SITES, more, SITE_SERVICES, text);
	snprintf(name, sizeof(name), "c%d.json", n);
	tmp_write(&s->dir, name, text);
	snprintf(name, sizeof(name), "key%d", n);
	site_key(s, name, "0123456789abcdef0123456789abcdef\n");
}

static inline struct sites *sites_new(void)
{
	struct sites *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	tmp_open(&s->dir);
	s->now.ns = 1000 * NS_PER_S;
	for (int i = 1; i <= SITES; i++) {
		void *g = NULL;

		site_write(s, i, "test", SITE_TIMES);
		if (rig_setup(&g))
			abort();
		s->at[i].g = g;
		s->at[i].g->now = s->now;
	}
	return s;
}

static inline void sites_free(struct sites *s)
{
	transport_close(s->bare);
	for (int i = 1; i <= SITES; i++) {
		void *g = s->at[i].g;

		cluster_close(s->at[i].c);
		rig_teardown(&g);
	}
	tmp_close(&s->dir);
	free(s);
}

static inline int site_try(struct sites *s, int n, struct conf_error *e)
{
	struct site *x = &s->at[n];

	snprintf(x->g->conf.cluster_file, sizeof(x->g->conf.cluster_file), "%s/c%d.json",
		 s->dir.path, n);
	x->due = x->control_due = s->now;
	x->stopped = x->busy = false;
	return cluster_open(&x->c, &x->g->conf, "localhost", x->g->gs, &x->g->host.sched, s->now,
			    e);
}

static inline void site_open(struct sites *s, int n)
{
	struct conf_error e = { 0 };

	if (site_try(s, n, &e))
		fail_msg("xen%d: %s", n, e.text);
}

/* As by SIGKILL: the others notice it only by its sockets. */
static inline void site_kill(struct sites *s, int n)
{
	cluster_close(s->at[n].c);
	s->at[n].c = NULL;
}

/* --- time --------------------------------------------------------------------- */

static inline bool site_readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static inline void site_control(struct sites *s, struct site *x)
{
	if (x->busy || (mono_sub(s->now, x->control_due) < 0 && !site_readable(cluster_fd(x->c))))
		return;
	x->control_due = mono_add(
		s->now, cluster_work(x->c, snap_latest(&x->g->ho), s->now, WALL + s->wall_set));
}

static inline void site_step(struct sites *s, struct site *x)
{
	bool due = mono_sub(s->now, x->due) >= 0;
	int64_t ns;

	if (!due && !site_readable(x->c->worker.epoll))
		return;
	ns = worker_step(&x->c->worker, s->now, WALL + s->wall_set);
	/* it is called again before the next heartbeat is due */
	assert_true(ns >= 0 && ns <= cluster_conf(x->c)->heartbeat_ns);
	x->due = mono_add(s->now, ns);
	x->calls++;
	x->for_due += due;
	/* Corosync is connected to by a thread, in real time: simulated time waits for it. */
	if (x->c->worker.member_fd >= 0 && !s->corosync_hangs)
		assert_int_equal(
			poll(&(struct pollfd){ .fd = x->c->worker.member_fd, .events = POLLIN }, 1,
			     -1),
			1);
}

/* Control twice: it publishes for the step, and shows what the step has to say. */
static inline void site_work(struct sites *s, struct site *x)
{
	if (!x->c || x->stopped)
		return;
	site_control(s, x);
	site_step(s, x);
	site_control(s, x);
}

static inline void bare_work(struct sites *s)
{
	struct transport_event ev[8];
	size_t n = s->bare ? transport_poll(s->bare, s->now, ev, 8) : 0;

	for (size_t i = 0; i < n; i++)
		if (ev[i].type == TRANSPORT_RESULT)
			s->ev = ev[i];
}

/* A millisecond of simulated time, and all that is due in it. */
static inline void sites_ms(struct sites *s)
{
	s->now.ns += MS;
	for (int i = 1; i <= SITES; i++)
		site_work(s, &s->at[i]);
	bare_work(s);
}

static inline void sites_pass(struct sites *s, int64_t ns)
{
	for (; ns > 0; ns -= MS)
		sites_ms(s);
}

/* --- what is seen ---------------------------------------------------------------- */

static inline struct cluster_seen site_sees(struct sites *s, int n, int other)
{
	struct cluster_seen x;

	cluster_see(s->at[n].c, (uint32_t)(other - 1), s->now, &x);
	return x;
}

static inline struct cluster_lock site_lock(struct sites *s, int n, uint32_t service)
{
	struct cluster_lock l;

	cluster_lock_see(s->at[n].c, service, s->now, &l);
	return l;
}

/* Request it of host n, and let its thread take the request up. */
static inline int site_break(struct sites *s, int n, uint32_t service, bool force, uint64_t *ticket)
{
	assert_int_equal(cluster_break(s->at[n].c, service, force, ticket), 0);
	assert_int_equal(cluster_result(s->at[n].c, *ticket), -EINPROGRESS);
	s->at[n].due = s->now;
	site_step(s, &s->at[n]);
	return cluster_result(s->at[n].c, *ticket);
}

/* Request settings of host n: hosts 1 .. hosts, these services, and these members besides. */
static inline int site_reload(struct sites *s, int n, int hosts, const char *more,
			      const char *services, uint64_t *ticket)
{
	struct cluster_conf *conf = calloc(1, sizeof(*conf));
	struct conf_error e = { 0 };
	char text[SITE_TEXT];

	assert_non_null(conf);
	site_text(s, n, "test", hosts, more, services, text);
	if (cluster_conf_parse(conf, "f", text, strlen(text), "xen0", &e))
		fail_msg("%s", e.text);
	return cluster_reload(s->at[n].c, conf, ticket);
}

/* Let time pass until the condition holds; at most 30 simulated seconds. */
#define site_until(s, what)                                                                        \
	do {                                                                                       \
		for (int ms_ = 0; ms_ < 30000 && !(what); ms_++)                                   \
			sites_ms(s);                                                               \
		if (!(what))                                                                       \
			fail_msg("not within 30 s: %s", #what);                                    \
	} while (0)

/* Until host n has read what this start of the other publishes, and calls it up. */
static inline void site_until_up(struct sites *s, int n, int other, uint64_t generation)
{
	site_until(s, site_sees(s, n, other).state == CLUSTER_UP &&
			      site_sees(s, n, other).host->generation == generation);
}

/* Hosts 1 and 2 see each other. */
static inline struct sites *sites_pair(void)
{
	struct sites *s = sites_new();

	site_open(s, 1);
	site_open(s, 2);
	site_until_up(s, 1, 2, 1);
	site_until_up(s, 2, 1, 1);
	return s;
}

static inline const struct region_guest *site_guest(struct sites *s, int n, int other,
						    const char *name)
{
	struct cluster_seen x = site_sees(s, n, other);
	const struct region_guest *g = x.guest;

	for (uint32_t i = 0; i < x.guests; i++, g++)
		if (!strcmp(g->name, name))
			return g;
	return NULL;
}

/* Is there an event of this kind with this text? */
static inline bool site_has_event(struct sites *s, int n, const char *kind, const char *says)
{
	const struct event_text *e;

	for (uint64_t id = 0; (e = guests_event_after(s->at[n].g->gs, id)) != NULL; id = e->id)
		if (!strcmp(e->kind, kind) && strstr(e->text, says))
			return true;
	return false;
}

/* --- guests -------------------------------------------------------------------------- */

/* Let the host notice domains that came or went, as in the engine's loop. */
static inline void site_settle(struct sites *s, int n)
{
	struct guests_rig *g = s->at[n].g;

	g->now = s->now;
	rig_settle(g);
}

/* A snapshot with all guests of its set: fill it in, then call snap_publish. */
static inline struct snapshot *site_snap(struct sites *s, int n)
{
	struct guests_rig *g = s->at[n].g;
	struct snapshot *sn = snap_begin(&g->ho);

	memset(sn, 0, sizeof(*sn));
	sn->policy = g->gs->policy->ops;
	sn->guests = g->set->guests;
	for (uint32_t i = 0; i < sn->guests; i++) {
		sn->guest[i].key = g->set->guest[i].key;
		sn->guest[i].slot = g->set->guest[i].slot;
	}
	return sn;
}

/* --- the bare host --------------------------------------------------------------------------- */

static inline void bare_open(struct sites *s, int home)
{
	static const uint8_t key[] = "0123456789abcdef0123456789abcdef";
	struct transport_conf c = { .host = BARE,
				    .generation = ++s->bare_starts,
				    .agreement = cluster_agreement(cluster_conf(s->at[home].c)),
				    .cluster = "test",
				    .key = key,
				    .key_len = sizeof(key) - 1,
				    .bytes = { 4096, 4096 },
				    .seed = 1 };
	struct transport_peer p = { .host = (uint16_t)home, .name = "home" };
	char text[256] = "";

	strcpy(c.address, s->dir.path);
	strcpy(p.address, s->dir.path);
	if (transport_find("shm")->open(&s->bare, &c, s->now, text))
		fail_msg("%s", text);
	assert_int_equal(transport_add(s->bare, &p, s->now), 0);
	site_until(s, transport_link(s->bare, (uint16_t)home));
}

/* CAS of a word at home; returns the word before. */
static inline uint64_t bare_cas(struct sites *s, int home, uint32_t offset, uint64_t compare,
				uint64_t value)
{
	static uint64_t tag;
	struct transport_op op = { .kind = TRANSPORT_CAS64,
				   .host = (uint16_t)home,
				   .part = TRANSPORT_WORDS,
				   .offset = offset,
				   .compare = compare,
				   .value = value,
				   .tag = tag + 1,
				   .deadline = mono_add(s->now, TIMEOUT) };

	tag++;
	assert_int_equal(transport_post(s->bare, &op, 1, s->now, NULL), 1);
	for (int i = 0; i < 10 && s->ev.tag != tag; i++)
		bare_work(s); /* no time passes: no other host sees it yet */
	assert_int_equal(s->ev.tag, tag);
	assert_int_equal(s->ev.outcome, TRANSPORT_DONE);
	return s->ev.old;
}

/* A word at home, by a CAS that changes nothing. */
static inline uint64_t bare_read(struct sites *s, int home, uint32_t offset)
{
	return bare_cas(s, home, offset, 0, 0);
}

#endif
