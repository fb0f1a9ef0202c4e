// SPDX-License-Identifier: GPL-2.0-or-later
/* top_link: requests and replies over a socket that does not block. See top_link.h. */
#include "src/cli/top_link.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "resex/exit.h"
#include "src/cli/client.h"

enum {
	REPLY_FIRST = 64 << 10,
	REPLY_MOST = 64 << 20, /* whatever listens at the socket: it must not take all memory */
};

void top_link_init(struct top_link *l, struct client *client)
{
	*l = (struct top_link){ .client = client };
}

void top_link_close(struct top_link *l)
{
	client_close(l->client);
	free(l->out);
	free(l->in);
	l->out = l->in = NULL;
	l->sent = l->out_len = l->n = l->size = 0;
}

/* A socket of this kind connects at once, or not at all: EAGAIN when resexd accepts nobody. */
int top_link_open(struct top_link *l)
{
	struct client *c = l->client;
	struct sockaddr_un a;

	l->rc = client_address(c, &a);
	if (l->rc)
		return -1;
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->fd >= 0 && !connect(c->fd, (struct sockaddr *)&a, sizeof(a))) {
		l->pid = client_peer(c);
		return 0;
	}
	if (errno == EAGAIN) {
		snprintf(c->error, sizeof(c->error), "%s at %s accepts no connection: it hangs",
			 c->daemon, c->path);
		l->rc = RESEX_NO_DAEMON;
	} else {
		l->rc = client_unreachable(c);
	}
	top_link_close(l);
	return -1;
}

static enum top_link_event lost(struct top_link *l)
{
	l->rc = l->in && client_is_other(l->in, l->n, true) ? client_other(l->client)
							    : client_closed(l->client);
	top_link_close(l);
	return TOP_LINK_LOST;
}

/* An error is seen by the read that follows: resexd may have sent why it closes. */
static void send_some(struct top_link *l)
{
	ssize_t w;

	while (l->sent < l->out_len) {
		w = send(l->client->fd, l->out + l->sent, l->out_len - l->sent, MSG_NOSIGNAL);
		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0 && errno == EAGAIN)
			return;
		if (w <= 0)
			break;
		l->sent += (size_t)w;
	}
	free(l->out);
	l->out = NULL;
	l->sent = l->out_len = 0;
}

int top_link_send(struct top_link *l, const char *method, json_t *params)
{
	char *line = client_line(++l->client->id, method, params ? params : json_object());

	if (!line) {
		lost(l);
		return -1;
	}
	free(l->out);
	l->out = line;
	l->sent = 0;
	l->out_len = strlen(line);
	send_some(l);
	return 0;
}

bool top_link_is_full(const struct top_link *l)
{
	return l->out;
}

/* Room for more, and a NUL behind it. */
static int make_room(struct top_link *l)
{
	size_t size = l->size ? 2 * l->size : REPLY_FIRST;
	char *bigger;

	if (l->size - l->n > 1)
		return 0;
	if (size > REPLY_MOST)
		return -ENOMEM;
	bigger = realloc(l->in, size);
	if (!bigger)
		return -ENOMEM;
	l->in = bigger;
	l->size = size;
	return 0;
}

static enum top_link_event take_line(struct top_link *l, json_t **result)
{
	l->in[l->n] = 0;
	l->n = 0;
	l->client->error[0] = 0;
	l->rc = client_result(l->client, l->in, result);
	return l->rc ? TOP_LINK_REFUSED : TOP_LINK_REPLY;
}

/* There is one request at a time, so a newline ends what came. */
enum top_link_event top_link_turn(struct top_link *l, json_t **result)
{
	ssize_t r;

	if (l->out)
		send_some(l);
	for (;;) {
		if (make_room(l))
			return lost(l);
		r = recv(l->client->fd, l->in + l->n, l->size - l->n - 1, 0);
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0 && errno == EAGAIN)
			return TOP_LINK_NOTHING;
		if (r <= 0)
			return lost(l);
		l->n += (size_t)r;
		if (client_is_other(l->in, l->n, true))
			return lost(l);
		if (l->in[l->n - 1] == '\n')
			return take_line(l, result);
	}
}
