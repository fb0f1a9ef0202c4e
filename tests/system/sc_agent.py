# SPDX-License-Identifier: GPL-2.0-or-later
"""agent-load: how late the agent's heartbeats are in a guest of 5,000 processes, and of 200 queue pairs.

Judges only that it beats, and prints the figures: a beat is due each 500 ms.
"""
import json

from bed import check

SECONDS = 40
CASES = (("few processes", 100, 10, None), ("5,000 processes of 40 files", 5000, 40, None),
         ("5,000 processes, 200 queue pairs", 5000, 40, "/t/rdmaodd many -n 100000000 -p 1000"))


def agent_load(vm):
    vm.sh("[ -e /dev/infiniband/rdma_cm ] || /t/rxe.sh")
    vm.sh("echo 200000 >/proc/sys/kernel/pid_max; echo 400000 >/proc/sys/fs/file-max")
    for name, processes, files, beside in CASES:
        if beside:
            vm.sh("mkfifo /tmp/odd.in; (echo go; sleep 1000) >/tmp/odd.in & %s </tmp/odd.in >/tmp/odd.out 2>&1 & "
                  "sleep 5; cat /tmp/odd.out" % beside)
        out = vm.sh("ulimit -n 4096; /t/agentbeat %d %d %d /tmp/pages resex-agent" % (processes, files, SECONDS), 400)
        said = json.loads(out.splitlines()[-1])
        vm.note("%s: beats %d, longest gap %d ms, 99 %% %d ms, CPU %.1f ms a second" % (
            name, said["beats"], said["longest_ms"], said["p99_ms"], said["cpu_ms_per_second"]))
        check(said["beats"] > 10, "the agent does not beat: " + out)
