/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * queue_memory: where the provider keeps the queues of a queue pair. For preload.c.
 */
#ifndef RESEX_RINGS_QUEUE_MEMORY_H
#define RESEX_RINGS_QUEUE_MEMORY_H

#include <infiniband/verbs.h>
#include <stdbool.h>

#include "resex/queue_table.h"

enum { RINGS_MLX5 = 1 << 0, RINGS_RXE = 1 << 1, RINGS_MLX4 = 1 << 2 };

/* The words of RESEX_RINGS: a set of RINGS_*; -1: it has another word, which *bad, *len name. */
int queue_memory_providers(const char *text, const char **bad, int *len);

/*
 * Entries of a send queue and of a completion queue, if the provider is one of the set. Neither
 * changes the object. path_mtu: bytes, or 0. False: it is not to be listed.
 */
bool queue_memory_qp(int providers, struct ibv_qp *qp, uint32_t path_mtu, struct queue_entry *e);
bool queue_memory_cq(int providers, struct ibv_cq *cq, struct queue_entry *e);

#endif
