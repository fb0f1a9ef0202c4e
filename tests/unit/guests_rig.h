/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guests_rig: src/guests on a fake host, its sampler played by the test:
 * rig_ack takes the set published last, as a tick would. Domain FAKE_DOMID
 * has memory (fake_guest); others have none.
 */
#ifndef RESEX_TESTS_GUESTS_RIG_H
#define RESEX_TESTS_GUESTS_RIG_H

#include <fcntl.h>
#include <string.h>

#include "src/conf/policy.h"
#include "src/core/caps.h"
#include "src/guests/guests_priv.h"
#include "tests/fakes/fake_guest.h"
#include "tests/fakes/fake_host.h"
#include "tests/unit/tmpdir.h"

#define MS   NS_PER_MS
#define WALL 1700000000000000000 /* what the wall clock says, always */

enum { VM = FAKE_DOMID };

struct guests_rig {
	struct tmpdir dir;
	struct handover ho;
	struct daemon_conf conf;
	struct log log;
	struct guests *gs;
	struct cluster *cluster; /* of calls to control; NULL: none */
	struct fake_host host;
	struct fake_guest mem;
	struct hv_backend hv;
	struct mono now;
	struct guest_set *set; /* the one the sampler reads */
	bool recover, observe; /* how rig_begin begins */
};

static inline void rig_settings(struct guests_rig *g, const char *guests)
{
	struct conf_error e = { 0 };
	char text[2048];

	snprintf(text, sizeof(text),
		 "{\"links\": [{\"name\": \"ib0\", \"rate\": \"1GiB/s\"},"
		 " {\"name\": \"ib1\", \"rate\": \"1GiB/s\"}], \"state_dir\": \"%s\","
		 " \"socket\": \"%s/sock\", \"guests\": {%s}}",
		 g->dir.path, g->dir.path, guests);
	if (settings_parse(&g->conf, "rig", text, strlen(text), &e))
		fail_msg("%s", e.text);
}

/* As engine_open makes one, before its first work. */
static inline void rig_begin(struct guests_rig *g)
{
	const struct guests_parts parts = {
		.ho = &g->ho,
		.conf = &g->conf,
		.log = &g->log,
		.hv = &g->hv,
		.mem = &g->mem.m,
		.sched = &g->host.sched,
		.watch = &g->host.watch,
		.observe = g->observe,
	};
	struct policy_inst *pi = NULL;
	struct conf_error e = { 0 };

	assert_int_equal(handover_open(&g->ho), 0);
	assert_int_equal(policy_load(&pi, NULL, "freemarket", NULL, &e), 0);
	assert_int_equal(guests_open(&g->gs, &parts, pi), 0);
	if (g->recover)
		assert_int_equal(guests_recover(g->gs, WALL, &e), 0);
	else
		assert_int_equal(restore_load(&g->gs->restore, g->conf.state_dir, "fake", &e), 0);
	g->set = guests_first_set(g->gs);
	assert_non_null(g->set);
	atomic_store(&g->ho.acked, g->set->serial);
}

static inline void rig_end(struct guests_rig *g)
{
	guests_close(g->gs);
	handover_close(&g->ho);
}

static inline int rig_setup(void **state)
{
	struct guests_rig *g = calloc(1, sizeof(*g));

	if (!g)
		return -1;
	tmp_open(&g->dir);
	rig_settings(g, "");
	log_init(&g->log, "rig", LOG_LVL_DEBUG);
	g->log.fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	fake_host_open(&g->host);
	fake_guest_open(&g->mem);
	g->hv = (struct hv_backend){ .name = "fake",
				     .mem = &fake_mem_ops,
				     .sched = &fake_sched_ops,
				     .watch = &fake_watch_ops };
	g->now.ns = NS_PER_S;
	rig_begin(g);
	*state = g;
	return 0;
}

static inline int rig_teardown(void **state)
{
	struct guests_rig *g = *state;

	rig_end(g);
	fake_guest_close(&g->mem); /* nothing is left mapped */
	close(g->log.fd);
	tmp_close(&g->dir);
	free(g);
	return 0;
}

/* Time passes, and the control thread does what is due. */
static inline int64_t rig_work(struct guests_rig *g, int64_t ns)
{
	g->now.ns += ns;
	return guests_work(g->gs, g->now, WALL);
}

static inline void rig_second(struct guests_rig *g)
{
	g->now.ns += NS_PER_S;
	guests_second(g->gs, g->now, WALL);
	guests_work(g->gs, g->now, WALL);
}

/* The sampler's next tick takes what was published; false: there was nothing new. */
static inline bool rig_ack(struct guests_rig *g)
{
	struct guest_set *next = atomic_exchange(&g->ho.next, NULL);

	if (!next)
		return false;
	g->set = next;
	atomic_store(&g->ho.acked, next->serial);
	return true;
}

/* Its next tick, as far as the totals of rings were asked for. */
static inline void rig_show(struct guests_rig *g)
{
	for (uint32_t i = 0; i < g->set->guests; i++)
		for (uint32_t k = 0; k < g->set->guest[i].scan->rings; k++)
			ring_show(g->set->guest[i].scan->ring[k].ring);
	atomic_store(&g->ho.rings_shown, atomic_load(&g->ho.rings_asked));
}

/* All that is due, with the sampler ticking each millisecond. */
static inline void rig_settle(struct guests_rig *g)
{
	for (int i = 0; i < 300; i++) {
		rig_work(g, MS);
		rig_ack(g);
	}
}

static inline struct set_guest *rig_in_set(const struct guests_rig *g, uint32_t domid)
{
	for (uint32_t i = 0; i < g->set->guests; i++)
		if (g->set->guest[i].key.domid == domid)
			return &g->set->guest[i];
	return NULL;
}

/* A domain comes, with the event that xenstore would send. */
static inline struct fake_dom *rig_create(struct guests_rig *g, uint32_t domid, uint8_t uuid)
{
	struct fake_dom *d = fake_dom_add(&g->host, domid, uuid);

	fake_host_event(&g->host, HV_EVENT_DOMAINS, 0);
	return d;
}

static inline void rig_destroy(struct guests_rig *g, uint32_t domid)
{
	fake_dom_remove(&g->host, domid);
	fake_host_event(&g->host, HV_EVENT_DOMAINS, 0);
}

/* The guest with memory, its agent and n rings; read by the sampler. */
static inline struct fake_dom *rig_create_vm(struct guests_rig *g, uint32_t rings)
{
	struct fake_dom *d = rig_create(g, VM, 0x77);

	fake_write_begin(&g->mem);
	for (uint32_t i = 0; i < rings; i++)
		fake_add_sq(&g->mem, i + 1, 16);
	fake_write_end(&g->mem);
	snprintf(d->node, sizeof(d->node), "2 frame %d", FAKE_FRAME_REGISTRY);
	rig_settle(g);
	return d;
}

static inline struct guest_entry *rig_guest(struct guests_rig *g, const char *who)
{
	struct guest_entry *x = guests_find(g->gs, who);

	if (!x)
		fail_msg("there is no guest %s", who);
	return x;
}

/* The newest event of a kind, or NULL. */
static inline const struct event_text *rig_event(const struct guests_rig *g, const char *kind)
{
	const struct event_text *e, *newest = NULL;

	for (uint64_t id = 0; (e = guests_event_after(g->gs, id)) != NULL; id = e->id)
		if (!strcmp(e->kind, kind))
			newest = e;
	return newest;
}

static inline void rig_forget_events(struct guests_rig *g)
{
	g->gs->events = g->gs->rare.n = g->gs->routine.n = g->gs->foreign.n = 0;
}

static inline uint32_t rig_events(const struct guests_rig *g, const char *kind)
{
	const struct event_text *e;
	uint32_t n = 0;

	for (uint64_t id = 0; (e = guests_event_after(g->gs, id)) != NULL; id = e->id)
		n += !strcmp(e->kind, kind);
	return n;
}

#define WITH_RIG(name) TEST_WITH(name, rig_setup, rig_teardown)

#endif
