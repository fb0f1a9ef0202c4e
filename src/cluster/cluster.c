// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cluster: this host among others, in the control thread's loop. One turn (cluster_work) is
 *
 *	membership -> what the transport has -> publish this host -> begin to read the others
 *
 * and resex host-list and lock-list show what was read (cluster_see, cluster_lock_see). Nothing
 * here waits for another host: each READ has a deadline, and what could not be read is shown
 * with its age. Guests and policies go on when the cluster fails. See cluster.h.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "src/cluster/cluster.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "src/cluster/cluster_priv.h"
#include "src/shared/peers.h"

enum {
	EVENTS_ONCE = 64, /* of the transport, on the stack */
	TURNS_MAX = 16,	  /* in one turn of the loop: the rest waits for the next */
};

struct cluster {
	struct cluster_conf conf;
	struct guests *guests;
	struct transport *t;
	struct region region;
	struct peers *peers;
	const struct member_ops *member_ops;
	struct member *member;
	struct member_view view;
	struct locks locks;
	struct mono beat_due, scan_due;
	struct notices notices;
	int epoll, member_fd; /* epoll: the transport's descriptor and member_fd; -1: none */
	struct region_guest guest[REGION_GUESTS_MAX]; /* buffer of publish() */
};

/* --- work ------------------------------------------------------------------- */

/* Links whose last changes the limit of notices.c kept from the operator. */
static void notice_links(struct cluster *c, struct mono now, int64_t wall_ns)
{
	for (uint32_t i = 0; i < c->conf.hosts; i++) {
		uint16_t host = (uint16_t)c->conf.host[i].number;
		struct peer_seen p;

		peers_see(c->peers, host, &p);
		notices_link(&c->notices, host, transport_link(c->t, host) != 0, p.generation,
			     "it comes and goes", now, wall_ns);
	}
}

/* The peers first: the event names the generation that they learn from a new link. */
static void link_changed(struct cluster *c, const struct transport_event *ev, struct mono now,
			 int64_t wall_ns)
{
	struct peer_seen p;

	peers_event(c->peers, ev, now);
	peers_see(c->peers, ev->host, &p);
	/* An alarm from before this change does not explain the link as it is now. */
	notices_forget_alarm(&c->notices, ev->host);
	notices_link(&c->notices, ev->host, ev->type == TRANSPORT_UP, p.generation, ev->text, now,
		     wall_ns);
}

static void handle_event(struct cluster *c, const struct transport_event *ev, struct mono now,
			 int64_t wall_ns)
{
	switch (ev->type) {
	case TRANSPORT_RESULT:
		if (ev->tag >> CLUSTER_TAG_SHIFT == CLUSTER_TAG_PEERS)
			peers_event(c->peers, ev, now);
		else
			locks_result(&c->locks, &c->conf, ev, now);
		break;
	case TRANSPORT_UP:
	case TRANSPORT_DOWN:
		link_changed(c, ev, now, wall_ns);
		break;
	case TRANSPORT_ALARM:
		notices_alarm(&c->notices, ev->host, ev->text, now, wall_ns);
		break;
	case TRANSPORT_MESSAGE: /* no host sends any yet */
		break;
	}
}

/* Bounded: peers may request without end, and the loop also serves guests and clients. */
static void handle_events(struct cluster *c, struct mono now, int64_t wall_ns)
{
	struct transport_event ev[EVENTS_ONCE];
	size_t n = EVENTS_ONCE;

	for (int i = 0; i < TURNS_MAX && n == EVENTS_ONCE; i++) {
		n = transport_poll(c->t, now, ev, EVENTS_ONCE);
		for (size_t k = 0; k < n; k++)
			handle_event(c, &ev[k], now, wall_ns);
	}
}

/*
 * Guests before the heartbeat: the beat makes their new number valid for readers. Without a
 * beat other hosts call this one silent, so it comes also when nothing has changed.
 */
static void publish(struct cluster *c, const struct snapshot *sn, int64_t wall_ns)
{
	struct region_host host;
	uint32_t n = publish_guests(c->guests, sn, c->guest);

	region_publish_guests(&c->region, c->guest, n);
	publish_host(&c->conf, c->guests, sn, wall_ns, &host);
	host.view = c->view.view;
	memcpy(host.members, c->view.members.word, sizeof(host.members));
	host.quorate = c->view.quorate;
	region_beat(&c->region, &host);
}

/*
 * The file descriptor of the membership changes when corosync starts or ends. The engine's loop
 * watches one descriptor for all of the cluster, an epoll set, and need not know of it.
 */
static void watch_member(struct cluster *c)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int fd = c->member_ops->fd(c->member);

	if (fd == c->member_fd)
		return;
	if (c->member_fd >= 0)
		epoll_ctl(c->epoll, EPOLL_CTL_DEL, c->member_fd, NULL);
	if (fd >= 0 && epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &ev))
		fd = -1; /* cluster_work still looks at it when it is due */
	c->member_fd = fd;
}

static void update_member(struct cluster *c, struct mono now, int64_t wall_ns)
{
	if (c->member_ops->update(c->member, now, &c->view))
		notices_members(&c->notices, &c->view, wall_ns);
	notices_member_note(&c->notices, c->member_ops->note(c->member), &c->view);
	watch_member(c);
}

/*
 * The host that holds the locks of services: the lowest-numbered member, which each host finds in
 * the same view without a message; 0: unknown. Without quorum it is unknown, since other hosts may
 * have a quorum and a newer view.
 */
static uint16_t home_of(const struct cluster *c)
{
	return c->view.quorate ? hostset_next(&c->view.members, 0) : 0;
}

/* If so, the next time is the next multiple of period after now: missed periods are skipped. */
static bool is_due(struct mono *due, int64_t period, struct mono now)
{
	if (mono_sub(now, *due) < 0)
		return false;
	*due = mono_add(*due, period);
	if (mono_sub(now, *due) >= 0)
		*due = mono_add(now, period);
	return true;
}

int64_t cluster_work(struct cluster *c, const struct snapshot *sn, struct mono now, int64_t wall_ns)
{
	struct mono due, busy;

	/*
	 * The membership first: it says which host is home of the locks, and the record to
	 * publish has it. Then the results: a READ that has ended makes room for the next scan's.
	 */
	update_member(c, now, wall_ns);
	handle_events(c, now, wall_ns);
	if (is_due(&c->beat_due, c->conf.heartbeat_ns, now))
		publish(c, sn, wall_ns);
	if (is_due(&c->scan_due, c->conf.scan_ns, now)) {
		notice_links(c, now, wall_ns);
		peers_scan(c->peers, now);
		locks_read(&c->locks, &c->conf, c->t, home_of(c), now);
	}
	/* Armed last: else the loop would sleep though events came since the poll above. */
	due = mono_earlier(mono_earlier(c->beat_due, c->scan_due), c->member_ops->due(c->member));
	if (transport_arm(c->t, now, &busy))
		return 0;
	due = mono_earlier(due, busy);
	return mono_sub(due, now) > 0 ? mono_sub(due, now) : 0;
}

/* --- what is known ----------------------------------------------------------- */

int cluster_fd(const struct cluster *c)
{
	return c->epoll;
}

const struct cluster_conf *cluster_conf(const struct cluster *c)
{
	return &c->conf;
}

const char *cluster_transport(const struct cluster *c)
{
	return transport_backends[c->conf.transport]->name;
}

void cluster_members(const struct cluster *c, uint64_t *view, struct hostset *members,
		     bool *quorate)
{
	*view = c->view.view;
	*members = c->view.members;
	*quorate = c->view.quorate;
}

const char *cluster_membership(const struct cluster *c)
{
	return c->member_ops->name;
}

const char *cluster_note(const struct cluster *c)
{
	const char *note = c->member_ops->note(c->member);

	if (*note || c->view.quorate)
		return note;
	return "corosync has not reported the members yet, and this host decides nothing; if that "
	       "lasts, see corosync-quorumtool";
}

/* CAS and FAA alone change words; READs, however many, do not count. */
uint64_t cluster_changes(const struct cluster *c)
{
	struct transport_stats s;

	transport_stats(c->t, &s);
	return s.ops[TRANSPORT_CAS64] + s.ops[TRANSPORT_FAA64];
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
	if (i == c->conf.self)
		return CLUSTER_SELF;
	if (!p->link)
		return CLUSTER_DOWN;
	if (!p->known || mono_sub(now, p->moved) > heartbeat_gap_max(&c->conf))
		return CLUSTER_SILENT;
	/* The link is of a new start, and the heartbeat still of the one before. */
	if (p->host->generation != p->generation)
		return CLUSTER_SILENT;
	return CLUSTER_UP;
}

/* Why a host is in this state, and the remedy; "". */
static void put_note(const struct cluster *c, const struct peer_seen *p, struct mono now,
		     struct cluster_seen *s)
{
	const char *alarm = notices_alarm_of(&c->notices, (uint16_t)s->conf->number, now);
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
			 (long long)(s->age_ns / NS_PER_S),
			 (long long)(s->age_ns % NS_PER_S / (NS_PER_S / 10)));
}

void cluster_see(const struct cluster *c, uint32_t i, struct mono now, struct cluster_seen *s)
{
	const struct cluster_host *h = &c->conf.host[i];
	struct peer_seen p;

	peers_see(c->peers, (uint16_t)h->number, &p);
	memset(s, 0, sizeof(*s));
	s->conf = h;
	s->state = state_of_peer(c, i, &p, now);
	s->member = hostset_has(&c->view.members, (uint32_t)h->number);
	s->age_ns = p.known ? mono_sub(now, p.moved) : -1;
	s->host = p.known ? p.host : NULL;
	s->guest = p.guest;
	s->guests = p.known ? p.guests : 0;
	put_note(c, &p, now, s);
}

void cluster_lock_see(const struct cluster *c, uint32_t i, struct mono now, struct cluster_lock *l)
{
	const struct lock_seen *s = &c->locks.seen[i];

	memset(l, 0, sizeof(*l));
	l->service = &c->conf.service[i];
	l->home = cluster_host_at(&c->conf, home_of(c));
	/* A word of an earlier home says nothing of the lock at the present one. */
	l->known = s->known && l->home && s->home == l->home->number;
	if (!l->known)
		return;
	l->word = s->word;
	l->since_ns = mono_sub(s->read, s->since);
	l->age_ns = mono_sub(now, s->read);
}

/*
 * Without quorum another part of the cluster may have a home of its own, and holders there: this
 * host's CAS would break a lock at a home that they no longer use.
 */
int cluster_break(struct cluster *c, uint32_t i, bool force, struct mono now, uint64_t *ticket)
{
	int rc = c->view.quorate ? locks_break(&c->locks, &c->conf, c->t, home_of(c), i, force, now)
				 : -EPERM;

	if (!rc)
		*ticket = c->locks.breaks;
	return rc;
}

int cluster_break_result(const struct cluster *c, uint64_t ticket)
{
	return locks_break_result(&c->locks, ticket);
}

static_assert(MEMBER_VIEW_MAX == REGION_EPOCH_MAX, "views are epochs");

/* --- open and close ----------------------------------------------------------- */

/*
 * The epoch of a lock's first word is the generation. A transport without ports wants 0, and a
 * host has a port by default.
 */
static int open_transport(struct cluster *c, const struct cluster_key *key, uint64_t generation,
			  struct mono now, struct conf_error *e)
{
	const struct transport_backend *b = transport_backends[c->conf.transport];
	const struct cluster_host *h = &c->conf.host[c->conf.self];
	struct transport_conf tc = {
		.host = (uint16_t)h->number,
		.generation = generation,
		.generation_max = REGION_EPOCH_MAX,
		.agreement = cluster_agreement(&c->conf),
		.key = key->bytes,
		.key_len = key->len,
		.port = (uint16_t)h->port,
		.bytes = { REGION_TABLE_BYTES, REGION_WORDS_BYTES },
		.hellos_max = (uint32_t)c->conf.callers,
		.hellos_second = (uint32_t)c->conf.callers_second,
		.seed = generation << 8 | h->number,
	};
	uint64_t *words = calloc(1, REGION_WORDS_BYTES);
	char text[256] = "";
	int rc = words ? region_words(words, generation) : -ENOMEM;

	strcpy(tc.cluster, c->conf.cluster); /* conf's arrays are as long */
	strcpy(tc.address, h->address);
	tc.words = words;
	if (!b->has_ports)
		tc.port = 0;
	if (!rc)
		rc = b->open(&c->t, &tc, now, text);
	free(words);
	if (rc)
		conf_error_set(e, conf_exit(rc), "cluster: transport \"%s\": %s", b->name,
			       text[0] ? text : strerror(-rc));
	return rc;
}

/* All hosts, this one too: it reads its own memory over a link, as any other does. */
static int add_peers(struct cluster *c, struct mono now, struct conf_error *e)
{
	for (uint32_t i = 0; i < c->conf.hosts; i++) {
		const struct cluster_host *h = &c->conf.host[i];
		struct transport_peer p;
		int rc;

		cluster_peer(&c->conf, i, &p);
		rc = transport_add(c->t, &p, now);
		if (!rc)
			continue;
		conf_error_set(e, conf_exit(rc),
			       "cluster: host \"%s\" cannot be called at \"%s\": %s", h->name,
			       h->address,
			       rc == -EINVAL ? "give an IP address and a port; for shm, a folder"
					     : strerror(-rc));
		return rc;
	}
	return 0;
}

static const struct member_ops *find_member(const struct cluster_conf *conf, struct conf_error *e)
{
	if (conf->membership == CLUSTER_STATIC)
		return &member_static;
#ifdef HAVE_COROSYNC
	(void)e;
	return &member_corosync;
#else
	conf_error_set(e, RESEX_FAILURE,
		       "cluster: this resexd was built without corosync: write \"membership\": "
		       "\"static\", or use another build");
	return NULL;
#endif
}

static int open_member(struct cluster *c, struct mono now, struct conf_error *e)
{
	struct member_conf mc = { .self = (uint16_t)c->conf.host[c->conf.self].number,
				  .connect_ms = MEMBER_CONNECT_MS };
	int rc;

	for (uint32_t i = 0; i < c->conf.hosts; i++) {
		const struct cluster_host *h = &c->conf.host[i];

		hostset_set(&mc.hosts, (uint32_t)h->number, true);
		mc.node[h->number - 1] = (uint32_t)h->corosync_node;
	}
	c->member_ops = find_member(&c->conf, e);
	if (!c->member_ops)
		return -EOPNOTSUPP;
	rc = c->member_ops->open(&c->member, &mc, now);
	if (!c->member)
		return rc ? rc : -ENOMEM;
	return 0; /* without corosync this host has no quorum, until corosync runs */
}

static void init_region(struct cluster *c, uint64_t generation, struct mono now)
{
	struct region_service s[CLUSTER_SERVICES_MAX];
	uint32_t n = publish_services(&c->conf, s);

	region_init(&c->region, transport_table(c->t), (uint16_t)c->conf.host[c->conf.self].number,
		    generation);
	region_publish_services(&c->region, s, n);
	c->beat_due = c->scan_due = now;
}

/*
 * The order matters: a start that cannot serve at its address counts no generation; the number is
 * on disk before any peer can see it, which needs a poll of the transport; the region's header is
 * written before it has a reader, and the peers' table is there before the first link, since it
 * needs every UP. Links are opened last.
 */
static int open_parts(struct cluster *c, const struct daemon_conf *conf, const char *hostname,
		      struct mono now, struct conf_error *e)
{
	struct epoll_event ev = { .events = EPOLLIN };
	struct cluster_key key = { 0 };
	uint64_t generation = 0;
	int rc = cluster_conf_load(&c->conf, conf->cluster_file, hostname, e);

	if (!rc)
		rc = cluster_key_load(&key, c->conf.key_file, e);
	if (!rc)
		rc = cluster_generation_next(conf->state_dir, &generation, e);
	if (!rc)
		rc = open_transport(c, &key, generation, now, e);
	if (!rc)
		rc = cluster_generation_count(conf->state_dir, generation, e);
	explicit_bzero(&key, sizeof(key)); /* the transport has its own copy */
	if (rc)
		return rc;
	init_region(c, generation, now);
	c->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (c->epoll < 0 || epoll_ctl(c->epoll, EPOLL_CTL_ADD, transport_fd(c->t), &ev))
		rc = -errno;
	if (!rc)
		rc = open_member(c, now, e);
	if (!rc)
		rc = peers_open(&c->peers, c->t, c->conf.timeout_ns);
	if (!rc)
		rc = add_peers(c, now, e);
	return rc;
}

int cluster_open(struct cluster **out, const struct daemon_conf *conf, const char *hostname,
		 struct guests *gs, struct mono now, struct conf_error *e)
{
	struct cluster *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return -ENOMEM;
	c->guests = gs;
	notices_init(&c->notices, &c->conf, gs);
	c->epoll = c->member_fd = -1;
	rc = open_parts(c, conf, hostname, now, e);
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
	peers_close(c->peers);
	if (c->member)
		c->member_ops->close(c->member);
	transport_close(c->t);
	if (c->epoll >= 0)
		close(c->epoll);
	free(c);
}
