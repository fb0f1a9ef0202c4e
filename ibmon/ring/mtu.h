/* SPDX-License-Identifier: GPL-2.0-or-later */
/* mtu: from the samples of queue pairs to the usage of their guest. Pure. */
#ifndef RESEX_IBMON_RING_MTU_H
#define RESEX_IBMON_RING_MTU_H

#include <stddef.h>

#include "src/core/flow.h"

/* MTUs of one message: max(1, ceil(bytes / path_mtu)); path_mtu 0 counts as 1024. */
uint64_t mtu_of(uint64_t bytes, uint32_t path_mtu);

/*
 * Add one sample to its guest's usage, unless it is SAMPLE_UNCHARGED. The caller
 * sets cpu_ns and link. Sums saturate.
 */
void mtu_add(struct usage *u, const struct sample *s);

#endif
