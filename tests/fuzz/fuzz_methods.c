// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fuzz_methods: lines of the control protocol to the methods behind it, on a
 * fake host: two guests, and one with memory and rings; a fake cluster.
 *
 * Input: a byte (bit 0: the peer is root), 64 bytes of figures for the
 * snapshot, 28 for the cluster, then lines. Nothing is written to disk, no thread runs: the
 * sampler ticks when a method wants to be called again.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "resex/exit.h"
#include "src/conf/policy.h"
#include "src/control/methods.h"
#include "src/guests/guests_priv.h"
#include "tests/fakes/fake_cluster.h"
#include "tests/fakes/fake_guest.h"
#include "tests/fakes/fake_host.h"
#include "tests/fuzz/fuzz.h"

enum { LINES_MAX = 64, WALL = 1000000000 };

struct world {
	struct handover ho;
	struct daemon_conf conf;
	struct log log;
	struct guests *gs;
	struct fake_host host;
	struct fake_guest mem;
	struct hv_backend hv;
	struct guest_set *set;
	struct mono now;
	struct cluster cluster, *in_use; /* in_use: NULL: none */
	uint64_t events;		 /* when each input begins */
};

/* For the text of a changed address: no method opens it. */
static const struct transport_backend tcp = { .name = "tcp", .has_ports = true };
const struct transport_backend *const transport_backends[] = { &tcp, NULL };

static struct world *world;

/* --- recordings: src/guests/trace.c would write files ------------------------------------ */

static struct trace_view recording = { .why = "" };

int guests_trace_start(struct guests *gs, const char *path, int64_t wall_ns)
{
	static const int said[] = { 0, -EBUSY, -EINVAL, -EEXIST, -EROFS, -EACCES };
	int rc = said[strlen(path) % (sizeof(said) / sizeof(said[0]))];

	(void)gs, (void)wall_ns;
	if (!rc) {
		recording.records = true;
		recording.whole = !strchr(path, 'x');
		snprintf(recording.path, sizeof(recording.path), "%s", path);
	}
	return rc;
}

/* It ends when it is called again. */
int guests_trace_stop(struct guests *gs, int64_t wall_ns)
{
	(void)gs, (void)wall_ns;
	if (!recording.records)
		return -ENOENT;
	recording.records = recording.path[0] == '/';
	recording.path[0] = '.';
	return recording.records ? -EAGAIN : 0;
}

const struct trace_view *guests_trace(struct guests *gs)
{
	(void)gs;
	return &recording;
}

void trace_second(struct guests *gs, int64_t wall_ns)
{
	(void)gs, (void)wall_ns;
}

void trace_close(struct guests *gs)
{
	(void)gs;
}

/* --- the fake host ------------------------------------------------------------------------ */

static void sampler_tick(struct world *w)
{
	struct guest_set *next = atomic_exchange(&w->ho.next, NULL);

	if (next)
		w->set = next;
	atomic_store(&w->ho.acked, w->set->serial);
	for (uint32_t i = 0; i < w->set->guests; i++)
		for (uint32_t k = 0; k < w->set->guest[i].scan->rings; k++)
			ring_show(w->set->guest[i].scan->ring[k].ring);
	atomic_store(&w->ho.rings_shown, atomic_load(&w->ho.rings_asked));
	w->ho.snaps.buf[w->ho.snaps.at.front].set_serial = w->set->serial; /* the newest snapshot */
}

static void settle(struct world *w)
{
	for (int i = 0; i < 200; i++) {
		w->now.ns += NS_PER_MS;
		guests_work(w->gs, w->now, WALL);
		sampler_tick(w);
	}
}

static void add_guests(struct world *w)
{
	struct fake_dom *d;

	fake_host_open(&w->host);
	fake_guest_open(&w->mem);
	strcpy(fake_dom_add(&w->host, 4, 4)->name, "web");
	strcpy(fake_dom_add(&w->host, 5, 5)->name, "bulk");
	fake_write_begin(&w->mem);
	fake_add_sq(&w->mem, 1, 16);
	fake_add_sq(&w->mem, 2, 16);
	fake_add_sq(&w->mem, 3, 16);
	fake_ring_at(&w->mem, 2)->elem_size = 77; /* refused, and shown so */
	fake_write_end(&w->mem);
	d = fake_dom_add(&w->host, FAKE_DOMID, 7);
	snprintf(d->node, sizeof(d->node), "2 frame %d", FAKE_FRAME_REGISTRY);
}

static char plugin_dir[] = "/tmp/resex-fuzz-XXXXXX";
static const char *const plugin_files[] = { "empty.so", "null.so" }; /* both are refused */

static void remove_plugins(void)
{
	char path[64];

	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", plugin_dir, plugin_files[i]);
		unlink(path);
	}
	rmdir(plugin_dir);
}

static struct plugins *make_plugins(void)
{
	struct plugins *ps;
	char path[64];

	FUZZ_REQUIRE(mkdtemp(plugin_dir) && !atexit(remove_plugins));
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", plugin_dir, plugin_files[i]);
		close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	}
	FUZZ_REQUIRE(!plugins_open(&ps, plugin_dir));
	return ps;
}

static void open_guests(struct world *w, struct policy_inst *pi)
{
	const struct guests_parts parts = {
		.ho = &w->ho,
		.conf = &w->conf,
		.log = &w->log,
		.hv = &w->hv,
		.mem = &w->mem.m,
		.sched = &w->host.sched,
		.watch = &w->host.watch,
		.plugins = make_plugins(),
		.observe = true,
	};

	FUZZ_REQUIRE(!guests_open(&w->gs, &parts, pi));
}

static struct world *make_world(void)
{
	static const char conf[] = "{\"links\": [{\"name\": \"ib0\", \"rate\": \"1GiB/s\"}]}";
	struct world *w = calloc(1, sizeof(*w));
	struct policy_inst *pi = NULL;
	struct conf_error e;

	FUZZ_REQUIRE(w && !settings_parse(&w->conf, "c", conf, sizeof(conf) - 1, &e));
	world = w;
	log_init(&w->log, "fuzz", LOG_LVL_ERROR);
	w->log.fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	add_guests(w);
	w->hv = (struct hv_backend){ .name = "fake",
				     .mem = &fake_mem_ops,
				     .sched = &fake_sched_ops,
				     .watch = &fake_watch_ops };
	FUZZ_REQUIRE(!handover_open(&w->ho) && !policy_new(&pi, &policy_freemarket, false));
	open_guests(w, pi);
	w->set = guests_first_set(w->gs);
	FUZZ_REQUIRE(w->set);
	settle(w);
	FUZZ_REQUIRE(w->set->guests == 3);
	w->events = w->gs->events;
	return w;
}

/* What an earlier input changed is as it was. */
static void reset(struct world *w)
{
	struct policy_inst *pi = NULL;

	FUZZ_REQUIRE(!policy_new(&pi, &policy_freemarket, false));
	FUZZ_REQUIRE(!guests_set_policy(w->gs, pi, WALL));
	FUZZ_REQUIRE(!guests_pause(w->gs, NULL, false, WALL));
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++)
		if (w->gs->guest[i]) {
			guests_release(w->gs, w->gs->guest[i], false, WALL);
			guests_configure(w->gs, w->gs->guest[i], &w->conf.guest_default, "", WALL);
		}
	for (int i = 0; i < 3; i++) {
		guests_work(w->gs, w->now, WALL);
		sampler_tick(w);
	}
	w->gs->events = w->events;
	recording = (struct trace_view){ .why = "" };
}

/* What a counter said of a guest, any figures. */
static void write_check(struct guest_entry *g, uint64_t x)
{
	struct checked *k = &g->check;

	*k = (struct checked){ .ops = x % 4 < 3 ? counters_host[x % 4] : NULL,
			       .rc = x & 16 ? -ENOENT : 0 };
	k->name.number = (uint32_t)x;
	if (x & 32)
		memset(k->name.dev, 'x', sizeof(k->name.dev) - 1);
	k->cross.diverges = x & 64;
	k->cross.sent = k->cross.windows = x;
	k->cross.last = (struct cross_window){ .ns = (int64_t)(x >> 1), .sent = x };
}

static void write_snapshot(struct world *w, struct bytes *in)
{
	struct snapshot *sn = snap_begin(&w->ho);

	memset(sn, 0, offsetof(struct snapshot, guest));
	sn->ticks = take16(in);
	sn->tick_ns_sum = (int64_t)take16(in);
	sn->policy = policies_builtin[sn->ticks % 4];
	sn->guests = w->set->guests;
	for (uint32_t i = 0; i < sn->guests; i++) {
		struct snap_guest *s = &sn->guest[i];
		uint8_t reason = take8(in), flags;

		memset(s, 0, sizeof(*s));
		s->key = w->set->guest[i].key;
		s->slot = w->set->guest[i].slot;
		s->plan.reason = reason % 16;
		/* A policy decided on it as it is now, or before its settings changed. */
		s->set_flags = reason & 0x80 ? POLICY_EXEMPT : POLICY_CAPPABLE;
		s->plan.why[i % 4] = (int64_t)take64(in);
		flags = take8(in);
		s->applied.limited = flags & 1;
		if (flags & 2)
			s->second = (struct span){ .ns = NS_PER_S,
						   .mtus_sent = (uint64_t)s->plan.why[i % 4],
						   .allocated.m = flags & 4,
						   .capped_ns = s->plan.why[i % 4] };
		s->total_usage.mtus_sent = take64(in);
		s->account.balance.m = (int64_t)s->total_usage.mtus_sent;
		s->account.rate = RATE_ONE;
		s->latency.n = s->latency.second_n = take16(in);
		s->latency.mean_ns = s->total_usage.mtus_sent;
		write_check(w->gs->guest[s->slot], s->total_usage.mtus_sent);
	}
	snap_publish(&w->ho);
}

/* Of the first node: the records of its agent and of the hypervisor, or neither. */
static void write_sources(struct cluster_sources *s, uint64_t x)
{
	s->hv.load.beat = x & 1;
	s->agent.load.beat = x & 2;
	s->believed = x & 4;
	s->why = x & 8 ? "its page was freed" : NULL;
	s->agree = (struct load_agree){ .disagrees = x & 16, .known = x & 32, .good = x >> 6 & 1 };
}

/* What the balancers have decided, and what is known of the second node. */
static void write_reconf(struct cluster *c, uint64_t x)
{
	c->service.here = !(x & 1);
	strcpy(c->service.note, x & 2 ? "its words are not read" : "");
	c->service.wait_ns = (int64_t)(x & 4) * NS_PER_S;
	if (x & 8)
		c->service.load = c->service.donor_before = c->service.taker_predicted = -1;
	if (x & 16) {
		c->service.node = NULL;
		c->service.donor = NULL;
	}
	c->fixed[1] = x & 32;
	c->node[1].lost = x & 64;
	c->conf.node[1].kind = x & 128 ? CLUSTER_NODE_SWITCH : c->conf.node[1].kind;
	c->conf.node[1].service = x & 192 ? 0 : 1;
	c->conf.reconf.given = x & 256;
}

/* None in one case of four; else hosts, guests and locks of any figures. */
static void write_cluster(struct world *w, struct bytes *in)
{
	struct cluster *c = &w->cluster;
	uint64_t x = take64(in);

	fake_cluster_open(c);
	w->in_use = x & 3 ? c : NULL;
	c->quorate = x & 4;
	c->seen[1].state = x >> 3 & 3;
	c->seen[1].age_ns = (int64_t)take64(in);
	c->lock[0].word = take64(in);
	c->lock[0].since_ns = c->lock[0].age_ns = (int64_t)x;
	c->guest[0].flags = take32(in);
	c->guest[0].allocated_m = (int64_t)x;
	c->guest[0].latency_ns = c->host.beat = x;
	memset(c->guest[1].name, (int)(x >> 8 & 0xff), sizeof(c->guest[1].name) - 1);
	c->break_rc = x & 32 ? -(int)(x >> 8 & 127) : 0;
	c->result_rc = x & 64 ? -(int)(x >> 16 & 127) : 0;
	if (c->result_rc == -EINPROGRESS)
		c->result_rc = 0;
	c->result_after = c->reload_after = (uint32_t)(x >> 6 & 3);
	c->next = c->conf;
	c->read_rc = x & 128 ? -(int)(x >> 8 & 127) : 0;
	c->refused = "cluster.json: no";
	c->reload_rc = x & 256 ? -(int)(x >> 16 & 127) : 0;
	c->changes.n = (uint32_t)(x >> 24 & 3);
	c->load.flags = (uint32_t)(x >> 32 & 0x7f);
	c->load.source = x >> 39 & 1 ? LOAD_HV : LOAD_ULM;
	c->node[0].state = x >> 40 & 1 ? CLUSTER_NODE_STALE : CLUSTER_NODE_FRESH;
	c->balancer.restores = x >> 41 & 1;
	c->conf.balances = !(x >> 42 & 1);
	write_sources(&c->sources, x >> 43);
	write_reconf(c, x >> 50);
	c->changes.change[0] = (struct cluster_change){ CLUSTER_HOST_CALLED, 2 };
	c->changes.change[1] = (struct cluster_change){ CLUSTER_SERVICE_CHANGED, 1 };
	c->changes.change[2] = (struct cluster_change){ CLUSTER_HOST_REMOVED, 3 };
}

static void check_reply(char *line)
{
	json_t *root;

	FUZZ_REQUIRE(line && strchr(line, '\n') == line + strlen(line) - 1);
	root = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
	FUZZ_REQUIRE(json_object_size(root) == 3);
	json_decref(root);
	free(line);
}

static void check_error(const struct call *c, int rc)
{
	FUZZ_REQUIRE(rc > RESEX_OK && rc <= RESEX_NO_CLUSTER);
	FUZZ_REQUIRE(memchr(c->error.text, 0, sizeof(c->error.text)) && c->error.text[0]);
	FUZZ_REQUIRE(c->error.code == PROTO_E_METHOD || c->error.code == PROTO_E_PARAMS ||
		     c->error.code == PROTO_E_SERVER - rc);
}

/* Whatever was asked for, what policies and the ledger see is in its range. */
static void check_settings(const struct world *w)
{
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++) {
		const struct guest_conf *g = w->gs->guest[i] ? &w->gs->guest[i]->conf : NULL;

		if (!g)
			continue;
		FUZZ_REQUIRE(g->weight >= 1 && g->weight <= 65535);
		FUZZ_REQUIRE(g->min_cap >= 1 && g->min_cap <= 100);
		FUZZ_REQUIRE(!g->max_cap || g->max_cap >= g->min_cap);
		FUZZ_REQUIRE(g->link < w->conf.links);
		FUZZ_REQUIRE(g->sla.base_io_ns <= g->sla.base_ns);
		FUZZ_REQUIRE(g->sla.tolerance <= 10000);
	}
}

static void ask(struct world *w, const char *line, size_t len, bool root)
{
	struct call c = {
		.guests = w->gs,
		.cluster = w->in_use,
		.sn = snap_latest(&w->ho),
		.wall_ns = WALL,
		.root = root,
	};
	const struct policy_inst *policy = w->gs->policy;
	uint64_t events = w->gs->events;
	json_t *result = NULL;
	struct request r;
	int rc;

	if (request_parse(line, len, &r, &c.error)) {
		request_free(&r);
		return;
	}
	while ((rc = method_call(&c, &r, &result)) == CALL_LATER) {
		FUZZ_REQUIRE(!result && !!c.ask.serial + !!c.ticket + !!c.reload +
							!!c.policy.number + c.caps.waits +
							c.trace ==
						1);
		c.now.ns += 10 * NS_PER_MS;
		sampler_tick(w);
	}
	FUZZ_REQUIRE(!c.ticket && !c.reload && !c.trace && !c.reply && !c.ask.serial &&
		     !c.policy.waits && !c.caps.waits && !w->gs->rings.readers &&
		     !w->gs->rings.next);
	if (rc) {
		FUZZ_REQUIRE(!result);
		check_error(&c, rc);
		check_reply(reply_error(r.id, &c.error));
	} else {
		check_reply(reply_result(r.id, result));
	}
	check_settings(w);
	if (rc || !root) { /* who may not, and who fails, changes nothing */
		FUZZ_REQUIRE(w->gs->policy == policy);
		FUZZ_REQUIRE(w->gs->events == events);
	}
	request_free(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes in = { data, size };
	struct world *w = world ? world : make_world();
	bool root = take8(&in) & 1;

	write_snapshot(w, &in);
	write_cluster(w, &in);
	for (int i = 0; i < LINES_MAX && in.left; i++) {
		const uint8_t *end = memchr(in.at, '\n', in.left);
		size_t len = end ? (size_t)(end - in.at) : in.left;
		char *line = malloc(len ? len : 1); /* to the byte */

		if (!line)
			abort();
		memcpy(line, in.at, len);
		ask(w, line, len, root);
		free(line);
		in.at += len + (end != NULL);
		in.left -= len + (end != NULL);
	}
	reset(w);
	return 0;
}
