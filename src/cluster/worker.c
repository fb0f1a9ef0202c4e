// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * worker: the half of the cluster that the thread of its own runs (thread.c), without control. One
 * step is
 *
 *	membership -> results -> requests of control -> new settings -> heartbeat -> own load
 *	  -> begin to read the others -> what control sees
 *
 * Nothing here waits: not for another host, since each READ has a deadline; not for corosync, nor
 * for control, whose newest publication is in force until it makes another one. So heartbeats come
 * at their pace while control is busy, and a heartbeat has the age of what it carries.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "src/cluster/cluster_priv.h"

/* --- membership --------------------------------------------------------------- */

/*
 * The file descriptor of the membership changes when corosync starts or ends. The thread waits for
 * one descriptor, an epoll set, and need not know of it.
 */
static void watch_member(struct worker *w)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int fd = w->member_ops->fd(w->member);

	if (fd == w->member_fd)
		return;
	if (w->member_fd >= 0)
		epoll_ctl(w->epoll, EPOLL_CTL_DEL, w->member_fd, NULL);
	if (fd >= 0 && epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &ev))
		fd = -1; /* a step still looks at it when it is due */
	w->member_fd = fd;
}

static void update_member(struct worker *w, struct mono now, int64_t wall_ns)
{
	if (w->member_ops->update(w->member, now, &w->view)) {
		notices_members(&w->notices, &w->view, wall_ns);
		worker_moves_view(w, now);
		w->beat_due = now; /* nothing is decided in a view that is not published */
	}
	notices_member_note(&w->notices, w->member_ops->note(w->member), &w->view, wall_ns);
	watch_member(w);
}

/*
 * Without quorum the home of the locks is unknown, since other hosts may have a quorum and a newer
 * view.
 */
uint16_t view_home(const struct member_view *v)
{
	return v->quorate ? hostset_next(&v->members, 0) : 0;
}

/* --- requests of control -------------------------------------------------------- */

/*
 * Without quorum another part of the cluster may have a home of its own, and holders there: this
 * host's CAS would break a lock at a home that they no longer use.
 */
static int begin_break(struct worker *w, const struct request *r, struct mono now)
{
	const struct cluster_service *s = cluster_service_at(w->conf, r->service);
	uint16_t differs;
	uint32_t i;

	if (!w->view.quorate)
		return -EPERM;
	if (w->reloading || worker_moving(w))
		return -EAGAIN;
	if (!s)
		return -ENOENT;
	i = (uint32_t)(s - w->conf->service);
	/*
	 * The others wait for the broken word as for a fresh one, whatever they hold, so this is
	 * the operator's to force. A member that cannot be read may be the dead holder.
	 */
	if (!r->force && agree_on_service(&w->agree, &w->view, i, &differs) > CLUSTER_AGREE_SAME)
		return -EXDEV;
	return locks_break(&w->locks, w->conf, w->t, view_home(&w->view), i, r->force, now);
}

/* As begin_break: 0 if the answer comes later. */
static int begin_request(struct worker *w, const struct request *r, uint64_t ticket,
			 struct mono now)
{
	int rc;

	if (r->kind == REQUEST_RELOAD) {
		w->reloading = ticket; /* control asks for one at a time */
		w->reload = r->conf;
		return 0;
	}
	if (r->kind == REQUEST_MOVE)
		return worker_ask_move(w, r, ticket, now);
	rc = begin_break(w, r, now);
	if (!rc)
		w->breaking = ticket;
	return rc;
}

/* What is refused is answered now, what was begun when it has its result. */
static void handle_requests(struct worker *w, struct mono now)
{
	const struct request *r;
	uint64_t ticket;
	bool any = false;
	int rc;

	while ((r = mail_take(&w->x->mail, &ticket)) != NULL) {
		any = true;
		rc = begin_request(w, r, ticket, now);
		if (rc)
			mail_answer(&w->x->mail, ticket, rc);
	}
	if (any)
		exchange_wake(w->x->control_fd);
}

/* After what control sees was passed: who has the answer finds the word that belongs to it. */
static void answer_break(struct worker *w)
{
	int rc = locks_break_result(&w->locks);

	if (!w->breaking || rc == -EINPROGRESS)
		return;
	mail_answer(&w->x->mail, w->breaking, rc);
	w->breaking = 0;
	exchange_wake(w->x->control_fd);
}

/* Not during a break or a move: these go by the settings of their begin. */
static bool apply_reload(struct worker *w, struct mono now, int64_t wall_ns)
{
	if (!w->reload || w->breaking || worker_moving(w))
		return false;
	worker_reload(w, now, wall_ns);
	w->reload = NULL;
	return true;
}

/* After what control sees was passed, as answer_break. */
static void answer_reload(struct worker *w)
{
	if (!w->reloading || w->reload)
		return;
	mail_answer(&w->x->mail, w->reloading, 0);
	w->reloading = 0;
	exchange_wake(w->x->control_fd);
}

/* --- heartbeat -------------------------------------------------------------------- */

/* Until the first heartbeat others read nothing of this host: it does not wait until it is due. */
static bool is_first_beat(const struct worker *w)
{
	return !w->published && spsc_latest_is_new(&w->x->publication_at);
}

/* --- what control sees --------------------------------------------------------------- */

static void pass_host(struct worker *w, uint16_t host, const struct peer_seen *p, int64_t wall_ns)
{
	struct host_copies *h = w->x->host[host - 1];
	struct host_copy *to = &h->copy[h->at.back];

	to->seen = *p;
	to->seen.host = &to->host;
	to->seen.guest = to->guest;
	to->host = *p->host;
	memcpy(to->guest, p->guest, p->guests * sizeof(*p->guest));
	worker_nodes(w, host, p, to->node);
	words_see_acks(w, host, to->ack);
	notices_alarm_of(&w->notices, host, to->alarm, &to->alarmed);
	agree_read(&w->agree, host, p);
	to->agree = agree_with(&w->agree, host);
	agree_differs(&w->agree, host, to->differs, sizeof(to->differs));
	notices_agree(&w->notices, host, to->agree, to->differs, wall_ns);
	spsc_latest_put(&h->at);
}

/* Only hosts that have changed, which only events and scans do: a host has up to 256 guests. */
static void pass_hosts(struct worker *w, int64_t wall_ns)
{
	for (uint32_t i = 0; i < w->conf->hosts; i++) {
		uint16_t host = (uint16_t)w->conf->host[i].number;
		struct peer_seen p;

		if (peers_changes(w->peers, host) == w->passed[host - 1] &&
		    !hostset_has(&w->stale, host))
			continue;
		peers_see(w->peers, host, &p);
		pass_host(w, host, &p, wall_ns);
		w->passed[host - 1] = p.changes;
	}
	w->stale = (struct hostset){ { 0 } };
	for (uint32_t i = 0; i < w->conf->services; i++)
		w->agreed[i].agree = agree_on_service(&w->agree, &w->view, i,
						      &w->agreed[i].differs);
}

/* What was read of all hosts does not count any more: control must not show it. */
static bool all_forgotten(struct worker *w)
{
	if (w->agree_since.ns == w->agree.since.ns)
		return false;
	w->agree_since = w->agree.since;
	w->stale = hostset_first(REGION_HOSTS_MAX);
	return true;
}

/* CAS and FAA alone change words; READs, however many, do not count. */
static uint64_t count_changes(const struct transport *t)
{
	struct transport_stats s;

	transport_stats(t, &s);
	return s.ops[TRANSPORT_CAS64] + s.ops[TRANSPORT_FAA64];
}

static void pass_rest(struct worker *w)
{
	struct rest_copies *r = &w->x->rest;
	struct rest_copy *to = &r->copy[r->at.back];

	to->view = w->view;
	snprintf(to->member_note, sizeof(to->member_note), "%s", w->member_ops->note(w->member));
	to->changes = count_changes(w->t);
	to->locks = w->conf->services;
	for (uint32_t i = 0; i < to->locks; i++) {
		to->lock[i] = w->agreed[i];
		to->lock[i].service = (uint32_t)w->conf->service[i].number;
		to->lock[i].seen = w->locks.seen[i];
	}
	spsc_latest_put(&r->at);
}

/* --- one step ---------------------------------------------------------------------------- */

bool is_due(struct mono *due, int64_t period, struct mono now)
{
	if (mono_sub(now, *due) < 0)
		return false;
	*due = mono_add(*due, period);
	if (mono_sub(now, *due) >= 0)
		*due = mono_add(now, period);
	return true;
}

/* Links whose last changes the limit of notices.c kept from the operator. */
static void notice_links(struct worker *w, struct mono now, int64_t wall_ns)
{
	for (uint32_t i = 0; i < w->conf->hosts; i++) {
		uint16_t host = (uint16_t)w->conf->host[i].number;
		struct peer_seen p;

		peers_see(w->peers, host, &p);
		notices_link(&w->notices, host, transport_link(w->t, host) != 0, p.generation,
			     "it comes and goes", now, wall_ns);
	}
}

/* Is this host a node, or one of its guests? */
static bool has_nodes(const struct worker *w)
{
	return w->load || w->guest_nodes;
}

static void begin_scan(struct worker *w, struct mono now, int64_t wall_ns)
{
	notice_links(w, now, wall_ns);
	peers_scan(w->peers, now);
	words_read(w, now);
	locks_read(&w->locks, w->conf, w->t, view_home(&w->view), now);
}

int64_t worker_step(struct worker *w, struct mono now, int64_t wall_ns)
{
	struct mono due, busy;
	bool hosts_change;
	uint16_t home;

	exchange_woken(w->x->worker_fd);
	/*
	 * The membership first: it says which host is home of the locks, and the heartbeat has it.
	 * Then the results: a READ that has ended makes room for the next scan's.
	 */
	update_member(w, now, wall_ns);
	hosts_change = worker_events(w, now, wall_ns);
	home = view_home(&w->view);
	agree_home(&w->agree, home, home ? transport_link(w->t, home) : 0, now);
	handle_requests(w, now);
	if (spsc_latest_get(&w->x->roles.at))
		worker_publish_nodes(w);
	worker_words(w, now);
	worker_moves(w, now);
	hosts_change |= apply_reload(w, now, wall_ns);
	if (is_due(&w->beat_due, w->conf->heartbeat_ns, now) || is_first_beat(w))
		worker_beat(w, now, wall_ns);
	if (has_nodes(w) && is_due(&w->load_due, w->conf->load.period_ns, now)) {
		if (w->load)
			worker_load(w, now, wall_ns);
		worker_guests(w, now, wall_ns);
		worker_vcpus(w, now);
	}
	if (is_due(&w->scan_due, cluster_scan_ns(w->conf), now)) {
		begin_scan(w, now, wall_ns);
		worker_pass_sources(w);
		hosts_change = true;
	}
	if (all_forgotten(w) || hosts_change)
		pass_hosts(w, wall_ns);
	pass_rest(w);
	answer_break(w);
	answer_reload(w);
	if (w->reload && !w->breaking && !worker_moving(w))
		return 0;
	/* Armed last: else the thread would sleep though events came since the poll above. */
	due = mono_earlier(mono_earlier(w->beat_due, w->scan_due), w->member_ops->due(w->member));
	if (has_nodes(w))
		due = mono_earlier(due, w->load_due);
	due = mono_earlier(due, worker_words_due(w));
	due = mono_earlier(due, worker_moves_due(w));
	if (transport_arm(w->t, now, &busy))
		return 0;
	due = mono_earlier(due, busy);
	return mono_sub(due, now) > 0 ? mono_sub(due, now) : 0;
}
