// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cluster: the control thread's half: this host and its guests are published, services are balanced
 * (balances.c), notices become events and log lines, and resex host-list, lock-list and lock-break
 * show and request what the other half (worker.c) has read and does. What is passed between the
 * two: exchange.h.
 *
 * What could not be read is shown with its age. Guests and policies go on when the cluster fails.
 */
#include "src/cluster/cluster.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "src/cluster/cluster_priv.h"
#include "src/cluster/order.h"
#include "src/reconf/move.h"
#include "src/shared/nodes_file.h"
#include "src/util/clock.h"

/*
 * Heartbeats may be shorter, but figures of guests need not be newer: their accounts are of epochs,
 * and this is work of the control thread.
 */
#define PUBLISH_MIN_NS (100 * NS_PER_MS)
/* Control may be busy for so long without a word about it. */
#define FIGURES_OLD_NS (2 * NS_PER_S)

/* --- work ------------------------------------------------------------------- */

static void publish(struct cluster *c, const struct snapshot *sn, struct mono now)
{
	struct publication *p = &c->x->publication[c->x->publication_at.back];

	p->made = now;
	p->guests = publish_guests(c->guests, sn, p->guest, p->slot);
	publish_host(c->conf, c->guests, sn, &p->host);
	spsc_latest_put(&c->x->publication_at);
}

static void show_notice(struct cluster *c, const struct notice *n)
{
	if (n->kind[0])
		guests_event(c->guests, n->wall_ns, "", n->kind, "%s", n->text);
	else
		log_msg(guests_view(c->guests).log, n->level, "cluster: %s", n->text);
}

/* At most a full ring each turn: the worker fills it meanwhile, and this loop must end. */
static void show_notices(struct cluster *c)
{
	struct notice_ring *r = &c->x->notices;
	uint64_t lost = atomic_load(&r->at.overflow);
	int64_t i = 0;

	for (int k = 0; k < NOTICES_ROOM && i >= 0; k++) {
		i = spsc_ring_oldest(&r->at, NOTICES_ROOM);
		if (i < 0)
			break;
		show_notice(c, &r->notice[i]);
		spsc_ring_got(&r->at);
	}
	if (lost != c->notices_lost)
		log_msg(guests_view(c->guests).log, LOG_LVL_WARNING,
			"cluster: %llu events of other hosts are lost: more came than this host "
			"could show",
			(unsigned long long)(lost - c->notices_lost));
	c->notices_lost = lost;
}

static void reload_reconf(struct cluster *c)
{
	if (!c->reload->reconf.given) {
		reconf_close(c->reconf);
		c->reconf = NULL;
	} else if (c->reconf) {
		reconf_reload(c->reconf, c->reload, c->worked, c->worked_wall_ns);
	} else if (reconf_open(&c->reconf, c->reload, c->guests, c->x,
			       guests_view(c->guests).conf->state_dir)) {
		guests_event(c->guests, c->worked_wall_ns, "", "reconf",
			     "moves of nodes are not decided on: no memory; restart resexd");
		reconf_close(c->reconf);
		c->reconf = NULL;
	}
}

/* What has not changed goes on, also a hook that runs. */
static void reload_roles(struct cluster *c)
{
	struct conf_error e = { 0 };
	int rc = c->roles ? roles_reload(&c->roles, c->reload, &e)
			  : roles_open(&c->roles, c->reload, c->guests, c->x, &e);

	if (!rc)
		return;
	guests_event(c->guests, c->worked_wall_ns, "", "reconf",
		     "nodes of kind switch are not prepared for other services: %s: mend that, "
		     "and restart resexd",
		     e.text);
	roles_close(c->roles);
	c->roles = NULL;
}

/* The worker has answered: it uses the new settings, and the old ones no more. */
static void adopt_reload(struct cluster *c)
{
	if (!c->reload || mail_result(&c->x->mail, c->reloading) == -EINPROGRESS)
		return;
	balances_reload(c->balances, c->reload, c->worked, c->worked_wall_ns);
	reload_reconf(c);
	reload_roles(c);
	free(c->conf);
	c->conf = c->reload;
	c->reload = NULL;
}

/* Why this host decides nothing on nodes now; "". */
static void find_hindrance(const struct cluster *c, const struct hostset *members, bool quorate,
			   struct mono now, char note[static 192])
{
	note[0] = 0;
	if (!quorate)
		snprintf(note, 192, "this host is in no quorum: %.150s", cluster_note(c));
	for (uint32_t i = 0; i < c->conf->hosts && !note[0]; i++) {
		struct cluster_seen s;

		if (!hostset_has(members, (uint32_t)c->conf->host[i].number))
			continue;
		cluster_see(c, i, now, &s);
		if (s.agree == CLUSTER_AGREE_UNREAD)
			snprintf(note, 192, "%s was not read yet: see resex host-list",
				 s.conf->name);
		else if (s.agree != CLUSTER_AGREE_SAME)
			snprintf(note, 192, "%s holds another cluster.json: see resex host-list",
				 s.conf->name);
	}
}

/* ns until the next turn. */
static int64_t work_on_reconf(struct cluster *c, struct mono now, int64_t wall_ns)
{
	struct hostset members;
	char hindrance[192];
	bool quorate;
	uint64_t view;

	reconf_answer(c->reconf, now, wall_ns);
	if (reconf_due(c->reconf, now) > 0)
		return reconf_due(c->reconf, now);
	cluster_members(c, &view, &members, &quorate);
	find_hindrance(c, &members, quorate, now, hindrance);
	reconf_turn(c->reconf, c, &members, hindrance, now, wall_ns);
	return reconf_due(c->reconf, now);
}

static int64_t work_on_roles(struct cluster *c, struct mono now, int64_t wall_ns)
{
	struct hostset members;
	bool quorate;
	uint64_t view;

	if (!c->roles)
		return INT64_MAX;
	cluster_members(c, &view, &members, &quorate);
	if (!quorate)
		members = (struct hostset){ { 0 } };
	return roles_work(c->roles, c, c->balances, &members, now, wall_ns);
}

/* Words that could not be saved come again soon: one event until they are. */
static void note_saving(struct cluster *c, int rc)
{
	if (!rc == !c->keep_rc)
		return;
	c->keep_rc = rc;
	if (rc)
		guests_event(c->guests, c->worked_wall_ns, "", "reconf",
			     "%s/nodes cannot be written: %s; nodes that were moved here do not "
			     "count until it can be",
			     guests_view(c->guests).conf->state_dir, strerror(-rc));
	else
		guests_event(c->guests, c->worked_wall_ns, "", "reconf",
			     "%s/nodes is written again", guests_view(c->guests).conf->state_dir);
}

/* What the worker waits for: it may wait for the disk. */
static void save_words(struct cluster *c)
{
	struct keep_copies *k = &c->x->keep;
	const struct keep_copy *copy;
	int rc;

	if (!spsc_latest_get(&k->at))
		return;
	copy = &k->copy[k->at.front];
	rc = nodes_file_save(guests_view(c->guests).conf->state_dir, NODES_FILE_WORDS, copy->word);
	note_saving(c, rc);
	atomic_store_explicit(rc ? &k->failed : &k->saved, copy->number, memory_order_release);
	exchange_wake(c->x->worker_fd);
}

int64_t cluster_work(struct cluster *c, const struct snapshot *sn, struct mono now, int64_t wall_ns)
{
	int64_t period = c->conf->heartbeat_ns > PUBLISH_MIN_NS ? c->conf->heartbeat_ns
								: PUBLISH_MIN_NS;
	int64_t ns;

	c->worked = now;
	c->worked_wall_ns = wall_ns;
	exchange_woken(c->x->control_fd);
	adopt_reload(c);
	save_words(c);
	show_notices(c);
	if (is_due(&c->publish_due, period, now)) {
		publish(c, sn, now);
		if (!c->published) /* the worker beats at once then */
			exchange_wake(c->x->worker_fd);
		c->published = true;
	}
	ns = balances_work(c->balances, c, now, wall_ns);
	ns = least(ns, mono_sub(c->publish_due, now));
	ns = least(ns, work_on_roles(c, now, wall_ns));
	return c->reconf ? least(ns, work_on_reconf(c, now, wall_ns)) : ns;
}

/* --- what is known ----------------------------------------------------------- */

int cluster_fd(const struct cluster *c)
{
	return c->epoll;
}

const struct cluster_conf *cluster_conf(const struct cluster *c)
{
	return c->conf;
}

const char *cluster_transport(const struct cluster *c)
{
	return transport_backends[c->conf->transport]->name;
}

/* Valid until the next call. */
static const struct rest_copy *newest_rest(const struct cluster *c)
{
	struct rest_copies *r = &c->x->rest;

	spsc_latest_get(&r->at);
	return &r->copy[r->at.front];
}

void cluster_members(const struct cluster *c, uint64_t *view, struct hostset *members,
		     bool *quorate)
{
	const struct rest_copy *r = newest_rest(c);

	*view = r->view.view;
	*members = r->view.members;
	*quorate = r->view.quorate;
}

const char *cluster_membership(const struct cluster *c)
{
	return c->worker.member_ops->name;
}

const char *cluster_note(const struct cluster *c)
{
	const struct rest_copy *r = newest_rest(c);

	if (*r->member_note || r->view.quorate)
		return r->member_note;
	return "corosync has not reported the members yet, and this host decides nothing; if that "
	       "lasts, see corosync-quorumtool";
}

uint64_t cluster_changes(const struct cluster *c)
{
	return newest_rest(c)->changes;
}

/*
 * Longest gap between observed heartbeats of a healthy peer: a beat comes once a heartbeat_ns, a
 * scan sees it up to scan_ns later, and its READ may take timeout_ns. Twice the periods, so that
 * one late beat or scan on a busy host is not called silence.
 */
static int64_t heartbeat_gap_max(const struct cluster_conf *conf)
{
	return 2 * (conf->heartbeat_ns + conf->scan_ns) + conf->timeout_ns;
}

static enum cluster_state state_of_peer(const struct cluster *c, uint32_t i,
					const struct peer_seen *p, struct mono now)
{
	if (i == c->conf->self)
		return CLUSTER_SELF;
	if (!p->link)
		return CLUSTER_DOWN;
	if (!p->known || mono_sub(now, p->moved) > heartbeat_gap_max(c->conf))
		return CLUSTER_SILENT;
	/* The link is of a new start, and the heartbeat still of the one before. */
	if (p->host->generation != p->generation)
		return CLUSTER_SILENT;
	return CLUSTER_UP;
}

/* Tenths of a second, as "%lld.%lld". */
#define SECONDS(ns) (long long)((ns) / NS_PER_S), (long long)((ns) % NS_PER_S / (NS_PER_S / 10))

/* Its heartbeat goes on, which is of another thread than the figures. */
static void put_figures_note(const struct cluster *c, struct cluster_seen *s)
{
	int64_t limit = heartbeat_gap_max(c->conf);

	if (limit < FIGURES_OLD_NS)
		limit = FIGURES_OLD_NS;
	if (s->note[0] || s->figures_age_ns <= limit)
		return;
	snprintf(s->note, sizeof(s->note),
		 "its heartbeat goes on, but its figures are %lld.%lld s old: its control thread "
		 "hangs or is slow; see its log",
		 SECONDS(s->figures_age_ns));
}

static void put_differs_note(const struct host_copy *h, struct cluster_seen *s)
{
	if (s->note[0] || s->agree == CLUSTER_AGREE_SAME || s->agree == CLUSTER_AGREE_UNREAD)
		return;
	snprintf(s->note, sizeof(s->note),
		 "%s: give both hosts the same file, and run resex cluster-reload", h->differs);
}

/* Why a host is in this state, and the remedy; "". */
static void put_note(const struct host_copy *h, struct mono now, struct cluster_seen *s)
{
	const struct peer_seen *p = &h->seen;
	const char *alarm = notices_explains(h->alarmed, now) ? h->alarm : "";
	const char *note = p->note;

	if (s->state == CLUSTER_DOWN && *alarm)
		note = alarm; /* it came after the link ended, and says why it cannot come back */
	else if (s->state == CLUSTER_DOWN && !*note)
		note = "not seen yet: its resexd does not run, cannot be reached, or refuses this "
		       "host: run resex events there";
	snprintf(s->note, sizeof(s->note), "%s", note);
	/* Over verbs its memory can be read also while its process hangs. */
	if (s->state == CLUSTER_SILENT && p->known && p->host->generation != p->generation)
		snprintf(s->note, sizeof(s->note),
			 "its resexd has started again, and has not been read since");
	else if (s->state == CLUSTER_SILENT && p->known && !*note)
		snprintf(s->note, sizeof(s->note),
			 "no heartbeat for %lld.%lld s: its resexd hangs or is stopped",
			 SECONDS(s->age_ns));
}

void cluster_see(const struct cluster *c, uint32_t i, struct mono now, struct cluster_seen *s)
{
	const struct cluster_host *conf = &c->conf->host[i];
	const struct host_copy *h = cluster_newest_host(c, i);
	const struct peer_seen *p = &h->seen;

	memset(s, 0, sizeof(*s));
	s->conf = conf;
	s->state = state_of_peer(c, i, p, now);
	s->agree = h->seen.known ? h->agree : CLUSTER_AGREE_UNREAD;
	s->member = hostset_has(&newest_rest(c)->view.members, (uint32_t)conf->number);
	s->age_ns = p->known ? cluster_age_ns(now, p->moved) : -1;
	s->figures_age_ns = p->known ? s->age_ns + (int64_t)p->host->figures_age_ns : -1;
	s->host = p->known ? p->host : NULL;
	s->guest = p->guest;
	s->guests = p->known ? p->guests : 0;
	put_note(h, now, s);
	if (s->state == CLUSTER_SELF)
		s->agree = CLUSTER_AGREE_SAME;
	put_differs_note(h, s);
	if (s->state == CLUSTER_UP || s->state == CLUSTER_SELF)
		put_figures_note(c, s);
}

static const struct lock_copy *lock_of(const struct rest_copy *r, uint32_t service)
{
	static const struct lock_copy unknown = { .agree = CLUSTER_AGREE_UNREAD };

	for (uint32_t i = 0; i < r->locks; i++)
		if (r->lock[i].service == service)
			return &r->lock[i];
	return &unknown; /* the worker does not have the same services yet, or any more */
}

void cluster_lock_see(const struct cluster *c, uint32_t i, struct mono now, struct cluster_lock *l)
{
	const struct rest_copy *r = newest_rest(c);
	const struct lock_copy *copy = lock_of(r, (uint32_t)c->conf->service[i].number);
	const struct lock_seen *s = &copy->seen;

	memset(l, 0, sizeof(*l));
	l->service = &c->conf->service[i];
	l->home = cluster_host_at(c->conf, view_home(&r->view));
	l->agree = copy->agree;
	l->differs = cluster_host_at(c->conf, copy->differs);
	/* A word of an earlier home says nothing of the lock at the present one. */
	l->known = s->known && l->home && s->home == l->home->number;
	if (!l->known)
		return;
	l->word = s->word;
	l->since_ns = mono_sub(s->read, s->since);
	l->age_ns = cluster_age_ns(now, s->read);
}

int cluster_break(struct cluster *c, uint32_t i, bool force, uint64_t *ticket)
{
	const struct request r = { .kind = REQUEST_BREAK,
				   .service = (uint32_t)c->conf->service[i].number,
				   .force = force };
	int rc = mail_ask(&c->x->mail, &r, ticket);

	if (!rc)
		exchange_wake(c->x->worker_fd);
	return rc;
}

int cluster_result(const struct cluster *c, uint64_t ticket)
{
	return mail_result(&c->x->mail, ticket);
}

/* The hosts that have a link, or are members by corosync: they may not be left out. */
static struct hostset present(const struct cluster *c, struct mono now)
{
	struct hostset s = { { 0 } };

	for (uint32_t i = 0; i < c->conf->hosts; i++) {
		struct cluster_seen seen;

		cluster_see(c, i, now, &seen);
		/* With static membership a host is a member also when it is stopped. */
		if (seen.state != CLUSTER_DOWN ||
		    (seen.member && c->conf->membership == CLUSTER_COROSYNC))
			hostset_set(&s, (uint32_t)seen.conf->number, true);
	}
	return s;
}

int cluster_read_again(const struct cluster *c, struct mono now, struct cluster_conf **out,
		       struct cluster_changes *ch, struct conf_error *e)
{
	const struct hostset there = present(c, now);
	struct cluster_conf *conf;
	int rc;

	/* To compare with the settings in force would say nothing of what comes into force. */
	if (c->reload && mail_result(&c->x->mail, c->reloading) == -EINPROGRESS) {
		conf_error_set(
			e, RESEX_BUSY,
			"%s: as it was read before, it is not in force yet: that waits for the "
			"end of a move or a lock-break. The settings before are in force until "
			"then; then run resex cluster-reload again",
			c->file);
		return -EBUSY;
	}
	conf = calloc(1, sizeof(*conf));
	if (!conf)
		return -ENOMEM;
	rc = cluster_change_load(c->conf, conf, c->file, c->hostname, &there, ch, e);
	if (!rc)
		rc = balances_may_reload(c->balances, conf, e);
	if (rc)
		free(conf);
	else
		*out = conf;
	return rc;
}

int cluster_reload(struct cluster *c, struct cluster_conf *conf, uint64_t *ticket)
{
	const struct request r = { .kind = REQUEST_RELOAD, .conf = conf };
	int rc;

	adopt_reload(c);
	rc = c->reload ? -EBUSY : exchange_add_hosts(c->x, conf);
	if (!rc)
		rc = mail_ask(&c->x->mail, &r, ticket);
	if (rc) {
		free(conf);
		return rc;
	}
	c->reload = conf;
	c->reloading = *ticket;
	balances_will_reload(c->balances, conf);
	exchange_wake(c->x->worker_fd);
	return 0;
}

int cluster_reload_result(struct cluster *c, uint64_t ticket)
{
	adopt_reload(c);
	if (ticket != c->reloading)
		return -ESRCH;
	return c->reload ? -EINPROGRESS : 0;
}

/* --- services ------------------------------------------------------------------ */

void cluster_service_see(const struct cluster *c, uint32_t i, struct cluster_service_seen *s)
{
	const struct cluster_service *conf = &c->conf->service[i];

	*s = (struct cluster_service_seen){ .conf = conf,
					    .in_force = conf,
					    .load = -1,
					    .why = "",
					    .why_text = "",
					    .wait_text = "",
					    .taker_predicted = -1,
					    .donor_before = -1,
					    .donor_predicted = -1 };
	if (c->reconf) {
		reconf_see(c->reconf, i, s);
		return;
	}
	for (const struct cluster_node *n =
		     cluster_node_next(c->conf, (uint32_t)conf->number, NULL);
	     n; n = cluster_node_next(c->conf, (uint32_t)conf->number, n))
		s->nodes++;
	snprintf(s->note, sizeof(s->note),
		 "nodes stay where they are: cluster.json has no \"reconf\"");
}

int cluster_move(struct cluster *c, uint32_t node, uint32_t service, struct mono now,
		 uint64_t *ticket, char why[static CLUSTER_WHY_TEXT])
{
	struct hostset members;
	uint64_t view;
	bool quorate;

	why[0] = 0;
	if (!c->reconf)
		return -EOPNOTSUPP;
	cluster_members(c, &view, &members, &quorate);
	find_hindrance(c, &members, quorate, now, why);
	if (why[0])
		return -EPERM;
	if (c->reload) /* of what numbers the order speaks changes */
		return -EBUSY;
	return reconf_order(c->reconf, c, &members, node, service, now, c->worked_wall_ns, ticket,
			    why);
}

int cluster_reconf_set(struct cluster *c, enum cluster_reconf_mode mode)
{
	if (!c->reconf)
		return -EOPNOTSUPP;
	reconf_set(c->reconf, mode, c->worked_wall_ns);
	return 0;
}

enum cluster_reconf_mode cluster_reconf_mode(const struct cluster *c)
{
	return c->reconf ? reconf_mode(c->reconf) : RECONF_PAUSE;
}

int cluster_node_fix(struct cluster *c, uint32_t i, bool fixed)
{
	if (!c->reconf)
		return -EOPNOTSUPP;
	reconf_fix(c->reconf, i, fixed, c->worked_wall_ns);
	return 0;
}

bool cluster_node_fixed(const struct cluster *c, uint32_t i)
{
	return c->reconf && reconf_fixed(c->reconf, i);
}

int cluster_service_set(struct cluster *c, uint32_t i, const struct conf_doc *d,
			struct conf_error *e)
{
	return c->reconf ? reconf_service_set(c->reconf, i, d, c->worked_wall_ns, e) : -EOPNOTSUPP;
}

void cluster_service_set_text(const struct cluster *c, uint32_t i,
			      char text[static CLUSTER_SET_TEXT])
{
	text[0] = 0;
	if (c->reconf)
		reconf_set_text(c->reconf, i, text);
}

void cluster_service_reset(struct cluster *c)
{
	if (c->reconf)
		reconf_service_reset(c->reconf, c->worked_wall_ns);
}

const char *cluster_move_text(int rc)
{
	return order_result_text(rc);
}

const struct cluster_move *cluster_history(const struct cluster *c, uint32_t n)
{
	return c->reconf ? reconf_history(c->reconf, n) : NULL;
}

const char *cluster_role_note(const struct cluster *c, uint32_t i)
{
	return c->roles ? roles_note(c->roles, i) : "";
}

const char *cluster_history_note(const struct cluster *c)
{
	return c->reconf ? reconf_history_note(c->reconf) : "";
}

/* --- open and close ----------------------------------------------------------- */

/* What control waits for. */
static int open_epoll(struct cluster *c)
{
	const int fd[] = { c->x->control_fd, balances_fd(c->balances) };
	struct epoll_event ev = { .events = EPOLLIN };

	c->epoll = epoll_create1(EPOLL_CLOEXEC);
	for (size_t i = 0; i < sizeof(fd) / sizeof(fd[0]); i++)
		if (c->epoll < 0 || epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd[i], &ev))
			return -errno;
	return 0;
}

/* Other hosts may have moved this host's nodes, and nobody knows where to. */
static void note_damage(const struct cluster *c, const char *state_dir)
{
	if (c->worker.words.damaged)
		guests_event(
			c->guests, clock_wall_ns(), "", "reconf",
			"%s/nodes is damaged: the nodes of this host are in no service, and go on "
			"as before; balancers in mode act adopt them (of kind switch only if it is "
			"known "
			"for what they are prepared), or resex move does",
			state_dir);
}

/* A start that cannot use its files counts no generation: it is counted last (worker_open). */
static int open_parts(struct cluster *c, const char *state_dir, struct mono now,
		      struct conf_error *e)
{
	const struct guests_view v = guests_view(c->guests);
	struct cluster_key key = { 0 };
	int rc;

	c->conf = calloc(1, sizeof(*c->conf));
	rc = c->conf ? cluster_conf_load(c->conf, c->file, c->hostname, e) : -ENOMEM;
	if (!rc)
		rc = cluster_key_load(&key, c->conf->key_file, e);
	if (!rc)
		rc = exchange_open(&c->x, c->conf);
	if (!rc)
		rc = balances_open(&c->balances, c->conf, c->guests, now, e);
	if (!rc)
		rc = roles_open(&c->roles, c->conf, c->guests, c->x, e);
	if (!rc && c->conf->reconf.given) {
		rc = reconf_open(&c->reconf, c->conf, c->guests, c->x, state_dir);
		if (rc)
			conf_error_set(e, conf_exit(rc), "cluster: no memory for \"reconf\"");
	}
	if (!rc)
		rc = open_epoll(c);
	if (!rc) {
		c->worker.conf = c->conf;
		c->worker.x = c->x;
		c->worker.loads = guests_loads(c->guests);
		c->worker.simulated = v.hv->simulated;
		c->worker.look_ns = v.conf->interval_ns;
		c->worker.sched_ops = v.hv->sched;
		notices_init(&c->worker.notices, c->conf, c->x);
		rc = worker_open(&c->worker, &key, state_dir, now, e);
	}
	if (!rc)
		note_damage(c, state_dir);
	explicit_bzero(&key, sizeof(key)); /* the transport has its own copy */
	return rc;
}

int cluster_open(struct cluster **out, const struct daemon_conf *conf, const char *hostname,
		 struct guests *gs, struct hv_sched *sched, struct mono now, struct conf_error *e)
{
	struct cluster *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return -ENOMEM;
	c->guests = gs;
	c->worker.sched = sched;
	snprintf(c->file, sizeof(c->file), "%s", conf->cluster_file);
	snprintf(c->hostname, sizeof(c->hostname), "%s", hostname);
	c->publish_due = now;
	c->worked = now;
	c->epoll = c->worker.epoll = c->worker.member_fd = c->worker.fill.handle = -1;
	rc = open_parts(c, conf->state_dir, now, e);
	if (rc) {
		cluster_close(c); /* it closes what was opened until then */
		return rc;
	}
	*out = c;
	return 0;
}

void cluster_close(struct cluster *c)
{
	if (!c)
		return;
	cluster_stop(c);
	worker_close(&c->worker);
	balances_close(c->balances);
	roles_close(c->roles);
	reconf_close(c->reconf);
	if (c->epoll >= 0)
		close(c->epoll);
	exchange_close(c->x);
	free(c->reload);
	free(c->conf);
	free(c);
}
