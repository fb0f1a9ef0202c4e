/* SPDX-License-Identifier: GPL-2.0-or-later */
/* backends: the tables of the backends, for hv.c and for tests. Callers use hv_backend_find(). */
#ifndef RESEX_HV_BACKENDS_H
#define RESEX_HV_BACKENDS_H

#include "src/hv/hv.h"

extern const struct hv_backend hv_xen;
extern const struct hv_backend hv_sim;

#endif
