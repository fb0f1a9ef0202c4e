#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""replay.py RECORDING COUNT [PLUGIN]: the send queue of a recording (rxe/README, mlx/README) is put
into a file, record by record, and etc/examples/ibmon/count samples it. The sums must be the truth.
With PLUGIN the ring is said to be of provider 64."""
import subprocess
import sys
import tempfile

PAGE = 4096
PROVIDERS = {"rxe": 1, "mlx5": 2, "mlx4": 3}


class Recording:
    def __init__(self, path):
        with open(path, "rb") as f:
            head, self.data = f.read().split(b"\n\n", 1)
        lines = [line.split(" ", 1) for line in head.decode().split("\n")]
        self.key = {k: v for k, v in lines if k != "ring"}
        self.provider = PROVIDERS[self.key.get("provider", "rxe")]
        self.at = 0
        self.rings = []
        for k, v in lines:
            if k == "ring":
                kind, number, elem, entries = v.split()
                self.rings.append(Ring(self.provider, kind, int(number), int(elem), int(entries)))
        self.sq = next(r for r in self.rings if r.kind == "sq")

    def number(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def next(self):
        """Nanoseconds since the record before."""
        elapsed = self.number()
        self.number(), self.number()
        for ring in self.rings:
            at = 0
            while (skip := self.number()) > 0:
                n = 8 * self.number()
                at += 8 * (skip - 1)
                ring.memory[at:at + n] = self.data[self.at:self.at + n]
                self.at += n
                at += n
        return elapsed


class Ring:
    def __init__(self, provider, kind, number, elem, entries):
        self.kind, self.number, self.elem, self.entries = kind, number, elem, entries
        size = elem * entries + (384 if provider == PROVIDERS["rxe"] else 0)
        self.doorbell = 0
        if provider != PROVIDERS["rxe"]:
            size = -(-size // PAGE) * PAGE
            if provider == PROVIDERS["mlx5"] or kind == "cq":
                self.doorbell = size
                size += PAGE
        self.memory = bytearray(size)


def main(path, count, plugin=None):
    rec = Recording(path)
    sums = [0, 0, 0]
    with tempfile.NamedTemporaryFile() as file:

        def put():
            elapsed = rec.next()
            assert len(rec.sq.memory) == size, "a record goes beyond its ring"
            file.seek(0)
            file.write(rec.sq.memory)
            file.flush()
            return elapsed

        size = len(rec.sq.memory)
        waited = put()
        provider = 64 if plugin else rec.provider
        words = [provider, rec.sq.number, rec.sq.elem, rec.sq.entries, rec.key["mtu"], rec.sq.doorbell]
        program = subprocess.Popen([count, file.name, *map(str, words), *([plugin] if plugin else [])],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for i in range(int(rec.key["snaps"])):
            if i:
                waited += put()
            print(waited // 1000000, file=program.stdin, flush=True)
            waited %= 1000000
            line = program.stdout.readline()
            if not line:
                sys.exit(f"{path}: it ended at record {i + 1}")
            got = [int(w) for w in line.replace(",", "").split() if w.isdigit()]
            sums = [a + b for a, b in zip(sums, got, strict=True)]
        program.stdin.close()
        assert program.wait() == 0
    want = [int(rec.key[k]) for k in ("wrs", "mtus_sent", "bytes_sent")]
    print(f"{path}: {sums}, the truth is {want}")
    return sums != want


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
