/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmds: one function for each verb; cmdtable.c lists the verbs. */
#ifndef RESEX_CLI_CMDS_H
#define RESEX_CLI_CMDS_H

struct cli;

/* Columns of list --totals, also of list --all-hosts. */
/* clang-format off */
#define LIST_COLUMNS \
	{ "NAME", "name", 1 }, { "ID", "domid", 0 }, { "VCPUS", "vcpus", 0 }, \
	{ "WEIGHT", "weight", 0 }, { "CAP%", "cap", 0 }, { "RESOS", "allocated", 0 }, \
	{ "BALANCE", "balance", 0 }, { "MTUS-SENT", "mtus_sent", 0 }, \
	{ "MTUS-RECV", "mtus_recv", 0 }, { "MEAN-US", "latency_us", 0 }, \
	{ "RINGS", "rings", 0 }, { "STATE", "state", 1 }
/* clang-format on */

/* As verb.run: each returns an exit code, with client.error filled unless it is RESEX_OK. */
int run_list(struct cli *c);
int run_info(struct cli *c);
int run_doctor(struct cli *c);
int run_guest_show(struct cli *c);
int run_guest_set(struct cli *c);
int run_ring_list(struct cli *c);
int run_policy_list(struct cli *c);
int run_policy_show(struct cli *c);
int run_policy_set(struct cli *c);
int run_policy_check(struct cli *c);
int run_cap_list(struct cli *c);
int run_cap_release(struct cli *c);
int run_pause(struct cli *c);
int run_resume(struct cli *c);
int run_why(struct cli *c);
int run_host_list(struct cli *c);
int run_lock_list(struct cli *c);
int run_lock_break(struct cli *c);
int run_node_list(struct cli *c);
int run_balance_list(struct cli *c);
int run_balance_set(struct cli *c);
int run_load_list(struct cli *c);
int run_load_show(struct cli *c);
int run_service_list(struct cli *c);
int run_why_move(struct cli *c);
int run_move(struct cli *c);
int run_reconf(struct cli *c);
int run_node_fix(struct cli *c);
int run_service_set(struct cli *c);
int run_history(struct cli *c);
int run_cluster_reload(struct cli *c);
int run_events(struct cli *c);
int run_trace_start(struct cli *c);
int run_trace_stop(struct cli *c);
int run_top(struct cli *c);
int run_cache_list(struct cli *c);
int run_cache_show(struct cli *c);
int run_cache_invalidate(struct cli *c);
int run_update_list(struct cli *c);
int run_cache_remove(struct cli *c);
int run_cache_events(struct cli *c);

/* list --all-hosts */
int run_list_all(struct cli *c);
/* why --node NODE; and why NAME, when no guest has that name. */
int run_why_node(struct cli *c);
int run_why_other(struct cli *c);

#endif
