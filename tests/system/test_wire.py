#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""wire.py: which atomics it names, and that it holds, drops and cuts the frames that it should."""
import os
import socket
import struct
import sys
import unittest

sys.dont_write_bytecode = True  # the sources may be read-only
import wire
from bed import wait_for

WEB, MAIL = 201, 202
NODE, LOCK_WEB, LOCK_MAIL = 0x7000 + 8, 0x5000 + 8 * WEB, 0x5000 + 8 * MAIL


def word(owner, seq):
    return owner << wire.OWNER_SHIFT | seq


def frame(opcode, psn, rest):
    bth = struct.pack(">BBHII", opcode, 0, 0xffff, 17, psn) + rest
    udp = struct.pack(">HHHH", 50000, wire.ROCE_PORT, 8 + len(bth) + 4, 0) + bth + bytes(4)
    return bytes(12) + b"\x08\x00\x45" + bytes(8) + b"\x11" + bytes(10) + udp


def cas(psn, at, compare, swap):
    return frame(wire.CAS, psn, struct.pack(">QIQQ", at, 99, swap, compare))


def answer(psn, old):
    return frame(wire.ATOMIC_ANSWER, psn, struct.pack(">IQ", 0, old))


LOCK = cas(5, LOCK_WEB, word(0, 7), word(2, 8))


class Names(unittest.TestCase):
    def named(self, raw):
        opcode, _, rest = wire.roce(raw)
        name = wire.name_of(opcode, rest, {WEB, MAIL})
        return name and name[0]

    def test_locks_by_their_service(self):
        self.assertEqual(self.named(LOCK), "lock1")
        self.assertEqual(self.named(cas(5, LOCK_MAIL, word(0x3ff, 7), word(2, 8))), "lock2")
        self.assertEqual(self.named(cas(5, LOCK_MAIL, word(2, 8), word(0, 8))), "unlock2")
        self.assertEqual(self.named(cas(5, LOCK_WEB, word(2, 8), word(0x3ff, 8))), "unlock1")

    def test_nodes_words_and_counters(self):
        self.assertEqual(self.named(cas(5, NODE, word(WEB, 7), word(MAIL, 8))), "move")
        self.assertEqual(self.named(cas(5, NODE, word(WEB, 7), word(WEB, 8))), "sweep")
        self.assertEqual(self.named(frame(wire.FAA, 5, struct.pack(">QIQQ", 0x6000 + 8 * MAIL, 99, 1, 0))), "tell")

    def test_what_is_no_atomic_of_a_move(self):
        self.assertIsNone(self.named(cas(5, LOCK_WEB, 0, 0)))
        self.assertIsNone(self.named(cas(5, LOCK_WEB + 8 * 20, word(0, 7), word(2, 8))))
        self.assertIsNone(self.named(answer(5, 7)))
        self.assertIsNone(self.named(frame(wire.CAS, 5, bytes(4))))
        self.assertIsNone(wire.roce(b"\xff" * 60))
        self.assertIsNone(wire.roce(LOCK[:40]))


class Frames(unittest.TestCase):
    def setUp(self):
        self.wire = wire.Wire({WEB, MAIL}).__enter__()
        self.vm = []
        for path, other in wire.ENDS:
            s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            s.bind(path)
            s.connect(other)
            s.settimeout(5)
            self.vm.append(s)

    def tearDown(self):
        for s in self.vm:
            s.close()
        self.wire.__exit__(None, None, None)
        self.assertFalse([p for ends in wire.ENDS for p in ends if os.path.exists(p)])

    def passes(self, host, raw):
        self.vm[host - 1].send(raw)
        self.assertEqual(self.vm[2 - host].recv(2000), raw)

    def silent(self, host):
        """What was sent to it before did not arrive; what comes now does."""
        self.passes(3 - host, b"marker")

    def test_an_answer_is_held_with_all_behind_it(self):
        self.wire.arm(2, "lock1", "answer")
        self.passes(2, LOCK)
        self.passes(1, b"other")
        self.vm[0].send(answer(5, word(0, 7)))
        self.wire.wait_held("answer")
        self.vm[0].send(b"behind")
        self.vm[1].send(b"back")
        wait_for("three frames", 5, lambda: len(self.wire.held) == 3)
        self.wire.release()
        self.assertEqual([self.vm[1].recv(2000) for _ in range(2)], [answer(5, word(0, 7)), b"behind"])
        self.assertEqual(self.vm[0].recv(2000), b"back")
        self.assertEqual(self.wire.done[2, "lock1"], 1)

    def test_a_guess_that_fails_is_not_held(self):
        self.wire.arm(2, "lock1", "answer")
        self.passes(2, LOCK)
        self.passes(1, answer(5, word(1, 7)))
        self.assertIsNone(self.wire.held)
        self.assertEqual(self.wire.done[2, "lock1"], 0)

    def test_what_comes_before_another_operation_is_not_held(self):
        self.wire.arm(2, "unlock1", "request", after="lock1")
        unlock = cas(6, LOCK_WEB, word(2, 8), word(0, 8))
        self.passes(2, unlock)
        self.passes(2, LOCK)
        self.passes(1, answer(5, word(0, 7)))
        self.vm[1].send(unlock)
        self.wire.wait_held("unlock")

    def test_another_hosts_request_is_not_held(self):
        self.wire.arm(1, "lock1", "request")
        self.passes(2, LOCK)

    def test_what_is_dropped_or_cut_does_not_arrive(self):
        self.wire.arm(2, "lock1", "request")
        self.vm[1].send(LOCK)
        self.wire.wait_held("request")
        held = self.wire.lose()
        self.silent(1)
        self.wire.come_late(held)
        self.assertEqual(self.vm[0].recv(2000), LOCK)
        self.wire.set_cut(True)
        self.vm[1].send(b"lost")
        wait_for("a frame that was cut", 5, lambda: self.wire.lost == 1)
        self.wire.set_cut(False)
        self.silent(1)


if __name__ == "__main__":
    unittest.main()
