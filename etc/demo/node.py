# SPDX-License-Identifier: GPL-2.0-or-later
"""node: an HTTP server that is a node of the demo, and the files of /proc that say what it carries.

usage: node.py NAME PORT FOLDER

The node has a fifth of a core, for one request at a time. A request computes; then the server rests
for four times as long. stat has the CPU time of this process, five times, so that 100 % is all that the
node has; loadavg the requests that have or await its CPU; pressure for how long some awaited it. They
have the form that proc(5) gives: resexd reads them as if it ran on that node alone.
"""
import http.server
import os
import sys
import threading
import time

PART = 5
WORK_S = 0.004
PERIOD_S = 0.02  # between two writes
TICKS = os.sysconf("SC_CLK_TCK")


class Cpu:
    def __init__(self):
        self.free, self.count, self.requests = threading.Lock(), threading.Lock(), 0

    def add(self, n):
        with self.count:
            self.requests += n

    def work(self):
        self.add(1)
        with self.free:
            began, before = time.monotonic(), time.process_time()
            end = time.thread_time() + WORK_S
            while time.thread_time() < end:
                pass
            rest = began + PART * (time.process_time() - before) - time.monotonic()
            time.sleep(max(0, rest))
        self.add(-1)


class Page(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one write

    def do_GET(self):
        self.server.cpu.work()
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.server.name)))
        self.end_headers()
        self.wfile.write(self.server.name.encode())

    def log_message(self, *args):
        pass


class Node(http.server.ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True

    def __init__(self, name, port):
        self.name, self.cpu = name, Cpu()
        super().__init__(("127.0.0.1", port), Page)


class Files:
    """Each keeps its length: what is written over it replaces all of it."""
    def __init__(self, folder):
        self.fd = {name: os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT, 0o644)
                   for name in ("stat", "loadavg", "pressure")}
        self.began, self.before, self.waited_us = time.monotonic(), time.process_time(), 0

    def write(self, cpu, passed_s):
        elapsed, used = time.monotonic() - self.began, PART * (time.process_time() - self.before)
        times = "%12d 0 0 %12d 0 0 0 0 0 0" % (used * TICKS, max(0, elapsed - used) * TICKS)
        if cpu.requests > 1:
            self.waited_us += round(1e6 * passed_s)
        running = cpu.requests + 1  # resexd leaves out the task that reads
        for name, text in (("stat", "cpu  %s\ncpu0 %s\n" % (times, times)),
                           ("loadavg", "0.00 0.00 0.00 %6d/%6d 1\n" % (running, running)),
                           ("pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=%015d\n" % self.waited_us)):
            os.pwrite(self.fd[name], text.encode(), 0)


def main():
    name, port, folder = sys.argv[1:]
    node, files, last = Node(name, int(port)), Files(folder), time.monotonic()
    files.write(node.cpu, 0)
    threading.Thread(target=node.serve_forever, daemon=True).start()
    while True:
        time.sleep(PERIOD_S)
        now = time.monotonic()
        files.write(node.cpu, now - last)
        last = now


main()
