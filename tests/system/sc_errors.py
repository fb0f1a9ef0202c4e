# SPDX-License-Identifier: GPL-2.0-or-later
"""errors: each thing that can be wrong is one sentence and a code of its own."""
import json

from bed import Guest, check
from daemon import Daemon

GOOD = {"links": [{"name": "rxe0", "rate": "1Gbit/s", "mtu": 1024}], "state_dir": "/var/lib/resex"}

NOBODY = "su nobody -c '%s'"


def expect(run, command, code, *words):
    """The command ends with code and one line that holds all words."""
    r = run(command + " 2>&1 >/dev/null")
    lines = r.out.strip().split("\n")
    what = "\"%s\" ended with %d and said: %s" % (command, r.rc, r.out.strip())
    check(r.rc == code, what + " (code %d was expected)" % code)
    check(len(lines) == 1 and lines[0], what + " (one line was expected)")
    for w in words:
        check(w in lines[0], what + " (\"%s\" is not in it)" % w)


def dom0(vm):
    start = "resexd --hv xen -c "
    expect(vm.run, "resex list", 7, "/run/resex/resexd.sock")
    expect(vm.run, start + "/nowhere.json", 4, "/nowhere.json")
    files = {"malformed": ('{ "links": [ }', 4, ["malformed.json:1:"]),
             "unknown": (json.dumps(dict(GOOD, intervall="1ms")), 4, ["intervall"]),
             "range": (json.dumps(dict(GOOD, interval="2h")), None, ["interval", "2h"]),
             "policy": (json.dumps(dict(GOOD, policy="socialism")), 5, ["socialism"])}
    for name, (text, code, words) in files.items():
        path = vm.put(name + ".json", text)
        if code is None:
            r = vm.run(start + path)
            check(r.rc in (4, 6), "%s: a value out of range ended with %d: %s" % (name, r.rc, r.out))
            code = r.rc
        expect(vm.run, start + path, code, *words)
        expect(vm.run, start + path + " --check", code, *words)
    check(vm.run("resexd --frobnicate").rc == 2, "resexd took an option that it does not have")
    expect(vm.run, NOBODY % (start + vm.put("good.json", json.dumps(GOOD))), 8)


def with_daemon(vm):
    with Daemon(vm):
        expect(vm.run, "resex guest-show nobody-here", 3, "nobody-here")
        expect(vm.run, "resex ring-list nobody-here", 3, "nobody-here")
        expect(vm.run, "resex policy-set socialism", 5, "socialism")
        expect(vm.run, "resex policy-set freemarket low=4000", 6, "low")
        expect(vm.run, "resex policy-set freemarket lwo=40", 2, "lwo")
        expect(vm.run, "resex frobnicate", 2, "frobnicate")
        expect(vm.run, NOBODY % "resex list", 8)
        expect(vm.run, "resexd --hv xen -c /h/files/resexd.json", 11, "another resexd")


def errors(vm):
    dom0(vm)
    with_daemon(vm)
    g = Guest(vm, "guest")
    vm.create(g)
    g.sh("echo '%s' >/tmp/good.json" % json.dumps(GOOD))
    expect(g.run, "resexd --hv xen -c /tmp/good.json", 9)


def no_xen(vm):
    path = vm.put("good.json", json.dumps(GOOD))
    expect(vm.run, "resexd --hv xen -c " + path, 10)
    expect(vm.run, "resex list", 7)
