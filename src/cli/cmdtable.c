// SPDX-License-Identifier: GPL-2.0-or-later
/* cmdtable: the verbs, in the order of resex --help. */
#include "src/cli/cmdtable.h"

#include "src/cli/cmds.h"

const struct verb verbs[] = {
	{ "list", "[--all-hosts]", "guests with caps, Resos and MTUs", FILE_NONE, run_list },
	{ "info", "", "the daemon: policy, supply, ticks, links", FILE_NONE, run_info },
	{ "guest-show", "GUEST", "all that is known of one guest", FILE_NONE, run_guest_show },
	{ "guest-set", "GUEST KEY=VALUE...", "other settings for a guest, while it runs", FILE_NONE,
	  run_guest_set },
	{ "ring-list", "[GUEST]", "queues read in guests' memory, and faults", FILE_NONE,
	  run_ring_list },
	{ "policy-list", "", "pricing policies", FILE_NONE, run_policy_list },
	{ "policy-show", "[POLICY]", "a policy's parameters", FILE_NONE, run_policy_show },
	{ "policy-set", "POLICY|--file FILE [PARAMETER=NUMBER]...", "put a policy in force",
	  FILE_OPTION, run_policy_set },
	{ "policy-check", "FILE", "is this policy file good?", FILE_FIRST, run_policy_check },
	{ "cap-list", "", "caps in force, wanted, and before resexd came", FILE_NONE,
	  run_cap_list },
	{ "cap-release", "[--undo] GUEST", "give a guest its own cap back and leave it alone",
	  FILE_NONE, run_cap_release },
	{ "pause", "[GUEST]", "no policy caps this guest, or any, until resume", FILE_NONE,
	  run_pause },
	{ "resume", "[GUEST]", "policies cap it, or all, again", FILE_NONE, run_resume },
	{ "why", "[GUEST]", "why a guest is capped, or is not", FILE_NONE, run_why },
	{ "host-list", "", "hosts of the cluster", FILE_NONE, run_host_list },
	{ "lock-list", "", "locks of services", FILE_NONE, run_lock_list },
	{ "lock-break", "[--force] SERVICE", "take a lock away from who holds it", FILE_NONE,
	  run_lock_break },
	{ "events", "[-f] [-n NUMBER] [GUEST]", "what happened", FILE_NONE, run_events },
	{ 0 },
};
