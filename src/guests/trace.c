// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * trace: resex trace-start and trace-stop. A tape goes to the sampler (src/tick/tape.h), and a
 * thread writes what it records (src/trace/file.h). Both are freed once neither uses them.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/guests/guests_priv.h"
#include "src/tick/tape.h"
#include "src/trace/file.h"

#define TRACE_BYTES_MAX (1ull << 30)

static const char *const ends[TRACE_ENDS] = {
	[TRACE_STOPPED] = "trace-stop",
	[TRACE_CLOSED] = "resexd stopped",
	[TRACE_BEHIND] = "the disk was too slow for what is recorded",
	[TRACE_LARGE] = "the file has its largest size, 1 GiB",
};

/* All of it is written to here: a tick must not wait for pages. */
static struct tape *tape_new(void)
{
	struct tape *t = malloc(sizeof(*t));

	if (t)
		memset(t, 0, sizeof(*t));
	return t;
}

static size_t conf_record(const struct guests *gs, int64_t wall_ns, uint8_t *record, size_t size)
{
	struct tape_conf c = {
		.interval_ns = gs->conf->interval_ns,
		.epoch_ns = gs->conf->epoch_ns,
		.wall_ns = wall_ns,
		.observe = gs->observe,
		.simulated = gs->hv->simulated,
		.links = gs->conf->links,
		.version = PACKAGE_VERSION,
	};
	struct trace_out o = { record + TRACE_RECORD_HEAD, record + size, false };

	memcpy(c.link, gs->conf->link, c.links * sizeof(c.link[0]));
	tape_put_conf(&o, &c);
	record[0] = TRACE_CONF;
	trace_store32(record + 1, (uint32_t)(o.at - record) - TRACE_RECORD_HEAD);
	return (size_t)(o.at - record);
}

int guests_trace_start(struct guests *gs, const char *path, int64_t wall_ns)
{
	uint8_t record[4096];
	struct tape *t;
	int rc;

	if (gs->trace.tape)
		return -EBUSY;
	if (path[0] != '/' || strlen(path) >= TRACE_PATH_MAX)
		return -EINVAL;
	t = tape_new();
	if (!t)
		return -ENOMEM;
	rc = trace_file_open(&gs->trace.file, path, TRACE_BYTES_MAX,
			     &(struct trace_source){ &t->ring, &t->end, tape_encode, &t->encoder },
			     record, conf_record(gs, wall_ns, record, sizeof(record)));
	if (rc) {
		free(t);
		return rc;
	}
	gs->trace.tape = t;
	gs->trace.stops = false;
	gs->trace.view = (struct trace_view){ .records = true, .why = "" };
	snprintf(gs->trace.view.path, sizeof(gs->trace.view.path), "%s", path);
	atomic_store_explicit(&gs->ho->tape, t, memory_order_release);
	guests_event(gs, wall_ns, NULL, "trace", "recording begins: %.120s", path);
	return 0;
}

const struct trace_view *guests_trace(struct guests *gs)
{
	struct trace_view *v = &gs->trace.view;

	if (gs->trace.tape) {
		struct trace_file_view f = trace_file_view(gs->trace.file);

		v->ticks = f.ticks;
		v->bytes = f.bytes;
	}
	return v;
}

/* The file is done, and the sampler has put the tape down. */
static void end_trace(struct guests *gs, int64_t wall_ns)
{
	struct trace_view *v = &gs->trace.view;
	struct trace_file_view f = trace_file_view(gs->trace.file);

	guests_trace(gs);
	v->records = false;
	v->whole = !f.error;
	v->why = f.error ? strerror(f.error) : ends[f.end];
	trace_file_close(gs->trace.file);
	free(gs->trace.tape);
	gs->trace.file = NULL;
	gs->trace.tape = NULL;
	guests_event(gs, wall_ns, NULL, "trace", "recording ended (%s): %llu ticks, %.120s", v->why,
		     (unsigned long long)v->ticks, v->path);
}

/*
 * The sampler takes the tape back at the start of a tick: once two ticks ended since it was told
 * so, one of them began after that.
 */
static bool is_put_down(struct guests *gs)
{
	if (atomic_exchange(&gs->ho->tape, NULL))
		gs->trace.alive = atomic_load(&gs->ho->alive);
	return atomic_load(&gs->ho->alive) - gs->trace.alive >= 2;
}

/* One step towards the end, if it is due. True: nothing is recorded any more. */
static bool trace_turn(struct guests *gs, int64_t wall_ns)
{
	if (!gs->trace.tape)
		return true;
	if (!gs->trace.stops && !trace_file_view(gs->trace.file).done)
		return false;
	if (!is_put_down(gs))
		return false;
	trace_file_finish(gs->trace.file, TRACE_STOPPED);
	if (!trace_file_view(gs->trace.file).done)
		return false;
	end_trace(gs, wall_ns);
	return true;
}

int guests_trace_stop(struct guests *gs, int64_t wall_ns)
{
	if (!gs->trace.tape)
		return -ENOENT;
	gs->trace.stops = true;
	return trace_turn(gs, wall_ns) ? 0 : -EAGAIN;
}

void trace_second(struct guests *gs, int64_t wall_ns)
{
	trace_turn(gs, wall_ns);
}

void trace_close(struct guests *gs)
{
	if (!gs->trace.tape)
		return;
	atomic_store(&gs->ho->tape, NULL);
	trace_file_finish(gs->trace.file, TRACE_CLOSED);
	trace_file_close(gs->trace.file);
	free(gs->trace.tape);
	gs->trace.file = NULL;
	gs->trace.tape = NULL;
}
