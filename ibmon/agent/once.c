// SPDX-License-Identifier: GPL-2.0-or-later
/* once: --once. Scan a few times, print the rings found, publish nothing. */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "ibmon/agent/agent.h"
#include "ibmon/agent/print.h"
#include "ibmon/agent/setup.h"
#include "ibmon/agent/track.h"
#include "src/util/clock.h"

enum { SCANS = 10 };

static void sink_nothing(void *ctx)
{
	(void)ctx;
}

/* A ring is "published" when it has an id: count them. */
static int sink_number(void *ctx, const struct track_ring *r, uint32_t *id)
{
	(void)r;
	*id = ++*(uint32_t *)ctx;
	return 0;
}

static void sink_forget(void *ctx, uint32_t id)
{
	(void)ctx;
	(void)id;
}

static void sink_unpublished(void *ctx, uint32_t queue_pairs)
{
	(void)ctx;
	(void)queue_pairs;
}

static int sink_join(void *ctx, pid_t pid)
{
	(void)ctx;
	(void)pid;
	return 0;
}

int agent_once(const struct options *o, const struct log *log)
{
	static const struct track_sink sink = { sink_nothing, sink_nothing,	sink_number,
						sink_forget,  sink_unpublished, sink_join };
	struct clock clock;
	struct track *t;
	uint32_t rings = 0;
	int rc = setup_may_look(log);

	if (rc)
		return rc;
	clock_real(&clock);
	rc = track_open(&t, &sink, &rings, log);
	if (rc)
		return setup_fail(log, "memory", rc, SETUP_FREE_MEMORY);
	track_list(t);
	track_look(t, UINT32_MAX);
	/* several scans: entries may prove kinds that are unknown at first */
	for (int i = 0; i < SCANS && (i == 0 || track_unknown(t)); i++) {
		struct mono now = clock.now(&clock);

		track_scan(t, now, true);
		if (track_unknown(t))
			clock.sleep_until(&clock, mono_add(now, o->scan_ms * NS_PER_MS));
	}
	if (o->json)
		print_json(stdout, t);
	else
		print_text(stdout, t);
	track_close(t);
	return 0;
}
