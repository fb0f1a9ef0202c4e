# SPDX-License-Identifier: GPL-2.0-or-later
"""cache_bed: cacheworld's installation in two VMs on a cable, over verbs, and faults of it.

  VM "one"  PostgreSQL; app1: resex-cached, resex-auction
  VM "two"  app2: the same; front1: resex-cached, Varnish; the clients, resex-cacheload

This machine makes what must only be made once: the database's files, all settings, and Varnish's
configuration as an object, since no compiler is in the VMs. Each file has the path in the VMs that
it has on this machine. What leads to the database, to a home's memory and to an application has an
address of its own, so that each can be cut off alone, and one way: as tests/cache/hosts.py does it.
"""
import glob
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

import cpio
from bed import Failed, Skipped, check, read_text, wait_for

TOP = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, TOP + "/etc/demo")
sys.path.insert(0, TOP + "/tests/cache")
import breaks  # noqa: E402
import cacheworld  # noqa: E402
import stall  # noqa: E402

NET, NOBODY = "10.99.0.", "52:54:00:00:ff:ff"
# By name: the end of its address. web: an application, or Varnish; dbc: of who asks the database from VM two.
ONE = {"one": 1, "db": 5, "app1": 11, "web1": 31}
TWO = {"two": 2, "dbc": 6, "app2": 12, "front1": 21, "web2": 32, "web3": 41}
WEB = {"app1": "web1", "app2": "web2", "front1": "web3"}
LIBPQ = "connect_timeout=10 keepalives_idle=2 keepalives_interval=2 keepalives_count=3 tcp_user_timeout=8000"
PROGRAMS = ("resex", "resex-cached", "resex-auction", "resex-cacheload", "libvmod_resex.so", "tests/cache/stall.so")
PG_CONF = """
listen_addresses = '%s'
unix_socket_directories = ''
timezone = 'GMT'
log_timezone = 'GMT'
jit = off
log_min_messages = fatal
shared_buffers = 16MB
"""
# The rules of resex-cacheload(1).
RULES = ("stale", "backwards", "future", "undone", "torn", "wrong")


def address(name):
    return NET + str(dict(ONE, **TWO)[name])


def mac(number):
    return "52:54:00:00:00:%02x" % number


def missing():
    """What this machine does not have for the VMs; "": nothing."""
    have = glob.glob("/usr/lib/postgresql/*/bin/postgres")
    if not have or not shutil.which("varnishd") or not shutil.which("psql"):
        return "varnish and postgresql are not here: apt-get install varnish postgresql"
    return ""


class CacheWorld(cacheworld.World):
    """vms: {"one": Vm, "two": Vm}, on the cable. build: of the programs; broken: a rule that they do not keep."""

    def __init__(self, vms, build, broken="", **more):
        self.vms = vms
        if broken:
            build = breaks.make(build, broken)
        top = tempfile.mkdtemp(prefix="resex-vm-")
        os.chmod(top, 0o755)
        super().__init__(top, build, apps=2, proxies=1, transport="verbs", memory="32m", sql_timeout="10s", **more)
        self.of = {"app1": vms["one"], "app2": vms["two"], "front1": vms["two"]}
        self.stalled = {h.name: "%s/cached.stall" % h.dir for h in self.apps}

    # --- on this machine

    def make(self):
        """All that the VMs need but is not in them yet: pack() is next."""
        self.start_database()
        self.end_database()
        self.where = self.db = "host=%s port=5432 user=postgres dbname=postgres %s" % (address("db"), LIBPQ)
        for h in self.hosts:
            h.address = address(h.name)  # of its memory
        self.write_settings()
        for h in self.hosts:
            h.address = address(WEB[h.name])
        # Emulated CPUs are slow: few connections, few probes, long time-outs.
        self.commands = {h.name: self.auction(h) + ["-t", "3", "-u", "3"] for h in self.apps}
        self.commands["front1"] = self.varnish(self.proxies[0]) + [
            "-p", "vsl_space=8M", "-p", "connect_timeout=3", "-p", "first_byte_timeout=10", "-p", "between_bytes_timeout=10",
            "-p", "cc_command=cp %s/vcl.so %%o" % self.top]
        self.compile(self.proxies[0].dir + "/resex.vcl")

    def close(self):
        """The archives are in the VMs."""
        if os.path.exists(self.pg_dir + "/data/postmaster.pid"):
            self.pg("stop")
        shutil.rmtree(self.top, ignore_errors=True)

    def end_database(self):
        with open(self.pg_dir + "/data/postmaster.pid") as f:
            pid = int(f.readline())
        os.kill(pid, signal.SIGINT)
        wait_for("end of PostgreSQL", 20, lambda: not os.path.exists(self.pg_dir + "/data/postmaster.pid"))
        with open(self.pg_dir + "/data/postgresql.conf", "a") as f:
            f.write(PG_CONF % address("db"))
        with open(self.pg_dir + "/data/pg_hba.conf", "a") as f:
            f.write("host all all %s0/24 trust\n" % NET)

    def compile(self, vcl):
        """What varnishd would do with the C that it makes of the VCL."""
        with open(vcl) as f:
            text = f.read()
        with open(vcl, "w") as f:
            f.write(text.replace(".interval = 500ms; .timeout = 2s;", ".interval = 4s; .timeout = 10s;"))
        os.mkdir(self.top + "/vcc")
        r = subprocess.run(["varnishd", "-C", "-f", vcl, "-n", self.top + "/vcc"], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True)
        check(r.returncode == 0, "varnishd -C: " + r.stderr[-400:])
        shutil.rmtree(self.top + "/vcc", ignore_errors=True)
        r = subprocess.run(["gcc", "-O1", "-w", "-fpic", "-shared", "-x", "c", "-o", self.top + "/vcl.so", "-"],
                           input=r.stderr + r.stdout, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        check(r.returncode == 0, "Varnish's configuration is not compiled: " + r.stdout[:400])

    def pack(self):
        for name in self.stalled.values():
            with open(name, "wb") as f:
                f.truncate(stall.SIZE)
        elves = [self.build + "/" + p for p in PROGRAMS]
        self.postgres = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"))[-1]
        two, one = cpio.Archive(), cpio.Archive()
        for archive, more in (one, [self.postgres]), (two, ["/usr/sbin/varnishd"] + glob.glob(
                "/usr/lib/x86_64-linux-gnu/varnish/vmods/libvmod_[ds][it][rd]*.so")):
            for path in elves + more:
                cpio.put_elf(archive, "", path)
        lib = os.path.dirname(os.path.dirname(self.postgres)) + "/lib/"
        for name in ("plpgsql.so", "dict_snowball.so"):
            cpio.put_elf(one, "", lib + name)
        share = "/usr/share/postgresql/%s/timezonesets/" % self.postgres.split("/")[-3]
        for path in glob.glob(share + "*") + glob.glob("/usr/lib/locale/C.utf8/**", recursive=True):
            if os.path.isfile(path):
                one.file(path, path)
        for archive in (one, two):
            for root, _, files in os.walk(self.top):
                archive.mkdir(root)
                for name in files:
                    path = "%s/%s" % (root, name)
                    if archive is one or not path.startswith(self.pg_dir):
                        archive.file(path, path)
        one.write(self.vms["one"].share + "/files/world.cpio")
        two.write(self.vms["two"].share + "/files/world.cpio")

    # --- in the VMs

    def unpack(self):
        jobs = [(vm, vm.begin("cd / && busybox cpio -idu <{0} 2>&1 && rm {0}".format("/h/files/world.cpio")))
                for vm in self.vms.values()]
        for vm, job in jobs:
            r = vm.end(job, 60)
            check(r.rc == 0, "the archive is not unpacked: " + r.out[-300:])

    def plug(self):
        """rxe0 and all addresses; neighbours stay as they are told."""
        for vm, mine, others in (self.vms["one"], ONE, TWO), (self.vms["two"], TWO, ONE):
            first, number = next(iter(mine.items()))
            lines = ["addr add %s/24 dev eth0" % address(n) for n in mine if n != first]
            lines += ["neigh replace %s lladdr %s dev eth0 nud permanent" % (address(n), self.mac_of(n)) for n in others]
            lines += ["route add %s/32 dev eth0 src %s" % (address("db"), address("dbc"))] if mine is TWO else []
            vm.sh("/t/rxe.sh eth0 %s %s && printf '%s\\n' | /usr/sbin/ip -batch -" %
                  (address(first), mac(number), "\\n".join(lines)))

    @staticmethod
    def mac_of(name):
        return mac(ONE["one"] if name in ONE else TWO["two"])

    def cut(self, pairs, cut=True):
        """(VM, name): what this VM sends to that address is lost."""
        for which, name in pairs:
            self.vms[which].sh("/usr/sbin/ip neigh replace %s lladdr %s dev eth0 nud permanent" %
                               (address(name), NOBODY if cut else self.mac_of(name)))

    @staticmethod
    def spawning(tag, words, env=""):
        """A line of sh; the output is kept with the logs."""
        line = " ".join("'%s'" % w for w in words)
        return "cd /; (%s setsid %s >>/h/files/%s.log 2>&1 & echo $! >/run/%s.pid)" % (env, line, tag, tag)

    def start_postgres(self):
        """It does not run as root."""
        vm = self.vms["one"]
        vm.sh("chown -R nobody {0} && chmod 700 {0}/data && (su nobody -s /bin/sh -c 'exec {1} -D {0}/data' "
              ">>/h/files/postgres.log 2>&1 &)".format(self.pg_dir, self.postgres))

    def end_postgres(self, sig):
        """Its file goes when it ends; its process stays, since nobody waits for it."""
        self.vms["one"].sh("kill -{1} $(head -n 1 {0}); while [ -e {0} ]; do usleep 20000; done"
                           .format(self.pg_dir + "/data/postmaster.pid", sig))

    def starting_cached(self, name):
        h = {h.name: h for h in self.hosts}[name]
        env = ""
        if h.role == "app":
            env = "LD_PRELOAD=%s/tests/cache/stall.so RESEX_STALL=%s" % (self.build, self.stalled[name])
        return self.spawning(name + "-cached", [self.build + "/resex-cached", "-c", h.dir + "/cached.json", "-H", name], env)

    def start_cached(self, name):
        self.of[name].sh(self.starting_cached(name))

    def restart_cached(self, name):
        """By a kill. How many seconds it was away, of the VM's clock."""
        now = "cut -d ' ' -f 1 /proc/uptime"
        said = self.of[name].sh("%s; kill -9 $(cat /run/%s-cached.pid); %s; %s" % (now, name, self.starting_cached(name), now))
        began, ended = said.split()
        return float(ended) - float(began)

    def start_server(self, name):
        """The application, or Varnish."""
        self.of[name].sh(self.spawning(name + "-server", self.commands[name]))

    def kill(self, name, whats):
        self.of[name].sh("kill -9 " + " ".join("$(cat /run/%s-%s.pid)" % (name, w) for w in whats))

    def figures(self, name):
        """resex cache-list of this host; {}: it does not answer."""
        r = self.of[name].run("%s/resex -s %s/%s/api.sock -j cache-list" % (self.build, self.top, name))
        return r.json() if r.rc == 0 else {}

    def updates(self, name):
        """Under way, as this host sees them; None: it does not answer."""
        r = self.of[name].run("%s/resex -s %s/%s/api.sock -j update-list" % (self.build, self.top, name))
        return r.json()["updates"] if r.rc == 0 else None

    def is_well(self):
        for h in self.apps:
            f = self.figures(h.name)
            if not f.get("in") or not all(m["link"] for m in f["members"]) or self.updates(h.name) != []:
                return False
        return self.figures("front1").get("usable") == len(self.apps)

    def answers(self, name):
        """Its server gives a right page to a client of VM two."""
        h = {h.name: h for h in self.hosts}[name]
        app = self.apps[0] if h.role == "proxy" else h
        line = "%s/resex-cacheload -n 1 -T 15 -r 1 -u 1 -P 1 -a %s:%d" % (self.build, app.address, app.port)
        if h.role == "proxy":
            line += " -p %s:%d" % (h.address, h.port)
        return self.vms["two"].run(line).rc == 0

    def start(self):
        self.unpack()
        self.plug()
        self.start_postgres()
        for h in self.hosts:
            self.start_cached(h.name)
        wait_for("members and homes", 60, self.is_well, 0.2)
        for h in self.hosts:
            self.start_server(h.name)
        for h in self.hosts:
            wait_for("answer of %s's server" % h.name, 60, lambda h=h: self.answers(h.name), 0.2)

    # --- moments of a thread (tests/cache/stall.c)

    def kill_held(self, name, moment):
        """Kill resex-cached while an update of it stands at this moment; false: none came there."""
        at, limit_ms = self.stalled[name], 10000

        def put(offset, value):
            text = "".join("\\%03o" % b for b in struct.pack("<I", value))
            return "printf '%s' | dd of=%s bs=1 seek=%d conv=notrunc 2>/dev/null" % (text, at, offset)
        script = [put(stall.STATE, stall.IDLE), put(stall.VERDICT, stall.GO_ON), put(stall.SKIP, 0),
                  put(stall.LIMIT, limit_ms), put(stall.MOMENT, stall.MOMENTS.index(moment)), put(stall.STATE, stall.ARMED)]
        held = "[ $(od -An -tu4 -j %d -N 4 %s) = %d ]" % (stall.STATE, at, stall.HELD)
        script += ["i=0; until %s || [ $((i+=1)) -ge 400 ]; do usleep 5000; done" % held,
                   "%s; rc=$?; [ $rc = 0 ] && kill -9 $(cat /run/%s-cached.pid)" % (held, name),
                   put(stall.STATE, stall.IDLE), put(stall.MOMENT, 0), "exit $rc"]
        return self.of[name].run("\n".join(script), 60).rc == 0

    # --- clients

    def begin_load(self, *words):
        line = [self.build + "/resex-cacheload", "-j", "-p", "%s:%d" % (self.proxies[0].address, self.proxies[0].port)]
        for a in self.apps:
            line += ["-a", "%s:%d" % (a.address, a.port)]
        vm = self.vms["two"]
        vm.sh("rm -f /run/load.rc; (sh -c 'echo $$ >/run/load.pid; exec \"$@\"' sh %s >/h/files/load.json 2>/h/files/load.err; "
              "echo $? >/run/load.rc) >/dev/null 2>&1 &" % " ".join(line + list(words)))

    def end_load(self, seconds=60):
        """What the checker counted."""
        vm = self.vms["two"]
        vm.run("kill -TERM $(cat /run/load.pid)")
        vm.sh("i=0; until [ -e /run/load.rc ]; do [ $((i+=1)) -lt %d ] || exit 1; usleep 50000; done" % (80 * seconds), 4 * seconds)
        text = read_text(vm.share + "/files/load.json")
        check(text, "resex-cacheload: " + read_text(vm.share + "/files/load.err"))
        return json.loads(text)

    def packets(self):
        """What rxe0 of VM two has sent, and received: by the device's own counters."""
        at = "/sys/class/infiniband/rxe0/ports/1/hw_counters/"
        return [int(n) for n in self.vms["two"].sh("cat %ssent_pkts %srcvd_pkts" % (at, at)).split()]


__all__ = ["CacheWorld", "Failed", "RULES", "Skipped", "missing"]
