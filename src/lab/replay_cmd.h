/* SPDX-License-Identifier: GPL-2.0-or-later */
/* replay_cmd: resex-lab replay: its options, one or two replays, what is printed. */
#ifndef RESEX_LAB_REPLAY_CMD_H
#define RESEX_LAB_REPLAY_CMD_H

/* The exit code; what is wrong was printed. */
int replay_cmd(int argc, char **argv);

#endif
