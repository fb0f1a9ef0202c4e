/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * notify: messages to systemd, for a service of Type=notify: src/engine and resex-agent send
 * that they are ready and alive. Nothing is sent without NOTIFY_SOCKET.
 */
#ifndef RESEX_UTIL_NOTIFY_H
#define RESEX_UTIL_NOTIFY_H

#include <stdint.h>

/* Send a state such as "READY=1". 0, -ENOTCONN without NOTIFY_SOCKET, or -errno. */
int notify_systemd(const char *state);

/* The period of the watchdog in microseconds; 0: this process has none. */
uint64_t notify_watchdog_us(void);

#endif
