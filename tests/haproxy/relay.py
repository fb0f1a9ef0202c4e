# SPDX-License-Identifier: GPL-2.0-or-later
"""relay: between resexd and HAProxy's socket, and how long HAProxy takes for what resexd sends. For moves.py.

A process of its own, so that the test's threads do not delay it. Each connection of resexd gets one to
HAProxy. A turn is some commands that were sent at once; it ends with the last prompt. Each 10 ms the
relay also sends one "show info" on a connection of its own, which is a turn, too. A line of the log
for each turn: when it began, how long it took, and its commands.
"""
import json
import os
import selectors
import socket
import statistics
import subprocess
import sys
import time

PROMPT = b"\n> "
INFO_S = 0.01


class Turns:
    """A connection to HAProxy, and the turn that is under way there."""
    def __init__(self, to, log):
        self.haproxy = socket.socket(socket.AF_UNIX)
        self.haproxy.connect(to)
        self.log, self.commands, self.said, self.began = log, b"", b"", 0.0

    def send(self, data):
        if not self.commands:
            self.began = time.monotonic()
        self.commands += data
        self.haproxy.sendall(data)

    def receive(self):
        """b"": HAProxy closed the connection."""
        data = self.haproxy.recv(65536)
        self.said += data
        if self.commands and self.said.count(PROMPT) >= self.commands.count(b"\n"):
            took = time.monotonic() - self.began
            self.log.write(json.dumps([self.began, took, self.commands.decode().splitlines()]) + "\n")
            self.commands = self.said = b""
        return data


class Relay:
    def __init__(self, at, to, log):
        self.to, self.log = to, open(log, "w", buffering=1)
        self.select = selectors.DefaultSelector()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(at)
        self.listener.listen()
        self.select.register(self.listener, selectors.EVENT_READ, self.accept)
        self.info = None
        self.info_due = 0.0

    def accept(self):
        resexd = self.listener.accept()[0]
        turns = Turns(self.to, self.log)

        def close():
            for s in (resexd, turns.haproxy):
                self.select.unregister(s)
                s.close()

        def from_resexd():
            data = resexd.recv(65536)
            turns.send(data) if data else close()

        def from_haproxy():
            data = turns.receive()
            resexd.sendall(data) if data else close()
        self.select.register(resexd, selectors.EVENT_READ, self.guarded(from_resexd, close))
        self.select.register(turns.haproxy, selectors.EVENT_READ, self.guarded(from_haproxy, close))

    @staticmethod
    def guarded(step, close):
        def f():
            try:
                step()
            except OSError:
                close()
        return f

    def ask_info(self):
        if not self.info:
            self.info = Turns(self.to, self.log)
            self.info.send(b"prompt\n")
            self.select.register(self.info.haproxy, selectors.EVENT_READ, self.info.receive)
        elif not self.info.commands:
            self.info.send(b"show info\n")
        self.info_due = time.monotonic() + INFO_S

    def run(self):
        while True:
            for key, _ in self.select.select(max(0, self.info_due - time.monotonic())):
                if key.fileobj.fileno() >= 0:
                    key.data()
            if time.monotonic() >= self.info_due:
                self.ask_info()


class Process:
    """The relay, as a process. socket: for resexd."""
    def __init__(self, top, to):
        self.socket, self.log = os.path.join(top, "relay.sock"), os.path.join(top, "relay.log")
        self.process = subprocess.Popen([sys.executable, __file__, self.socket, to, self.log])

    def read(self):
        with open(self.log) as f:
            return [json.loads(line) for line in f if line.endswith("\n")]

    def costs(self, moments):
        """In seconds: the median of a move's commands, and of one "show info". moments: when moves began,
        and an end. A turn that sets a state belongs to the newest move; weights that it also sets count."""
        turns = self.read()
        of_move = [sum(took for began, took, commands in turns
                       if since <= began < till and any(" state " in c for c in commands if c.startswith("set ")))
                   for since, till in zip(moments, moments[1:])]
        info = [took for _, took, commands in turns if commands == ["show info"]]
        return statistics.median(of_move), statistics.median(info)


if __name__ == "__main__":
    Relay(*sys.argv[1:]).run()
