# SPDX-License-Identifier: GPL-2.0-or-later
"""cpio: write newc archives as root's, and find the libraries an ELF file needs."""
import os
import re
import stat
import subprocess


class Archive:
    """Files by their path in the archive; a later put of the same path is ignored."""

    def __init__(self):
        self.entries = {}

    def __contains__(self, path):
        return path in self.entries

    def _add(self, path, mode, data):
        path = path.strip("/")
        parent = os.path.dirname(path)
        if parent and parent not in self.entries:
            self.mkdir(parent)
        self.entries.setdefault(path, (mode, data))

    def mkdir(self, path):
        self._add(path, stat.S_IFDIR | 0o755, b"")

    def link(self, path, target):
        self._add(path, stat.S_IFLNK | 0o777, target.encode())

    def text(self, path, text, mode=0o644):
        self._add(path, stat.S_IFREG | mode, text.encode())

    def file(self, path, source, mode=None):
        with open(source, "rb") as f:
            data = f.read()
        self._add(path, stat.S_IFREG | (mode or os.stat(source).st_mode & 0o777), data)

    def write(self, target):
        """A file beside it first, so that a stopped run leaves no half archive."""
        with open(target + ".new", "wb") as f:
            for number, path in enumerate(sorted(self.entries), 1):
                mode, data = self.entries[path]
                self._entry(f, number, path, mode, data)
            self._entry(f, 0, "TRAILER!!!", 0, b"")
        os.rename(target + ".new", target)

    @staticmethod
    def _entry(f, number, path, mode, data):
        name = path.encode() + b"\0"
        links = 2 if stat.S_ISDIR(mode) else 1
        fields = (number, mode, 0, 0, links, 0, len(data), 0, 0, 0, 0, len(name), 0)
        head = b"070701" + b"".join(b"%08x" % n for n in fields) + name
        f.write(head + b"\0" * (-len(head) % 4))
        f.write(data + b"\0" * (-len(data) % 4))


def needed(path):
    """The shared objects an ELF file names, [] for other files."""
    with open(path, "rb") as f:
        if f.read(4) != b"\x7fELF":
            return []
    out = subprocess.run(["objdump", "-p", path], stdout=subprocess.PIPE, check=True, text=True)
    return re.findall(r"^\s+NEEDED\s+(\S+)", out.stdout, re.M)


LIBDIRS = ["/usr/lib/xen-4.17/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu",
           "/lib/x86_64-linux-gnu", "/lib64", "/usr/lib", "/lib"]


def follow(root, path):
    """The real file behind a path below root, its links read as root's own."""
    full = root + path
    while os.path.islink(full):
        target = os.readlink(full)
        full = root + target if target[0] == "/" else os.path.join(os.path.dirname(full), target)
    return full


def put_elf(archive, root, path, at=None, have=()):
    """A program or library of root and, after it, every library it needs."""
    at = at or path
    if at.strip("/") in archive or at in have:
        return
    full = follow(root, path)
    archive.file(at, full)
    for lib in needed(full):
        put_lib(archive, root, lib, have)


def put_lib(archive, root, name, have=()):
    # All go to the loader's default directories: no cache is needed.
    at = ("/lib64/" if name.startswith("ld-linux") else "/usr/lib/x86_64-linux-gnu/") + name
    for d in LIBDIRS:
        if os.path.exists(follow(root, d + "/" + name)):
            put_elf(archive, root, d + "/" + name, at, have)
            return
    raise SystemExit("library %s was not found below %s" % (name, root or "/"))
