#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""test_report.py: the example of resex_report(3) is the one in etc/examples, and does what it says."""
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import time

TOP = os.environ.get("srcdir") or os.path.dirname(os.path.abspath(__file__)) + "/../.."
PROGRAM = os.getcwd() + "/report-example"
MAGIC, VERSION = 0x4c415852, 2


def read(path):
    with open(TOP + "/" + path, encoding="utf-8") as f:
        return f.read()


def the_page_shows_the_example():
    shown = re.search(r"\.Bd -literal -offset indent\n(.*?)\.Ed\n", read("man/resex_report.3"), re.S)
    whole = read("etc/examples/report.c")
    assert whole.split("\n\n", 1)[1] == shown.group(1), "man/resex_report.3 shows another program"
    code = [line for line in shown.group(1).splitlines() if line.strip()]
    assert len(code) <= 10, "the example has %d lines" % len(code)


class Run:
    """The example for as long as it is looked at; it must say nothing, and not end by itself."""

    def __init__(self, path):
        self.path = path

    def __enter__(self):
        self.program = subprocess.Popen([PROGRAM], env={"RESEX_AGENT_SOCKET": self.path},
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def __exit__(self, *_):
        ended = self.program.poll()
        self.program.kill()
        said = self.program.communicate()[0]
        assert ended is None and not said, (ended, said)


def without_an_agent_it_runs_the_same():
    with Run("/nonexistent/sock"):
        time.sleep(0.3)


def with_an_agent_reports_arrive():
    with tempfile.TemporaryDirectory() as d, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.bind(d + "/sock")
        s.settimeout(60)
        samples = []
        with Run(d + "/sock"):
            while len(samples) < 20:
                data = s.recv(4096)
                magic, version, n, dropped = struct.unpack_from("=IHHI", data)
                assert (magic, version, dropped, len(data)) == (MAGIC, VERSION, 0, 16 + 12 * n), data
                samples += [struct.unpack_from("=III", data, 16 + 12 * i) for i in range(n)]
        assert set(samples) == {(100000, 850000, 50000)}, samples


def main():
    if not os.path.exists(PROGRAM):
        print("report: report-example is not built in " + os.getcwd())
        return 77
    for test in (the_page_shows_the_example, without_an_agent_it_runs_the_same,
                 with_an_agent_reports_arrive):
        test()
        print("pass " + test.__name__.replace("_", " "))
    return 0


sys.exit(main())
