# SPDX-License-Identifier: GPL-2.0-or-later
"""Seeds of fuzz_mlx5.c: struct shape, a program. seeds.py writes them."""
import struct

POST5, EXECUTE5, POLL5, SAMPLE5, SAMPLE_SQ5, WRITE_SQ5, WRITE_CQ5, SET_DB5, RESET5, FILL5 = range(10)


def shape5(sq=3, cq=4, mtu=2, qp_type=1, more=0, offset=0, db=0, missing=0):
    return bytes([sq, cq, mtu, qp_type, more, offset, db, missing])


def post5(op=1, segments=1, length=5000, signalled=1):
    if op == 4:
        return bytes([POST5, 4 + 5 * signalled, segments])
    if op == 3:
        return bytes([POST5, 3 + 5 * signalled])
    data = bytes([length % 60]) if segments == 5 else struct.pack("<I", length) * segments
    return bytes([POST5, op + 5 * signalled, segments]) + data


def count5(op, n):
    return bytes([op + 10 * (n - 1)])


def after5(op=SAMPLE5, ns=1000000):
    """Once the guest is no longer honest, samples take the nanoseconds since, each its own."""
    return bytes([op]) + struct.pack("<II", ns, ns)[:8 if op == SAMPLE5 else 4]


DONE5 = count5(EXECUTE5, 4) + count5(POLL5, 4) + bytes([SAMPLE5])

MLX5_SEEDS = {
    "idle": shape5() + bytes([SAMPLE5]),
    "kinds": shape5() + b"".join(post5(i, 2) for i in range(5)) + DONE5 + DONE5,
    "inline": shape5() + post5(0, 5, 44) * 3 + DONE5,
    "segments": shape5() + (post5(1, 4, 700) + post5(2, 3, 9)) * 2 + DONE5,
    "datagrams": shape5(qp_type=3) + (post5(0, 2, 300) + DONE5) * 5,
    "unknown_type": shape5(qp_type=0) + (post5(0, 2, 300) + DONE5) * 3,
    "unsignalled": shape5() + post5(signalled=0) * 4 + DONE5 + post5() + DONE5,
    "backlog": shape5() + (post5() + DONE5) * 2 + post5() * 6 + bytes([SAMPLE_SQ5]) + DONE5,
    "wraps": shape5(sq=0, cq=0) + (post5(1, 2) + DONE5) * 20,
    "lapped": shape5(sq=0) + (post5() + count5(EXECUTE5, 1) + count5(POLL5, 1)) * 9 + DONE5,
    "long_entries": shape5(more=1) + (post5() + DONE5) * 4,
    "no_peers": shape5(more=2) + (post5() + DONE5) * 4,
    "resumed": shape5(more=4) + (post5() + DONE5) * 4,
    "resumed_surely": shape5(more=12) + (post5() + DONE5) * 4,
    "skipped": shape5(more=16) + (post5() + after5()) * 4,
    "offset": shape5(offset=33, db=63) + (post5() + DONE5) * 3,
    "too_short": shape5(missing=1) + post5() + DONE5,
    "raw": shape5(qp_type=6),
    "reset": shape5() + post5() * 3 + DONE5 + bytes([RESET5]) + after5() + post5() + count5(EXECUTE5, 1) + after5(),
    "db_forged": shape5() + post5() + DONE5 + bytes([SET_DB5, 0, 1]) + b"\xff\xff\0\0" + after5(),
    "db_far": shape5() + post5() + DONE5 + bytes([SET_DB5, 0, 1]) + b"\0\0\x77\x77" + after5(),
    "polled_forged": shape5() + post5() + DONE5 + bytes([SET_DB5, 1, 0]) + b"\0\x10\0\0" + after5(),
    "polled_far": shape5() + post5() + DONE5 + bytes([SET_DB5, 1, 0]) + b"\0\0\x77\x77" + after5(),
    "compressed": shape5() + bytes([WRITE_CQ5]) + struct.pack("<HI", 15, 0x0C) + after5(),
    "moved": shape5() + bytes([WRITE_CQ5]) + struct.pack("<HI", 15, 0x50) + after5() + after5(),
    "bad_entry": shape5() + bytes([WRITE_CQ5]) + struct.pack("<HI", 15, 0x80) + after5(),
    "failed": shape5() + post5() * 2 + bytes([WRITE_CQ5]) + struct.pack("<HI", 15, 0xD0) + bytes([WRITE_CQ5])
              + struct.pack("<HI", 14, 0x1234) + after5() + after5(),
    "filled": shape5() + post5() + bytes([FILL5, 0xAA]) + struct.pack("<H", 4096) + after5(),
}
