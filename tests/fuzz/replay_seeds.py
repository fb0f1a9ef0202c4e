# SPDX-License-Identifier: GPL-2.0-or-later
"""replay_seeds: seeds of fuzz_replay.c, for seeds.py: a byte; records as kind, 2 bytes of length, payload."""
import struct

POLICY, BLOCK, SET, START, SLOT, TICK, DECIDED, ACCOUNTS, END = range(2, 11)


def numbers(*values):
    out = b""
    for v in values:
        while v >= 0x80:
            out += bytes([v & 0x7F | 0x80])
            v >>= 7
        out += bytes([v])
    return out


def replay_record(kind, *values):
    payload = b"".join(v if isinstance(v, bytes) else numbers(v) for v in values)
    return bytes([kind]) + struct.pack("<H", len(payload)) + payload


def replay_guest(slot, domid, sla=0):
    # created domid slot flags vcpus weight link own own_generation ceiling min vcpus sla unreadable ...
    return (b"u" * 16 + numbers(domid, domid, slot, 2, 1, 256, 0, 0, 0, 0, 0, 0, 1000, 1, sla, sla, sla // 9, 0,
                                slot, 1, 0, 0))


def replay_set(serial, *guests):
    return replay_record(SET, serial, len(guests), *guests)


def replay_start(now, supply):
    return replay_record(START, now, now - 1000000, 0, 9, 0, 0, 0, supply, 0, 0, 0, 0, 10, 10, 0, 0, 0, 0, 0)


def replay_slot(slot, allocated):
    state = [0] * 15 + [0] * 7 + [0] * 2 + [0, 65536, 0, 0, 0, 1, 0, 1, 0]
    account = [1, 0, 1, 256, 65536, allocated, allocated, 0, 0, 0, 0, 0, 0]
    plan = [0, 0, 65536, 0, 0, 0, 0, 0, 0, 0]
    return replay_record(SLOT, slot, 0, *state, *[0] * 11, 2, 0, 0, 0, 65536, allocated, allocated, *[0] * 11,
                         *[0] * 6, *account, *plan)


def replay_word(cpu_ns, state=None):
    """Of the only guest: so much more CPU time, and another state."""
    return b"\1" + (numbers(4 * cpu_ns) if state is None else numbers(4 * cpu_ns + 1, state))


def replay_tick(ns, words, *scans, answers=(), again=(0,), errno=0):
    return replay_record(TICK, 2 * ns, *answers, 0, *again, errno, words, *scans, 0)


SCAN = numbers(1, (1 << 2 | 1 << 4 | 1 << 8 | 1 << 9) << 1 | 1, 100, 5000, 2, 1)
REPORT = numbers(1, (1 << 11 | 1 << 12 | 1 << 13 | 1 << 15) << 1 | 1, 4, 800000, 400000, 40000000000)


def replay_run(control=5, ticks=3, allocated=1000000):
    """Compared, or with 8 under another policy."""
    decided = b"" if control & 8 else replay_record(DECIDED, 1, 0, 65536, 0, 0, 0, 0)
    return (bytes([control]) + replay_set(1, replay_guest(0, 1, 100000)) + replay_start(5000000000, allocated) +
            replay_slot(0, allocated) + replay_tick(5001000000, replay_word(1000, 1), SCAN) + decided +
            b"".join(replay_tick(1000000, replay_word(1000000), SCAN) for _ in range(ticks)))


def replay_policy(name, params, global_bytes):
    return replay_record(POLICY, len(name), name.encode(), len(params), params, len(global_bytes), global_bytes)


def replay_block(slot, size, *values):
    """values: numbers of 8 bytes at the start of the block."""
    return replay_record(BLOCK, slot, struct.pack("<%dQ" % len(values), *values).ljust(size, b"\0"))


FREEMARKET = struct.pack("<5Q", 100, 100, 100, 10000000, 1000)
IOSHARES = struct.pack("<18Q", 50000000, 128, 50, 3000, 1500, 50, 10000000, 4, 150, 1000000000, 2000000000, 100,
                       30000000000, 1000, 0, 1000, 50, 0)
REPLAY_MORE = (replay_tick(1000000, b"\0", answers=(1, 1 << 32, 0), again=(1, 1, 0, 0, 0)) +
               replay_tick(1000000, b"", errno=5) + replay_set(2) + replay_tick(1000000, b"") +
               replay_set(3, replay_guest(0, 1), replay_guest(7, 9)) + replay_tick(1000000, replay_word(9, 2)) +
               replay_tick(900000000, replay_word(9, 3)) + replay_tick(200000000, b"\0"))
REPLAY_REPORT = replay_tick(1000000, b"\0", REPORT)
REPLAY = {
    "file": b"\0RESEXTRC\1\0\0\0",
    "null": replay_run(4) + replay_record(END, 1, 4), "freemarket": replay_run(), "more": replay_run(13) + REPLAY_MORE,
    "ioshares": replay_run(14) + REPLAY_REPORT * 30 + REPLAY_MORE, "ratio": replay_run(15) + REPLAY_MORE,
    "slot": replay_run(13) + replay_set(2, replay_guest(257, 1)),
    "short": replay_run(13, 60, 3000), "same": replay_run(4) + REPLAY_MORE,
    "state": replay_run(4) + replay_policy("freemarket", FREEMARKET, b"") + replay_block(0, 32, 9, 4000000000) +
    replay_set(2, replay_guest(0, 1)) + replay_tick(1000000, replay_word(1000000, 1), SCAN),
    "blame": replay_run(4) + replay_policy("ioshares", IOSHARES, bytes(256)) + replay_block(0, 7520, 131072, 5, 5) +
    replay_set(2, replay_guest(0, 1, 100000)) + REPLAY_REPORT * 9,
    "accounts": replay_run(4) + replay_record(ACCOUNTS, 0), "decided": replay_run(4) + replay_record(DECIDED, 1, 9, 65536, 0, 1, 0, 0),
}
