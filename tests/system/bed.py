# SPDX-License-Identifier: GPL-2.0-or-later
"""bed: one VM (Xen with its dom0, or a plain one) under QEMU, and the guests in it.

The host and dom0 share a directory: commands go there as files and their output
comes back as files, so that all that happened is kept beside the serial log.
Guests of Xen are spoken to through their consoles, whose logs lie there too.
"""
import json
import os
import re
import shlex
import subprocess
import threading
import time

CPU = "qemu64,+svm,+npt,+rdrand"
PATIENCE = 4


class Failed(Exception):
    """A scenario's expectation did not hold; the text says which, with the figures."""


def check(condition, text):
    if not condition:
        raise Failed(text)


def wait_for(what, seconds, probe, step=0.05):
    """Until probe() is true; its value. What was waited for is in the failure.

    seconds are an idle machine's; a busy one is given PATIENCE times as many.
    """
    end = time.monotonic() + seconds * PATIENCE
    while True:
        value = probe()
        if value:
            return value
        check(time.monotonic() < end, "no %s within %d s" % (what, seconds * PATIENCE))
        time.sleep(step)


def read_text(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read().replace("\r", "")
    except FileNotFoundError:
        return ""


class EmulatorFault(Failed):
    """The emulator broke a guest, not what is tested: see Vm.fault."""


def at_once(function, *things):
    """function(thing) for all things beside each other; the first failure is raised."""
    failures = []

    def one(thing):
        try:
            function(thing)
        except Exception as e:  # raised again below, in the caller's thread
            failures.append(e)
    threads = [threading.Thread(target=one, args=(t,)) for t in things]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    if failures:
        raise failures[0]


class Result:
    def __init__(self, rc, out):
        self.rc, self.out = rc, out

    def json(self):
        try:
            return json.loads(self.out)
        except ValueError:
            raise Failed("not JSON: %.200s" % self.out) from None


class Vm:
    """kind "xen" or "plain"; images: what images.py and overlay.py made; run: a new directory."""

    def __init__(self, images, run, kind="xen", sched="credit2", limit=300, memory=2048,
                 dom0_memory=768, cpus=2, cable=None):
        """cable: (SOCKET, SOCKET'): eth0, whose other end another VM has by (SOCKET', SOCKET)."""
        self.images, self.run_dir, self.kind = images, run, kind
        self.limit, self.memory, self.dom0_memory, self.sched = limit, memory, dom0_memory, sched
        self.cpus, self.cable = cpus, cable
        self.share = run + "/share"
        self.count = 0
        self.lock = threading.Lock()
        self.guests = {}
        self.qemu = None
        # QEMU's emulation of AMD's SVM was seen to lose a PVH guest when it resumes it, the more
        # often the busier the machine: Xen reports a triple fault right behind a CPUID, or with
        # its own code segment, e008, in the guest's registers. Linux makes none by itself.
        self.fault = False

    def __enter__(self):
        for d in ("cmd", "console", "files"):
            os.makedirs(self.share + "/" + d)
        self._start()
        return self

    def __exit__(self, kind, value, trace):
        if self.qemu.poll() is None:
            self._say("quit")
        try:
            self.qemu.wait(20 if kind is None else 5)
        except subprocess.TimeoutExpired:
            self.qemu.kill()
            self.qemu.wait()
        self.watchdog.cancel()
        self.reader.join()

    def _arguments(self):
        kernel = "quiet loglevel=4 panic=5 mitigations=off console="
        initrd = "%s/%s.initrd" % (self.images, "dom0" if self.kind == "xen" else "guest")
        share = "local,path=%s,mount_tag=%s,security_model=none,id=%s%s"
        args = ["qemu-system-x86_64", "-accel", "tcg,thread=multi,tb-size=512", "-machine", "pc",
                "-cpu", CPU, "-smp", str(self.cpus), "-m", str(self.memory), "-display", "none", "-vga", "none",
                "-nodefaults", "-no-reboot", "-serial", "stdio",
                "-virtfs", share % (self.share, "host", "h", ""),
                "-virtfs", share % (self.images, "img", "i", ",readonly=on")]
        if self.cable:
            net = "dgram,id=c,local.type=unix,local.path=%s,remote.type=unix,remote.path=%s"
            mac = "52:54:00:00:00:%02x" % (1 + (self.cable[0] > self.cable[1]))
            # Not virtio-net: that of QEMU 7.2 was seen to stop receiving for ever, under load.
            args += ["-netdev", net % self.cable, "-device", "e1000,netdev=c,mac=" + mac]
        if self.kind == "plain":
            return args + ["-kernel", self.images + "/vmlinux", "-initrd", initrd,
                           "-append", kernel + "ttyS0"]
        xen = "console=com1 com1=115200 dom0_mem=%dM,max:%dM sched=%s loglvl=warning guest_loglvl=warning"
        return args + ["-kernel", self.images + "/xen",
                       "-append", xen % (self.dom0_memory, self.dom0_memory, self.sched),
                       "-initrd", "%s/vmlinux %shvc0,%s" % (self.images, kernel, initrd)]

    def _start(self):
        self.began = time.monotonic()
        with open(self.run_dir + "/qemu.err", "wb") as err:
            self.qemu = subprocess.Popen(self._arguments(), stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, stderr=err)
        self.ready = False
        self.watchdog = threading.Timer(self.limit, self.qemu.kill)
        self.watchdog.daemon = True
        self.watchdog.start()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        self._wait("shell in the VM", 90, lambda: self.ready)
        if self.kind == "xen":  # dom0 must not wait for guests that spin
            self.sh("xl sched-%s -d 0 -w 4096" % self.sched)

    def _read(self):
        with open(self.run_dir + "/serial.log", "w", encoding="utf-8") as log:
            for line in self.qemu.stdout:
                text = line.decode("latin1").rstrip()
                log.write("[%7.2f] %s\n" % (time.monotonic() - self.began, text))
                log.flush()
                self.ready = self.ready or "### READY role=" in text
                self.fault = self.fault or "Triple fault - invoking HVM shutdown" in text

    def _wait(self, what, seconds, probe):
        """As wait_for, but a VM that is gone is said at once."""
        def alive():
            value = probe()
            if self.fault and not value:
                raise EmulatorFault("the emulator lost a guest: triple fault")
            check(value or self.qemu.poll() is None,
                  "the VM ended (limit %d s) while waiting for %s" % (self.limit, what))
            return value
        return wait_for(what, seconds, alive, 0.02)

    def _say(self, line):
        with self.lock:
            try:
                self.qemu.stdin.write(line.encode() + b"\n")
                self.qemu.stdin.flush()
            except BrokenPipeError:
                pass

    def note(self, text):
        """Figures worth seeing although nothing failed, to notes beside the logs."""
        with self.lock, open(self.run_dir + "/notes", "a", encoding="utf-8") as f:
            f.write("[%7.2f] %s\n" % (time.monotonic() - self.began, text))

    # --- dom0 (or the plain VM) -------------------------------------------------

    def begin(self, script):
        """Start a shell script in dom0; what end() takes."""
        with self.lock:
            self.count += 1
            number = self.count
        with open("%s/cmd/%d.sh" % (self.share, number), "w", encoding="utf-8") as f:
            f.write(script + "\n")
        self._say(str(number))
        return number

    def end(self, number, seconds=60):
        base = "%s/cmd/%d" % (self.share, number)
        script = read_text(base + ".sh").strip()
        self._wait("end of \"%.60s\"" % script, seconds, lambda: os.path.exists(base + ".rc"))
        return Result(int(read_text(base + ".rc")), read_text(base + ".out"))

    def run(self, script, seconds=60):
        return self.end(self.begin(script), seconds)

    def sh(self, script, seconds=60):
        """Run in dom0, expect success, give back the output."""
        r = self.run(script, seconds)
        check(r.rc == 0, "\"%.80s\" ended with %d: %s" % (script, r.rc, r.out.strip()[-300:]))
        return r.out

    def put(self, name, text):
        """A file for dom0, at /h/files/NAME."""
        with open(self.share + "/files/" + name, "w", encoding="utf-8") as f:
            f.write(text)
        return "/h/files/" + name

    def create(self, *guests):
        """Create guests beside each other and wait until they take commands."""
        jobs = [(g, self.begin(g.create_script())) for g in guests]
        for g, job in jobs:
            r = self.end(job, 60)
            check(r.rc == 0, "xl create %s: %s" % (g.name, r.out[-300:]))
            self.guests[g.name] = g
        for g in guests:
            g.wait_ready()


class Guest:
    def __init__(self, vm, name, kind="pv", memory=192, vcpus=1, on_reboot="destroy", run="",
                 net=0):
        """net: N for an interface on the bridge (see net.py), with the address 10.99.1.N."""
        self.net = net
        self.vm, self.name, self.kind, self.program = vm, name, kind, run
        self.memory, self.vcpus, self.on_reboot = memory, vcpus, on_reboot
        self.log = "%s/console/guest-%s.log" % (vm.share, name)
        self.count = 0
        self.start = 0  # where in the log this life of the guest begins

    def config(self):
        """Write its xl configuration; the path in dom0."""
        config = "\n".join([
            'name="%s"' % self.name, 'type="%s"' % self.kind, 'kernel="/img/vmlinux"',
            'ramdisk="/img/guest.initrd"', "memory=%d" % self.memory, "maxmem=%d" % self.memory,
            "vcpus=%d" % self.vcpus, 'on_crash="destroy"', 'on_reboot="%s"' % self.on_reboot,
            'extra="console=hvc0 quiet loglevel=4 mitigations=off panic=5%s"'
            % (" run=" + self.program if self.program else ""),
            "vif=['mac=00:16:3e:00:00:%02x,bridge=br0']" % self.net if self.net else "", ""])
        return self.vm.put(self.name + ".cfg", config)

    def create_script(self):
        path = self.config()
        self.start = len(read_text(self.log))
        return "xl create -q " + path

    def text(self):
        return read_text(self.log)[self.start:]

    def wait_ready(self, seconds=90):
        self.vm._wait("shell in guest %s" % self.name, seconds,
                      lambda: "### READY role=domU" in self.text())
        self.domid = int(self.vm.sh("xl domid " + self.name))

    def rebooted(self):
        """The log of the next life begins here."""
        self.start = len(read_text(self.log))

    def begin(self, command):
        """Start a command line in the guest; what end() takes. One runs at a time."""
        self.count += 1
        line = "%d %s" % (self.count, command)
        check(len(line) < 4000, "too long for a console: %.60s..." % line)
        self.vm.sh("echo %s >$(xenstore-read /local/domain/%d/console/tty)"
                   % (shlex.quote(line), self.domid))
        return self.count

    def end(self, number, seconds=60):
        pattern = re.compile(r"^### BEGIN %d\n(.*?)^### END %d rc=(\d+)\n" % (number, number), re.M | re.S)
        m = self.vm._wait("end of command %d in guest %s" % (number, self.name), seconds,
                          lambda: pattern.search(self.text()))
        return Result(int(m.group(2)), m.group(1))

    def run(self, command, seconds=60):
        return self.end(self.begin(command), seconds)

    def sh(self, command, seconds=60):
        r = self.run(command, seconds)
        check(r.rc == 0, "in guest %s \"%.80s\" ended with %d: %s"
              % (self.name, command, r.rc, r.out.strip()[-300:]))
        return r.out
