// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * link: the states of our links (OFF, WAITS, CALLS, UP), and the callers that may connect.
 *
 * Every end of a link goes through link_end: the backend hangs up, so that the link touches
 * no slot any more; each operation gets its outcome; then a DOWN is queued. The peer is
 * called again after a back-off that doubles until an operation is DONE on a new link.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/transport/front/front.h"

#define LATE_NS (2 * NS_PER_S)

static uint32_t xorshift(uint32_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 17;
	*x ^= *x << 5;
	return *x;
}

/* Uniform in [min, min * 2^failures]: the jitter keeps callers apart. */
static int64_t backoff(struct transport *t, uint32_t failures)
{
	int64_t base = t->conf.backoff_min_ns, max = t->conf.backoff_max_ns;
	/* Two words: a back-off in ns may need more than 32 bits. */
	uint64_t draw = (uint64_t)xorshift(&t->rng) << 32 | xorshift(&t->rng);

	for (; failures && base < max; failures--)
		base = base > max / 2 ? max : 2 * base;
	return t->conf.backoff_min_ns +
	       (int64_t)(draw % (uint64_t)(base - t->conf.backoff_min_ns + 1));
}

/*
 * The outcome of an operation whose link ends. A waiting operation never reached the backend, and a
 * READ changes nothing: neither will ever have an effect. An atomic or a SEND that was sent may
 * still be executed, until the responder destroys this link (transport.h).
 */
static enum transport_outcome outcome_at_end(const struct transport_slot *s)
{
	if (s->state == SLOT_WAITS || s->op.kind == TRANSPORT_READ)
		return TRANSPORT_LOST;
	return TRANSPORT_UNKNOWN;
}

/*
 * The order matters. hang_up comes first: after it nothing writes to a buffer of the link, so no
 * outcome that is reported here can become wrong. The results come before the DOWN, as transport.h
 * promises. A link that was not UP made no UP, so it makes no DOWN.
 */
static void link_end(struct transport *t, struct transport_out *o, enum link_state to, int why,
		     const char *text)
{
	enum link_state was = o->state;
	struct transport_slot *s;

	o->state = to;
	t->ops->hang_up(t, o);
	while ((s = slot_first(o, o->waits | o->sent)))
		events_result(t, o, s, outcome_at_end(s), why);
	while ((s = slot_first(o, o->late)))
		events_late_over(o, s);
	if (was != LINK_UP)
		return;
	t->stats.links_down++;
	events_link(t, o, TRANSPORT_DOWN, why, text);
}

/* An absent host is not an alarm. A host that answers, but is not one of ours, is. */
static bool is_suspicious(int why)
{
	return why == -EACCES || why == -EXDEV || why == -EPROTO || why == -EPROTONOSUPPORT ||
	       why == -ESTALE || why == -ENOTUNIQ || why == -EBADE || why == -EPERM ||
	       why == -EPROTOTYPE || why == -EOPNOTSUPP;
}

/* Did the host prove another start than the newest that we know? */
static bool is_wrong_start(int why)
{
	return why == -ESTALE || why == -ENOTUNIQ || why == -EOVERFLOW;
}

/* The end of a sentence that begins with a host. Names the generation that it must exceed. */
static void describe_wrong_start(const struct transport *t, uint16_t host, int why,
				 char text[static 128])
{
	unsigned long long newest = t->newest[host - 1].generation;

	if (host == t->conf.host)
		snprintf(text, 128, "has this host's number: give each host its own");
	else if (t->list.of[host - 1].role == TRANSPORT_CLIENT)
		snprintf(
			text, 128,
			"started before another process with this number, which is connected: give "
			"each its own");
	else if (why == -ESTALE)
		snprintf(text, 128,
			 "comes with a generation below %llu: file lost, or number used twice? See "
			 "cluster.json(5)",
			 newest);
	else if (why == -EOVERFLOW)
		snprintf(text, 128,
			 "comes with a generation above %llu, the last one: mend its generation "
			 "file, see cluster.json(5)",
			 (unsigned long long)t->conf.generation_max);
	else
		snprintf(text, 128,
			 "began anew as generation %llu again: mend its generation file, see "
			 "cluster.json(5)",
			 newest);
}

void front_down(struct transport *t, struct transport_out *o, int why, const char *text,
		struct mono now)
{
	bool called = o->state == LINK_CALLS;
	uint16_t host = out_host(t, o);
	char said[128];

	if (!called && o->state != LINK_UP)
		return;
	t->now = now;
	if (is_wrong_start(why)) {
		describe_wrong_start(t, host, why, said);
		text = said;
	}
	link_end(t, o, LINK_WAITS, why, text);
	if (called && is_suspicious(why)) /* %.24s: leave room for the remedy at the end of text */
		front_alarm(t, host, "host %u (%.24s): %s", host, o->peer.name, text);
	/*
	 * Reset by the first DONE on a new link, not by its UP: a peer that accepts calls and then
	 * fails every operation would otherwise be called without any back-off.
	 */
	if (o->failures < UINT32_MAX)
		o->failures++;
	o->due = mono_add(now, backoff(t, o->failures));
	/*
	 * While events of the link wait for the user, the peer is not called: the queue has room
	 * for one UP and one DOWN of a link. The last event to leave sets the timer (events.c).
	 */
	if (!o->events)
		front_due(t, o->due);
}

static bool bytes_fit(const size_t bytes[TRANSPORT_PARTS])
{
	for (int i = 0; i < TRANSPORT_PARTS; i++)
		if (!front_part_fits((enum transport_part)i, bytes[i]))
			return false;
	return true;
}

/*
 * A client has no memory that others know, and no file to count its starts: its generation is a
 * time. Of two processes with one number the later one stays, so that they do not replace each
 * other for ever. When it has left, any start will do: a clock that was wrong once locks no client
 * out. (An old hello cannot be replayed: each has a new nonce of ours.)
 */
static int client_fits(struct transport *t, uint16_t host, const struct hello_self *peer)
{
	struct hello_self *newest = &t->newest[host - 1];

	if (peer->generation <= newest->generation && peer->start != newest->start &&
	    t->ops->serves(t, host))
		return -ESTALE;
	*newest = *peer;
	return 0;
}

/*
 * Is the proven peer the newest start of its host? And if it has our number, is it us? A lower
 * generation is an earlier start, or the host lost its generation file. The same generation with
 * another start is a host whose words began anew under a number that was in use.
 */
static int start_fits(struct transport *t, uint16_t host, const struct hello_self *peer)
{
	struct hello_self *newest = &t->newest[host - 1];

	if (host == t->conf.host &&
	    (peer->generation != t->conf.generation || peer->start != t->conf.start))
		return -ESTALE;
	if (!peer->generation || peer->generation < newest->generation)
		return -ESTALE;
	if (t->conf.generation_max && peer->generation > t->conf.generation_max)
		return -EOVERFLOW;
	if (peer->generation == newest->generation && peer->start != newest->start)
		return -ENOTUNIQ;
	*newest = *peer;
	return 0;
}

int front_up(struct transport *t, struct transport_out *o, const struct hello_self *peer,
	     const size_t bytes[TRANSPORT_PARTS], struct mono now)
{
	int rc;

	t->now = now;
	/*
	 * The peer holds the key, but its numbers are checked all the same: op_check and the
	 * backends compute addresses with these sizes.
	 */
	if (o->state != LINK_CALLS || !bytes_fit(bytes))
		return -EINVAL;
	rc = start_fits(t, out_host(t, o), peer);
	if (rc)
		return rc;
	o->state = LINK_UP;
	o->generation = peer->generation;
	memcpy(o->bytes, bytes, sizeof(o->bytes));
	o->link++;
	t->stats.links_up++;
	events_link(t, o, TRANSPORT_UP, 0, NULL);
	return 0;
}

/* --- timers ------------------------------------------------------------------ */

static void call_peer(struct transport *t, struct transport_out *o, struct mono now)
{
	int rc;

	o->state = LINK_CALLS;
	o->due = mono_add(now, t->conf.connect_ns);
	rc = t->ops->call(t, o, now);
	if (rc)
		front_down(t, o, rc, strerror(-rc), now);
}

/* A READ that is late holds a slot of the link. LATE_NS after its deadline the link ends. */
static struct mono late_limit(const struct transport_slot *s)
{
	return mono_add(s->op.deadline, LATE_NS);
}

/* Of the slots in the mask, is one overdue whose kind is not READ? */
static bool any_overdue(const struct transport_out *o, uint32_t mask, struct mono now)
{
	for (; mask; mask &= mask - 1) {
		const struct transport_op *op = &o->slot[__builtin_ctz(mask)].op;

		if (op->kind != TRANSPORT_READ && op->deadline.ns <= now.ns)
			return true;
	}
	return false;
}

static bool any_stuck(const struct transport_out *o, struct mono now)
{
	for (uint32_t mask = o->late; mask; mask &= mask - 1)
		if (late_limit(&o->slot[__builtin_ctz(mask)]).ns <= now.ns)
			return true;
	return false;
}

/* The overdue operations are LOST: READs, which change nothing, and what was not sent yet. */
static void lose_overdue(struct transport *t, struct transport_out *o, struct mono now)
{
	uint32_t overdue = 0;
	struct transport_slot *s;

	for (uint32_t mask = o->waits | o->sent; mask; mask &= mask - 1)
		if (o->slot[__builtin_ctz(mask)].op.deadline.ns <= now.ns)
			overdue |= mask & -mask;
	while ((s = slot_first(o, overdue))) {
		overdue &= ~(1u << s->index);
		if (s->state == SLOT_SENT)
			events_late(t, o, s);
		else
			events_result(t, o, s, TRANSPORT_LOST, -ETIME);
	}
}

/*
 * An atomic or a SEND that is late ends the whole link: only a new link makes sure that it is not
 * executed any more. A late READ is LOST at once and does no harm: its link goes on, and slow
 * READs of one user end no operation of another. But a reliable connection executes operations in
 * order (IBTA volume 1, 9.5): where nothing completes for long, nothing behind it will.
 */
static void link_deadlines(struct transport *t, struct transport_out *o, struct mono now)
{
	if (any_overdue(o, o->sent, now))
		front_down(t, o, -ETIME, "did not answer an operation before its deadline", now);
	else if (any_stuck(o, now))
		front_down(t, o, -ETIME, "did not answer a READ for long after its deadline", now);
	else
		lose_overdue(t, o, now);
}

static void link_timers(struct transport *t, struct transport_out *o, struct mono now)
{
	if (o->state == LINK_UP)
		link_deadlines(t, o, now);
	if (o->state == LINK_CALLS && o->due.ns <= now.ns)
		front_down(t, o, -ETIMEDOUT, "did not answer the call in time", now);
	if (o->state == LINK_WAITS && o->due.ns <= now.ns && !o->events)
		call_peer(t, o, now);
}

static void link_due(struct transport *t, const struct transport_out *o)
{
	if (o->state == LINK_CALLS || (o->state == LINK_WAITS && !o->events))
		front_due(t, o->due);
	for (uint32_t mask = o->waits | o->sent; mask; mask &= mask - 1)
		front_due(t, o->slot[__builtin_ctz(mask)].op.deadline);
	for (uint32_t mask = o->late; mask; mask &= mask - 1)
		front_due(t, late_limit(&o->slot[__builtin_ctz(mask)]));
}

void links_timers(struct transport *t, struct mono now)
{
	/* A poll runs this each time: without a timer that is due, it must not visit all links. */
	if (now.ns < t->due.ns)
		return;
	t->due.ns = INT64_MAX;
	for (size_t i = 0; i < TRANSPORT_HOSTS_MAX; i++)
		link_timers(t, &t->out[i], now);
	for (size_t i = 0; i < TRANSPORT_HOSTS_MAX; i++)
		link_due(t, &t->out[i]);
}

/* --- peers -------------------------------------------------------------- */

static bool peer_valid(const struct transport *t, const struct transport_peer *p)
{
	bool own = p->host == t->conf.host;

	if (!p->host || p->host > TRANSPORT_HOSTS_MAX ||
	    strnlen(p->name, sizeof(p->name)) == sizeof(p->name))
		return false;
	if (p->role == TRANSPORT_CLIENT)
		return !own && t->conf.role == TRANSPORT_MEMBER &&
		       !(p->rights & ~(uint32_t)TRANSPORT_RIGHTS);
	if (p->role != TRANSPORT_MEMBER || p->rights)
		return false;
	if (own)
		return t->conf.role == TRANSPORT_MEMBER;
	return front_text_fits(p->address, sizeof(p->address)) &&
	       !(t->ops->check && t->ops->check(p));
}

/* It may call from now on. */
static void list_peer(struct transport *t, const struct transport_peer *p)
{
	t->out[p->host - 1].added = true;
	t->list.of[p->host - 1].listed = true;
	t->list.of[p->host - 1].role = (uint8_t)p->role;
	t->list.of[p->host - 1].rights = (uint8_t)p->rights;
}

int transport_add(struct transport *t, const struct transport_peer *p, struct mono now)
{
	struct transport_out *o;
	socklen_t len;

	t->now = now;
	if (!peer_valid(t, p))
		return -EINVAL;
	o = &t->out[p->host - 1];
	if (o->added)
		return -EEXIST;
	o->peer = *p;
	/* It serves nothing that we could call, and its address is not a member's. */
	if (p->role == TRANSPORT_CLIENT) {
		o->at = (struct sockaddr_storage){ .ss_family = AF_UNSPEC };
		list_peer(t, p);
		return 0;
	}
	if (!o->slot) {
		/* Not cleared: pages of slots that were never used are not touched. */
		o->slot = malloc(TRANSPORT_SLOTS * sizeof(*o->slot));
		o->free = (1u << TRANSPORT_SLOTS) - 1;
	}
	if (!o->slot)
		return -ENOMEM;
	/*
	 * The owner has a link to itself. The atomics of an HCA are atomic only against its own, so
	 * the owner's operations on its words must go through the transport, too.
	 */
	if (p->host == t->conf.host) {
		memcpy(o->peer.address, t->conf.address, sizeof(o->peer.address));
		o->peer.port = t->conf.port;
	}
	/* A path (shm) is not an address: same_address then matches no caller. */
	if (front_address(o->peer.address, o->peer.port, &o->at, &len))
		o->at = (struct sockaddr_storage){ .ss_family = AF_UNSPEC };
	list_peer(t, p);
	o->failures = 0;
	o->state = LINK_WAITS;
	o->due = now;
	front_due(t, now);
	return 0;
}

int transport_remove(struct transport *t, uint16_t host, struct mono now)
{
	struct transport_out *o;

	t->now = now;
	if (!host || host > TRANSPORT_HOSTS_MAX || !t->out[host - 1].added)
		return -ENOENT;
	o = &t->out[host - 1];
	link_end(t, o, LINK_OFF, -ECANCELED, "its entry in cluster.json was removed or changed");
	/* Both directions end. Of what the host posted, only what has begun is still executed. */
	if (t->conf.role == TRANSPORT_MEMBER)
		t->ops->evict(t, host);
	o->added = t->list.of[host - 1].listed = false;
	return 0;
}

/* --- callers ------------------------------------------------------------------- */

static bool same_address(const struct sockaddr_storage *of, const struct sockaddr *from)
{
	struct sockaddr_storage a = { .ss_family = AF_UNSPEC };

	if (of->ss_family != from->sa_family)
		return false;
	if (from->sa_family == AF_INET) {
		memcpy(&a, from, sizeof(struct sockaddr_in));
		return ((struct sockaddr_in *)&a)->sin_addr.s_addr ==
		       ((const struct sockaddr_in *)of)->sin_addr.s_addr;
	}
	if (from->sa_family != AF_INET6)
		return false;
	memcpy(&a, from, sizeof(struct sockaddr_in6));
	return !memcmp(&((struct sockaddr_in6 *)&a)->sin6_addr,
		       &((const struct sockaddr_in6 *)of)->sin6_addr, sizeof(struct in6_addr));
}

bool front_known(const struct transport *t, const struct sockaddr *from)
{
	for (size_t i = 0; i < TRANSPORT_HOSTS_MAX; i++)
		if (t->out[i].added && same_address(&t->out[i].at, from))
			return true;
	return false;
}

/*
 * The part of a limit that a caller may use. Unknown callers get half, but at least 1: strangers
 * that call again and again and prove nothing must not lock out our own hosts.
 */
static uint32_t caller_limit(uint32_t all, bool known)
{
	return known || all < 2 ? all : all / 2;
}

int front_caller(struct transport *t, bool known, struct mono now)
{
	int64_t passed = mono_sub(now, t->hellos_since);

	t->now = now;
	/*
	 * Time is an argument: if it goes back, a full limit must not last until it has caught up.
	 */
	if (passed < 0 || passed >= NS_PER_S) {
		t->hellos_since = now;
		t->hellos_new = 0;
	}
	if (t->hellos >= caller_limit(t->conf.hellos_max, known) ||
	    t->hellos_new >= caller_limit(t->conf.hellos_second, known)) {
		t->stats.refused_callers++;
		front_alarm(t, 0,
			    "a caller was disconnected: %u have not proven the key yet, %u came "
			    "within a second",
			    t->hellos, t->hellos_new);
		return -EAGAIN;
	}
	t->hellos++;
	t->hellos_new++;
	return 0;
}

void front_caller_over(struct transport *t)
{
	if (t->hellos)
		t->hellos--;
}

/*
 * A host that has just started, and called us, can be called: do not wait until the back-off is
 * over. Once for each start: a host whose links break at once is still called with back-off.
 */
static void call_back(struct transport *t, struct transport_out *o)
{
	if (!o->added || o->state != LINK_WAITS)
		return;
	o->due = t->now;
	if (!o->events) /* else as in front_down */
		front_due(t, o->due);
}

int front_proven(struct transport *t, uint16_t host, const struct hello_self *peer)
{
	int rc = hello_listed(&t->list, host, peer);
	bool started;

	if (rc)
		return rc;
	if (peer->role == TRANSPORT_CLIENT)
		return client_fits(t, host, peer);
	started = peer->start != t->newest[host - 1].start;
	rc = start_fits(t, host, peer);
	if (!rc && started)
		call_back(t, &t->out[host - 1]);
	return rc;
}

static const char *why_refused(int why)
{
	switch (why) {
	case -EPERM:
		return "it is not in the list of hosts; add it if it should be";
	case -ETIMEDOUT:
		return "it proved nothing in time";
	case -EAGAIN:
		return "too many callers at once";
	case -EBUSY:
		return "its old link was not destroyed in time: is our RDMA device at fault?";
	default:
		return hello_why(why);
	}
}

/*
 * An unproven caller can claim any number. Its alarm counts as one of host 0. Otherwise it
 * could use up the alarms of a real host.
 */
static bool is_proven(int why)
{
	return why == -EPERM || why == -EPROTOTYPE || why == -EOPNOTSUPP || is_wrong_start(why) ||
	       why == -EBADE || why == -EBUSY;
}

void front_refused(struct transport *t, uint16_t host, int why, struct mono now)
{
	char said[128];

	t->now = now;
	t->stats.refused_callers++;
	if (host && is_wrong_start(why)) {
		describe_wrong_start(t, host, why, said);
		front_alarm(t, host, "host %u was refused: it %s", host, said);
	} else if (host && is_proven(why)) {
		front_alarm(t, host, "host %u was refused: %s", host, why_refused(why));
	} else if (host) {
		front_alarm(t, 0, "a caller that says it is host %u was refused: %s", host,
			    why_refused(why));
	} else {
		front_alarm(t, 0, "a caller was refused: %s", why_refused(why));
	}
}
