/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hook_exec: runs an operator's program on this host (hook.h).
 *
 *	want() -> checks of the file -> process in a group of its own -> poll() -> its exit
 *	deadline passes -> SIGTERM to the group -> 2 s -> SIGKILL -> 1 s -> failed all the same
 *
 * What the program gets:
 *
 *	arguments	as hook.h has them; names as cluster.json has them, so a name may begin with
 *			"-". No shell reads them.
 *	environment	PATH of the system's directories, and nothing else
 *	stdin		/dev/null
 *	stdout, stderr	a pipe. Of what it writes the last bytes are kept, for the note.
 *	others		no other descriptor; directory "/"; no signal blocked or ignored; no
 *			real-time priority, and a nice value of 0 or more; user, capabilities and
 *			umask of this process
 *
 * The program has ended when its process has. A child that it leaves behind is not waited for, and
 * what it writes then is an error to it (SIGPIPE): redirect its output. After the deadline the
 * children are killed, too, but those that began a group or session of their own (setsid).
 *
 * The program is refused if it is not a regular file, if it cannot be executed, or if another user
 * than root and this one could change it: by its owner and mode, or those of a directory above it.
 * The beginning of a program is read from its file system: one that hangs (NFS) stops the caller.
 *
 * close() sends SIGTERM, waits 50 ms at most, and sends SIGKILL. It returns when the process is
 * gone, at once as a rule; after a second it leaves it behind.
 */
#ifndef RESEX_RECONF_HOOK_EXEC_H
#define RESEX_RECONF_HOOK_EXEC_H

#include "src/reconf/hook.h"

extern const struct hook_ops hook_exec;

#endif
