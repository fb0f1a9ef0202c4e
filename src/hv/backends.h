/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The backends themselves: for hv.c and for tests, not for callers. */
#ifndef RESEX_HV_BACKENDS_H
#define RESEX_HV_BACKENDS_H

#include "src/hv/hv.h"

extern const struct hv_backend hv_xen;
extern const struct hv_backend hv_sim;

#endif
