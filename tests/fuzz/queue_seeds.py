#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""queue_seeds: seeds of fuzz_queues.c: steps of an op and an argument."""
import struct


def listed(slot, form):
    return bytes([4, slot, form])


def word(at, value):
    return bytes([2, 0]) + struct.pack("<QH", value, at)


def about(address, nonce):
    return bytes([3, 0, 24]) + struct.pack("<IHHQQ", 0x51415852, 1, 0, address, nonce)


LOOK, FULL = bytes([0, 0]), bytes([1, 0])
QUEUES = {
    "honest": b"".join(listed(i, i) + LOOK for i in range(64)) + FULL,
    "replaced": listed(1, 2) + LOOK + listed(1, 2) + LOOK + about(0x10000, 7) + LOOK,
    "another": listed(1, 2) + LOOK + word(1, 9) + about(0x10000, 9) + LOOK,
    "wrong": listed(1, 2) + LOOK + word(1, 9) + LOOK + about(0x20000, 9) + about(0x10001, 9),
    "torn": listed(1, 2) + bytes([6, 0]) + LOOK + bytes([5, 1]) + LOOK + bytes([5, 1]) + LOOK,
    "moved": listed(1, 2) + LOOK + bytes([7, 1]) + FULL + bytes([7, 4]) + FULL + FULL,
    "no_room": b"".join(listed(i, 2) for i in range(20)) + bytes([7, 0x28]) + FULL + bytes([7, 0]) + FULL,
    "large": b"".join(listed(i, 0x1f) for i in range(20)) + LOOK,
    "rxe": listed(3, 64) + LOOK + listed(3, 65) + LOOK,
    "mlx4": b"".join(listed(i, 128 + i) + LOOK for i in range(16)) + FULL,
    "words": listed(0, 3) + b"".join(word(8 + k, 1 << s) + bytes([5, 2]) + LOOK + listed(0, 3)
                                     for k in range(6) for s in (0, 7, 20, 33, 52, 63)),
}
