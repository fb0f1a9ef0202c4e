# SPDX-License-Identifier: GPL-2.0-or-later
"""stall: the other end of stall.c: holds a thread of one program at a moment, and moves its wall clock."""
import mmap
import os
import struct
import time

MOMENTS = ("", "commit_unsent", "commit_behind", "commit_sent", "committed", "looked", "joined", "clock_read", "fill_begun",
           "fill_ends", "fill_ended", "update_ends", "asked")
IDLE, ARMED, HELD, LET_GO = range(4)
GO_ON, CUT = range(2)
STATE, MOMENT, SKIP, VERDICT, LIMIT, TID = range(0, 24, 4)
REAL, PASSED = 24, 32
SIZE = 4096


class Stall:
    def __init__(self, path):
        self.path = path
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        os.ftruncate(fd, SIZE)
        self.memory = mmap.mmap(fd, SIZE)
        os.close(fd)

    def read(self, at):
        return struct.unpack_from("@I", self.memory, at)[0]

    def write(self, at, v):
        struct.pack_into("@I", self.memory, at, v)

    def arm(self, moment, skip=0, limit_ms=3000):
        """The next thread that comes there, but for the first so many, is held, for limit_ms at the most."""
        self.write(STATE, IDLE)
        self.write(VERDICT, GO_ON)
        self.write(SKIP, skip)
        self.write(LIMIT, limit_ms)
        self.write(MOMENT, MOMENTS.index(moment))
        self.write(STATE, ARMED)

    def wait_held(self, seconds):
        """false: nobody came; nothing is armed then."""
        end = time.monotonic() + seconds
        while self.read(STATE) != HELD:
            if time.monotonic() > end:
                self.disarm()
                return False
            time.sleep(0.0005)
        return True

    def let_go(self, verdict=GO_ON):
        self.write(VERDICT, verdict)
        if self.read(STATE) == HELD:
            self.write(STATE, LET_GO)

    def wait_gone(self, seconds):
        """The held thread has gone on."""
        end = time.monotonic() + seconds
        while self.read(STATE) in (HELD, LET_GO) and time.monotonic() < end:
            time.sleep(0.005)
        return self.read(STATE) == IDLE

    def disarm(self):
        """Also of a program that has ended."""
        self.write(STATE, IDLE)
        self.write(MOMENT, 0)

    def passed(self, moment):
        return struct.unpack_from("@Q", self.memory, PASSED + 8 * MOMENTS.index(moment))[0]

    def real_offset(self, ns):
        struct.pack_into("@q", self.memory, REAL, ns)
