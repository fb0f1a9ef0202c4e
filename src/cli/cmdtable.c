// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * cmdtable: the verbs, in the order of resex --help. bash's completion and the man page list them
 * too.
 */
#include "src/cli/cmdtable.h"

#include "src/cli/cmds.h"

/* clang-format off */
const struct verb verbs[] = {
	{ "list", "[--all-hosts]", "guests with caps, Resos and MTUs",
	  OPT_ALL_HOSTS, ARGS_UTF8, run_list },
	{ "info", "", "the daemon: policy, supply, ticks, links",
	  OPT_NONE, ARGS_UTF8, run_info },
	{ "guest-show", "GUEST", "all that is known of one guest",
	  OPT_NONE, ARGS_UTF8, run_guest_show },
	{ "guest-set", "GUEST KEY=VALUE...", "change a guest's settings",
	  OPT_NONE, ARGS_UTF8, run_guest_set },
	{ "ring-list", "[GUEST]", "queues read in guests' memory, and faults",
	  OPT_NONE, ARGS_UTF8, run_ring_list },
	{ "policy-list", "", "pricing policies",
	  OPT_NONE, ARGS_UTF8, run_policy_list },
	{ "policy-show", "[POLICY]", "a policy's parameters",
	  OPT_NONE, ARGS_UTF8, run_policy_show },
	{ "policy-set", "POLICY|--file FILE [PARAMETER=NUMBER]...", "put a policy in force",
	  OPT_FILE, ARGS_UTF8, run_policy_set },
	{ "policy-check", "FILE", "check a policy file",
	  OPT_NONE, ARGS_FILE, run_policy_check },
	{ "cap-list", "", "caps in force, wanted, and before resexd started",
	  OPT_NONE, ARGS_UTF8, run_cap_list },
	{ "cap-release", "[--undo] GUEST", "give a guest its own cap back and leave it alone",
	  OPT_UNDO, ARGS_UTF8, run_cap_release },
	{ "pause", "[GUEST]", "suspend all policies, or those for one guest",
	  OPT_NONE, ARGS_UTF8, run_pause },
	{ "resume", "[GUEST]", "undo pause",
	  OPT_NONE, ARGS_UTF8, run_resume },
	{ "why", "[GUEST|NODE]", "why a guest is capped or not, why a node has its weight",
	  OPT_NODE, ARGS_UTF8, run_why },
	{ "host-list", "", "hosts of the cluster",
	  OPT_NONE, ARGS_UTF8, run_host_list },
	{ "lock-list", "", "locks of services",
	  OPT_NONE, ARGS_UTF8, run_lock_list },
	{ "lock-break", "[--force] SERVICE", "take a service's lock away from its holder",
	  OPT_FORCE, ARGS_UTF8, run_lock_break },
	{ "node-list", "", "nodes of the cluster, and what they serve",
	  OPT_NONE, ARGS_UTF8, run_node_list },
	{ "load-list", "[--all-sources]", "what the nodes of the cluster carry",
	  OPT_ALL_SOURCES, ARGS_UTF8, run_load_list },
	{ "load-show", "NODE", "the load of a node in detail",
	  OPT_NONE, ARGS_UTF8, run_load_show },
	{ "balance-list", "[-v]", "services that this host balances",
	  OPT_VERBOSE, ARGS_UTF8, run_balance_list },
	{ "balance-set", "SERVICE act|observe|equal", "set weights by load, none, or equal ones",
	  OPT_NONE, ARGS_UTF8, run_balance_set },
	{ "cluster-reload", "[--dry-run]", "put a changed cluster.json in force",
	  OPT_DRY_RUN, ARGS_UTF8, run_cluster_reload },
	{ "events", "[-f] [-n NUMBER] [GUEST]", "what happened",
	  OPT_EVENTS, ARGS_UTF8, run_events },
	{ "help", "[VERB]", "show the verbs, or how to use one",
	  OPT_NONE, ARGS_UTF8, NULL },
	{ 0 },
};
/* clang-format on */
