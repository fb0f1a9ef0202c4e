/* SPDX-License-Identifier: GPL-2.0-or-later */
/* figures_cmd: "resex-lab figures"; main.c calls it. */
#ifndef RESEX_LAB_FIGURES_CMD_H
#define RESEX_LAB_FIGURES_CMD_H

/* The experiment; its exit code. */
int figures_cmd(int argc, char **argv);

#endif
