#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""overlay.py BUILD OUT: the initial ram disks, from images.py's archives and what is under test.

  OUT/guest.initrd  base.cpio, the programs under test and the VMs' scripts
  OUT/dom0.initrd   the same with dom0.cpio
  OUT/tiny.initrd   tiny.cpio and a shell on the console

Programs come from the build directory and take their libraries from this
machine; dom0 and its guests get the same ones.
"""
import os
import sys

import cpio

HERE = os.path.dirname(os.path.abspath(__file__))
# What scenarios run; one that is missing fails the scenarios that need it.
PROGRAMS = {
    "resexd": "/usr/sbin/", "resex": "/usr/bin/", "resex-peek": "/usr/bin/", "benchex": "/usr/bin/",
    "resex-agent": "/usr/sbin/", "libresex-rings.so": "/usr/lib/x86_64-linux-gnu/",
    "rdmaload": "/t/", "hvprobe": "/t/", "hvguest": "/t/", "domtool": "/t/", "scribble": "/t/", "latload": "/t/",
    "rdmaodd": "/t/", "rdmabrief": "/t/", "reseed": "/t/", "ringrec": "/t/", "agentbeat": "/t/",
    "bxliar": "/t/", "liar_verbs": "/t/", "two_hosts": "/t/", "lock_hosts": "/t/", "move_hosts": "/t/",
    "tests/transport/contract": "/t/",
    "resex-bench-transport": "/t/", "loadage": "/t/", "loadtruth": "/t/", "loadcost": "/t/",
    "loadliar": "/t/", "guesthook": "/t/", "frames": "/t/",
}


def concatenate(path, parts):
    """Later archives win."""
    with open(path + ".new", "wb") as out:
        for part in parts:
            with open(part, "rb") as f:
                out.write(f.read())
    os.rename(path + ".new", path)


def main():
    build, out = sys.argv[1:]
    a = cpio.Archive()
    for name, where in PROGRAMS.items():
        path = os.path.join(os.path.abspath(build), name)
        if os.path.exists(path):
            a.file(where + os.path.basename(name), path, 0o755)
            for lib in cpio.needed(path):
                cpio.put_lib(a, "", lib)
    a.file("/t/hvprobe.sh", HERE + "/hvprobe.sh", 0o755)
    for name in sorted(os.listdir(HERE + "/guest")):
        if name.endswith(".sh"):
            at = "/init" if name == "init.sh" else "/t/" + name
            a.file(at, HERE + "/guest/" + name, 0o755)
    tiny = cpio.Archive()
    tiny.file("/init", HERE + "/guest/tiny.sh", 0o755)
    tiny.file("/t/guest-loop.sh", HERE + "/guest/guest-loop.sh", 0o755)
    tiny.write(out + "/overlay.cpio")
    concatenate(out + "/tiny.initrd", [out + "/tiny.cpio", out + "/overlay.cpio"])
    a.write(out + "/overlay.cpio")
    concatenate(out + "/guest.initrd", [out + "/base.cpio", out + "/overlay.cpio"])
    concatenate(out + "/dom0.initrd", [out + "/guest.initrd", out + "/dom0.cpio"])


main()
