// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * address: parse an IP address and a port, for the backends that have ports.
 *
 * Addresses are numeric: looking up a name would block.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "src/transport/backend.h"

static bool names_a_host(const struct sockaddr *a)
{
	struct sockaddr_in6 six;
	struct sockaddr_in four;

	if (a->sa_family == AF_INET) {
		memcpy(&four, a, sizeof(four));
		return ntohl(four.sin_addr.s_addr) != INADDR_ANY &&
		       !IN_MULTICAST(ntohl(four.sin_addr.s_addr)) &&
		       ntohl(four.sin_addr.s_addr) != INADDR_BROADCAST;
	}
	memcpy(&six, a, sizeof(six));
	/*
	 * IPv4 in IPv6 is refused: the same host would have two addresses, and front_known compares
	 * a caller's address as the socket gives it.
	 */
	return !IN6_IS_ADDR_UNSPECIFIED(&six.sin6_addr) && !IN6_IS_ADDR_MULTICAST(&six.sin6_addr) &&
	       !IN6_IS_ADDR_V4MAPPED(&six.sin6_addr);
}

int front_address(const char *text, uint16_t port, struct sockaddr_storage *a, socklen_t *len)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
				  .ai_socktype = SOCK_STREAM };
	struct addrinfo *list;
	struct in_addr four;
	char service[8];
	bool good;

	/* getaddrinfo would accept 127.1 and 0x7f000001 as well. */
	if (!port || (!strchr(text, ':') && inet_pton(AF_INET, text, &four) != 1))
		return -EINVAL;
	hints.ai_family = strchr(text, ':') ? AF_INET6 : AF_INET;
	snprintf(service, sizeof(service), "%u", port);
	if (getaddrinfo(text, service, &hints, &list))
		return -EINVAL;
	good = list->ai_addrlen <= sizeof(*a) && names_a_host(list->ai_addr);
	if (good) {
		memset(a, 0, sizeof(*a));
		memcpy(a, list->ai_addr, list->ai_addrlen);
		*len = list->ai_addrlen;
	}
	freeaddrinfo(list);
	return good ? 0 : -EINVAL;
}

void front_any_port(struct sockaddr_storage *a)
{
	if (a->ss_family == AF_INET6)
		((struct sockaddr_in6 *)a)->sin6_port = 0;
	else
		((struct sockaddr_in *)a)->sin_port = 0;
}

int front_address_check(const struct transport_peer *p)
{
	struct sockaddr_storage a;
	socklen_t len;

	return front_address(p->address, p->port, &a, &len);
}
