#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""region.py NAME: write a golden region of version 2 to stdout, "region", "app" or "proxy": see README."""
import struct
import sys


def crc32c(data):
    """Castagnoli, reflected: RFC 3720, appendix B.4."""
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def record(kind, payload, seq=1):
    """A record with its head: seq, bytes, kind, crc."""
    head = struct.pack("<3I", seq, len(payload), kind)
    return head + struct.pack("<I", crc32c(head + bytes(4) + payload)) + payload


def text(s, size=64):
    return s.encode().ljust(size, b"\0")


def entry(kind, part, offset, stride, count):
    return struct.pack("<6I", kind, part, offset, stride, count, 0)


def header(generation, part_bytes, directory):
    parts = list(part_bytes) + [0] * (8 - len(part_bytes))
    return record(1, struct.pack("<Q2IQ2I8I", 0x4e47525845534552, 2, 3, generation, len(directory), 0, *parts)
                  + b"".join(directory).ljust(768, b"\0"))


DIRECTORY = [
    entry(2, 0, 4096, 384, 1), entry(3, 0, 8192, 192, 256), entry(4, 0, 57344, 128, 256),
    entry(5, 0, 90112, 128, 256),
] + [entry(64 + i, 1, 4096 * i, 8, 512) for i in range(4)]

HOST = struct.pack("<8Q4I2Qq", 1, 1700000000000000000, 17, 5, 7, 0, 0, 1 << 63, 1, 1, 4, 2, 3 << 30,
                   9, -250) + text("north") + text("1.2", 32) + text("freemarket") + struct.pack(
                       "<2I4Q", 1, 1, 1, 0, 21, 22) + bytes(64)
GUEST = bytes(range(16)) + struct.pack("<6I2q4Q", 6, 9, 2, 256, 12500, 8, 1000, -1, 11, 12, 13,
                                       14) + text("web") + bytes(16)
NODE = struct.pack("<4I", 0, 3, 900, 2) + text("n0") + bytes(32)
SERVICE = struct.pack("<2I4Q", 2, 1, 5, 0, 0, 1) + text("shop") + bytes(8)

TABLE = {0: header(17, (122880, 16384), DIRECTORY), 4096: record(2, HOST), 8192: record(3, GUEST),
         57344: record(4, NODE), 90112: record(5, SERVICE)}
# A lock: {free, epoch 17, count 0}; a node: {no service, epoch 0, count 1}.
WORDS = {0: struct.pack("<2Q", 17 << 24, 17 << 24), 8192: struct.pack("<2Q", 1, 1)}

# An application server with 1000 version words and 3 slots, and a proxy. Nothing has happened yet.
CACHED = [entry(68, 3, 0, 8, 1), entry(69, 3, 64, 8, 1), entry(70, 3, 4096, 8, 1000), entry(71, 1, 16384, 8, 3 * 256)]
APP = {0: header(17, (4096, 16384 + 2 * 4096, 0, 4096 + 2 * 4096), CACHED)}
PROXY = {0: header(17, (4096, 4096), [])}

PARTS = {"region": (TABLE, WORDS), "app": (APP,), "proxy": (PROXY,)}

for number, part in enumerate(PARTS[sys.argv[1]]):
    for start, data in sorted(part.items()):
        data = data.ljust((len(data) + 15) // 16 * 16, b"\0")
        for at in range(0, len(data), 16):
            if any(data[at:at + 16]):
                print(number, "%05x" % (start + at), data[at:at + 16].hex())
