// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * settings: resexd.json -> struct daemon_conf. Keys are bound by tables; what no table can
 * say (unique links, known links, whole epochs) is checked after. Settings of a guest are
 * bound in guest.c. See settings.h.
 *
 * src/daemon reads it right after the options. src/engine opens all parts from the result;
 * src/lab fills the same struct from a scenario, with the parts of this file that
 * settings.h lists. Everything is checked before anything is opened, so that a wrong file
 * costs a message and not a cap.
 */
#include "src/conf/settings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "src/conf/policy.h"

static const char *const profile_names[] = { "scaled", "paper-2011", NULL };

static const char *const top_also[] = { "links", "guests", "limits", "crosscheck", NULL };

/*
 * Ranges of interval and epoch are within those of src/core/period.c, which refuses others.
 * CONFIG_PATH_MAX is what the address of a UNIX socket holds.
 */
#define KEY(...) CONF_KEY(struct daemon_conf, __VA_ARGS__)
static const struct conf_key top_keys[] = {
	{ KEY("interval", DURATION, interval_ns), .min = 100 * NS_PER_US, .max = NS_PER_S },
	{ KEY("epoch", DURATION, epoch_ns), .min = 10 * NS_PER_MS, .max = 3600 * NS_PER_S },
	{ KEY("policy", STRING, policy), .min = 1, .max = FLOW_NAME_MAX - 1 },
	{ KEY("policy_file", PATH, policy_file), .max = CONFIG_PATH_MAX },
	{ KEY("policy_dir", PATH, policy_dir), .min = 1, .max = CONFIG_PATH_MAX },
	{ KEY("layout_dir", PATH, layout_dir), .max = CONFIG_PATH_MAX },
	{ KEY("socket", PATH, socket), .min = 1, .max = CONFIG_PATH_MAX },
	{ KEY("socket_group", STRING, socket_group), .max = FLOW_NAME_MAX - 1 },
	{ KEY("state_dir", PATH, state_dir), .min = 1, .max = CONFIG_PATH_MAX },
	{ KEY("lock_file", PATH, lock_file), .min = 1, .max = CONFIG_PATH_MAX },
	{ KEY("cluster_file", PATH, cluster_file), .max = CONFIG_PATH_MAX },
	{ KEY("realtime_priority", UINT, realtime_priority), .max = 99 },
	{ KEY("lock_memory", BOOL, lock_memory) },
	{ 0 },
};
#undef KEY

/* In the types that conf_bind() stores; struct link_conf has narrower ones. */
struct link_in {
	char name[FLOW_NAME_MAX];
	uint64_t rate, mtu;
	uint32_t profile;
	struct counter_setting counter;
};

static const struct link_in link_default = { .mtu = 1024,
					     .counter = { .name = { .kind = COUNTER_NONE } } };

/* The greatest rate is that of src/core/resos.c. */
#define KEY(...) CONF_KEY(struct link_in, __VA_ARGS__)
static const struct conf_key link_keys[] = {
	{ KEY("name", STRING, name), .min = 1, .max = FLOW_NAME_MAX - 1, .required = 1 },
	{ KEY("rate", RATE, rate), .min = 1000000, .max = 1ull << 40, .required = 1 },
	{ KEY("mtu", UINT, mtu), .min = 256, .max = 4096 },
	{ KEY("profile", ENUM, profile), .names = profile_names },
	{ KEY("counter", STRING, counter.text), .min = 1, .max = COUNTER_TEXT_MAX },
	{ 0 },
};
#undef KEY

struct limits_in {
	uint64_t rings, pages;
};

/*
 * 16 MiB of rings for a guest: many queues of ordinary depth, and a bound on what one guest can
 * make dom0 map.
 */
static const struct limits_in limits_default = { .rings = GUEST_RINGS_MAX, .pages = 4096 };

#define KEY(...) CONF_KEY(struct limits_in, __VA_ARGS__)
static const struct conf_key limit_keys[] = {
	{ KEY("rings", UINT, rings), .min = 1, .max = GUEST_RINGS_MAX },
	{ KEY("pages", UINT, pages), .min = 1, .max = 32768 },
	{ 0 },
};
#undef KEY

#define KEY(...) CONF_KEY(struct crosscheck_conf, __VA_ARGS__)
static const struct conf_key crosscheck_keys[] = {
	{ KEY("off", BOOL, off) },
	{ KEY("window", DURATION, window_ns), .min = 100 * NS_PER_MS, .max = 60 * NS_PER_S },
	{ KEY("tolerance", PERMILLE, tolerance), .max = 1000 },
	{ KEY("floor", RATE, floor), .max = 1ull << 40 },
	{ 0 },
};
#undef KEY

void settings_default(struct daemon_conf *c)
{
	memset(c, 0, sizeof(*c));
	c->interval_ns = NS_PER_MS;
	c->epoch_ns = NS_PER_S;
	c->crosscheck.window_ns = NS_PER_S;
	c->crosscheck.tolerance = 100;
	for (uint32_t i = 0; i < FLOW_LINKS_MAX; i++)
		c->link_counter[i].name.kind = COUNTER_NONE;
	settings_guest_default(&c->guest_default);
	c->limits.rings = (uint32_t)limits_default.rings;
	c->limits.pages = (uint32_t)limits_default.pages;
	c->lock_memory = true;
	strcpy(c->policy, "freemarket");
	strcpy(c->policy_dir, RESEX_PLUGINDIR);
	strcpy(c->socket, RESEX_RUNDIR "/resexd.sock");
	strcpy(c->state_dir, RESEX_STATEDIR);
	strcpy(c->lock_file, RESEX_RUNDIR "/resexd.lock");
}

struct conf_table settings_table(enum settings_table t, const struct daemon_conf *c)
{
	switch (t) {
	case SETTINGS_LINK:
		return (struct conf_table){ link_keys, &link_default };
	case SETTINGS_LIMITS:
		return (struct conf_table){ limit_keys, &limits_default };
	case SETTINGS_CROSSCHECK:
		return (struct conf_table){ crosscheck_keys, &c->crosscheck };
	default:
		return (struct conf_table){ top_keys, c };
	}
}

static int read_link(void *to, const struct conf_doc *d, const char *path, const json_t *obj,
		     struct conf_error *e)
{
	struct link_in in = link_default;
	struct daemon_conf *c = to;
	struct link_conf *l = &c->link[c->links];
	int rc = conf_bind(d, path, obj, link_keys, NULL, &in, e);

	if (rc)
		return rc;
	if (in.counter.text[0] && counter_parse_link(in.counter.text, &in.counter.name))
		return conf_fail_key(d, path, "counter", e,
				     "counter is \"%s\": write \"none\", or a port such as "
				     "\"port:mlx5_0/1\"",
				     in.counter.text);
	/* The MTUs of InfiniBand: with the range of the table these five are left. */
	if (in.mtu & (in.mtu - 1))
		return conf_fail_key(d, path, "mtu", e,
				     "mtu is %llu: write 256, 512, 1024, 2048 or 4096 (bytes)",
				     (unsigned long long)in.mtu);
	for (uint32_t k = 0; k < c->links; k++)
		if (!strcmp(c->link[k].name, in.name))
			return conf_fail_key(d, path, "name", e,
					     "link \"%s\" is listed twice: use each name once",
					     in.name);
	memcpy(l->name, in.name, sizeof(l->name));
	c->link_counter[c->links] = in.counter;
	l->bytes_s = in.rate;
	l->mtu = (uint32_t)in.mtu;
	l->profile = in.profile ? PRICE_PAPER_2011 : PRICE_SCALED;
	c->links++;
	return 0;
}

const struct conf_list settings_links = {
	.key = "links",
	.min = 1,
	.max = FLOW_LINKS_MAX,
	.what = "links",
	.example = "[{\"name\": \"ib0\", \"rate\": \"10Gbit/s\", \"mtu\": 1024}]",
	.read = read_link,
};

int settings_bind_links(struct daemon_conf *c, const struct conf_doc *d, struct conf_error *e)
{
	return conf_read_list(d, "", d->root, &settings_links, c, e);
}

int settings_find_link(const struct daemon_conf *c, const struct conf_doc *d, const char *path,
		       struct guest_conf *g, struct conf_error *e)
{
	char known[FLOW_LINKS_MAX * (FLOW_NAME_MAX + 2)] = "";

	if (!g->link_name[0]) { /* most hosts have one link */
		g->link = 0;
		return 0;
	}
	for (uint32_t i = 0; i < c->links; i++)
		if (!strcmp(c->link[i].name, g->link_name)) {
			g->link = i;
			return 0;
		}
	/* All names that would have been right: a link has no spelling to guess from. */
	for (uint32_t i = 0; i < c->links; i++)
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s",
			 i ? ", " : "", c->link[i].name);
	return conf_fail_key(d, path, "link", e, "unknown link \"%s\" (configured: %s)",
			     g->link_name, known);
}

static int read_guest(struct daemon_conf *c, const struct conf_doc *d, const char *name,
		      const json_t *obj, struct guest_conf *g, struct conf_error *e)
{
	char path[128];
	int rc;

	snprintf(path, sizeof(path), "guests.%s", name);
	/* Checked here: the table binds values, and this name is a key. */
	if (strlen(name) >= FLOW_NAME_MAX)
		return conf_fail(d, "guests", e,
				 "\"%.80s\" is too long for a guest's name: use at most %d bytes",
				 name, FLOW_NAME_MAX - 1);
	rc = settings_bind_guest(d, path, obj, NULL, g, e);
	if (rc)
		return rc;
	snprintf(g->name, sizeof(g->name), "%s", name);
	return settings_find_link(c, d, path, g, e);
}

static int read_guests(struct daemon_conf *c, const struct conf_doc *d, struct conf_error *e)
{
	json_t *obj = json_object_get(d->root, "guests"), *v;
	const char *name;
	int rc;

	if (!obj)
		return 0;
	if (!json_is_object(obj))
		return conf_fail(d, "guests", e,
				 "guests: write an object, a guest's name or UUID to its settings");
	/* First, wherever it is in the file: each guest below begins as a copy of it. */
	v = json_object_get(obj, "default");
	if (v) {
		rc = read_guest(c, d, "default", v, &c->guest_default, e);
		if (rc)
			return rc;
	}
	json_object_foreach(obj, name, v) {
		if (!strcmp(name, "default"))
			continue;
		/* As many as are managed at once (resex/flow.h). */
		if (c->guests == FLOW_GUESTS_MAX)
			return conf_fail(d, "guests", e, "guests: at most %d can be named",
					 FLOW_GUESTS_MAX);
		c->guest[c->guests] = c->guest_default;
		rc = read_guest(c, d, name, v, &c->guest[c->guests], e);
		if (rc)
			return rc;
		c->guests++;
	}
	return 0;
}

static int read_limits(struct daemon_conf *c, const struct conf_doc *d, struct conf_error *e)
{
	/* How much a guest can make dom0 map and walk is the operator's choice, not its own. */
	struct limits_in in = { c->limits.rings, c->limits.pages };
	json_t *obj = json_object_get(d->root, "limits");
	int rc;

	if (!obj)
		return 0;
	rc = conf_bind(d, "limits", obj, limit_keys, NULL, &in, e);
	if (rc)
		return rc;
	c->limits.rings = (uint32_t)in.rings;
	c->limits.pages = (uint32_t)in.pages;
	return 0;
}

static int read_doc(struct daemon_conf *c, const struct conf_doc *d, struct conf_error *e)
{
	json_t *cross = json_object_get(d->root, "crosscheck");
	int rc;

	settings_default(c);
	rc = conf_bind(d, "", d->root, top_keys, top_also, c, e);
	if (!rc)
		rc = policy_check_name(d, "policy", c->policy, c->policy_dir, e);
	if (!rc)
		rc = settings_bind_links(c, d, e);
	if (!rc)
		rc = read_guests(c, d, e);
	if (!rc)
		rc = read_limits(c, d, e);
	if (!rc && cross)
		rc = conf_bind(d, "crosscheck", cross, crosscheck_keys, NULL, &c->crosscheck, e);
	if (rc)
		return rc;
	if (c->epoch_ns % c->interval_ns || c->epoch_ns < c->interval_ns)
		return conf_fail(
			d, json_object_get(d->root, "epoch") ? "epoch" : "interval", e,
			"the epoch (%lld ns) must be a whole number of intervals (%lld ns)",
			(long long)c->epoch_ns, (long long)c->interval_ns);
	return 0;
}

int settings_load(struct daemon_conf *c, const char *file, struct conf_error *e)
{
	struct conf_doc d;
	int rc;

	rc = conf_load(&d, file, e);
	if (rc)
		return rc;
	rc = read_doc(c, &d, e);
	conf_free(&d);
	return rc;
}

/* By what links do, not by the text: "1GiB/s" may become 1073741824 without a restart. */
static bool same_links(const struct daemon_conf *a, const struct daemon_conf *b)
{
	bool same = a->links == b->links;

	for (uint32_t i = 0; same && i < a->links; i++) {
		const struct link_conf *x = &a->link[i], *y = &b->link[i];

		same = !strcmp(x->name, y->name) && x->bytes_s == y->bytes_s && x->mtu == y->mtu &&
		       x->profile == y->profile &&
		       counter_same(&a->link_counter[i].name, &b->link_counter[i].name);
	}
	return same;
}

/*
 * The first changed key that cannot change at reload, or NULL. Threads, ledger, sockets and locks
 * are made from these at the start; a key that silently kept its old value would mislead the
 * operator, so the whole file is refused.
 */
static const char *find_fixed_change(const struct daemon_conf *a, const struct daemon_conf *b)
{
	const struct {
		const char *key;
		bool same;
	} keys[] = {
		{ "links", same_links(a, b) },
		{ "interval", a->interval_ns == b->interval_ns },
		{ "epoch", a->epoch_ns == b->epoch_ns },
		{ "policy_dir", !strcmp(a->policy_dir, b->policy_dir) },
		{ "layout_dir", !strcmp(a->layout_dir, b->layout_dir) },
		{ "socket", !strcmp(a->socket, b->socket) },
		{ "socket_group", !strcmp(a->socket_group, b->socket_group) },
		{ "state_dir", !strcmp(a->state_dir, b->state_dir) },
		{ "lock_file", !strcmp(a->lock_file, b->lock_file) },
		{ "cluster_file", !strcmp(a->cluster_file, b->cluster_file) },
		{ "realtime_priority", a->realtime_priority == b->realtime_priority },
		{ "lock_memory", a->lock_memory == b->lock_memory },
		{ "limits",
		  a->limits.rings == b->limits.rings && a->limits.pages == b->limits.pages },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!keys[i].same)
			return keys[i].key;
	return NULL;
}

int settings_reload(struct daemon_conf *c, const struct daemon_conf *was, const char *file,
		    struct conf_error *e)
{
	const char *key;
	struct conf_doc d;
	int rc;

	rc = conf_load(&d, file, e);
	if (rc)
		return rc;
	/*
	 * Compared as they were read: a key that was absent and is now written with its default
	 * has not changed.
	 */
	rc = read_doc(c, &d, e);
	key = rc ? NULL : find_fixed_change(c, was);
	if (key)
		rc = conf_fail(&d, key, e,
			       "%s cannot change while resexd runs: put it back, or restart resexd",
			       key);
	conf_free(&d);
	return rc;
}

int settings_parse(struct daemon_conf *c, const char *name, const char *text, size_t len,
		   struct conf_error *e)
{
	struct conf_doc d;
	int rc;

	rc = conf_parse(&d, name, text, len, e);
	if (rc)
		return rc;
	rc = read_doc(c, &d, e);
	conf_free(&d);
	return rc;
}

const struct guest_conf *settings_guest(const struct daemon_conf *c, const char *name,
					const char *uuid)
{
	/*
	 * A UUID identifies a guest also after it was renamed; its letters may be small or
	 * capital.
	 */
	for (uint32_t i = 0; i < c->guests; i++)
		if (!strcmp(c->guest[i].name, name) || !strcasecmp(c->guest[i].name, uuid))
			return &c->guest[i];
	return &c->guest_default;
}
