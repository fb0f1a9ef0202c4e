// SPDX-License-Identifier: GPL-2.0-or-later
/* fake_quorum: libquorum's functions, over what the test queued. See fake_quorum.h. */
#include "tests/fakes/fake_quorum.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fake_quorum fake_quorum;

static quorum_model_v1_data_t callbacks;
static void *context;

void fake_quorum_reset(void)
{
	memset(&fake_quorum, 0, sizeof(fake_quorum));
	fake_quorum.refuses = CS_OK;
	fake_quorum.track = CS_OK;
	fake_quorum.type = QUORUM_SET;
}

static struct fake_report *queue_report(uint32_t rep, uint64_t seq, const uint32_t *nodes)
{
	struct fake_report *t = &fake_quorum.reported[fake_quorum.n++];

	if (fake_quorum.n > FAKE_QUORUM_REPORTS_MAX)
		abort();
	*t = (struct fake_report){ .id = { rep, seq } };
	while (nodes[t->n]) {
		t->node[t->n] = nodes[t->n];
		t->n++;
	}
	return t;
}

void fake_quorum_ring(uint32_t rep, uint64_t seq, const uint32_t *nodes)
{
	queue_report(rep, seq, nodes)->ring = true;
}

void fake_quorum_vote(uint32_t rep, uint64_t seq, const uint32_t *nodes, bool quorate)
{
	queue_report(rep, seq, nodes)->quorate = quorate;
}

void fake_quorum_die(void)
{
	fake_quorum.refuses = CS_ERR_LIBRARY;
}

cs_error_t quorum_model_initialize(quorum_handle_t *handle, quorum_model_t model,
				   quorum_model_data_t *data, uint32_t *type, void *ctx)
{
	if (fake_quorum.connected || model != QUORUM_MODEL_V1)
		abort();
	fake_quorum.connects++;
	while (atomic_load(&fake_quorum.hangs))
		usleep(1000);
	if (fake_quorum.refuses != CS_OK)
		return fake_quorum.refuses;
	memcpy(&callbacks, data, sizeof(callbacks));
	context = ctx;
	*handle = 7;
	*type = fake_quorum.type;
	fake_quorum.connected = true;
	fake_quorum.tracked = false;
	return CS_OK;
}

cs_error_t quorum_finalize(quorum_handle_t handle)
{
	if (!fake_quorum.connected || handle != 7)
		abort();
	fake_quorum.connected = false;
	fake_quorum.finalizes++;
	return CS_OK;
}

cs_error_t quorum_fd_get(quorum_handle_t handle, int *fd)
{
	(void)handle;
	*fd = 42;
	return fake_quorum.refuses;
}

cs_error_t quorum_trackstart(quorum_handle_t handle, unsigned int flags)
{
	(void)handle;
	if (!(flags & CS_TRACK_CURRENT) || !(flags & CS_TRACK_CHANGES))
		abort();
	fake_quorum.tracked = fake_quorum.track == CS_OK;
	return fake_quorum.track;
}

cs_error_t quorum_context_get(quorum_handle_t handle, const void **ctx)
{
	(void)handle;
	*ctx = context;
	return CS_OK;
}

cs_error_t quorum_dispatch(quorum_handle_t handle, cs_dispatch_flags_t flags)
{
	if (!fake_quorum.connected || !fake_quorum.tracked || flags != CS_DISPATCH_ALL)
		abort();
	if (fake_quorum.refuses != CS_OK)
		return fake_quorum.refuses;
	for (uint32_t i = 0; i < fake_quorum.n; i++) {
		const struct fake_report *t = &fake_quorum.reported[i];

		if (t->ring)
			callbacks.nodelist_notify_fn(handle, t->id, t->n, t->node, 0, NULL, 0,
						     NULL);
		else
			callbacks.quorum_notify_fn(handle, t->quorate, t->id, t->n, t->node);
	}
	fake_quorum.n = 0;
	return CS_OK;
}
