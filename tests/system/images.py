#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""images.py ROOT OUT: from the unpacked Debian root make

  OUT/xen        the hypervisor, gunzipped (QEMU's multiboot wants the ELF)
  OUT/vmlinux    the kernel as ELF: unpacking xz under emulation costs seconds
  OUT/base.cpio  for every role: busybox, RDMA tools and modules
  OUT/dom0.cpio  on top of it for dom0: Xen's tools
  OUT/tiny.cpio  busybox alone, for guests that must start quickly

A VM's initrd is the concatenation base.cpio dom0.cpio overlay.cpio.
"""
import gzip
import lzma
import os
import subprocess
import struct
import sys
import tempfile

import cpio

APPLETS = """sh mount umount mkdir ls cat sleep echo grep sed awk ps top dmesg ln cp mv rm ip poweroff
 reboot halt insmod rmmod lsmod modprobe mknod chmod date time timeout seq od hexdump head tail wc
 sort uniq tr cut find xargs kill killall env tee stty setsid cttyhack usleep uname free
 sync dd touch test true false expr printf nproc pidof md5sum id hostname dirname basename readlink
 realpath yes su cmp stat mkfifo""".split()
RDMA = """ibv_devinfo ib_read_lat ib_read_bw ib_write_lat ib_write_bw ib_send_lat ib_send_bw
 ib_atomic_lat ib_atomic_bw""".split()
MODULES = """rdma_rxe ib_uverbs rdma_ucm dummy virtio_pci 9p 9pnet_virtio xen-evtchn xen-privcmd
 xen-gntdev xen-gntalloc xenfs crc32_generic crc32_pclmul crc32c_generic libcrc32c ib_core ib_cm
 iw_cm e1000 xen-netfront xen-netback bridge veth sch_tbf""".split()
XEN_BIN = "/usr/lib/xen-4.17/bin/"
XEN_PROGRAMS = """xl xenstored xenconsoled xen-init-dom0 libxl-save-helper xen-lowmemd""".split()
XENSTORE = "xenstore xenstore-ls xenstore-read xenstore-write xenstore-list xenstore-rm".split()

# What Xen's tools run when a guest's interface comes and goes: the bridge takes it.
VIF_BRIDGE = """#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
[ "$1" = online ] || exit 0
/usr/sbin/ip link set "$vif" master br0 up && xenstore-write "$XENBUS_PATH/hotplug-status" connected
"""


def vmlinux(image):
    """The ELF file inside a bzImage, found by its setup header."""
    start = ((image[0x1f1] or 4) + 1) * 512 + struct.unpack_from("<I", image, 0x248)[0]
    size = struct.unpack_from("<I", image, 0x24c)[0]
    packed = image[start:start + size]
    if packed[:6] == b"\xfd7zXZ\0":
        elf = lzma.LZMADecompressor(format=lzma.FORMAT_XZ).decompress(packed)
    elif packed[:2] == b"\x1f\x8b":
        elf = gzip.decompress(packed[:-4])
    else:
        raise SystemExit("the kernel is packed in a way images.py does not know: %r" % packed[:6])
    assert elf[:4] == b"\x7fELF"
    return elf


def save(path, data):
    with open(path + ".new", "wb") as f:
        f.write(data)
    os.rename(path + ".new", path)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def put_modules(archive, root, version):
    """The modules and all they depend on, without debug data, and their index."""
    subprocess.run(["depmod", "-b", root, version], check=True, stderr=subprocess.DEVNULL)
    depends, path_of = {}, {}
    base = "/lib/modules/%s/" % version
    for line in read(root + base + "modules.dep").decode().splitlines():
        path, deps = line.split(":")
        depends[path] = deps.split()
        path_of[os.path.basename(path)[:-3].replace("-", "_")] = path
    wanted = set()
    for name in MODULES:
        path = path_of[name.replace("-", "_")]
        wanted.update([path] + depends[path])
    with tempfile.TemporaryDirectory() as tmp:
        os.makedirs(tmp + base)
        for path in sorted(wanted):
            os.makedirs(os.path.dirname(tmp + base + path), exist_ok=True)
            subprocess.run(["strip", "--strip-debug", "-o", tmp + base + path, root + base + path],
                           check=True)
        for name in ("modules.builtin", "modules.order"):
            save(tmp + base + name, read(root + base + name))
        subprocess.run(["depmod", "-b", tmp, version], check=True, stderr=subprocess.DEVNULL)
        for name in list(wanted) + ["modules.dep", "modules.alias", "modules.builtin"]:
            archive.file(base + name, tmp + base + name, 0o644)


def tiny_image(root):
    a = cpio.Archive()
    cpio.put_elf(a, root, "/bin/busybox")
    for name in APPLETS:
        a.link("/bin/" + name, "busybox")
    a.link("/sbin/modprobe", "/bin/busybox")
    for d in "proc sys dev run tmp var/lib var/log etc root mnt usr/bin usr/sbin".split():
        a.mkdir(d)
    return a


def base_image(root, version):
    a = tiny_image(root)
    a.link("/var/run", "/run")
    for name in RDMA:
        cpio.put_elf(a, root, "/usr/bin/" + name)
    cpio.put_elf(a, root, "/usr/bin/rdma")
    cpio.put_elf(a, root, "/bin/ip", "/usr/sbin/ip")
    cpio.put_elf(a, root, "/usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav34.so")
    cpio.put_lib(a, root, "libgcc_s.so.1")
    a.file("/etc/libibverbs.d/rxe.driver", root + "/etc/libibverbs.d/rxe.driver")
    put_modules(a, root, version)
    a.text("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n")
    a.text("/etc/group", "root:x:0:\nnogroup:x:65534:\n")
    a.text("/etc/hosts", "127.0.0.1 localhost\n")
    a.text("/etc/services", "")
    return a


def dom0_image(root, base):
    a = cpio.Archive()
    have = {"/" + path for path in base.entries}
    for name in XEN_PROGRAMS:
        cpio.put_elf(a, root, XEN_BIN + name, have=have)
        a.link("/usr/sbin/" + name, XEN_BIN + name)
    for name in XENSTORE:
        cpio.put_elf(a, root, "/usr/bin/" + name, have=have)
    cpio.put_elf(a, root, "/sbin/tc", "/usr/sbin/tc", have=have)
    a.text("/etc/xen/xl.conf", 'autoballoon="off"\n')
    a.text("/etc/xen/scripts/vif-bridge", VIF_BRIDGE, 0o755)
    for d in "var/lib/xen/dump var/log/xen var/lib/xenstored etc/xen/scripts".split():
        a.mkdir(d)
    return a


def main():
    root, out = sys.argv[1:]
    version = os.listdir(root + "/lib/modules")[0]
    os.makedirs(out, exist_ok=True)
    save(out + "/xen", gzip.decompress(read(root + "/boot/xen-4.17-amd64.gz")))
    save(out + "/vmlinux", vmlinux(read(root + "/boot/vmlinuz-" + version)))
    base = base_image(root, version)
    base.write(out + "/base.cpio")
    tiny_image(root).write(out + "/tiny.cpio")
    dom0_image(root, base).write(out + "/dom0.cpio")


main()
