/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * balancer: from a service's load records and readings of its HAProxy to what reconf/balance.h
 * decides by. Pure.
 *
 *	records, with age ----------------------+-> struct balance_node -> balance_decide
 *	HAProxy: under way, served -> history --+
 *	                       served, CPU time -> cost -> service time
 *
 * Own requests that the record does not hold. A record shows its node as it was when it was
 * sampled; the requests that this HAProxy has sent there since are not in it. So they are counted
 * as
 *
 *	min(under way now, served now - served then)
 *
 * of the server; "served" counts a request when it is sent. The first is too much for an old
 * request: it was under way when the record was sampled. The second is too much for a short one
 * that began and ended since. The smaller of both is exact when requests end in the order in which
 * they began, and else at most too large. "Then" lies between two readings: the value there is
 * interpolated, so that requests which come evenly are counted right in the mean. Before the first
 * reading it is not known, and all that are under way count.
 *
 * Service time. Over an interval in which a server got 100 requests or more, a second at least, a
 * request costs about the CPU time that the node used / the requests that it was sent. Other work
 * on a node makes that too large, and the coarse clock of a kernel makes a small one wrong: so the
 * interval lasts until the node has used 100 ms, or a minute; and of all nodes the median counts,
 * of two in the middle the smaller one. A service time that is too small makes loads look older,
 * and weights more equal.
 */
#ifndef RESEX_CLUSTER_BALANCER_H
#define RESEX_CLUSTER_BALANCER_H

#include "resex/load_abi.h"
#include "src/core/units.h"
#include "src/reconf/balance.h"

enum { BALANCER_READINGS = 16 };

/* Requests that each server was sent, in all, at the newest readings. Zeros: no readings. */
struct balancer_history {
	uint32_t readings; /* in all */
	struct mono at[BALANCER_READINGS];
	uint64_t served[BALANCER_READINGS][BALANCE_NODES_MAX];
};

/* A reading that began at this time. The caller fills served[] of the place returned. */
uint64_t *balancer_reading(struct balancer_history *h, struct mono at);
/*
 * Own requests that a record sampled at this time does not hold: of so many that were under way at
 * the newest reading.
 */
uint32_t balancer_own(const struct balancer_history *h, uint32_t server, uint32_t under_way,
		      struct mono sampled);

/* What a request costs at one node. Zeros: not known. */
struct balancer_cost {
	struct {
		uint32_t source, cpus;
		int64_t sampled_ns;
		uint64_t cpu_ns, served;
	} base;	    /* the interval's beginning */
	int64_t ns; /* of a request, in the newest whole interval; 0: there was none */
};

/* The node's newest record, and what its server was sent. */
void balancer_cost_add(struct balancer_cost *c, const struct load_record *r, uint64_t served);
/* The service time by n nodes; 0: not known. 1 us .. 10 s. */
int64_t balancer_service_ns(const struct balancer_cost *c, uint32_t n);

/*
 * A node as balance_decide() takes it. r NULL, or index < 0: nothing is known of its load. A guest
 * says what it likes of its tasks, so of a guest they count as no fewer than the CPUs that it used.
 */
struct balance_node balancer_node(const struct load_record *r, bool guest, int index,
				  int64_t age_ns, uint32_t own);

#endif
