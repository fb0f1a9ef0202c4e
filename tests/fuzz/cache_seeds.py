# SPDX-License-Identifier: GPL-2.0-or-later
"""cache_seeds: seeds of fuzz_cache.c, for seeds.py: messages to a home, to a fill and to a proxy's evidence."""

# --- cache: commands, each a byte, its argument, time, and what it needs (fuzz_cache.c) -----------


def command(what, which=0, *more, time=0):
    return bytes([what, which, time, *more])


def message(what, which, *more, host=2):
    return command(what, which, *more, host, 0, 0)


MARK = message(0, 0x11 + 4, 5, 1, 1, 2, 3, 4)
CACHE = {
    "mark": MARK + command(4),
    # As many tags as there may be, and one more: in the low byte of the message's field.
    "most": command(0, 0x11 + 4, 5, 1, 1, 2, 3, 4, 2, 0, 1, 6, 0, 64),
    "more": command(0, 0x11 + 4, 5, 1, 1, 2, 3, 4, 2, 0, 1, 6, 0, 65),
    "end": MARK + message(0, 0x10 + 4, 9, 1, 1, 2, 3, 4),
    "fill": command(11, 1) + command(4) + command(4) + command(7) + command(4) + command(6, 0x80, 0, 0),
    "request": message(2, 1, 7, 1) + message(2, 0x85, 7, 1, 2, 9) + MARK + message(2, 1, 7, 1),
    "here": command(3, 1, 1, 2, 3, 4) + command(3, 0, 1, 2, 3, 4) + MARK + command(3, 1, 1, 2, 3, 4),
    "look": MARK + command(9, 15, 3, 70, 3, 70, 3, 70) + command(3, 1, 1, 2, 3, 4),
    "life": command(10, 3) + MARK + command(10, 0x34),
    "clock": command(4) * 3 + command(8, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0) + command(8, 0x80, 0, 0),
}
