/* SPDX-License-Identifier: GPL-2.0-or-later */
/* net: connections of TCP to ADDRESS:PORT, and one question with its answer. */
#ifndef RESEX_CACHELOAD_NET_H
#define RESEX_CACHELOAD_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "src/cacheload/http.h"

struct net_address {
	const char *text; /* ADDRESS:PORT */
	struct sockaddr_storage at;
	socklen_t len;
};

/* May ask the resolver. 0, or -EINVAL with a sentence in why. */
int net_resolve(const char *text, struct net_address *a, char *why, size_t size);

/* A socket that connects, or is connected; it never blocks unless block_ns says for how long. */
int net_connect(const struct net_address *a, int64_t block_ns);

/* GET path on a connection of its own. 0: r has an answer of any status; or -errno. */
int net_fetch(const struct net_address *a, const char *path, int64_t timeout_ns,
	      struct http_reader *r);

#endif
