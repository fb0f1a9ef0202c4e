#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""doubt: COMMIT without an answer, of resex-auction without a cache on PostgreSQL. A relay between both ends the connection
at COMMIT: before the database has it, or when it has answered. The auction must say that it does not know, whatever came
of it, and go on. Run in the build directory. Exit: 0, 1, or 77 where there is no auction or no PostgreSQL."""
import http.client
import os
import select
import socket
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from rig import AUCTION, TOP, Auction, Failed

COMMIT = b"Q\0\0\0\x0bCOMMIT\0"
READY = b"Z\0\0\0\5"


class Relay:
    """fault: what happens at the next COMMIT: None, "before" or "behind"."""

    def __init__(self, top, server):
        self.server, self.fault, self.faults = server, None, 0
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(top + "/.s.PGSQL.5432")
        self.listener.listen(64)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with client, socket.socket(socket.AF_UNIX) as server:
            server.connect(self.server)
            while self.pass_on(client, server):
                pass

    def pass_on(self, client, server):
        for s in select.select([client, server], [], [])[0]:
            data = s.recv(65536)
            if not data:
                return False
            if s is client and data == COMMIT and self.fault:
                return self.lose(server)
            (server if s is client else client).sendall(data)
        return True

    def lose(self, server):
        fault, self.fault = self.fault, None
        if fault == "behind":
            server.sendall(COMMIT)
            said = b""
            while READY not in said:
                said += server.recv(65536)
        self.faults += 1
        return False


def bid(auction, update):
    c = http.client.HTTPConnection("127.0.0.1", auction.port, timeout=30)
    c.request("POST", "/bid", body="item=5&user=1&update=%d" % update)
    r = c.getresponse()
    text = r.read().decode()
    c.close()
    return r.status, text


def expect(what, seen, wanted):
    if seen != wanted:
        raise Failed("%s: %s instead of %s" % (what, seen, wanted))


def try_fault(relay, auction, fault, states):
    """states: of the item before, when the answer was lost, and after one more change."""
    known = auction.info()
    expect(fault + ": at first", states[0] in auction.get("/item/5"), True)
    relay.fault, faults = fault, relay.faults
    status, text = bid(auction, 7)
    expect(fault + ": faults", relay.faults - faults, 1)
    expect(fault + ": the answer", (status, text[:36]), (504, "it is not known whether this is done"))
    expect(fault + ": the item", states[1] in auction.get("/item/5"), True)
    expect(fault + ": the next one", bid(auction, 8)[0], 200)
    expect(fault + ": the item then", states[2] in auction.get("/item/5"), True)
    info = auction.info()
    seen = {k: info[k] - known[k] for k in ("unknown", "updates", "refused", "not_done")}
    expect(fault + ": counts", seen, {"unknown": 1, "updates": 1, "refused": 0, "not_done": 0})
    print("doubt: the connection is lost %s COMMIT: it is not known, and the next change is done" % fault)


def missing():
    if not os.access(AUCTION, os.X_OK):
        return "resex-auction was not built: configure with libcurl"
    r = subprocess.run([AUCTION, "-d", "host=/nonexistent", "--init", "--schema", "/nonexistent"],
                       stderr=subprocess.PIPE, text=True)
    return "resex-auction was built without PostgreSQL" if "was built with" in r.stderr else ""


def main():
    skip = missing()
    if skip:
        print("doubt: %s" % skip)
        return 77
    with tempfile.TemporaryDirectory(dir="/tmp") as top:
        script, data = TOP + "/tests/cache/pg.sh", top + "/pg"
        os.chmod(top, 0o755)  # the server is another user's
        started = subprocess.run(["sh", script, "start", data], stdout=subprocess.PIPE, text=True)
        if started.returncode:
            return started.returncode
        try:
            relay = Relay(top, data + "/.s.PGSQL.5432")
            auction = Auction(top, "--no-cache", db="host=%s user=postgres dbname=postgres" % top)
            try:
                try_fault(relay, auction, "before", ("item/5=0:0 ", "item/5=0:0 ", "item/5=1:8 "))
                try_fault(relay, auction, "behind", ("item/5=1:8 ", "item/5=2:7 ", "item/5=3:8 "))
            finally:
                auction.close()
        finally:
            subprocess.run(["sh", script, "stop", data])
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failed as e:
        print("doubt: %s" % e)
        sys.exit(1)
