#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""run.py --images DIR --logs DIR [NAME...]: run scenarios, those of one bed in one VM.

--kind plain: only those without Xen; --kind xen: only those with it, which want a quiet machine.

A scenario passes when its function returns, fails when it raises. A bed that
breaks fails the scenarios left in it; each failed one shows why, and where the
logs are.
"""
import argparse
import os
import shutil
import sys
import time
import traceback

import bed
import scenarios


EMULATOR_FAULTS_MAX = 3  # a bed; see Vm.fault


def line(name, word, why, seconds):
    print("%-18s %-4s %6.1f s%s" % (name, word, seconds, "  " + why if why else ""), flush=True)


def tail(path, lines=15):
    for text in bed.read_text(path).splitlines()[-lines:]:
        print("    | %.300s" % text)


def run_one(scenario, vm, again):
    """True when it passed, None when it must be run again."""
    began = time.monotonic()
    try:
        scenario.run(vm)
    except Exception as e:  # whatever it was: this scenario failed and the next is tried
        why = str(e) if isinstance(e, bed.Failed) else "%s: %s" % (type(e).__name__, e)
        faulty, vm.fault = vm.fault, False  # what comes now is a new try
        if faulty and again:
            line(scenario.name, "emul", "the emulator lost a guest: run again",
                 time.monotonic() - began)
            return None
        line(scenario.name, "FAIL", why, time.monotonic() - began)
        with open(vm.run_dir + "/" + scenario.name + ".trace", "w", encoding="utf-8") as f:
            traceback.print_exc(file=f)
        for log in ["/resexd.log"] + ["/../console/guest-%s.log" % g for g in vm.guests]:
            if os.path.exists(vm.share + "/files" + log):
                print("    " + os.path.basename(log))
                tail(vm.share + "/files" + log)
        return False
    line(scenario.name, "pass", "", time.monotonic() - began)
    return True


def run_bed(kind, chosen, images, logs):
    """The names that failed."""
    began = time.monotonic()
    run = "%s/%s" % (logs, kind)
    shutil.rmtree(run, ignore_errors=True)
    os.makedirs(run)
    failed = []
    left = list(chosen)
    again = EMULATOR_FAULTS_MAX
    try:
        with bed.Vm(images, run, **scenarios.BEDS[kind]) as vm:
            line("boot " + kind, "ok", "", time.monotonic() - began)
            while left:
                scenario = left.pop(0)
                passed = run_one(scenario, vm, again)
                if passed is None:
                    again -= 1
                    left.insert(0, scenario)
                elif not passed:
                    failed.append(scenario.name)
                scenarios.clean(vm)
    except bed.Failed as e:
        for scenario in left:
            line(scenario.name, "FAIL", str(e), 0)
            failed.append(scenario.name)
        if not left:
            line("end " + kind, "FAIL", str(e), 0)
            failed.append(kind)
        print("    serial.log")
        tail(run + "/serial.log")
    return failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--images")
    parser.add_argument("--logs")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--kind", choices=("plain", "xen"))
    parser.add_argument("name", nargs="*")
    args = parser.parse_args()
    if args.list:
        for s in scenarios.ALL:
            print("%-18s %s%s" % (s.name, s.text, " (only when named)" if s.extra else ""))
        return 0
    known = {s.name for s in scenarios.ALL}
    for name in args.name:
        if name not in known:
            print("system: there is no scenario \"%s\": see tests/system/run.sh --list" % name)
            return 2
    chosen = [s for s in scenarios.ALL if s.name in args.name or not (args.name or s.extra)]
    if args.kind:
        chosen = [s for s in chosen if scenarios.BEDS[s.bed].get("kind", "xen") == args.kind]
    began = time.monotonic()
    failed = []
    for kind in scenarios.BEDS:
        of_bed = [s for s in chosen if s.bed == kind]
        if of_bed:
            failed += run_bed(kind, of_bed, args.images, args.logs)
    if failed:
        print("system: logs are kept in " + args.logs)
    print("system: %d passed, %d failed in %.0f s" %
          (len([s for s in chosen if s.name not in failed]), len(failed),
           time.monotonic() - began))
    return 1 if failed else 0


sys.exit(main())
