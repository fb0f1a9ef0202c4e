# SPDX-License-Identifier: GPL-2.0-or-later
"""kmod: the kernel module fills a load record; how old it is when it is READ, beside one of /proc.

Two hosts in one VM, so that there is one clock: node n1 has the module, node n2 reads /proc, both
each millisecond. loadage (src/loadage.c) READs both by turns over soft-RoCE.
"""
import json
import os
import shutil
import subprocess

import bed
from bed import Skipped, check, wait_for
from sc_transport import A, B, answer

HERE = os.path.dirname(os.path.abspath(__file__))
ULM, KLM = 1, 2  # source
NO_RUNNING = 1 << 5
BURNERS = 16
HOSTS = (("xen1", A, "n1", "auto"), ("xen2", B, "n2", "ulm"))
MODULE = "/h/files/resex_loadmon.ko"
HOLD = "/sys/module/resex_loadmon/parameters/hold"
POINTS, COST_PERIOD_US = 600, 250


def build(vm):
    """The module, for exactly the kernel of the VM."""
    version = vm.sh("uname -r").strip()
    made = subprocess.run([HERE + "/../../src/kmod/build.sh", vm.images + "/../kmod", version], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    vm.note("build of the module: %d\n%s%s" % (made.returncode, made.stdout, made.stderr))
    if made.returncode == 77 and os.environ.get("CI") != "true":
        raise Skipped(made.stderr.strip().splitlines()[-1])
    check(made.returncode == 0, "the module was not built: " + made.stderr[-400:])
    shutil.copy(made.stdout.split()[-1], vm.share + "/files/resex_loadmon.ko")


def start(vm, name, address, source, period="1ms"):
    conf = {"cluster": "one", "host": name, "transport": "verbs", "key_file": "/run/key",
            "load": {"source": source, "period": period},
            "hosts": [{"name": h, "number": i + 1, "address": at} for i, (h, at, *_) in enumerate(HOSTS)] +
                     [{"name": "reader", "number": 200, "role": "client", "address": A}],
            "nodes": [{"name": node, "number": i + 3, "host": h} for i, (h, _, node, _) in enumerate(HOSTS)]}
    run = {"cluster_file": vm.put(name + ".cluster", json.dumps(conf)), "links": [{"name": "sim0", "rate": "1GiB/s"}],
           "interval": "100ms", "socket": "/run/%s.sock" % name, "state_dir": "/run/" + name,
           "lock_file": "/run/%s.lock" % name}
    vm.sh("mkdir -p /run/{0}; (sh -c 'echo $$ >/run/{0}.pid; exec resexd --hv sim -c {1}' >/h/files/{0}.log 2>&1 &)"
          .format(name, vm.put(name + ".json", json.dumps(run))))
    wait_for("answer of resexd " + name, 20, lambda: vm.run("resex -s /run/%s.sock -j info" % name).rc == 0, 0.2)


def prepare(vm):
    vm.sh("/t/rxe.sh; /usr/sbin/ip addr add %s/24 dev dummy0; insmod %s" % (B, MODULE))
    vm.sh("echo 0123456789abcdef0123456789abcdef >/run/key; chmod 600 /run/key")


def ages(vm):
    """What loadage saw since it was last asked."""
    said = json.loads(answer(vm, "age", "USR1"))
    vm.note(said)
    for node, s in said.items():
        check(s["bad"] == 0, "a record of %s was taken that is none: %s" % (node, s))
    return said


def over(vm, seconds):
    ages(vm)
    vm.sh("sleep %s" % seconds, 60)
    return ages(vm)


def source_is(vm, source):
    def probe():
        n1 = over(vm, 0.2)["n1"]
        return n1["source"] == source and n1["beats"] > 0 and n1
    return wait_for("source %d of n1" % source, 20, probe)


def fresh(vm):
    """With more to do than CPUs: the record of the module is the younger one, and knows the tasks."""
    vm.sh("for i in $(seq %d); do (while :; do :; done) & echo $! >>/tmp/burners; done" % BURNERS)
    # Of up to three: a VM that gets no CPU for a second shows what its host does, and not the module.
    for _ in range(3):
        source_is(vm, KLM)
        said = over(vm, 6)
        klm, ulm = said["n1"], said["n2"]
        ratio = klm["age_us"][0] / ulm["age_us"][0]
        if not klm["changes"] and ratio < 1:
            break
    text = "age at the READ beside %d busy processes, median: KLM %.0f us, ULM %.0f us, ratio %.2f (goal 0.6)" % (
        BURNERS, klm["age_us"][0], ulm["age_us"][0], ratio)
    vm.note(text)
    check((klm["source"], ulm["source"]) == (KLM, ULM), "other sources: %s" % said)
    check(min(klm["reads"], ulm["reads"]) > 100, "too few READs: %s" % said)
    check(klm["running"] >= BURNERS and not klm["flags"] & NO_RUNNING, "the module counted other tasks: %s" % klm)
    check(klm["cpus"] == ulm["cpus"], "they count other CPUs: %s" % said)
    # The ticks that a busy machine's VM lost are not in /proc; the module counts what a CPU was not idle.
    check(0.9 * ulm["busy_ns"] < klm["busy_ns"] < klm["cpus"] * klm["sampled_ns"], "they count other times: %s" % said)
    check(ratio < 1, "the module's record is not younger: " + text)
    return text


def stopped(vm):
    """No process of the hosts runs: the module's record goes on, the other is unchanged."""
    vm.sh("kill -STOP $(cat /run/xen1.pid /run/xen2.pid)")
    said = over(vm, 2)
    vm.sh("kill -CONT $(cat /run/xen1.pid /run/xen2.pid)")
    check(said["n1"]["reads"] > 20 and said["n1"]["beats"] > 100, "the beat of the module is unchanged: %s" % said)
    check(said["n2"]["reads"] > 20 and said["n2"]["beats"] == 0, "a stopped process sampled: %s" % said)
    vm.sh("kill $(cat /tmp/burners)")


def replaced(vm):
    """The module cannot go while it is used; held, it can, and is used again when it is back."""
    check(vm.run("rmmod resex_loadmon").rc != 0, "the module went while it filled a record")
    source_is(vm, KLM)
    vm.sh("echo 1 >" + HOLD)
    source_is(vm, ULM)
    vm.sh("rmmod resex_loadmon")
    check(vm.run("[ -e /dev/resex-load ]").rc != 0, "the device is still there")
    check(over(vm, 1)["n1"]["beats"] > 10, "n1 is not sampled without the module")
    vm.sh("insmod " + MODULE)
    source_is(vm, KLM)


def kmod(vm):
    build(vm)
    prepare(vm)
    check(vm.sh("stat -c %a /dev/resex-load").strip() == "600", "others may open the device")
    for name, address, _, source in HOSTS:
        start(vm, name, address, source)
    vm.sh("(loadage %s reader >/tmp/age.out 2>/h/files/loadage.log & echo $! >/tmp/age.pid)" % "/h/files/xen1.cluster")
    wait_for("start of loadage", 10, lambda: "open" in vm.run("cat /h/files/loadage.log").out, 0.1)
    source_is(vm, KLM)
    text = fresh(vm)
    for part in (stopped, replaced):
        vm.note("--- " + part.__name__)
        part(vm)
    # A process that dies has let the module go.
    vm.sh("kill -TERM $(cat /tmp/age.pid); kill -KILL $(cat /run/xen1.pid)")
    wait_for("end of the module's use", 10, lambda: vm.run("rmmod resex_loadmon").rc == 0, 0.2)
    said = vm.run("dmesg | grep -E 'BUG|WARNING|Oops|Call Trace'").out
    check(not said, "the kernel complains: " + said)
    return text


# --- figures -----------------------------------------------------------------------------------


def accuracy(vm):
    """Figure 4 of the paper: KLM each millisecond and ULM each 50, beside the truth each 10."""
    prepare(vm)
    for (name, address, _, source), period in zip(HOSTS, ("1ms", "50ms")):
        start(vm, name, address, source, period)
    wait_for("the module's use", 20, lambda: vm.sh("lsmod | grep resex_loadmon").split()[2] == "1", 0.2)
    out = json.loads(vm.sh("loadtruth /h/files/xen1.cluster reader %d $(ls /proc | grep '^[0-9]')" % POINTS, 120))
    vm.note(out)
    klm, ulm = (out["nodes"][n] for n in ("n1", "n2"))
    check((klm["source"], ulm["source"]) == (KLM, ULM), "other sources: %s" % out)
    check(klm["unread"] + ulm["unread"] < POINTS // 20, "too few records were read: %s" % out)
    check(out["truth"] > 0.3 * 500, "the process ran for another time: %s" % out)
    ratio = klm["error"] / ulm["error"]
    text = "mean error of KLM %.0f of 1000, of ULM %.0f: ratio %.2f" % (klm["error"], ulm["error"], ratio)
    check(ratio <= 0.5, text)
    vm.sh("kill $(cat /run/xen1.pid /run/xen2.pid)")
    return text


def cost(vm):
    said = json.loads(vm.sh("loadcost %d" % COST_PERIOD_US, 120))
    vm.note(said)
    check(said["cpus"] == vm.cpus and not said["no_running"] and said["fill_ns"] > 0, "what it costs: %s" % said)
    return "%(cpus)d CPUs: a fill %(fill_ns).0f ns, a sample of /proc %(sample_ns).0f" % said


def figures(vm):
    build(vm)
    text = accuracy(vm)
    wait_for("the module's end of use", 20, lambda: vm.sh("lsmod | grep resex_loadmon").split()[2] == "0", 0.2)
    text += "; " + cost(vm)
    with bed.Vm(vm.images, vm.run_dir + "/wide", kind="plain", memory=vm.memory, limit=vm.limit, cpus=32,
                beside=vm) as wide:
        shutil.copy(vm.share + "/files/resex_loadmon.ko", wide.share + "/files/")
        wide.sh("insmod " + MODULE)
        return text + "; " + cost(wide)
