# SPDX-License-Identifier: GPL-2.0-or-later
"""hook: dom0 lets a program in a guest make it serve another service, and is told what became of it.

guesthook is dom0's side, as resexd has it. The guest's side is its agent, or a liar without one.
"""
from bed import Guest, check
from daemon import start_agent

PROGRAM = "/etc/role"
# By the node's name: what the program does.
SCRIPT = (r'#!/bin/sh\n'
          r'echo "$@" >>/tmp/role.log\n'
          r'case $2 in\n'
          r'bad) echo no such vhost >&2; exit 3 ;;\n'
          r'hang) echo $$ >/tmp/role.pid; exec sleep 1000 ;;\n'
          r'esac\n')
STOP, CONT = ("kill -%s $(cat /run/xenstored.pid)" % s for s in ("STOP", "CONT"))


def command(g, node, deadline_ms):
    return "/t/guesthook %d %d switch %s web mail" % (g.domid, deadline_ms, node)


def fails(vm, g, node, deadline_ms, *texts):
    r = vm.run(command(g, node, deadline_ms), 60)
    said = r.out.strip()
    check(r.rc == 1 and len(said.splitlines()) == 1 and all(t in said for t in texts),
          "node %s: ended with %d and said \"%s\", not %s" % (node, r.rc, said, texts))
    return said


def does(vm, g, node):
    r = vm.run(command(g, node, 20000), 60)
    check(r.rc == 0 and r.out == "done\n", "node %s: ended with %d and said: %s" % (node, r.rc, r.out))


def stop_agent(g):
    g.sh("kill $(cat /tmp/agent.pid); i=0; while kill -0 $(cat /tmp/agent.pid) && [ $i -lt 100 ]; do usleep 50000; "
         "i=$((i+1)); done 2>/dev/null; ! kill -0 $(cat /tmp/agent.pid) 2>/dev/null")


def without_agent(vm, g):
    fails(vm, g, "n1", 500, "did not answer within 5500 ms: see whether resex-agent runs there")
    left = vm.sh("xenstore-read /local/domain/%d/data/resex-want" % g.domid).strip()
    check(left == "", "what was wanted is still there: %s" % left)


def lies(vm, g):
    """What the guest may write itself, without an agent; dom0 writes it, and the node is the guest's all the same."""
    for answer, text in ((r"1\n1\n0\n\n", "5500 ms: see whether"), ("x" * 3000, "it says what is no answer"),
                         (r"yes\n", "it says what is no answer")):
        vm.sh("xenstore-write /local/domain/%d/data/resex-answer '%s'" % (g.domid, answer))
        fails(vm, g, "n1", 500, text)


def with_program(vm, g):
    g.sh("printf '%s' >%s && chmod 755 %s" % (SCRIPT, PROGRAM, PROGRAM))
    start_agent(g, "--hook " + PROGRAM)
    does(vm, g, "n1")
    does(vm, g, "-n2")
    fails(vm, g, "bad", 20000, PROGRAM + ' ended by exit status 3: "no such vhost"')
    fails(vm, g, "hang", 1000, PROGRAM + " did not end within 1000 ms, and was killed")
    check(g.run("kill -0 $(cat /tmp/role.pid)").rc != 0, "the program that was late still runs")
    said = g.sh("cat /tmp/role.log").split("\n")[:4]
    check(said == ["switch %s web mail" % n for n in ("n1", "-n2", "bad", "hang")], "the program got: %s" % said)


def stopped(vm, g):
    """xenstored is stopped while the program runs: the failure comes in time, and the next one is done."""
    number = vm.begin(command(g, "hang", 3000))
    vm.sh("sleep 2; " + STOP)
    try:
        r = vm.end(number, 60)
    finally:
        vm.sh(CONT)
    check(r.rc == 1 and "did not answer within 8000 ms" in r.out, "ended with %d and said: %s" % (r.rc, r.out))
    does(vm, g, "n3")


def ends(vm, g):
    number = vm.begin(command(g, "hang", 20000))
    vm.sh("sleep 2; xl destroy " + g.name)
    r = vm.end(number, 60)
    check(r.rc == 1 and "ended or rebooted meanwhile" in r.out, "ended with %d and said: %s" % (r.rc, r.out))
    fails(vm, g, "n1", 500, "does not run on this host")


def hook(vm):
    g = Guest(vm, "role")
    vm.create(g)
    if g.agent is not None:
        stop_agent(g)
    without_agent(vm, g)
    lies(vm, g)
    start_agent(g)
    fails(vm, g, "n1", 20000, "resex-agent has no program for it: begin it with --hook PROGRAM")
    stop_agent(g)
    with_program(vm, g)
    stopped(vm, g)
    ends(vm, g)
