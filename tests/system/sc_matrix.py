# SPDX-License-Identifier: GPL-2.0-or-later
"""matrix: attackers x victims: each victim alone, attacked, and under each policy, as a table.

Nothing is judged but that all of it runs: which cells a CPU cap helps is what the table is for.
"""
from bed import check
from net import PEER
from pair import LINK, Pair

# Fewer queue pairs than the profile's 512: connecting them takes longer here than all the rest.
ATTACKERS = {
    "bandwidth": ("--profile bandwidth --seconds 0", 16),
    "small": ("--profile small --seconds 0", 64),
    "many-qp": ("--profile many-qp --qps 128 --seconds 0", 128),
    "control": ("--profile control --seconds 0", 1),
}
VICTIMS = {
    "latency": "--size 16K --options 50",
    "tiny": "--size 64 --options 0",
    "large": "--size 64K --depth 4 --options 0",
}
POLICIES = {"attacked": "null", "freemarket": "freemarket", "ioshares": "ioshares"}
HURT, HELPED = 1.25, 0.75
# What is known of the attackers, for cells that no cap helped: why, presumably. What was measured
# stands beside it.
WHY_NOT = {
    "bandwidth": "because what is posted is sent without its CPU: its queues outlast the time it is parked",
    "small": "because what it takes is CPU time of the kernels that emulate the adapter",
    "many-qp": "because what it takes is CPU time of the kernels that emulate the adapter",
    "control": "because it sends nothing: no count of a queue accuses it",
}


def row(pair, victim, attacker):
    """{"attacked", ...: figures} of one attacker on one victim."""
    options, queues = ATTACKERS[attacker]
    pair.bulk_on("benchex bulk %s --events --json %s" % (PEER, options), queues)
    out = {name: pair.phase("%s.%s.%s" % (victim, attacker, name), policy)
           for name, policy in POLICIES.items()}
    pair.vm.sh("resex policy-set null")
    pair.bulk_off()
    return out


def cell(f):
    return "%8.1f %5.0f%%" % (f["server"]["mean_us"] / 1e3, f["resexd"]["cap"])


def remark(base, r, attacker):
    us = {name: f["server"]["mean_us"] for name, f in r.items()}
    if us["attacked"] < HURT * base:
        return "hardly hurt"
    helped = [name for name in ("freemarket", "ioshares")
              if us[name] < HELPED * us["attacked"] and r[name]["resexd"]["bulk_capped"]]
    if "ioshares" in helped:
        return "IOShares helps"
    if helped:
        return "FreeMarket alone helps"
    capped = r["ioshares"]["resexd"]["bulk_capped"]
    mtus_s = r["attacked"]["resexd"]["bulk_mtus_s"]
    filled = "an unknown part" if mtus_s is None else "%.0f %%" % (100 * mtus_s * LINK["mtu"] / LINK["rate"])
    return "%s (what the attacker completed was %s of the link, dom0 took %.0f %% of a CPU); presumably %s" % (
        "a CPU cap does not help" if capped else "nobody was capped", filled,
        100 * r["attacked"]["cpu"]["dom0"], WHY_NOT[attacker])


def matrix(vm):
    lines = ["%-9s %-10s %8s %15s %15s %15s   server's mean in ms, mean cap of the attacker" % (
        "victim", "attacker", "base", *POLICIES)]
    with Pair(vm) as pair:
        for victim, options in VICTIMS.items():
            pair.client_options = options
            base = pair.phase(victim + ".base", "null", settle_s=1)
            pair.calibrate(base)
            us = base["server"]["mean_us"]
            for attacker in ATTACKERS:
                r = row(pair, victim, attacker)
                lines.append("%-9s %-10s %8.1f %s   %s" % (
                    victim, attacker, us / 1e3, " ".join(cell(r[name]) for name in POLICIES),
                    remark(us, r, attacker)))
                vm.note(lines[-1])
    print("\n".join(lines), flush=True)
    check(len(lines) == 1 + len(VICTIMS) * len(ATTACKERS), "rows are missing")
