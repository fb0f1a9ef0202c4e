# SPDX-License-Identifier: GPL-2.0-or-later
"""tools: wrk, ab and h2load, and the requests that they say have failed. For moves.py and switch.py."""
import os
import re
import shutil
import subprocess
import threading

from common import expect

# Each run takes about a second, so that new connections are made while nodes move.
WRK = ["wrk", "-t1", "-c4", "-d1s", "--timeout", "9s"]
AB = ["ab", "-q", "-s", "9", "-c", "4", "-n", "4000"]
H2LOAD = ["h2load", "-c", "2", "-m", "4", "-n", "10000"]


def sum_of(pattern, text):
    """The sum of the numbers of all matches."""
    return sum(int(n) for found in re.finditer(pattern, text) for n in found.groups())


def read_wrk(said):
    failed = sum_of(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", said)
    return sum_of(r"(\d+) requests in ", said), failed + sum_of(r"Non-2xx or 3xx responses: (\d+)", said)


def read_ab(said):
    failed = sum_of(r"Failed requests: +(\d+)", said) + sum_of(r"Non-2xx responses: +(\d+)", said)
    return sum_of(r"Complete requests: +(\d+)", said), failed


def read_h2load(said):
    """failed, errored, timeout, and what was never started: all that did not succeed."""
    total = sum_of(r"requests: (\d+) total", said)
    return total, total - sum_of(r"(\d+) succeeded", said)


PACKAGES = "haproxy wrk apache2-utils nghttp2-client"

# (name, command, what it says, does it speak HTTP/2)
TOOLS = (
    ("wrk", WRK, read_wrk, False),
    ("ab", AB, read_ab, False),
    ("ab -k", AB + ["-k"], read_ab, False),
    ("h2load", H2LOAD, read_h2load, True),
)


def missing(with_tools=True):
    """Of HAProxy and the tools: what is not installed."""
    names = {"haproxy"} | {command[0] for _, command, _, _ in TOOLS if with_tools}
    return sorted(name for name in names if not shutil.which(name))


def skip(test, with_tools=True):
    """Says what is missing. Returns the test's exit code."""
    print("%s: not found: %s; on Debian: apt-get install %s" % (test, " ".join(missing(with_tools)), PACKAGES))
    return 1 if os.environ.get("CI") == "true" else 77


def run_tool(command, read, port):
    """(requests, failed, what it said). A run that does not end well, or has no requests, has failed."""
    r = subprocess.run(["nice"] + command + ["http://127.0.0.1:%d/" % port], stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True)
    requests, failed = read(r.stdout)
    return requests, failed + (r.returncode != 0 or not requests), r.stdout


class Tool(threading.Thread):
    """Runs of a tool, of one service after the other, until stop."""
    def __init__(self, name, command, read, ports):
        super().__init__(daemon=True, name=name)
        self.command, self.read, self.ports = command, read, ports
        self.stop, self.requests, self.failed = False, 0, []
        self.start()

    def run(self):
        turn = 0
        while not self.stop:
            requests, failed, said = run_tool(self.command, self.read, self.ports[turn % len(self.ports)])
            self.requests += requests
            if failed:
                self.failed.append("%s: %d failed: %s" % (self.name, failed, said))
            turn += 1


def start_all(ports, ports2):
    """ports: of the services; ports2: with HTTP/2."""
    return [Tool(name, command, read, ports2 if http2 else ports) for name, command, read, http2 in TOOLS]


def stop(clients):
    """clients: threads that run until their .stop is true."""
    for c in clients:
        c.stop = True
    for c in clients:
        c.join()


def failures_are_seen(port, port2):
    """port, port2: each request is answered by an error. So that "0 failed" means something."""
    for name, command, read, http2 in TOOLS:
        requests, failed, said = run_tool(command, read, port2 if http2 else port)
        expect(failed >= requests > 0, "%s does not tell failures" % name, requests, failed, said)
