# SPDX-License-Identifier: GPL-2.0-or-later
"""Seeds of fuzz_mlx4.c: struct shape, a program. seeds.py writes them."""
import struct

POST4, EXECUTE4, POLL4, SAMPLE4, SAMPLE_SQ4, WRITE_SQ4, WRITE_CQ4, SET_DB4, RESET4, FILL4 = range(10)


def shape4(sq=3, chunks=0, cq=4, mtu=2, qp_type=1, more=0, offset=0, db=0, missing=0):
    """sq: log2 of the slots - 1; chunks: log2 of the chunks of a slot."""
    return bytes([sq + 8 * chunks, cq, mtu, qp_type, more, offset, db, missing])


def post4(op=1, segments=1, length=5000, signalled=1, index=0):
    """op: SEND, WRITE, READ, FETCH_ADD, BIND; index: the library tells it."""
    head = bytes([POST4, op + 5 * signalled + 20 * index])
    if op >= 3:
        return head
    data = bytes([length % 60]) if segments == 5 else struct.pack("<I", length) * segments
    return head + bytes([segments]) + data


def count4(op, n):
    return bytes([op + 10 * (n - 1)])


def after4(op=SAMPLE4, ns=1000000):
    """Once the guest is no longer honest, samples take the nanoseconds since, each its own."""
    return bytes([op]) + struct.pack("<II", ns, ns)[:8 if op == SAMPLE4 else 4]


def write4(op, at, value):
    """at: of the word, in bytes; the value is that of the big-endian word."""
    return bytes([op]) + struct.pack("<HI", at // 4, value)


DONE4 = count4(EXECUTE4, 4) + count4(POLL4, 4) + bytes([SAMPLE4])
OWNER4 = 0x80000000

MLX4_SEEDS = {
    "idle": shape4() + bytes([SAMPLE4]),
    "kinds": shape4(5) + b"".join(post4(i) for i in range(5)) + DONE4 + DONE4,
    "inline": shape4(5, 2) + post4(0, 5, 44) * 3 + post4(1, 5, 59) + DONE4,
    "segments": shape4(5, 1) + (post4(1, 4, 700) + post4(2, 3, 9) + post4(0, 2, 0)) * 2 + DONE4,
    "alike": shape4(5) + (post4() * 4 + DONE4) * 3,
    "index": shape4(5) + (post4(0, 5, 20, index=1) + post4(index=1) + DONE4) * 20,
    "datagrams": shape4(5, 1, qp_type=3) + (post4(0, 2, 300) + DONE4) * 5,
    "unknown_type": shape4(5, 1, qp_type=0) + (post4(0, 2, 300) + DONE4) * 3 + post4(0, 3, 0x1000007) + DONE4,
    "unsignalled": shape4(5) + post4(signalled=0) * 4 + DONE4 + post4() + DONE4,
    "backlog": shape4(5) + (post4() + DONE4) * 2 + post4() * 6 + bytes([SAMPLE_SQ4]) + DONE4,
    "wraps": shape4(2, 0, 1) + (post4() + DONE4) * 40,
    "lapped": shape4(1) + (post4() + count4(EXECUTE4, 1) + count4(POLL4, 1)) * 9 + after4() + post4() + after4(),
    "lapped_alone": shape4(1, more=2) + (post4() + count4(EXECUTE4, 1) + count4(POLL4, 1)) * 11 + after4() + post4() + after4(),
    "stamped": shape4(1, 2) + (post4(1, 5, 59) + count4(EXECUTE4, 1) + count4(POLL4, 1)) * 4 + after4(),
    "unlinked": shape4(1) + post4() + DONE4 + (post4() + count4(EXECUTE4, 1) + count4(POLL4, 1) + bytes([SAMPLE_SQ4])) * 9
                + post4() + DONE4,
    "blank": shape4(5, more=32) + post4() * 3 + DONE4,
    "long_entries": shape4(5, more=1) + (post4() + DONE4) * 4,
    "no_peers": shape4(5, more=2) + (post4() + DONE4) * 4,
    "resumed": shape4(5, more=4) + (post4() + DONE4) * 4,
    "resumed_surely": shape4(5, more=12) + (post4() + DONE4) * 4,
    "skipped": shape4(5, more=16) + (post4() + after4()) * 4,
    "offset": shape4(5, offset=33, db=63) + (post4() + DONE4) * 3,
    "too_short": shape4(7, missing=1) + post4() + DONE4,
    "raw": shape4(qp_type=6),
    "reset": shape4(5) + post4() * 3 + DONE4 + bytes([RESET4]) + after4() + post4() + count4(EXECUTE4, 1) + after4(),
    "reset_full": shape4(2) + (post4() + DONE4) * 12 + bytes([RESET4]) + post4() * 3 + after4(),
    "polled_forged": shape4(5) + post4() + DONE4 + bytes([SET_DB4, 0]) + b"\0\x10\0\0" + after4(),
    "polled_far": shape4(5) + post4() + DONE4 + bytes([SET_DB4, 0]) + b"\0\0\x77\x77" + after4(),
    "resized": shape4(5) + write4(WRITE_CQ4, 28, 0x16) + after4() + after4(),
    "bad_entry": shape4(5) + write4(WRITE_CQ4, 0, 0x1234) + write4(WRITE_CQ4, 28, 0x42) + after4(),
    "receive": shape4(5) + write4(WRITE_CQ4, 0, 0x1234) + write4(WRITE_CQ4, 28, 0x01) + after4(),
    "failed": shape4(5) + post4() * 2 + write4(WRITE_CQ4, 0, 0x1234) + write4(WRITE_CQ4, 24, 0)
              + write4(WRITE_CQ4, 28, 0x5E) + after4() + after4(),
    "filled": shape4(5) + post4() + bytes([FILL4, 0xAA]) + struct.pack("<H", 4000) + after4(),
    "zeroed": shape4(5) + post4() + DONE4 + bytes([FILL4, 0]) + struct.pack("<H", 4000) + after4(),
    "bad_request": shape4(5) + write4(WRITE_SQ4, 4, 1) + write4(WRITE_SQ4, 0, 8) + after4(),
    "long_request": shape4(0, offset=62) + write4(WRITE_SQ4, 4, 3) + write4(WRITE_SQ4, 0, 8) + write4(WRITE_SQ4, 68, 63)
                    + write4(WRITE_SQ4, 64, 8) + after4(),
    "bad_inline": shape4(5) + write4(WRITE_SQ4, 4, 4) + write4(WRITE_SQ4, 32, OWNER4 | 29) + write4(WRITE_SQ4, 0, 8) + after4(),
    "segmentation": shape4(5) + write4(WRITE_SQ4, 4, 4) + write4(WRITE_SQ4, 0, 0xE) + after4(),
    "other_memory": shape4(5) + write4(WRITE_SQ4, 4, 0x9903) + write4(WRITE_SQ4, 0, 8) + after4(),
    "other_index": shape4(5) + write4(WRITE_SQ4, 4, 3) + write4(WRITE_SQ4, 0, 0x708) + after4(),
    "far_index": shape4(5) + post4() + DONE4 + write4(WRITE_SQ4, 68, 3) + write4(WRITE_SQ4, 64, 0x38108) + after4(),
}
