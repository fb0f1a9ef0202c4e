// SPDX-License-Identifier: GPL-2.0-or-later
/* roles: see roles.h. What is decided is in src/reconf/role.c. */
#include "src/cluster/roles.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/cluster/cluster_priv.h"
#include "src/reconf/hook_exec.h"
#include "src/reconf/hook_guest.h"
#include "src/reconf/role.h"
#include "src/shared/nodes_file.h"
#include "src/util/clock.h"

static_assert((int)CLUSTER_HOOK_MAX <= (int)HOOK_PATH_MAX, "one length of paths");
static_assert((int)REGION_NAME <= (int)HOOK_NAME_MAX, "one length of names");

#define CHECKS_NS (30 * NS_PER_S) /* a check that fails is tried again for so long */

struct role_node {
	uint32_t place; /* in conf->node[] */
	struct role role;
	const struct hook_ops *ops;
	struct hook *hook;
	enum role_phase told; /* the phase that an event has told */
	char note[HOOK_NOTE_MAX + 64];
};

struct roles {
	const struct cluster_conf *conf;
	struct guests *gs;
	struct exchange *x;
	uint32_t n;
	struct role_node node[REGION_NODES_MAX];
	uint64_t ack[CLUSTER_MOVED_MAX];
	struct roles_copy published;
};

/* --- open and close ------------------------------------------------------------------------ */

/* For hook_guest. arg: the guests. */
static int find_domain(void *arg, const char *name, uint32_t *domid)
{
	const struct guest_entry *g = NULL;

	while ((g = guests_next(arg, g)) != NULL) {
		const struct guest_view v = guest_view(arg, g);

		if (strcmp(v.name, name) != 0)
			continue;
		*domid = v.key.domid;
		return 0;
	}
	return -ENOENT;
}

/* word: of the file; 0: it does not have the node. */
static int open_node(struct roles *r, const struct cluster_node *n, uint64_t word)
{
	struct role_node *to = &r->node[r->n];
	struct hook_guest_conf g = { .ops = guests_view(r->gs).hv->watch,
				     .watch = guests_watch(r->gs),
				     .find = find_domain,
				     .arg = r->gs };
	struct hook_conf c = { .deadline_ns = r->conf->reconf.hook_timeout_ns };

	strcpy(c.path, r->conf->reconf.hook);
	strcpy(g.name, n->guest);
	to->ops = *n->guest ? &hook_guest : &hook_exec;
	c.guest = *n->guest ? &g : NULL;
	to->place = (uint32_t)(n - r->conf->node);
	role_init(&to->role, region_word_id(word),
		  (uint16_t)region_seq_epoch(region_word_seq(word)));
	r->n++;
	return to->ops->open(&to->hook, &c);
}

static const char *state_dir(const struct roles *r)
{
	return guests_view(r->gs).conf->state_dir;
}

/*
 * In the file a service is the id of a word; 0: not known. The epoch is role.from. 0, also without
 * a file that counts: then file[] is all 0.
 */
static int load(const struct roles *r, bool starts, uint64_t *file, struct conf_error *e)
{
	int rc = nodes_file_load(state_dir(r), NODES_FILE_ROLES, file);

	if (!rc)
		return 0;
	memset(file, 0, REGION_NODES_MAX * sizeof(*file));
	if (rc == -ENOENT)
		return 0;
	if (rc != -EINVAL && starts) {
		conf_error_set(e, conf_exit(rc), "cluster: %s/roles cannot be read: %s",
			       state_dir(r), strerror(-rc));
		return rc;
	}
	guests_event(
		r->gs, clock_wall_ns(), "", "reconf",
		"%s/roles %s%s: what nodes of kind switch serve is not known, so the program of "
		"each is asked first",
		state_dir(r), rc == -EINVAL ? "is damaged" : "cannot be read: ",
		rc == -EINVAL ? "" : strerror(-rc));
	return 0;
}

/* Of conf->node[place]; NULL: it is not a node of this host, or of kind both. */
static const struct role_node *find_node(const struct roles *r, uint32_t place)
{
	for (uint32_t i = 0; i < r->n; i++)
		if (r->node[i].place == place)
			return &r->node[i];
	return NULL;
}

/*
 * Those that are not open yet. The file is read only if there is one. A file that cannot be read
 * ends the start; but at a reload the other nodes and their hooks go on.
 */
static int open_nodes(struct roles *r, bool starts, struct conf_error *e)
{
	const struct cluster_node *n = NULL;
	uint64_t file[REGION_NODES_MAX];
	bool loaded = false;
	int rc = 0;

	while (!rc && (n = cluster_next_own(r->conf, n)) != NULL) {
		if (n->kind != CLUSTER_NODE_SWITCH || find_node(r, (uint32_t)(n - r->conf->node)))
			continue;
		if (!loaded)
			rc = load(r, starts, file, e);
		loaded = true;
		if (!rc)
			rc = open_node(r, n, file[n->number]);
	}
	if (rc && !*e->text)
		conf_error_set(e, conf_exit(rc), "cluster: nodes of kind switch: %s",
			       strerror(-rc));
	return rc;
}

static int make(struct roles **out, const struct cluster_conf *conf, struct guests *gs,
		struct exchange *x, struct conf_error *e)
{
	struct roles *r = calloc(1, sizeof(*r));

	if (!r) {
		conf_error_set(e, conf_exit(-ENOMEM), "cluster: no memory for nodes' roles");
		return -ENOMEM;
	}
	*out = r;
	r->conf = conf;
	r->gs = gs;
	r->x = x;
	return 0;
}

int roles_open(struct roles **out, const struct cluster_conf *conf, struct guests *gs,
	       struct exchange *x, struct conf_error *e)
{
	int rc = make(out, conf, gs, x, e);

	return !rc && conf->reconf.given ? open_nodes(*out, true, e) : rc;
}

void roles_close(struct roles *r)
{
	if (!r)
		return;
	for (uint32_t i = 0; i < r->n; i++)
		r->node[i].ops->close(r->node[i].hook);
	free(r);
}

/* --- reload ---------------------------------------------------------------------------------- */

/* From was to r, which has the new settings. Hooks of other nodes are closed. */
static void keep_same(struct roles *r, struct roles *was)
{
	for (uint32_t i = 0; i < was->n; i++) {
		struct role_node *n = &was->node[i];
		const struct cluster_node *old = &was->conf->node[n->place];
		const struct cluster_node *to = cluster_node_find(r->conf, old->name);

		if (to && cluster_same_role(was->conf, old, r->conf, to)) {
			r->node[r->n] = *n;
			r->node[r->n++].place = (uint32_t)(to - r->conf->node);
		} else {
			n->ops->close(n->hook);
		}
		n->hook = NULL;
	}
	r->published = was->published;
}

int roles_reload(struct roles **at, const struct cluster_conf *conf, struct conf_error *e)
{
	struct roles *was = *at, *r;
	int rc = make(&r, conf, was->gs, was->x, e);

	if (rc)
		return rc;
	keep_same(r, was);
	roles_close(was);
	*at = r;
	return conf->reconf.given ? open_nodes(r, false, e) : 0;
}

/* --- the file -------------------------------------------------------------------------------- */

static int save(const struct roles *r)
{
	uint64_t file[REGION_NODES_MAX] = { 0 };

	for (uint32_t i = 0; i < r->n; i++) {
		const struct role_node *n = &r->node[i];

		/* With count 1 it is never 0, which would leave the node out. */
		file[r->conf->node[n->place].number] = region_word(n->role.service,
								   region_seq(n->role.from, 1));
	}
	return nodes_file_save(state_dir(r), NODES_FILE_ROLES, file);
}

/* --- acknowledgements ------------------------------------------------------------------------- */

static bool balances_any(const struct cluster_conf *c, uint32_t host)
{
	for (uint32_t i = 0; i < c->services; i++)
		if (cluster_balances(&c->service[i], host))
			return true;
	return false;
}

/*
 * Is a member waited for? One that holds another cluster.json, or was not read, may balance a
 * service by that, though it balances none by ours: it sends requests until it has reloaded, too.
 */
static bool is_awaited(const struct roles *r, const struct cluster *c, uint32_t i)
{
	const struct host_copy *h = cluster_newest_host(c, i);
	bool same = i == r->conf->self || (h->seen.known && h->agree == CLUSTER_AGREE_SAME);

	return !same || balances_any(r->conf, (uint32_t)r->conf->host[i].number);
}

/*
 * An acknowledgement names its node and word, and is found at any place: a host whose file lists
 * the nodes in another order holds the same (conf/cluster_agree.c).
 */
static bool has_acknowledged(const struct host_copy *h, uint32_t place, uint64_t ack)
{
	bool has = h->ack[place] == ack; /* mostly */

	for (uint32_t i = 0; !has && i < CLUSTER_MOVED_MAX; i++)
		has = h->ack[i] == ack;
	return has;
}

/* The first member that has not acknowledged the word of this node; NULL: all have. */
static const struct cluster_host *missing_ack(const struct roles *r, const struct cluster *c,
					      const struct hostset *members, uint32_t place,
					      uint64_t word)
{
	const struct cluster_node *n = &r->conf->node[place];
	uint64_t ack = region_ack(n->host, (uint16_t)n->number, word);

	for (uint32_t i = 0; i < r->conf->hosts; i++) {
		uint32_t host = (uint32_t)r->conf->host[i].number;

		if (hostset_has(members, host) && is_awaited(r, c, i) &&
		    !has_acknowledged(cluster_newest_host(c, i), place, ack))
			return &r->conf->host[i];
	}
	return NULL;
}

/* rule 4 of role.h. One that is not given now stays what it was: it is of an older word. */
static void acknowledge(struct roles *r, const struct cluster *c, const struct balances *b,
			struct mono now)
{
	for (uint32_t i = 0; i < r->conf->nodes; i++) {
		const struct cluster_node *n = &r->conf->node[i];
		struct cluster_node_seen s;

		if (n->kind != CLUSTER_NODE_SWITCH)
			continue;
		cluster_node_see(c, i, now, &s);
		if (s.word_known && s.word == s.kept_word &&
		    balances_send_none(b, i, region_word_id(s.word)))
			r->ack[i] = region_ack(n->host, (uint16_t)n->number, s.word);
	}
}

/* --- own nodes -------------------------------------------------------------------------------- */

static const char *service_name(const struct roles *r, uint32_t number)
{
	const struct cluster_service *s = cluster_service_at(r->conf, number);

	return s ? s->name : "-";
}

static int run_hook(const struct roles *r, struct role_node *n, const char *action,
		    const char *from, struct mono now)
{
	const struct hook_want w = { .action = action,
				     .node = r->conf->node[n->place].name,
				     .from = from,
				     .to = service_name(r, n->role.target) };

	return n->ops->want(n->hook, &w, now);
}

static int do_it(struct roles *r, struct role_node *n, enum role_does does, struct mono now)
{
	int rc;

	if (does == ROLE_CHECK)
		return run_hook(r, n, "check", "-", now);
	rc = save(r);
	if (!rc && does == ROLE_SWITCH)
		return run_hook(r, n, "switch", service_name(r, n->role.from), now);
	if (rc)
		snprintf(n->note, sizeof(n->note), "%s/roles cannot be written: %s", state_dir(r),
			 strerror(-rc));
	return rc;
}

/* Why it waits. What a hook that has failed said stays until it runs again. */
static void note_waiting(struct role_node *n, const struct cluster_host *missing, bool member)
{
	if (!member)
		snprintf(n->note, sizeof(n->note),
			 "this host is in no quorum: it is not prepared for another service");
	else if (missing)
		snprintf(n->note, sizeof(n->note),
			 "%s has not acknowledged that no more requests of another service come: "
			 "run resex balance-list there, and resex host-list",
			 missing->name);
}

static void note_hook(struct role_node *n)
{
	struct hook_seen h;

	n->ops->see(n->hook, &h);
	if (h.state == HOOK_FAILED && *h.note)
		snprintf(n->note, sizeof(n->note), "%s", h.note);
}

static void tell_phase(struct roles *r, struct role_node *n, int64_t wall_ns)
{
	const char *node = r->conf->node[n->place].name;
	enum role_phase phase = n->role.phase;

	if (phase == n->told)
		return;
	if (phase == ROLE_READY && n->told != ROLE_UNSEEN)
		guests_event(r->gs, wall_ns, "", "reconf", "node %s is ready to serve %s", node,
			     service_name(r, n->role.service));
	else if (phase == ROLE_SWITCHES)
		guests_event(r->gs, wall_ns, "", "reconf", "the hook prepares node %s for %s", node,
			     service_name(r, n->role.target));
	else if (phase == ROLE_WAITS && *n->note &&
		 (n->told == ROLE_SWITCHES || n->told == ROLE_CHECKS))
		guests_event(r->gs, wall_ns, "", "reconf", "node %s is not ready: %s", node,
			     n->note);
	n->told = phase;
}

/* Has it begun something? Then there is more to do soon. */
static bool work_on(struct roles *r, struct role_node *n, const struct cluster *c,
		    const struct hostset *members, struct mono now)
{
	struct role_in in = { .check_ns = CHECKS_NS };
	const struct cluster_host *missing;
	struct cluster_node_seen s;
	enum role_does does;
	struct hook_seen h;

	cluster_node_see(c, n->place, now, &s);
	n->ops->see(n->hook, &h);
	in.word = s.word_known ? s.word : 0;
	in.kept = s.word == s.kept_word;
	in.hook = h.state;
	missing = missing_ack(r, c, members, n->place, in.word);
	in.acknowledged = !missing && !hostset_empty(members);
	does = role_step(&n->role, &in, now);
	note_hook(n);
	if (n->role.phase == ROLE_WAITS && !in.acknowledged)
		note_waiting(n, missing, !hostset_empty(members));
	if (n->role.phase == ROLE_READY)
		n->note[0] = 0;
	if (does == ROLE_SWITCH)
		n->note[0] = 0;
	if (does != ROLE_NOTHING && do_it(r, n, does, now))
		role_failed(&n->role, now);
	return does != ROLE_NOTHING;
}

/* ns until then; what is past waits for something else than time. */
static int64_t ns_until(struct mono at, struct mono now)
{
	return mono_sub(at, now) > 0 ? mono_sub(at, now) : INT64_MAX;
}

/* --- publish ---------------------------------------------------------------------------------- */

static void publish(struct roles *r)
{
	struct roles_copies *k = &r->x->roles;
	struct roles_copy *to = &k->copy[k->at.back];

	memset(to, 0, sizeof(*to));
	for (uint32_t i = 0; i < r->n; i++) {
		const struct role *role = &r->node[i].role;
		uint32_t number = (uint32_t)r->conf->node[r->node[i].place].number;

		to->node[number].ready = role_ready(role);
		to->node[number].phase = role->phase;
		to->node[number].from = role->from;
		to->node[number].service = role->service;
	}
	memcpy(to->ack, r->ack, sizeof(r->ack));
	if (!memcmp(to, &r->published, sizeof(*to)))
		return;
	r->published = *to;
	spsc_latest_put(&k->at);
	exchange_wake(r->x->worker_fd);
}

int64_t roles_work(struct roles *r, const struct cluster *c, const struct balances *b,
		   const struct hostset *members, struct mono now, int64_t wall_ns)
{
	int64_t ns = INT64_MAX;

	if (!cluster_switch_find(r->conf) || !r->conf->reconf.given)
		return ns;
	acknowledge(r, c, b, now);
	for (uint32_t i = 0; i < r->n; i++) {
		struct role_node *n = &r->node[i];
		int64_t one = n->ops->poll(n->hook, now);

		if (work_on(r, n, c, members, now))
			one = 0;
		tell_phase(r, n, wall_ns);
		one = least(one, ns_until(role_due(&n->role), now));
		ns = least(ns, one);
	}
	publish(r);
	return ns > 0 ? ns : 0;
}

const char *roles_note(const struct roles *r, uint32_t i)
{
	const struct role_node *n = find_node(r, i);

	return n ? n->note : "";
}
