// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * scenario_guest: reads guests[] of a scenario and their applications. Each gives a guest
 * of the simulator and its settings in the daemon's configuration. See scenario.h.
 *
 * Limits are those of Xen and of the simulator (src/sim/conf.c), found here because a message
 * can name the key; check_sim() in scenario.c reports what is left.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "src/lab/scenario.h"

enum {
	VCPUS_MAX = 512, /* the most a guest of Xen can have */
	MTUS_MAX = 16 << 20,
	DEPTH_MAX = 1024,
	RATE_MAX = 10000000,
	REPORT_MAX = 100000, /* permille, as the next three */
	VARIATION_MAX = 10000,
	PHASES_MIN = 100,  /* less needs more phases than draw.c adds */
	UNIFORM_MAX = 577, /* beyond it the shortest time would be negative */
	QP_LEAST = 64,	   /* least number of messages that the ring of a queue pair has room for */
	ROOM_MAX =
		1 << 18, /* messages in all rings; 16 of them need a page, which the daemon maps */
};

/* --- applications --- */

static const char *const kind_names[] = { "idle", "sender", "server", "burner", NULL };
static const char *const op_names[] = { "write", "send", "read", NULL };
static const char *const vary_names[] = { "phases", "uniform", NULL };

struct app_in {
	char name[FLOW_NAME_MAX];
	uint32_t kind, op;
	uint32_t distribution, think_distribution;
	uint64_t size, depth, queue_pairs, mtu, rate, burst, clients, report;
	uint64_t variation, think_variation;
	int64_t post, compute, think, busy, quiet, report_stop, start, stop;
};

#define KEY(...) CONF_KEY(struct app_in, __VA_ARGS__)
static const struct conf_key app_keys[] = {
	{ KEY("name", STRING, name), .max = FLOW_NAME_MAX - 1 },
	{ KEY("kind", ENUM, kind), .names = kind_names, .required = 1 },
	{ KEY("op", ENUM, op), .names = op_names },
	{ KEY("size", SIZE, size), .min = 1, .max = MTUS_MAX },
	{ KEY("depth", UINT, depth), .min = 1, .max = DEPTH_MAX },
	{ KEY("queue_pairs", UINT, queue_pairs), .min = 1, .max = SIM_APP_QPS_MAX },
	{ KEY("mtu", UINT, mtu), .min = 256, .max = 4096 },
	{ KEY("rate", UINT, rate), .min = 1, .max = RATE_MAX },
	{ KEY("burst", UINT, burst), .min = 1, .max = DEPTH_MAX },
	{ KEY("post", DURATION, post), .min = 100, .max = NS_PER_S },
	{ KEY("compute", DURATION, compute), .max = NS_PER_S },
	{ KEY("variation", PERMILLE, variation), .max = VARIATION_MAX },
	{ KEY("distribution", ENUM, distribution), .names = vary_names },
	{ KEY("think", DURATION, think), .min = 1, .max = 1000 * NS_PER_S },
	{ KEY("think_variation", PERMILLE, think_variation), .max = VARIATION_MAX },
	{ KEY("think_distribution", ENUM, think_distribution), .names = vary_names },
	{ KEY("busy", DURATION, busy), .min = NS_PER_US, .max = 1000 * NS_PER_S },
	{ KEY("quiet", DURATION, quiet), .min = NS_PER_US, .max = 1000 * NS_PER_S },
	{ KEY("clients", UINT, clients), .min = 1, .max = SIM_APP_CLIENTS_MAX },
	{ KEY("report", PERMILLE, report), .max = REPORT_MAX },
	{ KEY("report_stop", DURATION, report_stop), .min = 1, .max = SCENARIO_NS_MAX },
	{ KEY("start", DURATION, start), .max = SCENARIO_NS_MAX },
	{ KEY("stop", DURATION, stop), .min = 1, .max = SCENARIO_NS_MAX },
	{ 0 },
};
#undef KEY

/* A key without effect is an error: the kinds of application that use each key. */
static const struct {
	const char *key;
	uint32_t kinds;
	const char *text;
} only[] = {
#define SENDER (1u << SIM_APP_SENDER)
#define SERVER (1u << SIM_APP_SERVER)
	{ "op", SENDER, "a sender" },
	{ "depth", SENDER | SERVER, "a sender or a server" },
	{ "queue_pairs", SENDER, "a sender" },
	{ "rate", SENDER | SERVER, "a sender or a server" },
	{ "busy", SENDER | SERVER, "a sender or a server" },
	{ "quiet", SENDER | SERVER, "a sender or a server" },
	{ "burst", SENDER, "a sender" },
	{ "compute", SERVER, "a server" },
	{ "variation", SERVER, "a server" },
	{ "distribution", SERVER, "a server" },
	{ "clients", SERVER, "a server" },
	{ "think", SERVER, "a server" },
	{ "think_variation", SERVER, "a server" },
	{ "think_distribution", SERVER, "a server" },
	{ "report", SERVER, "a server" },
	{ "report_stop", SERVER, "a server" },
	{ "size", SENDER | SERVER, "a sender or a server" },
	{ "mtu", SENDER | SERVER, "a sender or a server" },
	{ "post", SENDER | SERVER, "a sender or a server" },
#undef SENDER
#undef SERVER
};

/* An object within the document. */
struct place {
	const struct conf_doc *d;
	const char *path;
	const json_t *obj;
};

/* An error at a key of object p, or at p if the key is missing. */
#define FAIL(p, key, e, ...) conf_fail_key((p)->d, (p)->path, key, e, __VA_ARGS__)

static int check_kind(const struct place *p, const struct app_in *in, struct conf_error *e)
{
	/* A sender with "clients" would run, and not do what its author expects. */
	for (size_t i = 0; i < sizeof(only) / sizeof(only[0]); i++)
		if (!(only[i].kinds & 1u << in->kind) && json_object_get(p->obj, only[i].key))
			return FAIL(p, only[i].key, e,
				    "%s is for %s, and this is \"%s\": remove it", only[i].key,
				    only[i].text, kind_names[in->kind]);
	return 0;
}

static int check_vary(const struct place *p, const char *key, uint32_t how, uint64_t permille,
		      struct conf_error *e)
{
	if (how == SIM_VARY_UNIFORM && permille > UNIFORM_MAX)
		return FAIL(p, key, e,
			    "%s is %llu, and a uniform time varies by at most %d permille: write "
			    "less, or the distribution \"phases\"",
			    key, (unsigned long long)permille, UNIFORM_MAX);
	if (how == SIM_VARY_PHASES && permille && permille < PHASES_MIN)
		return FAIL(p, key, e,
			    "%s is %llu, and phases vary by at least %d permille: write more, 0, "
			    "or the distribution \"uniform\"",
			    key, (unsigned long long)permille, PHASES_MIN);
	return 0;
}

/* Keys of a server that mean nothing beside each other, or without another. */
static int check_server(const struct place *p, const struct app_in *in, struct conf_error *e)
{
	int rc = check_vary(p, "variation", in->distribution, in->variation, e);

	if (!rc)
		rc = check_vary(p, "think_variation", in->think_distribution, in->think_variation,
				e);
	if (rc)
		return rc;
	if (in->rate && (json_object_get(p->obj, "clients") || in->think))
		return FAIL(p, "rate", e,
			    "rate is for requests that come by themselves, clients and think for "
			    "those that wait for a reply: remove one");
	if (json_object_get(p->obj, "distribution") && !in->variation)
		return FAIL(p, "distribution", e, "distribution needs a variation: give it, too");
	if (!in->think && (json_object_get(p->obj, "think_variation") ||
			   json_object_get(p->obj, "think_distribution")))
		return FAIL(p, "think_variation", e, "clients do not think: give think, too");
	return 0;
}

static int check_app(const struct place *p, const struct app_in *in, uint32_t link_mtu,
		     struct conf_error *e)
{
	if (in->mtu & (in->mtu - 1))
		return FAIL(p, "mtu", e, "mtu is %llu: write 256, 512, 1024, 2048 or 4096 (bytes)",
			    (unsigned long long)in->mtu);
	/* A path is never wider than its port. */
	if (in->mtu > link_mtu)
		return FAIL(p, "mtu", e, "mtu is %llu, more than the link's: write at most %u",
			    (unsigned long long)in->mtu, link_mtu);
	if (in->stop && in->stop <= in->start)
		return FAIL(p, "stop", e,
			    "stop (%lld us) must come after start (%lld us): correct one",
			    (long long)(in->stop / NS_PER_US), (long long)(in->start / NS_PER_US));
	if (!in->busy != !in->quiet)
		return FAIL(p, in->busy ? "busy" : "quiet", e,
			    "busy and quiet take turns: give both, or none");
	if (in->burst > 1 && !in->rate)
		return FAIL(p, "burst", e,
			    "burst says how many messages come at once: give a rate, too");
	return in->kind == SIM_APP_SERVER ? check_server(p, in, e) : 0;
}

static void fill_app(struct sim_app *a, const struct app_in *in)
{
	static const enum sample_op ops[] = { OP_WRITE, OP_SEND, OP_READ };

	*a = (struct sim_app){
		.kind = (enum sim_app_kind)in->kind,
		.op = ops[in->op],
		.qps = (uint32_t)in->queue_pairs,
		.msg_bytes = (uint32_t)in->size,
		.depth = (uint32_t)in->depth,
		.path_mtu = (uint32_t)in->mtu,
		.rate = in->rate,
		.burst = (uint32_t)in->burst,
		.post_ns = in->post,
		.compute_ns = in->kind == SIM_APP_SERVER ? in->compute : 0, /* not the default */
		.vary = { (enum sim_vary_how)in->distribution, (uint32_t)in->variation },
		.clients = (uint32_t)in->clients,
		.think_ns = in->think,
		.think_vary = { (enum sim_vary_how)in->think_distribution,
				(uint32_t)in->think_variation },
		.busy_ns = in->busy,
		.quiet_ns = in->quiet,
		.report = (uint32_t)in->report,
		.report_stop_ns = in->report_stop,
		.start_ns = in->start,
		.stop_ns = in->stop,
	};
	snprintf(a->name, sizeof(a->name), "%s", in->name[0] ? in->name : kind_names[in->kind]);
}

/* Where bind_app() puts the applications of a guest. */
struct apps_to {
	struct sim_guest_conf *guest;
	uint32_t link_mtu;
};

/*
 * Defaults are the paper's server: sending 64 KiB on a link of 1 GiB/s takes 61 us and
 * posting 1 us; computing takes the rest of the 209 us in the paper's figure 1.
 */
static const struct app_in app_default = {
	.size = 64 << 10,
	.depth = 1,
	.queue_pairs = 1,
	.burst = 1,
	.clients = 1,
	.think_variation = 1000,
	.report = 1000,
	.post = NS_PER_US,
	.compute = 146964,
};

static int bind_app(void *arg, const struct conf_doc *d, const char *path, const json_t *obj,
		    struct conf_error *e)
{
	const struct apps_to *to = arg;
	const struct place p = { d, path, obj };
	struct app_in in = app_default;
	int rc;

	in.mtu = to->link_mtu;
	rc = conf_bind(d, path, obj, app_keys, NULL, &in, e);

	if (!rc)
		rc = check_kind(&p, &in, e);
	if (!rc)
		rc = check_app(&p, &in, to->link_mtu, e);
	if (!rc)
		fill_app(&to->guest->app[to->guest->apps++], &in);
	return rc;
}

const struct conf_list scenario_app_list = {
	.key = "apps",
	.max = SIM_APPS_MAX,
	.what = "applications",
	.example = "[{\"kind\": \"sender\", \"size\": \"2MiB\"}]",
	.read = bind_app,
};

/* --- guests --- */

/* The keys for the simulator; the others are those of a guest in resexd.json. */
struct guest_in {
	char name[FLOW_NAME_MAX];
	uint64_t vcpus, cap;
	bool blind, later;
};

#define KEY(...) CONF_KEY(struct guest_in, __VA_ARGS__)
static const struct conf_key guest_keys[] = {
	{ KEY("name", STRING, name), .min = 1, .max = FLOW_NAME_MAX - 1, .required = 1 },
	{ KEY("vcpus", UINT, vcpus), .min = 1, .max = VCPUS_MAX },
	{ KEY("cap", PERCENT, cap), .max = 100 * VCPUS_MAX },
	{ KEY("blind", BOOL, blind) },
	{ KEY("later", BOOL, later) },
	{ 0 },
};
#undef KEY
static const struct guest_in guest_default = { .vcpus = 1 };
static const char *const guest_also[] = { "name", "vcpus", "cap", "blind", "later", "apps", NULL };
/* The same object is bound twice, so each table lists the keys of the other as known. */
static const char *const sim_also[] = { "weight", "exempt",	"min_cap", "max_cap", "sla",
					"link",	  "unreadable", "apps",	   NULL };

/* Letters that cannot break commands, messages and tables, as in names of domains. */
static bool is_name(const char *s)
{
	for (; *s; s++)
		if (!(*s >= 'a' && *s <= 'z') && !(*s >= 'A' && *s <= 'Z') &&
		    !(*s >= '0' && *s <= '9') && !strchr("._+-", *s))
			return false;
	return true;
}

static int check_guest(const struct scenario *sc, const struct place *p, const struct guest_in *in,
		       struct conf_error *e)
{
	if (!is_name(in->name))
		return FAIL(p, "name", e, "name is \"%s\": write letters, digits and . _ + - only",
			    in->name);
	if (scenario_find(sc, in->name) >= 0)
		return FAIL(p, "name", e, "guest \"%s\" is listed twice: use each name once",
			    in->name);
	if (in->cap > 100 * in->vcpus)
		return FAIL(p, "cap", e,
			    "cap is %llu, more than all VCPUs of this guest: write at most %llu "
			    "percent, or 0 for none",
			    (unsigned long long)in->cap, (unsigned long long)(100 * in->vcpus));
	return 0;
}

static int bind_settings(struct scenario *sc, const struct place *p, struct guest_conf *g,
			 struct conf_error *e)
{
	int rc;

	/* Not those of "default": a scenario lists each of its guests. */
	settings_guest_default(g);
	rc = settings_bind_guest(p->d, p->path, p->obj, guest_also, g, e);
	return rc ? rc : settings_find_link(&sc->conf, p->d, p->path, g, e);
}

static uint64_t ring_room(const struct sim_guest_conf *g)
{
	uint64_t room = 0;

	for (uint32_t i = 0; i < g->apps; i++) {
		const struct sim_app *a = &g->app[i];
		uint64_t qps = a->kind == SIM_APP_SENDER ? a->qps : a->kind == SIM_APP_SERVER;

		room += qps * (a->depth < QP_LEAST ? QP_LEAST : a->depth);
	}
	return room;
}

/*
 * The daemon maps rings page by page: bound the number of pages, and the time. A scenario may
 * come from anybody, and must not map more than a process can.
 */
static int check_room(const struct scenario *sc, const struct place *p, struct conf_error *e)
{
	uint64_t room = 0;

	/* <=: also the guest that is being read, which is not counted yet. */
	for (uint32_t i = 0; i <= sc->sim.guests; i++)
		room += ring_room(&sc->sim.guest[i]);
	if (room <= ROOM_MAX)
		return 0;
	return FAIL(p, "apps", e,
		    "up to here the rings of all guests have room for %llu messages, %d or the "
		    "depth for each queue pair: make it at most %d",
		    (unsigned long long)room, QP_LEAST, ROOM_MAX);
}

static int bind_guest(void *to, const struct conf_doc *d, const char *path, const json_t *obj,
		      struct conf_error *e)
{
	const struct place p = { d, path, obj };
	struct scenario *sc = to;
	struct sim_guest_conf *sg = &sc->sim.guest[sc->sim.guests];
	struct guest_conf *g = &sc->conf.guest[sc->conf.guests];
	struct apps_to apps = { .guest = sg };
	struct guest_in in = guest_default;
	int rc;

	rc = conf_bind(d, path, obj, guest_keys, sim_also, &in, e);
	if (!rc)
		rc = check_guest(sc, &p, &in, e);
	if (!rc)
		rc = bind_settings(sc, &p, g, e);
	if (rc)
		return rc;
	/*
	 * Twice, for the host and for the daemon: the daemon finds a guest's settings by its
	 * name.
	 */
	memcpy(g->name, in.name, sizeof(g->name));
	memcpy(sg->name, in.name, sizeof(sg->name));
	sg->vcpus = (uint32_t)in.vcpus;
	sg->weight = (uint32_t)g->weight;
	sg->cap = (uint32_t)in.cap;
	sg->link = g->link;
	sg->blind = in.blind;
	sg->later = in.later;
	apps.link_mtu = sc->conf.link[g->link].mtu;
	rc = conf_read_list(d, path, obj, &scenario_app_list, &apps, e);
	if (!rc)
		rc = check_room(sc, &p, e);
	if (rc)
		return rc;
	sc->sim.guests++;
	sc->conf.guests++;
	return 0;
}

const struct conf_list scenario_guest_list = {
	.key = "guests",
	.min = 1,
	.max = SIM_GUESTS_MAX,
	.what = "guests",
	.example = "[{\"name\": \"web\", \"apps\": [{\"kind\": \"server\"}]}]",
	.read = bind_guest,
};

struct conf_table scenario_guest_table(enum scenario_table t)
{
	if (t == SCENARIO_APP)
		return (struct conf_table){ app_keys, &app_default };
	return (struct conf_table){ guest_keys, &guest_default };
}

int scenario_bind_guests(struct scenario *sc, const struct conf_doc *d, struct conf_error *e)
{
	return conf_read_list(d, "", d->root, &scenario_guest_list, sc, e);
}
