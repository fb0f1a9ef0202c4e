/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * act_haproxy: weights and states of servers, set in a running HAProxy by its Runtime API
 * (HAProxy's management guide, section 9.3), over one kept connection to its socket.
 *
 *	balance -> weights -> put() -> "set server B/S weight N"
 *	move    -> wants   ->          "set server B/S state ready", "drain", "maint"
 *	read() -> "show info", "show servers state B", "show stat" -> struct act_server
 *
 * One backend each. Nothing blocks: the caller waits for fd() or the time that
 * work() returned. What HAProxy answers is hostile input: parsed to the word
 * (haproxy_text.h), bounded, and refused with a sentence. A connection that fails is made again
 * with a growing pause; the caller learns it by see(), and the next turn reads and sets all
 * again, since a restarted HAProxy has its configured weights and states.
 *
 * Traps (2.6.12):
 * - After a reload the kept connection still leads to the old process, which answers, and takes
 *   weights, for as long as the connection stands. "show info" says "Stopping: 1" there: closed.
 * - "show stat NAME" means the frontend, if one has the name of the backend: the backend's number
 *   is used, as "show servers state" gives it.
 * - A server that was configured as "disabled" is read as ACT_OUT, and is made to serve as any.
 * - A server that tracks another one has its state too: "ready" does not end what is inherited.
 * - Commands go a line each: in one line, with ";", four take four times as long.
 */
#ifndef RESEX_RECONF_ACT_HAPROXY_H
#define RESEX_RECONF_ACT_HAPROXY_H

#include "src/reconf/act.h"

extern const struct act_ops act_haproxy;

#endif
