/* SPDX-License-Identifier: GPL-2.0-or-later */
/* control_cluster_rig: methods called on a host of the fake cluster. */
#ifndef RESEX_TESTS_CONTROL_CLUSTER_RIG_H
#define RESEX_TESTS_CONTROL_CLUSTER_RIG_H

#include "tests/fakes/fake_cluster.h"
#include "tests/unit/control_rig.h"

static inline struct cluster *with_cluster(struct guests_rig *g)
{
	static struct cluster c;

	fake_cluster_open(&c);
	g->cluster = &c;
	return &c;
}

#endif
