/* SPDX-License-Identifier: GPL-2.0-or-later */
/* notify: tell systemd (NOTIFY_SOCKET) how we are; does nothing without it. */
#ifndef RESEX_ENGINE_NOTIFY_H
#define RESEX_ENGINE_NOTIFY_H

#include <stdint.h>

/* Send a state such as "READY=1". 0, -ENOTCONN without a socket, -errno. */
int notify(const char *state);

/* The watchdog's period in microseconds, 0 when there is none for this process. */
uint64_t notify_watchdog_us(void);

#endif
