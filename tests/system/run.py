#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""run.py --images DIR --logs DIR [NAME...]: run scenarios, each in a VM of its own.

--kind plain: only those without Xen; --kind xen: only those with it.
--deep, or RESEX_DEEP=1: also those that take long, and the others at full length.

Scenarios with Xen begin with snapshots (snapshot.py). First the snapshots are made that are missing,
and those scenarios run that may have others beside them, WORKERS at once; then the others, one at a time.
A VM has 2 CPUs. Two VMs on a machine of 2 cores hold each other up: benchex-count takes 35 s alone,
and was not done in 6 minutes beside churn. So there is a worker for each pair of cores. VMs of 1 CPU
would not help: benchex-count and churn took 130 s each at once, and 58 and 85 s in VMs of 2 CPUs.

Scenarios without Xen run one at a time beside all of this, at a lower priority (bed.PLAIN_NICE).

A scenario passes when its function returns (a text is shown beside its name), fails when it raises;
each failed one shows why, and where the logs are. Seconds are the wall's, and CPU seconds those of QEMU.
"""
import argparse
import os
import queue
import shutil
import signal
import sys
import threading
import time
import traceback

import bed
import scenarios
import snapshot


WORKERS = max(1, (os.cpu_count() or 1) // 2)
EMULATOR_FAULTS_MAX = 6  # see bed.FAULTS


def line(name, word, seconds, cpu, why=""):
    return "%-18s %-4s %6.1f s %6.1f CPU s%s" % (name, word, seconds, cpu, "  " + why if why else "")


def tail(path, lines=15):
    return ["    | %.300s" % text for text in bed.read_text(path).splitlines()[-lines:]]


def reason(e):
    return str(e) if isinstance(e, bed.Failed) else "%s: %s" % (type(e).__name__, e)


class Runner:
    def __init__(self, images, snapshots, logs, build, deep):
        self.images, self.logs, self.build, self.deep = images, logs, build, deep
        self.store = snapshot.Store(snapshots, images, logs)
        self.lock = threading.Lock()
        self.failed, self.passed, self.cpu = [], 0, 0.0
        self.faults_left = EMULATOR_FAULTS_MAX

    def tell(self, *lines):
        with self.lock:
            print("\n".join(lines), flush=True)

    # --- one scenario ------------------------------------------------------------

    def scenario(self, s):
        while not bed.stopping() and self.attempt(s) is None:
            pass

    def attempt(self, s):
        """True when it passed, None when it must be run again."""
        options, recipe = scenarios.BEDS[s.bed]
        run = "%s/%s" % (self.logs, s.name)
        shutil.rmtree(run, ignore_errors=True)
        os.makedirs(run)
        vm, began = None, time.monotonic()
        try:
            begin = recipe and self.store.get(recipe, options)
            began = time.monotonic()
            vm = bed.Vm(self.images, run, snapshot=begin, **options)
            vm.deep, vm.build = self.deep, self.build
            with vm:
                said = s.run(vm)
        except bed.Skipped as e:
            self.tell(line(s.name, "skip", time.monotonic() - began, vm.cpu_seconds(), str(e)))
            return True
        except Exception as e:  # whatever it was: this scenario failed and the next is tried
            return self.failure(s, vm, e, run, began)
        with self.lock:
            self.passed += 1
            self.cpu += vm.cpu_seconds()
        self.tell(line(s.name, "pass", time.monotonic() - began, vm.cpu_seconds(), said if isinstance(said, str) else ""))
        return True

    def failure(self, s, vm, e, run, began):
        seconds, cpu = time.monotonic() - began, vm.cpu_seconds() if vm else 0
        with self.lock:
            self.cpu += cpu
            again = bool(vm and any(v.fault for v in [vm] + vm.others) and self.faults_left > 0)
            self.faults_left -= again
            if not again:
                self.failed.append(s.name)
        if again:
            self.tell(line(s.name, "emul", seconds, cpu, reason(e) + ": run again"))
            return None
        out = [line(s.name, "FAIL", seconds, cpu, reason(e))]
        with open(run + "/trace", "w", encoding="utf-8") as f:
            traceback.print_exception(e, file=f)
        for log in ["serial.log", "share/files/resexd.log"] + [
                "share/console/guest-%s.log" % g for g in (vm.guests if vm else ())]:
            if os.path.exists(run + "/" + log):
                out += ["    " + os.path.basename(log)] + tail(run + "/" + log)
        self.tell(*out)
        return False

    # --- all ---------------------------------------------------------------------

    def snapshot(self, recipe, options):
        began = time.monotonic()
        try:
            made = self.store.get(recipe, options)
        except Exception as e:  # said by each scenario that needs it
            self.tell(line("snapshot " + recipe, "FAIL", time.monotonic() - began, 0, reason(e)))
            return
        if made.cpu_s:
            with self.lock:
                self.cpu += made.cpu_s
            self.tell(line("snapshot " + recipe, "made", time.monotonic() - began, made.cpu_s))

    def at_once(self, tasks):
        """(function, arguments...) for each task, WORKERS of them beside each other."""
        left = queue.SimpleQueue()
        for task in tasks:
            left.put(task)

        def work():
            while not bed.stopping():
                try:
                    function, *arguments = left.get_nowait()
                except queue.Empty:
                    return
                function(*arguments)
        threads = [threading.Thread(target=work, daemon=True) for _ in range(WORKERS)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()

    def run(self, chosen):
        plain = threading.Thread(target=self.in_turn, args=([s for s in chosen if kind(s) == "plain"],), daemon=True)
        plain.start()
        self.run_xen([s for s in chosen if kind(s) == "xen"])
        plain.join()

    def in_turn(self, chosen):
        for s in chosen:
            self.scenario(s)

    def run_xen(self, chosen):
        beds = {s.bed: scenarios.BEDS[s.bed] for s in chosen}
        tasks = [(self.snapshot, recipe, options) for options, recipe in beds.values() if recipe]
        tasks += [(self.scenario, s) for s in chosen if s.beside]
        self.at_once(tasks)
        self.in_turn([s for s in chosen if not s.beside])


def kind(s):
    return scenarios.BEDS[s.bed][0].get("kind", "xen")


def choose(args):
    def wanted(s):
        if args.name:
            return s.name in args.name
        return s.when == "always" or s.when == "deep" and args.deep
    chosen = [s for s in scenarios.ALL if wanted(s)]
    if args.kind:
        chosen = [s for s in chosen if kind(s) == args.kind]
    return chosen


def interrupted(*_):
    raise KeyboardInterrupt


def main():
    parser = argparse.ArgumentParser(prog="./dev testbed")
    parser.add_argument("--images", help=argparse.SUPPRESS)
    parser.add_argument("--snapshots", help=argparse.SUPPRESS)
    parser.add_argument("--logs", help=argparse.SUPPRESS)
    parser.add_argument("--build", help=argparse.SUPPRESS)
    parser.add_argument("--list", action="store_true", help="show the scenarios")
    parser.add_argument("--kind", choices=("plain", "xen"), help="only those without Xen, or with it")
    parser.add_argument("--deep", action="store_true", default=os.environ.get("RESEX_DEEP") == "1",
                        help="also those that take long, and the others at full length")
    parser.add_argument("name", nargs="*")
    args = parser.parse_args()
    if args.list:
        said = {"always": "", "deep": " (only with --deep, or named)", "named": " (only when named)"}
        for s in scenarios.ALL:
            print("%-18s %s%s" % (s.name, s.text, said[s.when]))
        return 0
    known = {s.name for s in scenarios.ALL}
    for name in args.name:
        if name not in known:
            print("system: there is no scenario \"%s\": see tests/system/run.sh --list" % name)
            return 2
    for number in (signal.SIGINT, signal.SIGTERM):  # also when a shell started this with SIGINT ignored
        signal.signal(number, interrupted)
    began = time.monotonic()
    chosen = choose(args)
    runner = Runner(args.images, args.snapshots, args.logs, args.build, args.deep)
    try:
        runner.run(chosen)
    except KeyboardInterrupt:
        bed.stop_all()
        return 130
    if runner.failed:
        print("system: logs are kept in " + args.logs)
    print("system: %d passed, %d failed in %.0f s, %.0f CPU s" %
          (runner.passed, len(runner.failed), time.monotonic() - began, runner.cpu))
    return 1 if runner.failed else 0


sys.exit(main())
