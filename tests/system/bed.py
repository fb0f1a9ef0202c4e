# SPDX-License-Identifier: GPL-2.0-or-later
"""bed: one VM (Xen with its dom0, or a plain one) under QEMU, and the guests in it.

The host and dom0 share a directory: commands go there as files and their output
comes back as files, so that all that happened is kept beside the serial log.
Guests of Xen are spoken to through their consoles, whose logs lie there too.
"""
import json
import os
import re
import secrets
import shlex
import signal
import socket
import subprocess
import threading
import time

CPU = "qemu64,+svm,+npt,+rdrand"
PATIENCE = 4
PLAIN_NICE = 5  # of VMs without Xen: those with Xen take several times as long when others take their cores


class Failed(Exception):
    """A scenario's expectation did not hold; the text says which, with the figures."""


class Skipped(Exception):
    """What the scenario needs is not to be had on this machine; the text is a sentence."""


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


def cpu_seconds(pid):
    """User's and system's CPU time of a process that is not waited for yet."""
    with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def kill_qemu(qemu):
    """Popen.kill() would take away the CPU time of one that ended by itself, as Popen.poll()."""
    try:
        os.kill(qemu.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def has_ended(pid):
    """Popen.poll() would take away the CPU time of a child that ended; power_off() adds it up."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None


def read_text(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read().replace("\r", "")
    except FileNotFoundError:
        return ""


class EmulatorFault(Failed):
    """The emulator or the kernel's emulation of RDMA broke, not what is tested: see FAULTS."""


# What the console says then. The second: soft-RoCE of Linux before 6.4 reports a completion from a
# tasklet, and does not wait for that when the completion queue is destroyed. A busy machine delays
# the tasklet until the queue is freed.
FAULTS = (("Triple fault - invoking HVM shutdown", "the emulator lost a guest: triple fault"),
          ("RIP: 0010:ib_uverbs_comp_handler", "soft-RoCE used a completion queue that is destroyed: kernel panic"))


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


_living, _living_lock, _stopping = set(), threading.Lock(), threading.Event()


def stopping():
    return _stopping.is_set()


def stop_all():
    """Kill all VMs, and let no other start."""
    _stopping.set()
    with _living_lock:
        for vm in _living:
            kill_qemu(vm.qemu)


class Monitor:
    """QEMU's own control channel (QMP): one end of a socket pair, the other end QEMU inherits."""

    def __init__(self):
        self.ours, self.qemus = socket.socketpair()
        self.answers = self.ours.makefile("r", encoding="utf-8")

    def arguments(self):
        return ["-chardev", "socket,id=monitor,fd=%d" % self.qemus.fileno(),
                "-mon", "chardev=monitor,mode=control"]

    def opened(self):
        """QEMU has its end: ours gets an end of file when QEMU ends."""
        self.qemus.close()
        self.ask("qmp_capabilities")

    def ask(self, command, **arguments):
        request = {"execute": command, "arguments": arguments}
        try:
            self.ours.sendall(json.dumps(request).encode())
            for line in self.answers:
                answer = json.loads(line)
                check("error" not in answer, "QEMU refuses %s: %s" % (command, answer.get("error")))
                if "return" in answer:
                    return answer["return"]
        except OSError:
            pass
        raise Failed("QEMU ended before it answered " + command)

    def close(self):
        self.answers.close()
        self.ours.close()


def uptime(system):
    """Of a Vm or a Guest, less the host's monotonic time."""
    up = float(system.sh("cut -d' ' -f1 /proc/uptime"))
    return up - time.monotonic()


class Vm:
    """kind "xen" or "plain"; images: what images.py and overlay.py made; run: a new directory.

    snapshot: a Snapshot (snapshot.py) to begin with; without one the VM boots.
    """

    def __init__(self, images, run, kind="xen", sched="credit2", limit=300, memory=2048,
                 dom0_memory=768, cpus=2, cable=None, snapshot=None, beside=None, instruction_ns=0):
        """cable: (SOCKET, SOCKET'): eth0, whose other end another VM has by (SOCKET', SOCKET).

        instruction_ns: not 0 (1, 2, 4...): the VM's time is the number of instructions that its CPUs
        executed, so many ns each: it does not pass while QEMU waits for the machine, and leaps to the
        next timer while all CPUs are idle. So durations in the VM do not depend on how busy or fast
        the machine is. The CPUs of the VM share one: two that are busy are half as fast.

        beside: another VM of the same scenario; its CPU seconds include those of this one.
        """
        self.images, self.run_dir, self.kind = images, run, kind
        self.limit, self.memory, self.dom0_memory, self.sched = limit, memory, dom0_memory, sched
        self.cpus, self.cable, self.snapshot, self.instruction_ns = cpus, cable, snapshot, instruction_ns
        self.share = run + "/share"
        self.count = 0
        self.lock = threading.Lock()
        self.deep, self.build = False, None
        self.guests = {}
        self.ready_made = list(snapshot.guests) if snapshot else []
        self.qemu = None
        self.cpu_of_dead = 0.0
        self.others = []
        if beside:
            beside.others.append(self)
        # QEMU's emulation of AMD's SVM was seen to lose a PVH guest when it resumes it, the more
        # often the busier the machine: Xen reports a triple fault right behind a CPUID, or with
        # its own code segment, e008, in the guest's registers. Linux makes none by itself. PVH
        # guests are pinned to a CPU for this: 3 of 5 runs of count lost one that was not, and
        # none of 7 one that was, 3 of them on a busy machine.
        self.fault = ""
        self.panic = ""

    def __enter__(self):
        for d in ("cmd", "console", "files"):
            os.makedirs(self.share + "/" + d)
        self.began = time.monotonic()
        try:
            self._start()
        except BaseException:
            self.power_off()
            raise
        return self

    def __exit__(self, kind, value, trace):
        self.power_off()

    def power_off(self):
        """Kill QEMU. No output is lost: QEMU writes to the share at once."""
        if not self.qemu:
            return
        with _living_lock:
            _living.discard(self)
        self.watchdog.cancel()
        kill_qemu(self.qemu)
        os.waitid(os.P_PID, self.qemu.pid, os.WEXITED | os.WNOWAIT)
        self.cpu_of_dead += cpu_seconds(self.qemu.pid)
        self.qemu.wait()
        self.qemu = None
        self.reader.join()
        self.monitor.close()

    def cpu_seconds(self):
        """Of the machine that runs the tests, by this VM and those beside it."""
        own = self.cpu_of_dead + (cpu_seconds(self.qemu.pid) if self.qemu else 0)
        return own + sum(vm.cpu_seconds() for vm in self.others)

    def arguments(self, images, share):
        """QEMU's command line. A restored VM needs the same one as the VM that was saved."""
        # no_timer_check: a busy machine may emulate no tick for longer than the kernel waits for one.
        kernel = "quiet loglevel=4 panic=5 no_timer_check mitigations=off console="
        initrd = "%s/%s.initrd" % (images, "dom0" if self.kind == "xen" else "guest")
        fs = "local,path=%s,mount_tag=%s,security_model=none,id=%s%s"
        tcg = ["tcg,thread=multi,tb-size=512"]
        if self.instruction_ns:
            shift = self.instruction_ns.bit_length() - 1
            tcg = ["tcg,thread=single,tb-size=512", "-icount", "shift=%d,sleep=off" % shift]
        args = ["qemu-system-x86_64", "-accel", *tcg, "-machine", "pc",
                "-cpu", CPU, "-smp", str(self.cpus), "-m", str(self.memory), "-display", "none", "-vga", "none",
                "-nodefaults", "-no-reboot", "-serial", "stdio",
                "-virtfs", fs % (share, "host", "h", ""),
                "-virtfs", fs % (images, "img", "i", ",readonly=on")]
        if self.cable:
            net = "dgram,id=c,local.type=unix,local.path=%s,remote.type=unix,remote.path=%s"
            # Not virtio-net: that of QEMU 7.2 was seen to stop receiving for ever, under load.
            args += ["-netdev", net % self.cable, "-device", "e1000,netdev=c"]
        if self.kind == "plain":
            return args + ["-kernel", images + "/vmlinux", "-initrd", initrd,
                           "-append", kernel + "ttyS0"]
        xen = "console=com1 com1=115200 dom0_mem=%dM,max:%dM sched=%s loglvl=warning guest_loglvl=warning"
        return args + ["-kernel", images + "/xen",
                       "-append", xen % (self.dom0_memory, self.dom0_memory, self.sched),
                       "-initrd", "%s/vmlinux %shvc0,%s" % (images, kernel, initrd)]

    def _start(self):
        self.monitor = Monitor()
        args = self.arguments(self.images, self.share) + self.monitor.arguments()
        if self.snapshot:
            args += ["-incoming", "exec:cat " + shlex.quote(self.snapshot.memory)]
        with open(self.run_dir + "/qemu.err", "wb") as err, _living_lock:
            check(not stopping(), "the run was interrupted")
            # QEMU dies with the thread that started it, however that ends.
            nice = ["nice", "-n", str(PLAIN_NICE)] if self.kind == "plain" else []
            self.qemu = subprocess.Popen(nice + ["setpriv", "--pdeathsig", "KILL"] + args,
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err,
                                         pass_fds=[self.monitor.qemus.fileno()])
            _living.add(self)
        self.ready = ""  # what it said last that it is ready for
        self.watchdog = threading.Timer(self.limit, kill_qemu, [self.qemu])
        self.watchdog.daemon = True
        self.watchdog.start()
        self.reader = threading.Thread(target=self._read, args=(self.qemu.stdout,), daemon=True)
        self.reader.start()
        self.monitor.opened()
        if self.snapshot:
            # It was saved paused, and is restored paused.
            self._wait("restored VM", 30, lambda: self.monitor.ask("query-status")["status"] == "paused")
            self.monitor.ask("cont")
            self.rejoin()
            return
        self._wait("shell in the VM", 90, lambda: self.ready.startswith("role="))
        if self.kind == "xen":  # dom0 must not wait for guests that spin
            self.sh("xl sched-%s -d 0 -w 4096" % self.sched)

    # --- snapshots ---------------------------------------------------------------

    def leave(self):
        """Unmount the shares: QEMU saves no VM that has one mounted."""
        self._say("leave")
        self._wait("end of the shares", 30, lambda: self.ready == "leave")

    def rejoin(self):
        """Mount the shares, begin the console logs, set the clock, seed the randomness.

        Else all VMs of one snapshot would draw the same numbers.
        """
        self._say("rejoin")
        self._wait("shares mounted again", 30, lambda: self.ready == "join")
        self.sh(self.freshen())

    @staticmethod
    def freshen():
        return "date -s @%d >/dev/null && reseed %s" % (time.time(), secrets.token_hex(32))

    def save(self, path):
        """Stop the VM and save it to a file; the host's monotonic time when it stopped."""
        self.leave()
        self.monitor.ask("stop")
        at = time.monotonic()
        self.monitor.ask("migrate", uri="exec:cat >" + shlex.quote(path))

        def saved():
            status = self.monitor.ask("query-migrate")["status"]
            check(status not in ("failed", "cancelled"), "QEMU could not save the VM: " + status)
            return status == "completed"
        self._wait("snapshot to be saved", 60, saved)
        return at

    def _read(self, serial):
        with open(self.run_dir + "/serial.log", "a", encoding="utf-8") as log:
            for line in serial:
                text = line.decode("latin1").rstrip()
                log.write("[%7.2f] %s\n" % (time.monotonic() - self.began, text))
                log.flush()
                self.ready = text.partition("### READY ")[2] or self.ready
                self.fault = self.fault or "".join(said for mark, said in FAULTS if mark in text)
                if "BUG: " in text or "Kernel panic" in text:
                    self.panic = self.panic or ": " + text

    def _wait(self, what, seconds, probe):
        """As wait_for, but a VM that is gone is said at once."""
        def alive():
            value = probe()
            if self.fault and not value:
                raise EmulatorFault(self.fault)
            check(value or self.qemu and not has_ended(self.qemu.pid),
                  "the VM ended (limit %d s) while waiting for %s%s" % (self.limit, what, self.panic))
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
        """Create guests beside each other and wait until they take commands.

        The first time, those of the snapshot are taken where they fit, and the others are destroyed.
        """
        adopted = [g for g in guests if self._adopt(g)]
        jobs = [(g, self.begin(g.create_script())) for g in guests if g not in adopted]
        if self.ready_made:
            self.sh("; ".join("xl destroy " + r["name"] for r in self.ready_made))
            self.ready_made = []
        for g, job in jobs:
            r = self.end(job, 60)
            check(r.rc == 0, "xl create %s: %s" % (g.name, r.out[-300:]))
        for g in guests:
            self.guests[g.name] = g
            if g not in adopted:
                g.wait_ready()

    def _adopt(self, g):
        """Whether a guest of the snapshot is g from now on."""
        for r in self.ready_made:
            if all(r[key] == getattr(g, key) for key in READY_MADE_ALIKE):
                self.ready_made.remove(r)
                self.sh("xl rename %s %s" % (r["name"], g.name))
                g.adopt(r)
                return True
        return False


# A guest of a snapshot can be used for a Guest that is equal in these. It is created anew when it
# reboots; in a scenario whose guests do not reboot this makes no difference.
READY_MADE_ALIKE = ("kind", "memory", "vcpus", "net", "program", "initrd", "more")


class Guest:
    def __init__(self, vm, name, kind="pv", memory=192, vcpus=1, on_reboot="destroy", run="",
                 net=0, initrd="guest", more=()):
        """net: N for an interface on the bridge (see net.py), with the address 10.99.1.N.

        initrd: "guest", or "tiny" for busybox alone; more: more lines of its configuration.
        """
        self.net, self.initrd, self.more = net, initrd, list(more)
        self.vm, self.name, self.kind, self.program = vm, name, kind, run
        self.memory, self.vcpus, self.on_reboot = memory, vcpus, on_reboot
        self.log = "%s/console/guest-%s.log" % (vm.share, name)
        self.count = 0
        self.start = 0  # where in the log this life of the guest begins
        self.rxe, self.agent = False, None  # whether it has rxe0; the options of its agent

    def ready_made(self):
        """What adopt() takes, in another VM that begins as this one is."""
        up = uptime(self)
        keys = READY_MADE_ALIKE + ("name", "domid", "rxe", "agent", "count")
        return dict({key: getattr(self, key) for key in keys}, uptime=up)

    def adopt(self, r):
        self.domid, self.rxe, self.agent, self.count = r["domid"], r["rxe"], r["agent"], r["count"]
        # xenconsoled has begun the log already.
        ready_made = "guest-%s.log" % r["name"]
        if self.name != r["name"]:
            os.symlink(ready_made, self.log)
        self.sh(self.vm.freshen())

    def config(self):
        """Write its xl configuration; the path in dom0."""
        config = "\n".join([
            'name="%s"' % self.name, 'type="%s"' % self.kind, 'kernel="/img/vmlinux"',
            'ramdisk="/img/%s.initrd"' % self.initrd, "memory=%d" % self.memory, "maxmem=%d" % self.memory,
            "vcpus=%d" % self.vcpus, 'on_crash="destroy"', 'on_reboot="%s"' % self.on_reboot,
            'extra="console=hvc0 quiet loglevel=4 mitigations=off panic=5%s"'
            % (" run=" + self.program if self.program else ""),
            "vif=['mac=00:16:3e:00:00:%02x,bridge=br0']" % self.net if self.net else "",
            'cpus="1"' if self.kind == "pvh" else "", *self.more, ""])  # see Vm.fault
        return self.vm.put(self.name + ".cfg", config)

    def create_script(self):
        path = self.config()
        self.rxe, self.agent = False, None
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
        self.rxe, self.agent = False, None
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
        pattern = re.compile(r"^### BEGIN %d\n(.*?)### END %d rc=(\d+)\n" % (number, number), re.M | re.S)
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
