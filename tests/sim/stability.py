# SPDX-License-Identifier: GPL-2.0-or-later
"""stability: nothing swings, nothing leaves its bounds, and why can be asked.

The limit cycle that is allowed: once settled no cap moves by more than 3 percent of a CPU, and no
second's mean latency strays by more than 5 percent. A cap that helps nobody has a slow cycle of
its own: on for some seconds, off for 30.
"""
import copy
import json
import subprocess
import time

import bounds
import claims as c
from group import Group
from host import Broken, example, examples, need, policy_of, scenario, sender, server

group = Group("stability")
LENGTH_S, SETTLED_S = 90, 60
FUTILE = {"swap": "server"}  # whose cap helps nobody: each is taken for the other
WHY = "with a cap on it guest server was hardly faster"


def long_run(host, name):
    return host.run(example(name, duration="%ds" % LENGTH_S, series="100ms"))


def constant():
    """Examples under ioshares in which nothing happens after the first seconds."""
    return [n for n in examples() if policy_of(example(n)) == "ioshares" and
            not example(n).get("events")]


def settled(name):
    @group.test("%s settles: caps within 3, latency within 5 percent from the 60th second" % name)
    def _(host):
        return c.settles(long_run(host, name), SETTLED_S)


for _name in constant():
    if _name not in FUTILE:
        settled(_name)


@group.test("swap: the cap that helps nobody is on for seconds and off for 30, and goes on so")
def _(host):
    return c.only_futile_swings(long_run(host, "swap"), FUTILE["swap"])


def why(host, socket):
    done = subprocess.run([host.resex, "-s", socket, "-j", "why", "bulk"], capture_output=True,
                          timeout=30, check=False)
    return json.loads(done.stdout)["guests"][0]["text"] if done.returncode == 0 else ""


@group.test("depth 16, real clock: resex why says of the sender that its cap helped nobody")
def _(host):
    quick = {"policy": "ioshares", "params": {"window": 20000000, "futile": 200000000}}
    deep = sender(depth=16, guest={"min_cap": 10})
    path = host.write(scenario([server(), deep], quick, "60s", None, clock="real"))
    socket, heard = host.path("why.sock"), set()
    job = subprocess.Popen([host.resexd, "--hv", "sim", "-S", path, "-s", socket,
                            "-o", host.path("why.json")], stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 50
        while time.monotonic() < end and not any(WHY in text for text in heard):
            heard.add(why(host, socket))
            time.sleep(0.05)
    finally:
        job.terminate()
        status = job.wait()
    said = [text for text in heard if WHY in text]
    need(said, "it said %s", sorted(heard)[-5:])
    need(status == 0, "resexd ended with %d", status)
    need(any("charged" in text for text in heard), "it was never charged more: %s", sorted(heard))
    return '"%s"' % said[0]


# --- planted --------------------------------------------------------------------------------

@group.test("planted: freemarket's caps, which come and go each epoch, do not settle")
def _(host):
    run = host.run(example("paper", policy="freemarket", series="100ms"))
    return c.fails(c.settles, run, 10)


@group.test("planted: without calm windows and with slow windows ioshares swings")
def _(host):
    wild = {"policy": "ioshares", "params": {"calm": 1, "back_off": 1000}}
    sla = {"tolerance": 50, "base": "163223ns", "base_io": "16259ns", "base_deviation": "0ns"}
    return c.fails(c.settles, host.run(scenario([server(size="16KiB", sla=sla), sender()], wild)), 10)


@group.test("planted: a cap that is on most of the time is no slow cycle")
def _(host):
    return c.fails(c.only_futile_swings, long_run(host, "paper"), "bulk")


# --- bounds ---------------------------------------------------------------------------------

def spoilt(change):
    """A change to one guest of a summary."""
    def spoil(summary, sc):
        del sc
        change(summary["guests"][1])
    return spoil


def without_its_cap(summary, sc):
    summary["guests"][1]["cap"].update(lowest=50, last=50, changes=1, uncapped=0.5)
    sc["policy"] = "null"


def swapped(summary, sc):
    del sc
    summary["guests"].reverse()


SPOILT = {
    "cap 0": spoilt(lambda g: g["cap"].update(lowest=0)),
    "cap 101 of 100": spoilt(lambda g: g["series"]["cap"].append(101)),
    "uncapped for longer than the run": spoilt(lambda g: g["cap"].update(uncapped=1.01)),
    "rate 100.1": spoilt(lambda g: g["rate"].update(max=100.1)),
    "rate 0.99": spoilt(lambda g: g["series"]["rate"].append(0.99)),
    "spent more than was allocated": spoilt(
        lambda g: g["resos"].update(spent=g["resos"]["allocated"] + 1)),
    "an overdraft below 0": spoilt(lambda g: g["resos"].update(overdraft=-1)),
    "an MTU too many": spoilt(lambda g: g.update(mtus_sent=g["true"]["mtus"] + 1)),
    "a message too few": spoilt(lambda g: g.update(mtus_sent=g["mtus_sent"] - 2049)),
    "more in the series than in all": spoilt(lambda g: g["series"]["mtus"].append(10 ** 9)),
    "an honest guest said to diverge": spoilt(lambda g: g.update(diverged_at_s=3.0)),
    "a true message that no application sent": spoilt(
        lambda g: g["true"].update(wrs=g["true"]["wrs"] + 1)),
    "a cap under null": without_its_cap,
    "guests in another order": swapped,
}


@group.test("planted: each figure out of its bounds is found")
def _(host):
    run = host.run(example("paper", series="100ms"))
    need(not bounds.breaches(run.scenario, run.summary), "it is not sound to begin with")
    for what, spoil in SPOILT.items():
        summary, sc = copy.deepcopy(run.summary), copy.deepcopy(run.scenario)
        spoil(summary, sc)
        need(bounds.breaches(sc, summary), "%s was not found", what)
    return "%d spoilt summaries" % len(SPOILT)


@group.test("planted: charges of another price are found")
def _(host):
    sc = scenario([server(), sender()], "null", "1s")
    run = host.run(sc)
    need(not bounds.breaches(sc, run.summary), "it is not sound to begin with")
    summary = copy.deepcopy(run.summary)
    summary["guests"][1]["resos"]["spent"] *= 0.999
    found = bounds.breaches(sc, summary)
    need(found, "0.1 percent less was not found")
    return found[0]


def sound(runs):
    """Of every summary, whatever it was made for."""
    for run in runs:
        found = bounds.breaches(run.scenario, run.summary)
        if found:
            raise Broken("%s; scenario: %s" % ("; ".join(found[:5]), json.dumps(run.scenario)))
    return "%d summaries" % len(runs)
