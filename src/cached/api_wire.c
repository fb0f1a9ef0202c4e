// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * api_wire: what a connection holds, and refusals of evhttp itself.
 *
 * evhttp bounds the body of each request, not the sum. So all bytes that come are counted, until
 * their request is read to its end. When there are too many, api.c is called in the next turn of
 * the loop, and refuses.
 *
 * Bytes that are not HTTP, or a header that is too long, never become a request: evhttp answers
 * them with a page in HTML, and has no hook to say something else (evhttp_set_errorcb came with
 * libevent 2.2). So this file looks at what is put into a connection's output. What comes while no
 * request is served (api_conn.served) is evhttp's: it is taken out again, and the sentence is put
 * there. "100 Continue" stays.
 */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "src/cached/api_priv.h"

/* --- what evhttp says --------------------------------------------------------- */

struct words {
	int code;
	const char *reason, *why, *text;
};

_Static_assert(API_HEADERS_MAX == 16 << 10 && API_BODY_MAX == 2 << 20, "the sentences say so");

static const struct words *words_of(int code)
{
	static const struct words words[] = {
		{ 413, "Payload Too Large", "too_long",
		  "the request is too long: headers have at most 16 KiB, a body 2 MiB and no "
		  "chunks" },
		{ 417, "Expectation Failed", "http",
		  "Expect is served with 100-continue alone: leave it out" },
		{ 501, "Not Implemented", "method",
		  "no path is served with this method: use GET, POST or DELETE" },
		{ 400, "Bad Request", "http",
		  "this is no HTTP request: send METHOD PATH HTTP/1.1, headers NAME: VALUE, at "
		  "most "
		  "16 KiB, and an empty line" },
	};
	size_t i = 0;

	while (words[i].code != 400 && words[i].code != code)
		i++;
	return &words[i];
}

static void put_sentence(struct evbuffer *out, int code)
{
	const struct words *w = words_of(code);

	evbuffer_add_printf(out,
			    "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\n"
			    "Content-Length: %zu\r\nConnection: close\r\n\r\n"
			    "{\"error\":\"%s\",\"why\":\"%s\"}",
			    w->code, w->reason,
			    strlen("{\"error\":\"\",\"why\":\"\"}") + strlen(w->text) +
				    strlen(w->why),
			    w->text, w->why);
}

/* The status of a reply that begins at from; 0: none does. A frozen front cannot be read, too. */
static int status_at(struct evbuffer *out, size_t from)
{
	struct evbuffer_ptr at;
	char line[32] = "";

	evbuffer_unfreeze(out, 1);
	if (!evbuffer_ptr_set(out, &at, from, EVBUFFER_PTR_SET))
		evbuffer_copyout_from(out, &at, line, sizeof(line) - 1);
	evbuffer_freeze(out, 1);
	/* "HTTP/1.1 400 Bad Request" */
	return !strncmp(line, "HTTP/", 5) && line[8] == ' ' ? (int)strtol(line + 9, NULL, 10) : 0;
}

/* Takes away all behind the first bytes. The front of an output is frozen but while it is sent. */
static void cut(struct evbuffer *out, size_t first)
{
	struct evbuffer *kept = evbuffer_new();

	evbuffer_unfreeze(out, 1);
	if (kept && first)
		evbuffer_remove_buffer(out, kept, first);
	evbuffer_drain(out, evbuffer_get_length(out));
	if (kept) {
		evbuffer_add_buffer(out, kept);
		evbuffer_free(kept);
	}
	evbuffer_freeze(out, 1);
}

/* evhttp puts a page there piece by piece, the line with its status first. */
static void on_output(struct evbuffer *out, const struct evbuffer_cb_info *info, void *arg)
{
	struct api_conn *k = arg;
	int code;

	if (info->n_deleted && !evbuffer_get_length(out) && !k->call)
		k->served = false; /* its reply is sent */
	if (!info->n_added || k->served || k->mends)
		return;
	code = k->refused ? 0 : status_at(out, info->orig_size);
	if (code == 100)
		return;
	k->mends = true;
	cut(out, info->orig_size);
	if (!k->refused)
		put_sentence(out, code);
	k->mends = false;
	k->refused = true;
}

/* --- what is held --------------------------------------------------------- */

static void hold(struct api_conn *k, size_t bytes)
{
	k->a->held += bytes - k->held;
	k->held = bytes;
}

bool api_wire_excess(const struct api_conn *k)
{
	if (k->held <= API_HEADERS_MAX)
		return false;
	return k->a->held > API_BODIES_MAX || !api_may_write(k);
}

void api_wire_is_read(struct api_conn *k)
{
	hold(k, evbuffer_get_length(bufferevent_get_input(k->bev)));
}

static void on_input(struct evbuffer *in, const struct evbuffer_cb_info *info, void *arg)
{
	struct api_conn *k = arg;

	(void)in;
	if (!info->n_added)
		return;
	hold(k, k->held + info->n_added);
	if (k->grew || !api_wire_excess(k))
		return;
	k->grew = true;
	event_active(k->a->came, EV_TIMEOUT, 0);
}

/* --- the whole --------------------------------------------------------- */

bool api_wire_watch(struct api_conn *k)
{
	return evbuffer_add_cb(bufferevent_get_output(k->bev), on_output, k) &&
	       evbuffer_add_cb(bufferevent_get_input(k->bev), on_input, k);
}

void api_wire_forget(struct api_conn *k)
{
	hold(k, 0);
	evbuffer_remove_cb(bufferevent_get_input(k->bev), on_input, k);
	evbuffer_remove_cb(bufferevent_get_output(k->bev), on_output, k);
}
