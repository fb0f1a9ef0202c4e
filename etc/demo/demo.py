#!/usr/bin/env python3
"""demo: resexd on its embedded SIMULATED host, first with no policy, then with FreeMarket.

usage: demo.py BUILD-DIRECTORY [-j | --test]

A latency-sensitive guest ("server", 64 KB answers) stands beside a bulk sender ("bulk", 2 MB
messages) on one simulated 1 GiB/s link. All figures come from the daemon, by resex -j.
--test also judges whether FreeMarket did what it is for, and exits with 1 when not.
"""
import json, os, shutil, signal, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
PHASE_S = 5.0
STEP_S = 0.1
BAR = 30


def config(directory):
    with open(os.path.join(HERE, "resexd.json")) as f:
        c = json.load(f)
    c.update(socket=directory + "/sock", state_dir=directory, lock_file=directory + "/lock")
    path = directory + "/resexd.json"
    with open(path, "w") as f:
        json.dump(c, f)
    return path


class Daemon:
    def __init__(self, build, directory):
        self.resex = [os.path.join(build, "resex"), "-s", directory + "/sock"]
        self.log = open(directory + "/log", "w+")
        self.p = subprocess.Popen([os.path.join(build, "resexd"), "--hv", "sim", "-c", config(directory)],
                                  stderr=self.log)

    def ask(self, *words):
        r = subprocess.run(self.resex + ["-j", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if r.returncode:
            raise RuntimeError(r.stderr.strip())
        return json.loads(r.stdout)

    def ready(self):
        for _ in range(100):
            if self.p.poll() is not None:
                break
            try:
                if all(g["rings"] for g in self.ask("list")["guests"]) and len(self.ask("list")["guests"]) == 2:
                    return
            except RuntimeError:
                pass
            time.sleep(0.05)
        self.log.seek(0)
        sys.exit("demo: resexd did not come up:\n" + self.log.read())

    def stop(self):
        self.p.send_signal(signal.SIGTERM)
        return self.p.wait(10)


def sample(d):
    info = d.ask("info")
    return info["ticks"] * info["interval_ns"] / 1e9, {g["name"]: g for g in d.ask("list")["guests"]}


def measure(d, draw):
    """One phase: a line a tenth of a second, then totals between the first and the last sample."""
    end = time.monotonic() + PHASE_S
    wall0, first = time.monotonic(), sample(d)[1]
    caps, shown = [], 0
    while time.monotonic() < end:
        time.sleep(STEP_S)
        now = sample(d)[1]
        caps.append(now["bulk"]["cap"] or 100)
        shown += 1
        if draw:
            b = now["bulk"]
            left = b["balance"] / b["allocated"] if b["allocated"] else 0
            cap = "none" if b["cap"] is None else "%d %%" % b["cap"]
            print("  %4.1f s  bulk's Resos |%-*s| %3.0f %%  bulk's cap %s"
                  % (time.monotonic() - wall0, BAR, "#" * round(BAR * left), 100 * left, cap), flush=True)
    last, wall = sample(d)[1], time.monotonic() - wall0
    out = {"lowest_bulk_cap": min(caps)}
    for name in ("server", "bulk"):
        a, b = first[name], last[name]
        out[name] = {
            "mtus_s": (b["mtus_sent"] - a["mtus_sent"]) / wall,
            "messages_s": (b["wrs"] - a["wrs"]) / wall,
            "cpu_percent": (b["cpu_ns"] - a["cpu_ns"]) / wall / 1e7,
            "lost": b["lost"] - a["lost"],
        }
    # A closed loop with one request outstanding: its rate is one over its latency.
    out["server_latency_us"] = 1e6 / out["server"]["messages_s"] if out["server"]["messages_s"] else None
    return out


def table(rows):
    print("\n%-12s %16s %14s %14s %10s %10s" % ("policy", "server us/req", "server MTU/s", "bulk MTU/s", "bulk CPU", "low cap"))
    for name, r in rows.items():
        print("%-12s %16.1f %14.0f %14.0f %9.0f%% %9d%%" % (
            name, r["server_latency_us"], r["server"]["mtus_s"], r["bulk"]["mtus_s"],
            r["bulk"]["cpu_percent"], r["lowest_bulk_cap"]))


def judge(rows):
    """How many of the claims do not hold; one line each."""
    null, free = rows["null"], rows["freemarket"]
    claims = (
        ("null caps nobody", null["lowest_bulk_cap"] == 100),
        ("freemarket caps bulk", free["lowest_bulk_cap"] < 100),
        ("bulk then gets less CPU", free["bulk"]["cpu_percent"] < null["bulk"]["cpu_percent"]),
        ("bulk then sends less", free["bulk"]["mtus_s"] < null["bulk"]["mtus_s"]),
        ("server is then answered sooner", free["server_latency_us"] < null["server_latency_us"]),
    )
    for text, holds in claims:
        print("%s %s" % ("pass" if holds else "FAIL", text))
    failed = sum(not holds for _, holds in claims)
    print("demo: %d passed, %d failed" % (len(claims) - failed, failed))
    return failed


def main():
    as_json = "-j" in sys.argv[2:]
    test = "--test" in sys.argv[2:]
    directory = tempfile.mkdtemp(prefix="resex-demo-")
    d = Daemon(sys.argv[1], directory)
    rows, code = {}, 1
    try:
        d.ready()
        for policy in ("null", "freemarket"):
            d.ask("policy-set", policy)
            if not as_json:
                print("policy %s (simulated host, %.0f s)" % (policy, PHASE_S), flush=True)
            rows[policy] = measure(d, not as_json and not test)
        why = d.ask("why", "bulk")["guests"][0]["text"]
        if as_json:
            print(json.dumps({"simulated": True, "phases": rows, "why_bulk": why}))
        else:
            table(rows)
            print("\nresex why bulk: %s" % why)
            print("This host is simulated. Real Xen and real RDMA verbs: ./dev testbed")
        code = 1 if test and judge(rows) else 0
    finally:
        rc = d.stop()
        shutil.rmtree(directory, ignore_errors=True)
    sys.exit(code or rc)


if __name__ == "__main__":
    main()
