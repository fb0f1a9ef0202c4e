// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * trace: trace-start and trace-stop. A thread of its own writes the file (src/guests/trace.c).
 * trace-stop is answered when the file is whole.
 */
#include <errno.h>
#include <string.h>

#include "src/control/methods_priv.h"

void put_trace(json_t *o, const char *key, const struct trace_view *v)
{
	json_t *t = v->path[0] ? json_object() : json_null();

	if (v->path[0]) {
		put_s(t, "file", v->path);
		put_b(t, "recording", v->records);
		put_b(t, "whole", v->whole);
		put_u(t, "ticks", v->ticks);
		put_u(t, "bytes", v->bytes);
		put_s(t, "ended", v->why);
	}
	json_object_set_new(o, key, t);
}

static int reply_of(struct call *c, json_t **result)
{
	*result = json_object();
	put_trace(*result, "trace", guests_trace(c->guests));
	return 0;
}

static int start_failed(struct call *c, const char *file, int rc)
{
	switch (rc) {
	case -EBUSY:
		return call_fail(c, RESEX_BUSY,
				 "a recording goes on, into %.200s: end it with resex "
				 "trace-stop",
				 guests_trace(c->guests)->path);
	case -EINVAL:
		return call_fail(c, RESEX_USAGE,
				 "file is \"%.200s\": give a whole path, from /, of "
				 "less than 4096 bytes",
				 file);
	case -EEXIST:
		return call_fail(c, RESEX_FAILURE, "%.200s exists: give the name of a new file",
				 file);
	case -EROFS:
		return call_fail(c, RESEX_FAILURE,
				 "%.200s is where resexd may not write: give a file "
				 "in /var/lib/resex",
				 file);
	default:
		return call_fail(c, RESEX_FAILURE, "%.200s cannot be made: %s: give another file",
				 file, strerror(-rc));
	}
}

int cmd_trace_start(struct call *c, const json_t *params, json_t **result)
{
	const char *file = json_string_value(json_object_get(params, "file"));
	int rc;

	if (!file)
		return call_fail(c, RESEX_USAGE,
				 "trace-start: give a new file, such as /var/lib/resex/a.trace");
	rc = guests_trace_start(c->guests, file, c->wall_ns);
	return rc ? start_failed(c, file, rc) : reply_of(c, result);
}

int cmd_trace_stop(struct call *c, const json_t *params, json_t **result)
{
	int rc = guests_trace_stop(c->guests, c->wall_ns);
	const struct trace_view *v = guests_trace(c->guests);

	(void)params;
	if (rc == -EAGAIN) {
		c->trace = true;
		return CALL_LATER;
	}
	if (rc && c->trace) /* it ended between two calls */
		rc = 0;
	c->trace = false;
	if (rc && !v->path[0])
		return call_fail(c, RESEX_FAILURE,
				 "nothing is recorded: begin with resex trace-start FILE");
	if (rc)
		return call_fail(
			c, RESEX_FAILURE,
			"nothing is recorded: %.200s ended before (%s): begin another with "
			"resex trace-start FILE",
			v->path, v->why);
	if (!v->whole)
		return call_fail(
			c, RESEX_FAILURE,
			"%.200s was not written to its end: %s: what it has can be replayed",
			v->path, v->why);
	return reply_of(c, result);
}
