/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * client: one request to resexd over its socket, one reply (man resex-control). Blocks. The socket
 * may be that of resex-cached, too: then the requests are those of http.h.
 */
#ifndef RESEX_CLI_CLIENT_H
#define RESEX_CLI_CLIENT_H

#include <jansson.h>
#include <sys/types.h>
#include <stdbool.h>

struct client {
	int fd;
	const char *path;   /* of the socket */
	const char *daemon; /* its name */
	int timeout_s;	    /* how long an answer is waited for; 0: 30 s */
	int id;
	char error[640]; /* why a call failed, one sentence */
};

/* RESEX_OK, or RESEX_NO_DAEMON, RESEX_PERMISSION, ... with error filled. */
int client_open(struct client *c, const char *path, const char *daemon);
void client_close(struct client *c);
/* Whose socket it is: 0 if the kernel cannot say it here, as of a process in another container. */
pid_t client_peer(const struct client *c);

/* The longest request resexd reads. */
enum { CLIENT_REQUEST_MAX = 65535 };

/* Is a request with these parameters short enough for resexd? */
bool client_fits(const char *method, json_t *params);

/* For http.c. Send all; an error is seen by the read that follows. */
void client_send(int fd, const char *p, size_t n);
/*
 * A whole line, or all until the end of the stream; or what has come, once client_is_other(). To be
 * freed, with a NUL behind it. NULL with
 * errno, which is 0 if the stream ended. There is one request at a time, so nothing follows a line:
 * a newline at the end of the buffer ends it.
 */
char *client_read(int fd, bool line, size_t *len);
/* Fill error. Return the exit code. */
int client_closed(struct client *c);
/* The reply is of the other daemon: of resex-cached if a line is awaited, else of resexd. */
int client_other(struct client *c);
/* Does the begin of a reply show that? */
bool client_is_other(const char *reply, size_t n, bool line);
int client_timed_out(struct client *c);

/*
 * For top_link.c, which does not wait. The address of path: RESEX_OK, or RESEX_USAGE with error.
 */
struct sockaddr_un;
int client_address(struct client *c, struct sockaddr_un *a);
/* connect(2) failed with errno: fill error. Returns the exit code. */
int client_unreachable(struct client *c);
/*
 * A request as a line, which is sent at once: a part of it would wake resexd, too. Takes params
 * over. To be freed; NULL: no memory.
 */
char *client_line(int id, const char *method, json_t *params);
/* What the line of a reply says: as client_call. */
int client_result(struct client *c, const char *line, json_t **result);

/* Takes params over (may be NULL). RESEX_OK and *result, or the exit code with error filled. */
int client_call(struct client *c, const char *method, json_t *params, json_t **result);

#endif
