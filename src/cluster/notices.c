// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * notices: what operators learn of other hosts, and how often. The cluster's thread adds them to a
 * ring, and control makes events and log lines of them.
 *
 *	what happens                  what operators get            limit
 *	----------------------------  ----------------------------  -------------------------------
 *	a host's link comes or goes   event "host"                  4 in a row; then none until the
 *	                                                            host has had none for 10 s
 *	it did so beyond that limit   event "host", at a later      the same
 *	                              scan of the hosts
 *	the transport has an alarm    event "alarm"                 the same again: once in 60 s,
 *	                                                            with a count
 *	... of a host that is down    NOTE in resex host-list       for 15 s, and until its link
 *	                                                            comes or goes
 *	a host holds another          event "agreement"             when what it holds changes
 *	cluster.json, or the same
 *	again
 *	the membership changes        event "members"               none
 *	the membership has a problem  one line of the log           once, and once when it is over
 *
 * Why 15 s: while the settings of two hosts disagree, each attempt to connect is an alarm, and
 * attempts are a few seconds apart. Without an alarm for 15 s, the host is down for another reason.
 */
#include <stdio.h>
#include <string.h>

#include "src/cluster/cluster_priv.h"

#define ALARM_SHOWN_NS (15 * NS_PER_S)
#define ALARM_AGAIN_NS (60 * NS_PER_S)

void notices_init(struct notices *n, const struct cluster_conf *conf, struct exchange *x)
{
	memset(n, 0, sizeof(*n));
	n->conf = conf;
	n->x = x;
}

/* The name of a host or a client; of one that cluster.json does not have, its number. */
static const char *host_name(const struct notices *n, uint16_t host, char buf[static 32])
{
	const struct cluster_host *h = cluster_host_at(n->conf, host);
	const struct cluster_client *c = cluster_client_at(n->conf, host);

	if (h)
		return h->name;
	if (c)
		return c->name;
	snprintf(buf, 32, "host %u", host);
	return buf;
}

static void add_event(struct notices *n, int64_t wall_ns, const char *kind, uint16_t host,
		      const char *what)
{
	char buf[32];
	const char *name = host ? host_name(n, host, buf) : "a caller";
	struct notice e = { .wall_ns = wall_ns };

	snprintf(e.kind, sizeof(e.kind), "%s", kind);
	snprintf(e.text, sizeof(e.text), "%s: %s", name, what);
	exchange_notice(n->x, &e);
}

void notices_link(struct notices *n, uint16_t host, bool up, uint64_t generation, const char *why,
		  struct mono now, int64_t wall_ns)
{
	struct host_notices *h = &n->host[host - 1];
	char what[160];

	if (!told_is_news(&h->up, up, now))
		return;
	if (up)
		snprintf(what, sizeof(what), "its memory can be read, generation %llu",
			 (unsigned long long)generation);
	else
		snprintf(what, sizeof(what), "its memory cannot be read any more: %s", why);
	add_event(n, wall_ns, "host", host, what);
}

/* The length without the count that the transport appends. */
static size_t alarm_length(const char *text)
{
	const char *count = strstr(text, " (and ");

	return count ? (size_t)(count - text) : strlen(text);
}

static bool is_same_alarm(const char *a, const char *b)
{
	return alarm_length(a) == alarm_length(b) && !strncmp(a, b, alarm_length(a));
}

/*
 * A host of another version, or with another key, calls again each few seconds, for as long as an
 * upgrade takes: its alarms must not displace the other events.
 */
static void add_alarm(struct notices *n, uint16_t host, const char *text, struct mono now,
		      int64_t wall_ns)
{
	struct alarm_event *a = &n->alarm[host];
	bool same = is_same_alarm(a->text, text);
	char what[192];

	if (same && mono_sub(now, a->at) < ALARM_AGAIN_NS) {
		a->again++;
		return;
	}
	snprintf(what, sizeof(what), "%s", text);
	if (same && a->again)
		snprintf(what, sizeof(what), "%.*s (and %u more since the event before)",
			 (int)alarm_length(text), text, a->again);
	*a = (struct alarm_event){ .at = now };
	snprintf(a->text, sizeof(a->text), "%s", text);
	add_event(n, wall_ns, "alarm", host, what);
}

void notices_alarm(struct notices *n, uint16_t host, const char *text, struct mono now,
		   int64_t wall_ns)
{
	if (host) {
		struct host_notices *h = &n->host[host - 1];

		snprintf(h->alarm, sizeof(h->alarm), "%s", text);
		h->alarmed = now;
	}
	add_alarm(n, host, text, now, wall_ns);
}

void notices_forget_alarm(struct notices *n, uint16_t host)
{
	n->host[host - 1].alarm[0] = '\0';
	n->alarm[host] = (struct alarm_event){ .again = 0 };
}

void notices_alarm_of(const struct notices *n, uint16_t host, char text[static 128],
		      struct mono *alarmed)
{
	const struct host_notices *h = &n->host[host - 1];

	memcpy(text, h->alarm, sizeof(h->alarm));
	*alarmed = h->alarmed;
}

bool notices_explains(struct mono alarmed, struct mono now)
{
	return mono_sub(now, alarmed) < ALARM_SHOWN_NS;
}

void notices_agree(struct notices *n, uint16_t host, enum cluster_agree agree, const char *differs,
		   int64_t wall_ns)
{
	struct host_notices *h = &n->host[host - 1];
	char what[200] = "holds the same cluster.json as this host again";

	if (agree == CLUSTER_AGREE_UNREAD || h->agree == agree)
		return;
	if (agree == CLUSTER_AGREE_NODES)
		snprintf(what, sizeof(what), "%s: give both hosts the same file", differs);
	else if (agree != CLUSTER_AGREE_SAME)
		snprintf(what, sizeof(what),
			 "%s: what that touches is not decided until both hold the same, see "
			 "resex cluster-reload",
			 differs);
	/* That a new host agrees is no news. */
	if (agree != CLUSTER_AGREE_SAME || h->agree != CLUSTER_AGREE_UNREAD)
		add_event(n, wall_ns, "agreement", host, what);
	h->agree = agree;
}

void notices_forget_host(struct notices *n, uint16_t host)
{
	memset(&n->host[host - 1], 0, sizeof(n->host[host - 1]));
	n->alarm[host] = (struct alarm_event){ .again = 0 };
}

void notices_members(struct notices *n, const struct member_view *v, int64_t wall_ns)
{
	char what[96];

	snprintf(what, sizeof(what), "view %llu of %u hosts%s", (unsigned long long)v->view,
		 hostset_count(&v->members),
		 v->quorate ? "" : ", without quorum: see resex host-list");
	add_event(n, wall_ns, "members", (uint16_t)n->conf->host[n->conf->self].number, what);
}

static void add_line(struct notices *n, int64_t wall_ns, enum log_level level, const char *text)
{
	struct notice e = { .wall_ns = wall_ns, .level = level };

	snprintf(e.text, sizeof(e.text), "%s", text);
	exchange_notice(n->x, &e);
}

void notices_member_note(struct notices *n, const char *note, const struct member_view *v,
			 int64_t wall_ns)
{
	char text[64];

	/* Without a note there may still be no quorum: a new ring awaits its vote. Stay quiet. */
	if (!strcmp(note, n->member_note) || (!*note && !v->quorate))
		return;
	snprintf(n->member_note, sizeof(n->member_note), "%s", note);
	snprintf(text, sizeof(text), "corosync has a quorum in view %llu",
		 (unsigned long long)v->view);
	add_line(n, wall_ns, *note ? LOG_LVL_WARNING : LOG_LVL_INFO, *note ? note : text);
}
