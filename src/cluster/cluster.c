// SPDX-License-Identifier: GPL-2.0-or-later
/* cluster: serve, publish, read the others. See cluster.h. */
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
#include "src/shared/member.h"
#include "src/shared/peers.h"

enum { EVENTS_ONCE = 64, TURNS_MAX = 16 };

/* One that comes and goes is told of so often in a row, and then not for a while. */
enum { HOST_EVENTS = 4 };
#define HOST_REST_NS (10 * NS_PER_S)

/* While two do not agree each call is an alarm: when none came for so long, it is over. */
#define ALARM_STANDS_NS (15 * NS_PER_S)

/* What people were told of a host. */
struct told {
	bool up;
	uint32_t events;
	struct mono newest;
	struct mono alarmed;
	char alarm[128]; /* newest of it since its link stood or fell; "" */
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
	struct told told[REGION_HOSTS_MAX];
	int epoll, member_fd;
	char member_note[MEMBER_NOTE_MAX];
	struct region_guest guest[REGION_GUESTS_MAX]; /* of ours, while they are published */
};

/* --- what people are told --------------------------------------------------- */

static const char *name_of(const struct cluster *c, uint16_t host, char buf[static 32])
{
	const struct cluster_host *h = cluster_host_at(&c->conf, host);

	if (h)
		return h->name;
	snprintf(buf, 32, "host %u", host);
	return buf;
}

static void tell(struct cluster *c, int64_t wall_ns, const char *kind, uint16_t host,
		 const char *what)
{
	char buf[32];
	const char *name = host ? name_of(c, host, buf) : "a caller";

	guests_event(c->guests, wall_ns, "", kind, "%s: %s", name, what);
}

/* Of a host that comes and goes all the time, how it stands is told once a while. */
static void tell_link(struct cluster *c, uint16_t host, bool up, const char *why, struct mono now,
		      int64_t wall_ns)
{
	struct told *told = &c->told[host - 1];
	struct peer_seen p;
	char what[160];

	if (told->up == up)
		return;
	if (mono_sub(now, told->newest) >= HOST_REST_NS)
		told->events = 0;
	if (told->events == HOST_EVENTS)
		return;
	told->up = up;
	told->events++;
	told->newest = now;
	peers_see(c->peers, host, &p);
	if (up)
		snprintf(what, sizeof(what), "its memory can be read, generation %llu",
			 (unsigned long long)p.generation);
	else
		snprintf(what, sizeof(what), "its memory cannot be read any more: %s", why);
	tell(c, wall_ns, "host", host, what);
}

/* What was not told when it happened. */
static void tell_links(struct cluster *c, struct mono now, int64_t wall_ns)
{
	for (uint32_t i = 0; i < c->conf.hosts; i++) {
		uint16_t host = (uint16_t)c->conf.host[i].number;
		bool up = transport_link(c->t, host) != 0;

		tell_link(c, host, up, "it comes and goes", now, wall_ns);
	}
}

/* --- work ------------------------------------------------------------------- */

static void take_result(struct cluster *c, const struct transport_event *ev, struct mono now)
{
	if (ev->tag >> CLUSTER_TAG_SHIFT == CLUSTER_TAG_PEERS)
		peers_event(c->peers, ev, now);
	else
		locks_result(&c->locks, &c->conf, ev, now);
}

static void take(struct cluster *c, const struct transport_event *ev, struct mono now,
		 int64_t wall_ns)
{
	switch (ev->type) {
	case TRANSPORT_RESULT:
		take_result(c, ev, now);
		break;
	case TRANSPORT_UP:
	case TRANSPORT_DOWN:
		peers_event(c->peers, ev, now);
		c->told[ev->host - 1].alarm[0] = '\0';
		tell_link(c, ev->host, ev->type == TRANSPORT_UP, ev->text, now, wall_ns);
		break;
	case TRANSPORT_ALARM:
		if (ev->host) {
			snprintf(c->told[ev->host - 1].alarm, sizeof(ev->text), "%s", ev->text);
			c->told[ev->host - 1].alarmed = now;
		}
		tell(c, wall_ns, "alarm", ev->host, ev->text);
		break;
	case TRANSPORT_MESSAGE: /* nobody sends any yet */
		break;
	}
}

/* Peers may keep us busy, but not for ever: the loop has others to serve. */
static void take_events(struct cluster *c, struct mono now, int64_t wall_ns)
{
	struct transport_event ev[EVENTS_ONCE];
	size_t n = EVENTS_ONCE;

	for (int i = 0; i < TURNS_MAX && n == EVENTS_ONCE; i++) {
		n = transport_poll(c->t, now, ev, EVENTS_ONCE);
		for (size_t k = 0; k < n; k++)
			take(c, &ev[k], now, wall_ns);
	}
}

static void publish(struct cluster *c, const struct snapshot *sn, int64_t wall_ns)
{
	struct region_host host;
	uint32_t n = publish_guests(c->guests, sn, c->guest);

	region_publish_guests(&c->region, c->guest, n);
	publish_host(&c->conf, c->guests, sn, wall_ns, &host);
	host.view = c->view.view;
	host.members = c->view.members;
	host.quorate = c->view.quorate;
	region_beat(&c->region, &host);
}

/* Its file descriptor comes and goes with corosync. */
static void watch_member(struct cluster *c)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int fd = c->member_ops->fd(c->member);

	if (fd == c->member_fd)
		return;
	if (c->member_fd >= 0)
		epoll_ctl(c->epoll, EPOLL_CTL_DEL, c->member_fd, NULL);
	if (fd >= 0 && epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &ev))
		fd = -1; /* then its due time alone is what it is looked at by */
	c->member_fd = fd;
}

/* What is wrong is logged once, and that it is over; not what a new ring's vote is waited for. */
static void log_note(struct cluster *c)
{
	const char *note = c->member_ops->note(c->member);

	if (!strcmp(note, c->member_note) || (!*note && !c->view.quorate))
		return;
	snprintf(c->member_note, sizeof(c->member_note), "%s", note);
	if (*note)
		log_msg(guests_view(c->guests).log, LOG_LVL_WARNING, "cluster: %s", note);
	else
		log_msg(guests_view(c->guests).log, LOG_LVL_INFO,
			"cluster: corosync has a quorum in view %llu",
			(unsigned long long)c->view.view);
}

static void work_member(struct cluster *c, struct mono now, int64_t wall_ns)
{
	char what[96];

	if (c->member_ops->work(c->member, now, &c->view)) {
		snprintf(what, sizeof(what), "view %llu of %d hosts%s",
			 (unsigned long long)c->view.view, __builtin_popcountll(c->view.members),
			 c->view.quorate ? "" : ", without quorum: see resex host-list");
		tell(c, wall_ns, "members", (uint16_t)c->conf.host[c->conf.self].number, what);
	}
	log_note(c);
	watch_member(c);
}

/* Where services' locks live; 0: nobody knows, for others may have a quorum, and a newer view. */
static uint16_t home_of(const struct cluster *c)
{
	return c->view.quorate ? locks_home(c->view.members) : 0;
}

/* The next multiple of period after now: what was missed is not made up for. */
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

	work_member(c, now, wall_ns);
	take_events(c, now, wall_ns);
	if (is_due(&c->beat_due, c->conf.heartbeat_ns, now))
		publish(c, sn, wall_ns);
	if (is_due(&c->scan_due, c->conf.scan_ns, now)) {
		tell_links(c, now, wall_ns);
		peers_scan(c->peers, now);
		locks_read(&c->locks, &c->conf, c->t, home_of(c), now);
	}
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

void cluster_members(const struct cluster *c, uint64_t *view, uint64_t *members, bool *quorate)
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
	return "corosync has not told yet who is there, and this host decides nothing; if that "
	       "lasts, see corosync-quorumtool";
}

uint64_t cluster_changes(const struct cluster *c)
{
	struct transport_stats s;

	transport_stats(c->t, &s);
	return s.ops[TRANSPORT_CAS64] + s.ops[TRANSPORT_FAA64];
}

/* A heart that beats is seen at least so often, when all goes well twice over. */
static int64_t patience(const struct cluster_conf *conf)
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
	if (!p->known || mono_sub(now, p->moved) > patience(&c->conf))
		return CLUSTER_SILENT;
	return CLUSTER_UP;
}

/* Why a host cannot be read is what its newest alarm says, when one came after its link fell. */
static const char *note_of(const struct cluster *c, const struct cluster_host *h,
			   const struct peer_seen *p, enum cluster_state state, struct mono now)
{
	const struct told *told = &c->told[h->number - 1];

	if (state == CLUSTER_DOWN && told->alarm[0] &&
	    mono_sub(now, told->alarmed) < ALARM_STANDS_NS)
		return told->alarm;
	if (p->note[0])
		return p->note;
	if (state == CLUSTER_DOWN)
		return "not seen yet: its resexd does not run, cannot be reached, or refuses this "
		       "host: see its alarms";
	if (state == CLUSTER_SILENT && p->known)
		return "its heart does not beat: its resexd stands still";
	return "";
}

void cluster_see(const struct cluster *c, uint32_t i, struct mono now, struct cluster_seen *s)
{
	const struct cluster_host *h = &c->conf.host[i];
	struct peer_seen p;

	peers_see(c->peers, (uint16_t)h->number, &p);
	memset(s, 0, sizeof(*s));
	s->conf = h;
	s->state = state_of_peer(c, i, &p, now);
	s->member = c->view.members >> (h->number - 1) & 1;
	s->age_ns = p.known ? mono_sub(now, p.moved) : -1;
	s->host = p.known ? p.host : NULL;
	s->guest = p.guest;
	s->guests = p.known ? p.guests : 0;
	snprintf(s->note, sizeof(s->note), "%s", note_of(c, h, &p, s->state, now));
}

void cluster_lock_see(const struct cluster *c, uint32_t i, struct mono now, struct cluster_lock *l)
{
	const struct lock_seen *s = &c->locks.seen[i];

	memset(l, 0, sizeof(*l));
	l->service = &c->conf.service[i];
	l->home = cluster_host_at(&c->conf, home_of(c));
	l->known = s->known && l->home && s->home == l->home->number;
	if (!l->known)
		return;
	l->word = s->word;
	l->since_ns = mono_sub(s->read, s->since);
	l->age_ns = mono_sub(now, s->read);
}

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

/* --- open and close ----------------------------------------------------------- */

static int open_transport(struct cluster *c, const struct cluster_key *key, uint64_t generation,
			  struct mono now, struct conf_error *e)
{
	const struct transport_backend *b = transport_backends[c->conf.transport];
	const struct cluster_host *h = &c->conf.host[c->conf.self];
	struct transport_conf tc = {
		.host = (uint16_t)h->number,
		.generation = generation,
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

	strcpy(tc.cluster, c->conf.cluster);
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
		       "cluster: this resexd was built without corosync: say \"membership\": "
		       "\"static\", or use another build");
	return NULL;
#endif
}

static int open_member(struct cluster *c, struct mono now, struct conf_error *e)
{
	struct member_conf mc = { .self = (uint16_t)c->conf.host[c->conf.self].number };
	int rc;

	for (uint32_t i = 0; i < c->conf.hosts; i++) {
		const struct cluster_host *h = &c->conf.host[i];

		mc.hosts |= 1ull << (h->number - 1);
		mc.node[h->number - 1] = (uint32_t)h->corosync_node;
	}
	c->member_ops = find_member(&c->conf, e);
	if (!c->member_ops)
		return -EOPNOTSUPP;
	rc = c->member_ops->open(&c->member, &mc, now);
	if (!c->member)
		return rc ? rc : -ENOMEM;
	return 0; /* without corosync there is no quorum, until it comes */
}

static int open_loop(struct cluster *c)
{
	struct epoll_event ev = { .events = EPOLLIN };

	c->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (c->epoll < 0 || epoll_ctl(c->epoll, EPOLL_CTL_ADD, transport_fd(c->t), &ev))
		return -errno;
	return 0;
}

static void begin(struct cluster *c, uint64_t generation, struct mono now)
{
	struct region_service s[CLUSTER_SERVICES_MAX];
	uint32_t n = publish_services(&c->conf, s);

	region_init(&c->region, transport_table(c->t), (uint16_t)c->conf.host[c->conf.self].number,
		    generation);
	region_publish_services(&c->region, s, n);
	c->beat_due = c->scan_due = now;
}

static int open_parts(struct cluster *c, const struct daemon_conf *conf, const char *hostname,
		      struct mono now, struct conf_error *e)
{
	struct cluster_key key = { 0 };
	uint64_t generation = 0;
	int rc = cluster_conf_load(&c->conf, conf->cluster_file, hostname, e);

	if (!rc)
		rc = cluster_key_load(&key, c->conf.key_file, e);
	if (!rc)
		rc = cluster_generation(conf->state_dir, &generation, e);
	if (!rc)
		rc = open_transport(c, &key, generation, now, e);
	explicit_bzero(&key, sizeof(key));
	if (rc)
		return rc;
	begin(c, generation, now);
	rc = open_loop(c);
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
	c->epoll = c->member_fd = -1;
	rc = open_parts(c, conf, hostname, now, e);
	if (rc) {
		cluster_close(c);
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
