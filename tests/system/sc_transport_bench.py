# SPDX-License-Identifier: GPL-2.0-or-later
"""transport-bench, transport-parts: one operation over "verbs" beside perftest's, on the same device, in turn.

Run by ./dev bench verbs, which shows what both wrote. Judges nothing but that all ran.
"""
import statistics

from bed import check

HOST = "10.99.0.1"
# MANY: starts of perftest's caller differ by some ms, which is then below 0.5 % of the whole.
ROUNDS, FEW, MANY = 9, 100, 100000
ROWS = (
    ("READ, 8 bytes", "read", "ib_read_lat -s 8"),
    ("CAS64", "cas64", "ib_atomic_lat -A CMP_AND_SWAP"),
    ("FAA64", "faa64", "ib_atomic_lat -A FETCH_AND_ADD"),
)
HEAD = """One operation over soft-RoCE in a VM, us of the VM's time: resex's transport (verbs) beside
perftest, on the same device, one after the other. Medians of %d rounds of %d operations; the ratio
is the median of the rounds' own. perftest: what %d more take than %d, from start to end of its
caller. Both callers poll, at a real-time priority, so that the kernel's thread for soft interrupts
preempts neither; both targets sleep. The VM has one CPU, and its time is the number of instructions
that the CPU executed, 1 ns each: programs, kernel and soft-RoCE of both ends. So the table shows
how much more work an operation is. Other programs of the machine change it by some hundredths
between rounds. It cannot show what a real CPU or HCA takes: caches, waiting for memory and buses,
two CPUs at once.

%-16s %10s %12s %8s   %s
""" % (ROUNDS, MANY, MANY, FEW, "operation", "verbs", "perftest", "ratio", "rounds' ratios, from least to most")


def ours(vm, kind):
    return float(vm.sh("/t/resex-bench-transport verbs %s %s %d" % (HOST, kind, MANY), 60)) / 1000


def perftest(vm, command):
    line = "%s -d rxe0 -F -x 1 -n" % command
    few, many = (int(ns) for ns in vm.sh(
        "for n in {1} {2}; do {0} $n >/dev/null 2>&1 & sleep 0.7; "
        "/t/resex-bench-transport took {0} $n {3} || exit 1; wait; done"
        .format(line, FEW, FEW + MANY, HOST), 60).split())
    return (many - few) / MANY / 1000


def one_round(vm, number, kind, command):
    """(ours, perftest's); who is first changes from round to round."""
    if number % 2:
        theirs = perftest(vm, command)
        return ours(vm, kind), theirs
    mine = ours(vm, kind)
    return mine, perftest(vm, command)


def begin(vm):
    vm.sh("[ -e /dev/infiniband/rdma_cm ] || /t/rxe.sh")
    r = vm.run("[ -x /t/resex-bench-transport ]")
    check(r.rc == 0, "resex-bench-transport is not built: run ./dev bench verbs")


def transport_bench(vm):
    begin(vm)
    got = {row[0]: [] for row in ROWS}
    for number in range(ROUNDS):
        for name, kind, command in ROWS:
            pair = one_round(vm, number, kind, command)
            vm.note("%s: ours %.2f us, perftest %.2f us" % ((name,) + pair))
            if pair[1] > 0:  # a start that took long can be more than all operations
                got[name].append(pair)
    for name, pairs in got.items():
        check(len(pairs) > ROUNDS / 2, "%s: only %d rounds gave a figure" % (name, len(pairs)))
    with open(vm.run_dir + "/bench.txt", "w", encoding="utf-8") as f:
        f.write(HEAD)
        for name, pairs in got.items():
            ratios = sorted(a / b for a, b in pairs)
            f.write("%-16s %10.2f %12.2f %8.2f   %s\n" % (
                name, statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs),
                statistics.median(ratios), " ".join("%.2f" % x for x in ratios)))


def transport_parts(vm):
    """In the machine's time: how fast a whole part is read, and how long a poll takes at most."""
    begin(vm)
    with open(vm.run_dir + "/bench.txt", "w", encoding="utf-8") as f:
        for memory in ("", " memfd"):
            f.write(vm.sh("/t/resex-bench-transport part verbs %s%s" % (HOST, memory), 300) + "\n")
        f.write(vm.sh("/t/resex-bench-transport pause verbs %s" % HOST, 300))
