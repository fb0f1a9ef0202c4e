/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * notify: messages to systemd, for a service of Type=notify: src/engine and resex-agent send
 * that they are ready and alive. Nothing is sent without NOTIFY_SOCKET.
 */
#ifndef RESEX_UTIL_NOTIFY_H
#define RESEX_UTIL_NOTIFY_H

#include <stddef.h>
#include <stdint.h>

/*
 * Send a datagram to the socket at path, "/..." or abstract, "@...", without waiting. 0, -EINVAL:
 * path is neither, or too long; or -errno of socket(2) and sendto(2).
 */
int notify_send(const char *path, const char *bytes, size_t len);

/* Send a state such as "READY=1". 0, -ENOTCONN without NOTIFY_SOCKET, or -errno. */
int notify_systemd(const char *state);

/* The period of the watchdog in microseconds; 0: this process has none. */
uint64_t notify_watchdog_us(void);

#endif
