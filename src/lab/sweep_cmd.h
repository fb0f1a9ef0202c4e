/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sweep_cmd: "resex-lab sweep"; main.c calls it. */
#ifndef RESEX_LAB_SWEEP_CMD_H
#define RESEX_LAB_SWEEP_CMD_H

/* The experiment; its exit code. */
int sweep_cmd(int argc, char **argv);

#endif
