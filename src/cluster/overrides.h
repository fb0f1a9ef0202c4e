/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * overrides: what an operator has set in the memory of this host, above cluster.json: nodes that
 * stay where they are, until resexd ends; and values of services, until cluster.json is read again
 * at the latest. In the control thread; its user is reconf.c.
 */
#ifndef RESEX_CLUSTER_OVERRIDES_H
#define RESEX_CLUSTER_OVERRIDES_H

#include "src/cluster/cluster.h"

struct overrides {
	bool fixed[CLUSTER_NODES_MAX];			      /* as conf->node[] */
	struct cluster_service service[CLUSTER_SERVICES_MAX]; /* as conf->service[]; in force */
};

/*
 * conf is in force now, old was before; NULL: none. The services are those of conf. A node of old
 * that is fixed stays so, if conf has one of its name.
 */
void overrides_begin(struct overrides *o, const struct cluster_conf *old,
		     const struct cluster_conf *conf);
/* "high 2000, share 4": the values of conf->service[i] that an operator has set; "": none. */
void overrides_text(const struct overrides *o, const struct cluster_conf *conf, uint32_t i,
		    char text[static CLUSTER_SET_TEXT]);

#endif
