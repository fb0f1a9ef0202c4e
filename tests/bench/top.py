#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What two resex top -d 0.1 cost the ticks of resexd: turns with them and without them, one after the other, in one run.

usage: top.py BUILD [GUESTS [TURNS]]

Prints, of both kinds of turn, the median of the mean ticks of turns, and the median of the ratios of a turn to the one before it. The
guests are simulated and nearly idle; the simulator is in no tick, but runs on the same machine. Judges nothing.
"""
import fcntl
import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time

BUILD = sys.argv[1]
GUESTS = int(sys.argv[2]) if len(sys.argv) > 2 else 16
TURNS = int(sys.argv[3]) if len(sys.argv) > 3 else 15
SECONDS = 2


def drain(fd):
    try:
        while os.read(fd, 65536):
            pass
    except OSError:  # top has ended
        pass
    os.close(fd)


def top(sock):
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 160, 0, 0))
    child = subprocess.Popen([BUILD + "/resex", "-s", sock, "top", "-d", "0.1"], stdin=slave, stdout=slave, env={**os.environ, "TERM": "xterm"})
    os.close(slave)
    threading.Thread(target=drain, args=(master,), daemon=True).start()
    return child


def info(sock):
    r = subprocess.run([BUILD + "/resex", "-j", "-s", sock, "info"], capture_output=True, check=True, timeout=60)
    return json.loads(r.stdout)


def turn(sock, tops):
    """The mean tick in us, and the late ticks, of a turn."""
    children = [top(sock) for _ in range(tops)]
    time.sleep(0.5)
    before = info(sock)
    time.sleep(SECONDS)
    after = info(sock)
    for child in children:
        if child.poll() is not None:
            sys.exit("bench: resex top ended with %d" % child.returncode)
        child.terminate()
        child.wait(20)
    n = after["ticks"] - before["ticks"]
    ns = after["tick_mean_ns"] * after["ticks"] - before["tick_mean_ns"] * before["ticks"]
    return ns / n / 1000, 100 * (after["late_ticks"] - before["late_ticks"]) / n


def start(directory):
    sock = directory + "/sock"
    guests = [{"name": "g%d" % i, "apps": [{"kind": "sender", "rate": 10}]} for i in range(GUESTS)]
    with open(directory + "/scenario.json", "w", encoding="utf-8") as f:
        json.dump({"duration": "3600s", "clock": "real", "policy": "null", "guests": guests}, f)
    log = open(directory + "/log", "wb")
    daemon = subprocess.Popen([BUILD + "/resexd", "--hv", "sim", "-S", directory + "/scenario.json", "-s", sock, "-o", directory + "/summary"],
                              stderr=log)
    for _ in range(300):
        r = subprocess.run([BUILD + "/resex", "-j", "-s", sock, "list"], capture_output=True, timeout=60)
        if r.returncode == 0 and len(json.loads(r.stdout)["guests"]) == GUESTS:
            return daemon, sock
        time.sleep(0.1)
    daemon.kill()
    sys.exit("bench: resexd does not answer: " + open(directory + "/log", encoding="utf-8", errors="replace").read())


def main():
    with tempfile.TemporaryDirectory(prefix="resex-bench-") as directory:
        daemon, sock = start(directory)
        try:
            pairs = [(turn(sock, 0), turn(sock, 2)) for _ in range(TURNS)]
        finally:
            daemon.terminate()
            daemon.wait(60)
    print("ticks of resexd with %d simulated guests, %d pairs of turns of %d s, load of the machine %.1f" % (GUESTS, TURNS, SECONDS, os.getloadavg()[0]))
    print("%-24s %9s %9s" % ("", "tick us", "late %"))
    for name, side in ("without resex top", 0), ("two resex top -d 0.1", 1):
        print("%-24s %9.3f %9.2f" % (name, statistics.median(p[side][0] for p in pairs), statistics.median(p[side][1] for p in pairs)))
    ratios = sorted(w[0] / wo[0] for wo, w in pairs)
    print("ratio of medians %.3f; of each pair: median %.3f, %.3f to %.3f"
          % (statistics.median(p[1][0] for p in pairs) / statistics.median(p[0][0] for p in pairs), statistics.median(ratios), ratios[0], ratios[-1]))


main()
