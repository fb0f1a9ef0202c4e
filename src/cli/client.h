/* SPDX-License-Identifier: GPL-2.0-or-later */
/* client: one request to resexd over its socket, one reply (man resex-control). Blocks. */
#ifndef RESEX_CLI_CLIENT_H
#define RESEX_CLI_CLIENT_H

#include <jansson.h>
#include <stdbool.h>

struct client {
	int fd;
	const char *path; /* of the socket */
	int id;
	char error[640]; /* why a call failed, one sentence */
};

/* RESEX_OK, or RESEX_NO_DAEMON, RESEX_PERMISSION, ... with error filled. */
int client_open(struct client *c, const char *path);
void client_close(struct client *c);

/* The longest request resexd reads. */
enum { CLIENT_REQUEST_MAX = 65535 };

/* Is a request with these parameters short enough for resexd? */
bool client_fits(const char *method, json_t *params);

/* Takes params over (may be NULL). RESEX_OK and *result, or the exit code with error filled. */
int client_call(struct client *c, const char *method, json_t *params, json_t **result);

#endif
