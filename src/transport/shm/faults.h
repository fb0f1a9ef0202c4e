/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * faults: faults of the network that only the backend "shm" can inject.
 *
 * All faults are made on the caller's side, and go by the time that the user passes. With a
 * simulated time and the same seed, a run repeats. An operation is executed in the first
 * poll at or after its time. A link behaves as a reliable queue pair: after a lost
 * operation nothing is executed any more; after a lost result no other result comes; delays
 * do not change the order.
 */
#ifndef RESEX_TRANSPORT_SHM_FAULTS_H
#define RESEX_TRANSPORT_SHM_FAULTS_H

#include "src/transport/transport.h"

struct shm_faults {
	uint64_t seed;
	int64_t out_min_ns, out_max_ns;	  /* from post to execution */
	int64_t back_min_ns, back_max_ns; /* from execution to result */
	uint32_t drop_permille;		  /* the request is lost: it is never executed */
	uint32_t drop_back_permille;	  /* executed, but the result is lost */
	/*
	 * An atomic is executed up to late_max_ns after its deadline, unless the responder
	 * has accepted a newer link of ours, or removed us, before that. Operations that are
	 * outstanding when their link ends for another reason are executed in the same way. A
	 * READ or a SEND that would be late is lost.
	 */
	uint32_t late_permille;
	int64_t late_max_ns;
	uint32_t tear_permille; /* of a READ, the second half is read when the result is due */
};

/* For operations posted from now on; all 0: no faults. -EINVAL: out of range, or not "shm". */
int transport_shm_faults(struct transport *t, const struct shm_faults *f);
/*
 * Cut our link to host, or heal it. Cut: calls fail, and operations and results are lost. No
 * end reports it: the deadlines pass. -EINVAL.
 */
int transport_shm_cut(struct transport *t, uint16_t host, bool cut);

#endif
