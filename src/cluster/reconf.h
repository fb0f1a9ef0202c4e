/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reconf: when a node should move to another service, for the services that this host balances. In
 * the control thread, for cluster.c. The rest of resexd calls cluster_service_see() and the
 * functions below it in cluster.h.
 *
 * A turn comes each S:
 *
 *	cluster_node_see -> decide_view -> decide_seen, decide -> history
 *
 * In mode observe nothing is moved: the decisions are shown, and what each would have brought. In
 * mode act the other thread is asked to move the node, one at a time. An operator's order goes the
 * same way in both.
 */
#ifndef RESEX_CLUSTER_RECONF_H
#define RESEX_CLUSTER_RECONF_H

#include "src/cluster/cluster.h"

struct exchange;
struct reconf;

/*
 * conf has "reconf". conf, gs and x must outlive it. 0 or -ENOMEM; close it also then.
 */
int reconf_open(struct reconf **r, const struct cluster_conf *conf, struct guests *gs,
		struct exchange *x, const char *state_dir);
void reconf_close(struct reconf *r); /* NULL: nothing is done */

/* ns until the next turn; 0 or below: now. */
int64_t reconf_due(const struct reconf *r, struct mono now);
/* hindrance: why this host decides nothing now, with the remedy; "". */
void reconf_turn(struct reconf *r, const struct cluster *c, const struct hostset *members,
		 const char *hindrance, struct mono now, int64_t wall_ns);
/*
 * conf is in force from now on: all decisions begin anew. Since when nodes of kind switch are not
 * ready is kept.
 */
void reconf_reload(struct reconf *r, const struct cluster_conf *conf, struct mono now,
		   int64_t wall_ns);

/* As cluster_move(), which has found no other reason against it. */
int reconf_order(struct reconf *r, const struct cluster *c, const struct hostset *members,
		 uint32_t node, uint32_t service, struct mono now, int64_t wall_ns,
		 uint64_t *ticket, char why[static CLUSTER_WHY_TEXT]);
void reconf_set(struct reconf *r, enum cluster_reconf_mode mode, int64_t wall_ns);
enum cluster_reconf_mode reconf_mode(const struct reconf *r);
/* As the functions of cluster.h. */
void reconf_fix(struct reconf *r, uint32_t node, bool fixed, int64_t wall_ns);
bool reconf_fixed(const struct reconf *r, uint32_t node);
int reconf_service_set(struct reconf *r, uint32_t service, const struct conf_doc *d,
		       int64_t wall_ns, struct conf_error *e);
void reconf_set_text(const struct reconf *r, uint32_t service, char text[static CLUSTER_SET_TEXT]);
void reconf_service_reset(struct reconf *r, int64_t wall_ns);
/* Take the result of the move that was asked for, if it has one. */
void reconf_answer(struct reconf *r, struct mono now, int64_t wall_ns);

/* Fill all of s but conf and nodes that are not there. */
void reconf_see(const struct reconf *r, uint32_t service, struct cluster_service_seen *s);
const struct cluster_move *reconf_history(const struct reconf *r, uint32_t n);
const char *reconf_history_note(const struct reconf *r);

#endif
