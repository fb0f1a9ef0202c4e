// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hosts: the methods of a cluster: host-list, list-hosts, lock-list, lock-break. They show what
 * this host has read from the memory of the others (src/cluster), with its age: no other host
 * is called, and a dead one delays nothing. Only lock-break waits for another host.
 */
#include <errno.h>
#include <string.h>
#include <uuid/uuid.h>

#include "src/cluster/cluster.h"
#include "src/control/methods_priv.h"
#include "src/shared/lease.h"

struct cluster *cluster_of(struct call *c)
{
	if (!c->cluster)
		call_fail(c, RESEX_NO_CLUSTER,
			  "this host is in no cluster: name a cluster_file in resexd.json");
	return c->cluster;
}

/* The same members for a host alone: a script then finds null, not a missing key. */
void put_cluster(json_t *o, const struct cluster *cl)
{
	static const char *const keys[] = { "cluster", "membership", "view", "quorate",
					    "cluster_note" };
	struct hostset members;
	uint64_t view;
	bool quorate;

	for (size_t i = 0; !cl && i < sizeof(keys) / sizeof(keys[0]); i++)
		json_object_set_new(o, keys[i], json_null());
	if (!cl)
		return;
	cluster_members(cl, &view, &members, &quorate);
	put_s(o, "cluster", cluster_conf(cl)->cluster);
	put_s(o, "membership", cluster_membership(cl));
	put_u(o, "view", view);
	put_b(o, "quorate", quorate);
	put_s(o, "cluster_note", cluster_note(cl));
}

void put_rows(json_t *o, const char *key, const struct cluster *cl, uint32_t n, struct mono now,
	      json_t *(*row)(const struct cluster *, uint32_t, struct mono))
{
	json_t *arr = json_array();

	for (uint32_t i = 0; i < n; i++)
		json_array_append_new(arr, row(cl, i, now));
	json_object_set_new(o, key, arr);
}

/* null: it is not known, since no READ was made since the newest change. */
static void put_agree(json_t *o, const char *key, enum cluster_agree agree)
{
	json_object_set_new(o, key,
			    agree == CLUSTER_AGREE_UNREAD
				    ? json_null()
				    : json_boolean(agree == CLUSTER_AGREE_SAME));
}

/* --- hosts ----------------------------------------------------------------- */

static const char *state_text(enum cluster_state s)
{
	static const char *const text[] = { [CLUSTER_SELF] = "self",
					    [CLUSTER_UP] = "up",
					    [CLUSTER_SILENT] = "silent",
					    [CLUSTER_DOWN] = "down" };

	return text[s];
}

/* Of a host that was never read, only what cluster.json says of it is known. */
static json_t *host_row(const struct cluster_seen *s)
{
	json_t *o = json_object();

	put_s(o, "name", s->conf->name);
	put_u(o, "number", s->conf->number);
	put_s(o, "address", s->conf->address);
	put_s(o, "state", state_text(s->state));
	put_b(o, "member", s->member);
	put_ms(o, "age_ms", s->age_ns);
	put_ms(o, "figures_age_ms", s->figures_age_ns);
	put_agree(o, "agrees", s->agree);
	put_s(o, "note", s->note);
	if (!s->host)
		return o;
	put_u(o, "generation", s->host->generation);
	put_u(o, "beat", s->host->beat);
	put_b(o, "simulated", s->host->flags & REGION_HOST_SIMULATED);
	put_u(o, "time_ns", (uint64_t)s->host->wall_ns);
	put_u(o, "guests", s->host->guests);
	put_s(o, "policy", s->host->policy);
	put_s(o, "version", s->host->version);
	put_u(o, "cpus", s->host->cpus);
	put_u(o, "links", s->host->links);
	put_u(o, "link_bytes_s", s->host->link_bytes_s);
	put_u(o, "epoch", s->host->epoch);
	put_resos(o, "supply", (struct resos){ s->host->supply_m });
	put_u(o, "view", s->host->view);
	put_b(o, "quorate", s->host->quorate);
	return o;
}

static json_t *cluster_head(const struct cluster *cl)
{
	json_t *o = json_object();

	put_cluster(o, cl);
	put_s(o, "transport", cluster_transport(cl));
	put_u(o, "changes", cluster_changes(cl));
	return o;
}

/*
 * The same words as state_of() in the same order, for a guest of another host, whose memory has
 * flags in place of words.
 */
static const char *guest_state_text(uint32_t flags)
{
	static const struct {
		uint32_t flag;
		const char *text;
	} states[] = { { REGION_GUEST_PAUSED, "paused" },
		       { REGION_GUEST_EXEMPT, "exempt" },
		       { REGION_GUEST_RELEASED, "released" },
		       { REGION_GUEST_OBSERVED, "observed" },
		       { REGION_GUEST_CAPPABLE, "managed" } };

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (flags & states[i].flag)
			return states[i].text;
	return "uncappable";
}

/* The members that list has too, as far as the other host publishes them. */
static json_t *shared_guest_row(const struct region_guest *g)
{
	json_t *o = json_object();
	char uuid[37];

	uuid_unparse_lower(g->uuid, uuid);
	put_s(o, "name", g->name);
	put_u(o, "domid", g->domid);
	put_s(o, "uuid", uuid);
	put_u(o, "vcpus", g->vcpus);
	put_u(o, "weight", g->weight);
	put_cap(o, "cap",
		(struct cap){ .limited = g->flags & REGION_GUEST_CAPPED, .mpct = g->cap_mpct });
	put_resos(o, "allocated", (struct resos){ g->allocated_m });
	put_resos(o, "balance", (struct resos){ g->balance_m });
	put_u(o, "mtus_sent", g->mtus_sent);
	put_u(o, "mtus_recv", g->mtus_recv);
	put_u(o, "cpu_ns", g->cpu_ns);
	json_object_set_new(o, "latency_us", value_us(g->latency_ns, g->latency_ns));
	put_u(o, "rings", g->rings);
	put_s(o, "state", guest_state_text(g->flags));
	put_b(o, "diverges", g->flags & REGION_GUEST_DIVERGES);
	return o;
}

static void put_guests(json_t *o, const struct cluster_seen *s)
{
	json_t *arr = json_array();

	for (uint32_t k = 0; k < s->guests; k++)
		json_array_append_new(arr, shared_guest_row(&s->guest[k]));
	json_object_set_new(o, "guests", arr);
}

/* In the order of cluster.json, on every host. With guests, also those of hosts now down. */
static int list_hosts(struct call *c, bool guests, json_t **result)
{
	const struct cluster *cl = cluster_of(c);
	json_t *arr;

	if (!cl)
		return c->exit;
	arr = json_array();
	for (uint32_t i = 0; i < cluster_conf(cl)->hosts; i++) {
		struct cluster_seen s;
		json_t *row;

		cluster_see(cl, i, c->now, &s);
		row = host_row(&s);
		if (guests)
			put_guests(row, &s);
		json_array_append_new(arr, row);
	}
	*result = cluster_head(cl);
	json_object_set_new(*result, "hosts", arr);
	return 0;
}

int cmd_host_list(struct call *c, const json_t *params, json_t **result)
{
	(void)params;
	return list_hosts(c, false, result);
}

int cmd_list_hosts(struct call *c, const json_t *params, json_t **result)
{
	(void)params;
	return list_hosts(c, true, result);
}

/* --- locks ------------------------------------------------------------------ */

/* unknown: its home has not been read yet. */
static const char *lock_state_text(const struct cluster_lock *l)
{
	if (!l->known)
		return "unknown";
	if (region_word_id(l->word) == REGION_LOCK_BROKEN)
		return "broken";
	if (region_word_id(l->word) == REGION_LOCK_DIRTY)
		return "dirty";
	return region_word_id(l->word) ? "held" : "free";
}

static void put_fence(json_t *o, uint64_t seq)
{
	char text[32];

	snprintf(text, sizeof(text), "%u.%u", region_seq_epoch(seq), region_seq_count(seq));
	put_s(o, "fence", text);
	put_u(o, "epoch", region_seq_epoch(seq));
	put_u(o, "count", region_seq_count(seq));
}

/*
 * The word as this host read it last, with its age. "fence" is the part of the word that grows with
 * each holder, as epoch.count: what a former holder writes is known by it, and rejected.
 */
static json_t *lock_row(const struct cluster *cl, uint32_t i, struct mono now)
{
	const struct cluster_host *owner;
	json_t *o = json_object();
	struct cluster_lock l;

	cluster_lock_see(cl, i, now, &l);
	put_s(o, "service", l.service->name);
	put_u(o, "number", l.service->number);
	json_object_set_new(o, "home", l.home ? json_string(l.home->name) : json_null());
	put_s(o, "state", lock_state_text(&l));
	put_agree(o, "agreed", l.agree);
	json_object_set_new(o, "differs", l.differs ? json_string(l.differs->name) : json_null());
	if (!l.known)
		return o;
	/* null also for the number of a host that this cluster.json does not name. */
	owner = cluster_host_at(cluster_conf(cl), region_word_id(l.word));
	json_object_set_new(o, "owner", owner ? json_string(owner->name) : json_null());
	put_fence(o, region_word_seq(l.word));
	put_ms(o, "since_ms", l.since_ns);
	put_ms(o, "age_ms", l.age_ns);
	return o;
}

int cmd_lock_list(struct call *c, const json_t *params, json_t **result)
{
	const struct cluster *cl = cluster_of(c);

	(void)params;
	if (!cl)
		return c->exit;
	*result = cluster_head(cl);
	put_rows(*result, "locks", cl, cluster_conf(cl)->services, c->now, lock_row);
	return 0;
}

static int break_differs(struct call *c, const struct cluster *cl, const struct cluster_service *s)
{
	struct cluster_lock l;

	cluster_lock_see(cl, (uint32_t)(s - cluster_conf(cl)->service), c->now, &l);
	return call_fail(c, RESEX_FAILURE,
			 "the lock of %s is not broken: %s has other hosts, or other settings of "
			 "it, in its cluster.json: give both hosts the same file and run resex "
			 "cluster-reload, or give --force",
			 s->name, l.differs ? l.differs->name : "a member");
}

/* Each error of cluster_break() and cluster_result(), and what to do about it. */
static int break_failed(struct call *c, const struct cluster *cl, const struct cluster_service *s,
			int rc)
{
	switch (rc) {
	case -EALREADY:
		return call_fail(c, RESEX_FAILURE, "the lock of %s is not held: nothing to break",
				 s->name);
	case -EBUSY:
		return call_fail(c, RESEX_BUSY,
				 "the lock of %s was acquired only lately, and its holder may be "
				 "at work: wait, "
				 "or give --force",
				 s->name);
	case -EAGAIN:
		return call_fail(c, RESEX_BUSY, "another lock is being broken: try again");
	case -EPERM:
		return call_fail(c, RESEX_FAILURE,
				 "the lock of %s is not broken, for lack of quorum: %s", s->name,
				 cluster_note(cl));
	case -EXDEV:
		return break_differs(c, cl, s);
	case -ESTALE:
		return call_fail(c, RESEX_FAILURE,
				 "the lock of %s changed meanwhile, and was not broken: see resex "
				 "lock-list",
				 s->name);
	case -ENOENT:
	case -ENOTCONN:
		return call_fail(c, RESEX_FAILURE,
				 "the lock of %s cannot be read: see resex host-list for its home",
				 s->name);
	default: /* above all -EIO: the CAS may have been executed, so claim neither outcome */
		return call_fail(
			c, RESEX_FAILURE,
			"the link to the home of the lock of %s was lost: when it is back, "
			"resex lock-list shows whether the lock is broken",
			s->name);
	}
}

/* The index of the named service in conf->service[]; -1: c->exit and c->error say why. */
static int find_service(struct call *c, const struct cluster *cl, const json_t *params)
{
	const char *name = json_string_value(json_object_get(params, "service"));
	const struct cluster_service *s;

	if (!name) {
		call_fail(c, RESEX_USAGE, "service: give a service's name");
		return -1;
	}
	s = cluster_service_find(cluster_conf(cl), name);
	if (!s) {
		call_fail(c, RESEX_USAGE, "there is no service \"%.64s\": see resex lock-list",
			  name);
		return -1;
	}
	return (int)(s - cluster_conf(cl)->service);
}

/*
 * Called again until the CAS has its result. The ticket tells the calls apart: without one, the
 * break is begun, with one, it must not be begun again.
 */
int cmd_lock_break(struct call *c, const json_t *params, json_t **result)
{
	bool force = json_is_true(json_object_get(params, "force"));
	struct cluster *cl = cluster_of(c);
	int i = cl ? find_service(c, cl, params) : -1, rc;

	if (i < 0)
		return c->exit;
	if (c->ticket) {
		rc = cluster_result(cl, c->ticket);
		if (rc == -EINPROGRESS)
			return CALL_LATER;
		c->ticket = 0;
	} else {
		rc = cluster_break(cl, (uint32_t)i, force, &c->ticket);
		if (!rc)
			return CALL_LATER;
	}
	if (rc)
		return break_failed(c, cl, &cluster_conf(cl)->service[i], rc);
	*result = lock_row(cl, (uint32_t)i, c->now);
	return 0;
}
