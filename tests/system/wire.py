# SPDX-License-Identifier: GPL-2.0-or-later
"""wire: a cable between two VMs that can be cut, and held at an atomic of RDMA.

	VM 1 --- datagrams --- Wire --- datagrams --- VM 2

Each frame passes through here. Atomics of RoCE v2 are named by the words that they change: a lock
is acquired or released, a counter is raised, a node's word gets another service. So a scenario can
hold the cable right before an operation is executed, or right before its result arrives, and then
stop, kill or cut what it wants to. No frame is changed.
"""
import collections
import os
import select
import socket
import struct
import tempfile
import threading

from bed import wait_for

ATOMIC_ANSWER, CAS, FAA = 0x12, 0x13, 0x14
ROCE_PORT = 4791
OWNER_SHIFT = 54  # in a word: include/resex/region_abi.h
FREE = (0, 0x3ff)  # owners of a lock that nobody holds
HOSTS = (1, 2)
SEND_S = 0.2

# Unix sockets' names must be short, which those of logs need not be.
_dir = tempfile.gettempdir() + "/resex-wire-%d-" % os.getpid()
ENDS = ((_dir + "1", _dir + "1w"), (_dir + "2", _dir + "2w"))


def roce(frame):
    """(opcode, packet number, what is behind the header); None: it is no RoCE."""
    if len(frame) < 54 or frame[12:14] != b"\x08\x00" or frame[23] != socket.IPPROTO_UDP:
        return None
    udp = 14 + 4 * (frame[14] & 15)
    if len(frame) < udp + 20 or struct.unpack_from(">H", frame, udp + 2)[0] != ROCE_PORT:
        return None
    bth = udp + 8
    return frame[bth], int.from_bytes(frame[bth + 9:bth + 12], "big"), frame[bth + 12:]


def name_of(opcode, rest, services):
    """What a request does to which word: (name, compare); None: nothing that is of a move."""
    if opcode not in (CAS, FAA) or len(rest) < 28:
        return None
    at, _, swap, compare = struct.unpack_from(">QIQQ", rest)
    if opcode == FAA:
        return "tell", None
    new, old = swap >> OWNER_SHIFT, compare >> OWNER_SHIFT
    # The locks are a page of words, by the numbers of services.
    service = at % 4096 // 8
    if new in services and old in services:
        return ("sweep" if new == old else "move"), compare
    if service not in services or swap == compare:
        return None
    which = str(1 + sorted(services).index(service))
    if new in HOSTS:
        return "lock" + which, compare
    return ("unlock" + which, compare) if old in HOSTS and new in FREE else None


class Wire:
    """Use with "with". services: the numbers of two services, which no host has."""

    def __init__(self, services):
        self.services = services
        self.lock = threading.RLock()
        self.cut = self.ending = False
        self.lost = 0  # frames, while it was cut
        self.want = None  # (host, name, "request" or "answer")
        self.after, self.least = None, 0  # (host, name) of what must have been executed so often
        self.held = None  # [(host, frame)] since the wanted one
        self.asked = [{}, {}]  # of each host: its requests, by packet number
        self.done = collections.Counter()  # requests that were executed, by (host, name)

    def __enter__(self):
        self.sockets = []
        for _, path in ENDS:
            s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
            s.bind(path)
            self.sockets.append(s)
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, kind, value, trace):
        self.ending = True
        self.thread.join()
        for s in self.sockets:
            s.close()
        for path in sum(ENDS, ()):
            if os.path.exists(path):
                os.unlink(path)

    # --- what scenarios do -----------------------------------------------------------------------

    def set_cut(self, cut):
        with self.lock:
            self.cut = cut

    def arm(self, host, name, stage, after=None):
        """Hold all frames from the next one on with which host's request comes, or its answer.

        after: the name of what host must have executed from now on before that.
        """
        with self.lock:
            self.want, self.held = (host, name, stage), None
            self.after, self.least = (host, after), self.done[host, after] + bool(after)

    def wait_held(self, what, seconds=20):
        wait_for("%s on the wire" % what, seconds, lambda: self.held is not None, 0.002)

    def release(self):
        """Frames pass again, those that were held first."""
        with self.lock:
            self.come_late(self.lose())

    def lose(self):
        """Frames pass again, but those that were held: these are for come_late()."""
        with self.lock:
            held, self.want, self.held = self.held or [], None, None
        return held

    def come_late(self, frames):
        with self.lock:
            for host, frame in frames:
                self._send(host, frame)

    # --- frames ----------------------------------------------------------------------------------

    def _run(self):
        while not self.ending:
            for s in select.select(self.sockets, [], [], 0.2)[0]:
                frame = s.recv(65536)
                with self.lock:
                    self.lost += self.cut
                    if not self.cut:
                        self._pass(1 + self.sockets.index(s), frame)

    def _pass(self, host, frame):
        seen = self._look(host, frame)
        if self.held is None and seen and seen == self.want and self.done[self.after] >= self.least:
            self.held = []
        if self.held is None:
            self._send(host, frame)
        else:
            self.held.append((host, frame))

    def _send(self, host, frame):
        """To the other one. A VM that is off, or takes none, loses it."""
        s = self.sockets[2 - host]
        s.settimeout(SEND_S)
        try:
            s.sendto(frame, ENDS[2 - host][0])
        except OSError:
            pass
        s.settimeout(None)

    def _look(self, host, frame):
        """(of whom, name, "request" or "answer") of an atomic; None: it is something else."""
        packet = roce(frame)
        if not packet:
            return None
        opcode, psn, rest = packet
        if opcode == ATOMIC_ANSWER:
            return self._answer(3 - host, psn, rest)
        named = name_of(opcode, rest, self.services)
        if not named:
            return None
        self.asked[host - 1][psn] = named
        return host, named[0], "request"

    def _answer(self, host, psn, rest):
        """Only of what was executed: a CAS of a guess is not, when its compare is another word."""
        name, compare = self.asked[host - 1].pop(psn, (None, None))
        if not name or len(rest) < 12:
            return None
        if compare is not None and struct.unpack_from(">Q", rest, 4)[0] != compare:
            return None
        self.done[host, name] += 1
        return host, name, "answer"
