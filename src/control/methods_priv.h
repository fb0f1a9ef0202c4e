/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * methods_priv: what the files of the methods share. For callers: methods.h.
 *
 *	show.c	 list, info, guest-show, ring-list
 *	policy.c policy-list, policy-show, policy-set, policy-check
 *	set.c	 cap-list, cap-release, guest-set, pause, resume
 *	why.c	 why, events
 *	hosts.c	 host-list, list-hosts, lock-list, lock-break
 *	nodes.c	 node-list, load-list, load-show
 *	balance.c balance-list, balance-set, why-node
 *	reconf.c service-list, why-move, history
 *	override.c node-fix, service-set
 *	reload.c cluster-reload
 *	trace.c	 trace-start, trace-stop
 *	put.c	 members of replies that several methods have
 */
#ifndef RESEX_CONTROL_METHODS_PRIV_H
#define RESEX_CONTROL_METHODS_PRIV_H

#include "resex/exit.h"
#include "src/control/methods.h"

struct cluster_node;
struct conf_doc;
struct conf_error;

/* What why says of a guest besides the reasons of policies. */
enum why_kind {
	WHY_NOT_SAMPLED,
	WHY_CONFIGURED,
	WHY_RELEASED,
	WHY_PAUSED,
	WHY_UNCAPPABLE,
	WHY_UNDECIDED,
	WHY_MAX_CAP,
	WHY_OWN_CAP,
	WHY_NO_MORE,
	WHY_OBSERVED,
	WHY_FORGED,
	WHY_DIVERGES,
	WHY_KINDS
};
extern const char *const why_says[]; /* its sentences, or parts of them, by enum why_kind */

/* Fill c->exit and c->error, and return the exit code. */
int call_fail(struct call *c, enum resex_exit code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

json_t *value_u(uint64_t v);
json_t *value_s(const char *v);
/* A number with at most three decimals. Replies have no others that are not whole. */
json_t *value_milli(int64_t thousandths);
json_t *value_resos(struct resos r);
json_t *value_cap(struct cap c);
json_t *value_us(uint64_t ns, bool known);
/* Members of an object, of these values. */
void put_u(json_t *o, const char *key, uint64_t v);
/* Below 0: null, it is not known. */
void put_i(json_t *o, const char *key, int64_t v);
/* NULL: null. */
void put_name(json_t *o, const char *key, const char *name);
void put_s(json_t *o, const char *key, const char *v);
void put_b(json_t *o, const char *key, bool v);
/* In ms; ns below 0: null, it was never seen. */
void put_ms(json_t *o, const char *key, int64_t ns);
void put_resos(json_t *o, const char *key, struct resos r);
void put_cap(json_t *o, const char *key, struct cap c);
void put_identity(json_t *o, const struct guest_view *g);
void put_account(json_t *o, const struct account *a);
/* null: no counter is read. */
void put_check(json_t *o, const char *key, const struct check_view *k);
/* null: nothing was recorded. */
void put_trace(json_t *o, const char *key, const struct trace_view *v);
/*
 * "policy_note": that a plug-in was stopped, or why the policy in force can do nothing on some
 * links, or "".
 */
void put_policy_note(json_t *o, const struct call *c);
void put_diverges(json_t *o, const struct check_view *k);
/* The state of the membership; NULL: this host is in no cluster. */
void put_cluster(json_t *o, const struct cluster *cl);

/* An array of row(cl, i, now), i from 0 to n - 1. */
void put_rows(json_t *o, const char *key, const struct cluster *cl, uint32_t n, struct mono now,
	      json_t *(*row)(const struct cluster *, uint32_t, struct mono));

/* A row of service-list: of conf->service[i]. */
json_t *service_row(const struct cluster *cl, uint32_t i, struct mono now);
/* "nodes stay where they are": there is no "reconf". Returns c->exit. */
int no_reconf(struct call *c);

/* The cluster. NULL: c->exit and c->error say that this host is in none. */
struct cluster *cluster_of(struct call *c);
/* The parameter "node". NULL: c->exit and c->error say why. */
const struct cluster_node *find_node(struct call *c, const struct cluster *cl,
				     const json_t *params);
/*
 * The parameter "settings", as a document whose file has the method's name: conf_free() frees it.
 * 0, or c->exit with c->error.
 */
int read_settings(struct call *c, const char *method, const char *example, const json_t *params,
		  struct conf_doc *d);
/* The document of read_settings is wrong: c->exit, and c->error without a place. */
int bad_setting(struct call *c, const struct conf_doc *d, const struct conf_error *e);
/* The parameter "guest". NULL: c->exit and c->error say why. */
struct guest_entry *find_guest(struct call *c, const json_t *params);
/* "managed", or why no policy caps the guest. */
const char *state_of(const struct guest_view *g);
/* An array of row(one); one NULL: of all guests. */
json_t *guest_rows(struct call *c, const struct guest_entry *one,
		   json_t *(*row)(struct call *, const struct guest_entry *));

/* As method.run. */
int cmd_list(struct call *c, const json_t *params, json_t **result);
int cmd_info(struct call *c, const json_t *params, json_t **result);
int cmd_guest_show(struct call *c, const json_t *params, json_t **result);
int cmd_ring_list(struct call *c, const json_t *params, json_t **result);
int cmd_policy_list(struct call *c, const json_t *params, json_t **result);
int cmd_policy_show(struct call *c, const json_t *params, json_t **result);
int cmd_policy_set(struct call *c, const json_t *params, json_t **result);
int cmd_policy_check(struct call *c, const json_t *params, json_t **result);
int cmd_cap_list(struct call *c, const json_t *params, json_t **result);
int cmd_cap_release(struct call *c, const json_t *params, json_t **result);
int cmd_guest_set(struct call *c, const json_t *params, json_t **result);
int cmd_pause(struct call *c, const json_t *params, json_t **result);
int cmd_resume(struct call *c, const json_t *params, json_t **result);
int cmd_host_list(struct call *c, const json_t *params, json_t **result);
int cmd_list_hosts(struct call *c, const json_t *params, json_t **result);
int cmd_lock_list(struct call *c, const json_t *params, json_t **result);
int cmd_lock_break(struct call *c, const json_t *params, json_t **result);
int cmd_node_list(struct call *c, const json_t *params, json_t **result);
int cmd_balance_list(struct call *c, const json_t *params, json_t **result);
int cmd_balance_set(struct call *c, const json_t *params, json_t **result);
int cmd_why_node(struct call *c, const json_t *params, json_t **result);
int cmd_load_list(struct call *c, const json_t *params, json_t **result);
int cmd_load_show(struct call *c, const json_t *params, json_t **result);
int cmd_service_list(struct call *c, const json_t *params, json_t **result);
int cmd_why_move(struct call *c, const json_t *params, json_t **result);
int cmd_reconf_set(struct call *c, const json_t *params, json_t **result);
int cmd_move(struct call *c, const json_t *params, json_t **result);
int cmd_node_fix(struct call *c, const json_t *params, json_t **result);
int cmd_service_set(struct call *c, const json_t *params, json_t **result);
int cmd_history(struct call *c, const json_t *params, json_t **result);
int cmd_cluster_reload(struct call *c, const json_t *params, json_t **result);
int cmd_why(struct call *c, const json_t *params, json_t **result);
int cmd_trace_start(struct call *c, const json_t *params, json_t **result);
int cmd_trace_stop(struct call *c, const json_t *params, json_t **result);
int cmd_events(struct call *c, const json_t *params, json_t **result);

#endif
