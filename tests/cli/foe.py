#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""foe: a hostile caller of a resexd over tcp (src/transport/front/hello.h, tcp.h).

usage: foe.py ADDRESS PORT CLUSTER KEY FROM TO bounds|numbers|above

bounds: it holds the key, agrees with TO, and reads beyond the end of the table. Exit 0: it was refused.
above: it holds the key, agrees with TO, and its generation is above the last one. Exit 0: it was refused.
reader: it holds the key, comes as a client that may READ, and changes words. Exit 0: each was refused, READs were not.
numbers: it does not hold the key, and claims to be each of 64 hosts in turn, twice.
"""
import hashlib, hmac, os, socket, struct, sys

MAGIC, WIRE = 0x68785352, 0x7852
CALL, PROOF = 1, 3
HELLO, READ, CAS, FAA, SEND, DONE, REFUSED = range(1, 8)
CLIENT = 1


def start(message):
    return struct.pack("<IHH", MAGIC, 4, message)


def mac(key, name, said):
    return hmac.new(key, name.ljust(16).encode() + said, hashlib.sha256).digest()


class Foe:
    def __init__(self, address, port):
        self.s = socket.create_connection((address, port), 5)

    def put(self, kind, data):
        self.s.sendall(struct.pack("<HBBI", WIRE, kind, 0, len(data)) + data)

    def bytes(self, n):
        got = b""
        while len(got) < n:
            more = self.s.recv(n - len(got))
            if not more:
                raise EOFError("hung up on")
            got += more
        return got

    def take(self):
        _, kind, _, n = struct.unpack("<HBBI", self.bytes(8))
        return kind, self.bytes(n)

    def call(self, cluster, number, to, generation, agreement=0, role=0):
        """What was said up to the ANSWER."""
        said = start(CALL) + struct.pack("<HHHHQQQ", number, to, role, 0, generation, 1, agreement) + os.urandom(32)
        said += cluster.encode().ljust(64, b"\0")
        self.put(HELLO, said)
        return said + self.take()[1]

    def prove(self, key, said):
        self.put(HELLO, start(PROOF) + mac(key, "resex: proof 4", said + start(PROOF)))
        self.take()


def agreement(said):
    """Of who gave the ANSWER, which follows a CALL of 136 bytes."""
    return struct.unpack_from("<Q", said, 136 + 32)[0]


def bounds(where, cluster, key, number, to):
    theirs = agreement(Foe(*where).call(cluster, number, to, 60000))
    foe = Foe(*where)
    foe.prove(key, foe.call(cluster, number, to, 60000, theirs))
    foe.put(READ, struct.pack("<III", 0, 1 << 20, 4096))
    return 0 if foe.take()[0] == REFUSED else 1


def reader(where, cluster, key, number, to):
    theirs = agreement(Foe(*where).call(cluster, number, to, 1, role=CLIENT))
    foe = Foe(*where)
    foe.prove(key, foe.call(cluster, number, to, 1, theirs, CLIENT))
    for _ in range(3):
        for kind, data in (CAS, struct.pack("<IIQQ", 1, 0, 0, 1)), (FAA, struct.pack("<IIQ", 1, 0, 1)), (SEND, b"x"):
            foe.put(kind, data)
            if foe.take()[0] != REFUSED:
                return 1
        foe.put(READ, struct.pack("<III", 1, 0, 8))
        if foe.take()[0] != DONE:
            return 1
    return 0


def above(where, cluster, key, number, to):
    theirs = agreement(Foe(*where).call(cluster, number, to, 1))
    foe = Foe(*where)
    try:
        foe.prove(key, foe.call(cluster, number, to, 1 << 30, theirs))
    except (EOFError, ConnectionError):
        return 0
    return 1


def numbers(where, cluster, to):
    for i in range(128):
        try:
            foe = Foe(*where)
            foe.call(cluster, 1 + i % 64, to, 1)
            foe.s.close()
        except (EOFError, ConnectionError):
            pass  # too many within this second
    return 0


def main(a):
    where, cluster, key, number, to = (a[1], int(a[2])), a[3], a[4].encode(), int(a[5]), int(a[6])
    if a[7] == "numbers":
        return numbers(where, cluster, to)
    return {"bounds": bounds, "above": above, "reader": reader}[a[7]](where, cluster, key, number, to)


sys.exit(main(sys.argv))
