/* SPDX-License-Identifier: GPL-2.0-or-later */
/* notify: systemd's readiness protocol (sd_notify(3)); nothing where NOTIFY_SOCKET is not set. */
#ifndef RESEX_AGENT_NOTIFY_H
#define RESEX_AGENT_NOTIFY_H

void notify_ready(void);
void notify_alive(void); /* for the watchdog */
void notify_stopping(void);

#endif
