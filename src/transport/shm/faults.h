/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * faults: what only the backend "shm" can do: a network that fails.
 *
 * All of it is on the caller's side and by the time that the user passes: with a
 * simulated time and the same seed, a run repeats. An operation is executed in
 * the first poll at or after its time. A link behaves as a reliable queue pair:
 * behind an operation that was lost nothing is executed any more, behind a result
 * that was lost no other comes, and order is kept whatever the delays.
 */
#ifndef RESEX_TRANSPORT_SHM_FAULTS_H
#define RESEX_TRANSPORT_SHM_FAULTS_H

#include "src/transport/transport.h"

struct shm_faults {
	uint64_t seed;
	int64_t out_min_ns, out_max_ns;	  /* from post to execution */
	int64_t back_min_ns, back_max_ns; /* from execution to result */
	uint32_t drop_permille;		  /* the request is lost: not executed, ever */
	uint32_t drop_back_permille;	  /* executed, but the result is lost */
	/*
	 * An atomic is executed after its deadline, by late_max_ns at most, unless
	 * the responder has accepted a newer link of ours, or removed us, before. What
	 * is under way when its link ends for another reason is executed in the same
	 * way. A READ or a SEND that would be late is lost.
	 */
	uint32_t late_permille;
	int64_t late_max_ns;
	uint32_t tear_permille; /* of a READ, the second half is read when the result is due */
};

/* From now on, for what is posted; all 0: none. -EINVAL: out of range, or t is not of "shm". */
int transport_shm_faults(struct transport *t, const struct shm_faults *f);
/*
 * Cut our link to host, or heal it: calls fail, and what is posted, and each
 * result that becomes due, is lost. Nobody is told: the deadlines pass. -EINVAL.
 */
int transport_shm_cut(struct transport *t, uint16_t host, bool cut);

#endif
