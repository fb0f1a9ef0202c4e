// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * client: JSON-RPC over resexd's UNIX socket: one line there, one line back. Each error becomes
 * one sentence for the user and an exit code, with what to do next. See client.h.
 */
#ifdef HAVE_CONFIG_H
#include "config.h" /* struct ucred */
#endif
#include "src/cli/client.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "resex/exit.h"

enum {
	REPLY_MAX = 64 << 20, /* whatever listens at the socket: it must not take all memory */
	REPLY_TIMEOUT_S = 30, /* resexd itself waits for 10 s at most, and then says so */
};

static int timeout_of(const struct client *c)
{
	return c->timeout_s ? c->timeout_s : REPLY_TIMEOUT_S;
}

/* resexd may still carry out the request: the sentence does not say that it failed. */
int client_timed_out(struct client *c)
{
	snprintf(c->error, sizeof(c->error),
		 "%s at %s did not answer within %d s: see its log, and restart it if it hangs",
		 c->daemon, c->path, timeout_of(c));
	return RESEX_NO_DAEMON;
}

int client_address(struct client *c, struct sockaddr_un *a)
{
	*a = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(c->path) >= sizeof(a->sun_path)) {
		snprintf(c->error, sizeof(c->error), "socket path \"%.100s...\" is too long",
			 c->path);
		return RESEX_USAGE;
	}
	strcpy(a->sun_path, c->path);
	return RESEX_OK;
}

/* ". Your trial: resex -s SOCKET" if this user's resexd --hv sim listens (src/conf/trial.h); "". */
static void name_trial(const struct client *c, char *out, size_t size)
{
	const char *run = getenv("XDG_RUNTIME_DIR");
	char path[128];
	struct stat st;

	out[0] = 0;
	if (run && *run == '/')
		snprintf(path, sizeof(path), "%.100s/resex/resexd.sock", run);
	else
		snprintf(path, sizeof(path), "/tmp/resex-%u/resexd.sock", geteuid());
	if (!strcmp(c->daemon, "resexd") && !stat(path, &st) && S_ISSOCK(st.st_mode) &&
	    st.st_uid == geteuid())
		snprintf(out, size, ". Your trial: resex -s %s", path);
}

/* systemd starts the one of the host; a trial, or a second one, has a socket elsewhere. */
static int cannot_reach(struct client *c, int why)
{
	const char *remedy = "Start it with the configuration that has this socket";
	char start[256], trial[192];

	name_trial(c, trial, sizeof(trial));
	snprintf(start, sizeof(start), "Try: systemctl start %.32s%s", c->daemon, trial);
	if (!strncmp(c->path, RESEX_RUNDIR "/", sizeof(RESEX_RUNDIR)) ||
	    !strncmp(c->path, RESEX_RUNDIR "-", sizeof(RESEX_RUNDIR)))
		remedy = start;
	else if (!strcmp(c->daemon, "resexd"))
		remedy = "Start it with the configuration that has this socket; of a trial: "
			 "resexd --hv sim";
	snprintf(c->error, sizeof(c->error), "cannot reach %s at %s (%s). Is it running? %s",
		 c->daemon, c->path, strerror(why), remedy);
	return RESEX_NO_DAEMON;
}

/*
 * The group that may connect, if it is not root's. The folder of the socket may hide it; a group
 * without a name has its number.
 */
static void name_group(const char *path, char *out, size_t size)
{
	struct group *g;
	struct stat st;

	if (stat(path, &st)) {
		snprintf(out, size, "or join the group that may");
		return;
	}
	if (!(st.st_mode & S_IWGRP) || !st.st_gid) {
		snprintf(out, size, "or let a group ask: socket_group in its configuration");
		return;
	}
	g = getgrgid(st.st_gid);
	if (g)
		snprintf(out, size, "or join the group %.64s", g->gr_name);
	else
		snprintf(out, size, "or join the group %u", st.st_gid);
}

int client_unreachable(struct client *c)
{
	char group[128];

	if (errno != EACCES && errno != EPERM)
		return cannot_reach(c, errno);
	name_group(c->path, group, sizeof(group));
	snprintf(c->error, sizeof(c->error), "no permission to speak to %s at %s: run as root, %s",
		 c->daemon, c->path, group);
	return RESEX_PERMISSION;
}

/* path and daemon are kept, not copied: they are named in later errors. */
int client_open(struct client *c, const char *path, const char *daemon)
{
	const struct timeval tv = { .tv_sec = timeout_of(c) };
	struct sockaddr_un a;
	int rc;

	c->path = path;
	c->daemon = daemon;
	c->id = 0;
	c->fd = -1;
	rc = client_address(c, &a);
	if (rc)
		return rc;
	/* Before connect(2), which waits, too: a hung resexd accepts no connection. */
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd >= 0) {
		setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
		setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	}
	if (c->fd >= 0 && !connect(c->fd, (struct sockaddr *)&a, sizeof(a)))
		return RESEX_OK;
	if (errno == EAGAIN) /* the time limit of a socket that blocks */
		return client_timed_out(c);
	return client_unreachable(c);
}

pid_t client_peer(const struct client *c)
{
	struct ucred who;
	socklen_t n = sizeof(who);

	return getsockopt(c->fd, SOL_SOCKET, SO_PEERCRED, &who, &n) ? 0 : who.pid;
}

void client_close(struct client *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}

/* By a limit of resexd (resex-control(7)), or as it ended: its log says which. */
int client_closed(struct client *c)
{
	snprintf(c->error, sizeof(c->error), "%s at %s closed the connection: see its log",
		 c->daemon, c->path);
	return RESEX_NO_DAEMON;
}

bool client_is_other(const char *reply, size_t n, bool line)
{
	return line ? n >= 5 && !memcmp(reply, "HTTP/", 5) : n && *reply == '{';
}

int client_other(struct client *c)
{
	bool cached = !strcmp(c->daemon, "resex-cached");

	snprintf(c->error, sizeof(c->error),
		 "%s is the socket of %s, and this verb asks %s: leave -s out, or give the socket "
		 "of %s (default %s)",
		 c->path, cached ? "resexd" : "resex-cached", c->daemon, c->daemon,
		 cached ? RESEX_RUNDIR "-cached/api.sock" : RESEX_RUNDIR "/resexd.sock");
	return RESEX_USAGE;
}

/* MSG_NOSIGNAL: a connection that resexd closed is an error to print, not a SIGPIPE. */
void client_send(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t w = send(fd, p, n, MSG_NOSIGNAL);

		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0)
			return;
		p += w;
		n -= (size_t)w;
	}
}

char *client_read(int fd, bool line, size_t *len)
{
	size_t size = 65536, n = 0;
	char *buf = malloc(size), *bigger;
	int why = 0;

	while (buf) {
		ssize_t r = recv(fd, buf + n, size - n - 1, 0);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			why = errno;
		if (!line && !r && n) {
			buf[n] = 0;
			*len = n;
			return buf;
		}
		if (r <= 0 || n + (size_t)r > REPLY_MAX)
			break;
		n += (size_t)r;
		if ((line && buf[n - 1] == '\n') || client_is_other(buf, n, line)) {
			buf[n] = 0;
			*len = n;
			return buf;
		}
		if (size - n > 1)
			continue;
		size *= 2;
		bigger = realloc(buf, size);
		if (!bigger)
			break;
		buf = bigger;
	}
	free(buf); /* which may change errno */
	errno = why;
	return NULL;
}

/*
 * Error codes of resexd hold our exit codes (src/control/proto.h), so that resexd, which knows the
 * cause, decides on both. The other codes are JSON-RPC's own.
 */
static int error_of_reply(struct client *c, const json_t *err)
{
	json_int_t code = json_integer_value(json_object_get(err, "code"));
	const char *text = json_string_value(json_object_get(err, "message"));

	snprintf(c->error, sizeof(c->error), "%s", text ? text : "an error without a message");
	if (code <= -32001 && code >= -32099)
		return (int)(-32000 - code);
	return code == -32601 || code == -32602 ? RESEX_USAGE : RESEX_FAILURE;
}

char *client_line(int id, const char *method, json_t *params)
{
	json_t *req = json_pack("{s:s,s:i,s:s,s:o}", "jsonrpc", "2.0", "id", id, "method", method,
				"params", params);
	char *text = req ? json_dumps(req, JSON_COMPACT) : NULL;
	size_t n = text ? strlen(text) : 0;
	char *line = text ? realloc(text, n + 2) : NULL;

	json_decref(req);
	if (line)
		memcpy(line + n, "\n", 2);
	else
		free(text);
	return line;
}

/* With the longest id: the answer holds for each request of a connection. */
bool client_fits(const char *method, json_t *params)
{
	char *text = client_line(INT_MAX, method, json_incref(params));
	bool fits = text && strlen(text) <= CLIENT_REQUEST_MAX + 1;

	free(text);
	return fits;
}

/* A reply that is not JSON, or has neither member, is not resexd's: read it as no reply. */
int client_result(struct client *c, const char *line, json_t **result)
{
	json_t *rep = json_loads(line, 0, NULL);
	int rc;

	if (client_is_other(line, strlen(line), true)) {
		rc = client_other(c);
	} else if (json_object_get(rep, "error")) {
		rc = error_of_reply(c, json_object_get(rep, "error"));
	} else {
		*result = json_incref(json_object_get(rep, "result"));
		rc = *result ? RESEX_OK : client_closed(c);
	}
	json_decref(rep);
	return rc;
}

int client_call(struct client *c, const char *method, json_t *params, json_t **result)
{
	char *text = client_line(++c->id, method, params ? params : json_object()), *line;
	size_t len;
	int rc;

	if (!text || strlen(text) > CLIENT_REQUEST_MAX + 1) {
		snprintf(c->error, sizeof(c->error), "the request is over %d bytes long",
			 CLIENT_REQUEST_MAX);
		free(text);
		return RESEX_USAGE;
	}
	/* When sending fails, resexd may have closed the connection with an error to read. */
	client_send(c->fd, text, strlen(text));
	free(text);
	line = client_read(c->fd, true, &len);
	if (line)
		rc = client_result(c, line, result);
	else
		rc = errno == EAGAIN ? client_timed_out(c) : client_closed(c);
	free(line);
	return rc;
}
