// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * member_corosync: the view is that of corosync's quorum service on this machine.
 *
 * Corosync tells each new ring (who is in it) first, and whether it is quorate
 * when its members have voted. Between the two, and while corosync cannot be asked,
 * this host decides nothing. A connection that is lost is tried again each second.
 */
#include <corosync/corotypes.h>
#include <corosync/quorum.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/shared/member.h"

#define RETRY_NS NS_PER_S

struct member {
	struct member_conf conf;
	bool connected;
	quorum_handle_t handle;
	int fd;
	struct mono retry; /* when not connected */
	struct quorum_ring_id ring;
	struct member_view view, told;
	bool any; /* something was told */
	char note[MEMBER_NOTE_MAX];
};

/* --- what corosync tells ------------------------------------------------------- */

static uint64_t hosts_of(const struct member_conf *c, const uint32_t *nodes, uint32_t n)
{
	uint64_t hosts = 0;

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t h = 0; h < MEMBER_HOSTS_MAX; h++)
			if ((c->hosts >> h & 1) && c->node[h] == nodes[i])
				hosts |= 1ull << h;
	return hosts;
}

static bool same_ring(struct quorum_ring_id a, struct quorum_ring_id b)
{
	return a.nodeid == b.nodeid && a.seq == b.seq;
}

static void take_ring(struct member *m, struct quorum_ring_id ring, const uint32_t *nodes,
		      uint32_t n)
{
	m->ring = ring;
	m->view.view = ring.seq;
	m->view.members = hosts_of(&m->conf, nodes, n);
}

/* A new ring: it has not voted yet. */
static void on_nodes(quorum_handle_t handle, struct quorum_ring_id ring, uint32_t n,
		     const uint32_t *nodes, uint32_t joined_n, const uint32_t *joined,
		     uint32_t left_n, const uint32_t *left)
{
	const void *ctx = NULL;
	struct member *m;

	(void)joined_n, (void)joined, (void)left_n, (void)left;
	if (quorum_context_get(handle, &ctx) != CS_OK)
		return;
	m = (struct member *)(uintptr_t)ctx;
	if (same_ring(ring, m->ring))
		return;
	take_ring(m, ring, nodes, n);
	m->view.quorate = false;
}

static void on_quorum(quorum_handle_t handle, uint32_t quorate, struct quorum_ring_id ring,
		      uint32_t n, const uint32_t *nodes)
{
	const void *ctx = NULL;
	struct member *m;

	if (quorum_context_get(handle, &ctx) != CS_OK)
		return;
	m = (struct member *)(uintptr_t)ctx;
	take_ring(m, ring, nodes, n);
	m->view.quorate = quorate && (m->view.members >> (m->conf.self - 1) & 1);
	m->note[0] = '\0';
	if (!quorate)
		snprintf(m->note, sizeof(m->note),
			 "corosync has no quorum with %d of the cluster's %d hosts, and this host "
			 "decides nothing; mend the network to the others, or start corosync there",
			 __builtin_popcountll(m->view.members),
			 __builtin_popcountll(m->conf.hosts));
	else if (!m->view.quorate)
		snprintf(m->note, sizeof(m->note),
			 "nodeid %u, this host's, is not in corosync's ring %llu, and this host "
			 "decides nothing; make it that of corosync.conf",
			 m->conf.node[m->conf.self - 1], (unsigned long long)ring.seq);
}

/* --- the connection ------------------------------------------------------------- */

static void lose(struct member *m, struct mono now)
{
	if (m->connected)
		quorum_finalize(m->handle);
	m->connected = false;
	m->fd = -1;
	m->view.quorate = false;
	m->retry = mono_add(now, RETRY_NS);
}

static int fail(struct member *m, struct mono now, const char *what, cs_error_t e)
{
	lose(m, now);
	if (e == CS_ERR_ACCESS || e == CS_ERR_SECURITY)
		snprintf(m->note, sizeof(m->note),
			 "corosync refuses this user (%s), and this host decides nothing; allow it "
			 "in /etc/corosync/uidgid.d",
			 what);
	else
		snprintf(m->note, sizeof(m->note),
			 "corosync does not answer (%s: error %d), and this host decides nothing; "
			 "start corosync",
			 what, (int)e);
	return -ENODEV;
}

static int no_provider(struct member *m, struct mono now)
{
	lose(m, now);
	snprintf(m->note, sizeof(m->note),
		 "corosync runs without a quorum provider, and this host decides nothing; give "
		 "corosync.conf quorum { provider: corosync_votequorum }");
	return -ENODEV;
}

static int connect_now(struct member *m, struct mono now)
{
	quorum_model_v1_data_t model = { .quorum_notify_fn = on_quorum,
					 .nodelist_notify_fn = on_nodes };
	uint32_t type = QUORUM_FREE;
	cs_error_t e;

	e = quorum_model_initialize(&m->handle, QUORUM_MODEL_V1, (quorum_model_data_t *)&model,
				    &type, m);
	if (e != CS_OK)
		return fail(m, now, "connect", e);
	m->connected = true;
	m->ring = (struct quorum_ring_id){ 0, 0 };
	if (type != QUORUM_SET)
		return no_provider(m, now);
	e = quorum_fd_get(m->handle, &m->fd);
	if (e != CS_OK)
		return fail(m, now, "descriptor", e);
	e = quorum_trackstart(m->handle, CS_TRACK_CURRENT | CS_TRACK_CHANGES);
	if (e != CS_OK)
		return fail(m, now, "track", e);
	m->note[0] = '\0';
	return 0;
}

/* --- the backend ---------------------------------------------------------------- */

static bool conf_good(const struct member_conf *c)
{
	if (c->self < 1 || c->self > MEMBER_HOSTS_MAX || !(c->hosts >> (c->self - 1) & 1))
		return false;
	for (uint32_t h = 0; h < MEMBER_HOSTS_MAX; h++) {
		if (!(c->hosts >> h & 1))
			continue;
		if (c->node[h] == 0)
			return false;
		for (uint32_t k = 0; k < h; k++)
			if ((c->hosts >> k & 1) && c->node[k] == c->node[h])
				return false;
	}
	return true;
}

static int corosync_open(struct member **out, const struct member_conf *c, struct mono now)
{
	struct member *m;

	if (!conf_good(c))
		return -EINVAL;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->conf = *c;
	m->fd = -1;
	*out = m;
	return connect_now(m, now);
}

static void corosync_close(struct member *m)
{
	if (m && m->connected)
		quorum_finalize(m->handle);
	free(m);
}

static int corosync_work(struct member *m, struct mono now, struct member_view *v)
{
	bool news;

	if (!m->connected && mono_sub(now, m->retry) >= 0)
		connect_now(m, now);
	if (m->connected) {
		cs_error_t e = quorum_dispatch(m->handle, CS_DISPATCH_ALL);

		if (e != CS_OK && e != CS_ERR_TRY_AGAIN)
			fail(m, now, "listen", e);
	}
	news = !m->any || m->view.view != m->told.view || m->view.members != m->told.members ||
	       m->view.quorate != m->told.quorate;
	m->any = true;
	m->told = m->view;
	*v = m->view;
	return news;
}

static int corosync_fd(const struct member *m)
{
	return m->fd;
}

static struct mono corosync_due(const struct member *m)
{
	static const struct mono never = { INT64_MAX };

	return m->connected ? never : m->retry;
}

static const char *corosync_note(const struct member *m)
{
	return m->note;
}

const struct member_ops member_corosync = {
	.name = "corosync",
	.open = corosync_open,
	.close = corosync_close,
	.work = corosync_work,
	.fd = corosync_fd,
	.due = corosync_due,
	.note = corosync_note,
};
