#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""test_schema.py: what resexd --schema prints is a schema, and says what resexd --check says.

Shipped files, examples of man pages and seeds of fuzzers: what resexd takes is valid. Broken files:
neither takes them. The reverse is not so: a schema does not know which names must be unique.
"""
import copy
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

TOP = os.path.abspath(os.environ.get("srcdir") or os.path.dirname(os.path.abspath(__file__)) + "/../..")
RESEXD, CACHED = os.getcwd() + "/resexd", os.getcwd() + "/resex-cached"
try:
    from jsonschema import Draft202012Validator
except ImportError:
    print("test_schema: there is no python3-jsonschema")
    sys.exit(77)
sys.dont_write_bytecode = True
sys.path.insert(0, TOP + "/tests/fuzz")
import seeds  # noqa: E402
from cluster_seeds import CLUSTER  # noqa: E402

LINKS = [{"name": "ib0", "rate": "10Gbit/s"}]
COMMENT = re.compile(r'("(?:\\.|[^"\\\n])*")|//[^\n]*|^[ \t\r]*#[^\n]*', re.M)


def no_twice(pairs):
    if len({k for k, _ in pairs}) < len(pairs):
        raise ValueError("a key is there twice")
    return dict(pairs)


def parse(text):
    """A text with comments. ValueError: it is no JSON."""
    if isinstance(text, bytes):
        text = text.decode()
    return json.loads(COMMENT.sub(lambda m: m.group(1) or "", text), object_pairs_hook=no_twice)


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def examples(page):
    """Those in a man page that are whole files."""
    for block in re.findall(r"\.Bd -literal.*?\n(.*?)\.Ed\n", read(TOP + "/man/" + page), re.S):
        if re.match(r"\s*(//.*\n|#.*\n)*\{", block):
            yield block.replace("\\e", "\\")


class Bed:
    """Files of each kind, checked by resexd in a folder of its own."""

    def __init__(self, folder):
        self.dir = folder
        self.schema = {}
        for name in ("resexd.json", "cluster.json", "policy", "scenario", "cached.json"):
            program = [CACHED, "--schema"] if name == "cached.json" else [RESEXD, "--schema", name]
            made = subprocess.run(program, stdout=subprocess.PIPE, check=True)
            schema = json.loads(made.stdout)
            Draft202012Validator.check_schema(schema)
            self.schema[name] = schema
        with open(self.path("key"), "w", encoding="ascii") as f:
            f.write("0123456789abcdef\n")
        os.chmod(self.path("key"), 0o600)

    def path(self, name):
        return self.dir + "/" + name

    def write(self, name, value):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(value if isinstance(value, str) else json.dumps(value))
        return self.path(name)

    def settings(self, **more):
        return self.write("conf.json", dict({
            "links": LINKS, "state_dir": self.dir, "lock_file": self.path("lock"), "socket": self.path("sock"),
            "policy": "freemarket"}, **more))

    def takes(self, kind, value):
        """Does resexd --check take it? Files that it names are put into the folder."""
        if kind == "scenario":
            args = ["--hv", "sim", "--scenario", self.write("s.json", value)]
        elif kind == "policy":
            name = value.get("policy") if isinstance(value, dict) else None
            args = ["-c", self.settings(policy_file=self.write("p.json", value),
                                        policy=name if isinstance(name, str) and name else "null")]
        elif kind == "cached.json":
            if isinstance(value, dict):
                cluster = dict(NET, key_file=self.path("key"), hosts=HOSTS + [
                    {"name": "p", "number": 2, "address": "10.0.0.2", "role": "proxy"}])
                value = dict(value, cluster_file=self.write("cluster.json", cluster))
            return subprocess.run([CACHED, "--check", "-H", "p", "-c", self.write("cached.json", value)],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0
        elif kind == "cluster.json":
            if isinstance(value, dict):
                hosts = [h for h in value.get("hosts", []) if isinstance(h, dict)] if isinstance(
                    value.get("hosts"), list) else []
                members = [h.get("name") for h in hosts if h.get("role", "member") == "member"]
                value = dict(value, key_file=self.path("key"), host=members[0] if members else "none")
            args = ["-c", self.settings(cluster_file=self.write("cluster.json", value))]
        else:
            if isinstance(value, dict):
                files = {"state_dir": self.dir, "lock_file": self.path("lock"), "socket": self.path("sock"),
                         "policy_file": "", "cluster_file": ""}
                value = dict(value, **{k: v for k, v in files.items() if str(value.get(k, "/"))[:1] == "/"})
                value.pop("socket_group", None)
            args = ["-c", self.write("conf.json", value)]
        return subprocess.run([RESEXD, "--check"] + args, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, check=False).returncode == 0

    def fit(self, kind, value):
        """A build may have no verbs, and no database: the same file for what it has."""
        schema = self.schema[kind].get("properties", {})
        if kind == "cluster.json" and "verbs" not in schema["transport"]["enum"]:
            return dict({"transport": "tcp"}, **value) if value.get("transport") != "verbs" else dict(
                value, transport="tcp")
        backends = schema["sql"]["properties"]["backend"]["enum"] if kind == "cached.json" else []
        if "sql" in value and value["sql"]["backend"] not in backends:
            value = {k: v for k, v in value.items() if k != "sql"}
        return value

    def wrong(self, kind, value):
        """What is wrong with it by the schema; None: nothing."""
        for e in Draft202012Validator(self.schema[kind]).iter_errors(value):
            return "%s: %s" % (e.json_path, e.message[:200])
        return None


def properties(schema, path=""):
    """Each property within a schema, with its path."""
    if isinstance(schema, list):
        for s in schema:
            yield from properties(s, path)
    elif isinstance(schema, dict):
        for k, v in schema.items():
            if k == "properties":
                for name, s in v.items():
                    yield path + "." + name, s
                    yield from properties(s, path + "." + name)
            else:
                yield from properties(v, path)


def schemas_are_whole(bed):
    for kind, schema in bed.schema.items():
        n = defaults = 0
        for path, s in properties(schema):
            n += 1
            assert "const" in s or s.get("description", "").endswith((".", ")")), "%s%s says nothing" % (kind, path)
            if "default" in s:
                defaults += 1
                for e in Draft202012Validator(s).iter_errors(s["default"]):
                    raise AssertionError("%s%s: its default: %s" % (kind, path, e.message))
        assert n >= 10 and defaults >= n // 4, (kind, n, defaults)


SHIPPED = {
    "resexd.json": ["etc/resexd.json", "debian/resexd.json"],
    "cluster.json": ["etc/cluster.json", "etc/cluster-web.json"],
    "policy": ["policies/*.json"],
    "cached.json": ["etc/cache/cached-*.json"],
    "scenario": ["etc/scenarios/*.json"],
}
PAGES = {"resexd.json": "resexd.json.5", "cluster.json": "cluster.json.5", "policy": "resex-policies.7",
         "scenario": "resex-scenario.5", "cached.json": "resex-cached.8"}


def shipped_files_are_valid(bed):
    for kind, patterns in SHIPPED.items():
        files = [f for p in patterns for f in sorted(glob.glob(TOP + "/" + p))]
        assert files or kind == "resexd.json", kind
        texts = [(f, read(f)) for f in files] + [("%s, example %d" % (PAGES[kind], i), t)
                                                 for i, t in enumerate(examples(PAGES[kind]))]
        assert len(texts) > len(files), "no example in " + PAGES[kind]
        for name, text in texts:
            value = bed.fit(kind, parse(text))
            wrong = bed.wrong(kind, value)
            assert not wrong, "%s: %s" % (name, wrong)
            if kind == "cached.json" and "ring_group" not in value:
                continue  # of an application server: there is no such database here
            assert bed.takes(kind, text if kind == "scenario" else value), "resexd refuses " + name
    # Of a cluster of cached hosts alone: resexd has no part in it.
    wrong = bed.wrong("cluster.json", parse(read(TOP + "/etc/cache/cluster-cache.json")))
    assert not wrong, wrong


def what_resexd_takes_is_valid(bed):
    for kind, texts, least in (("scenario", seeds.SCENARIO, 5), ("cluster.json", CLUSTER, 10)):
        taken = refused = 0
        for name, text in texts.items():
            try:
                value = parse(text)
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict) and kind == "cluster.json":
                value = bed.fit(kind, value)
            if not bed.takes(kind, value):
                refused += 1
                continue
            taken += 1
            wrong = bed.wrong(kind, value)
            assert not wrong, "resexd takes the %s %s: %s" % (kind, name, wrong)
        assert taken >= least and refused >= least, (kind, taken, refused)


CONF = {"links": LINKS, "guests": {"default": {"min_cap": 1}}, "crosscheck": {"window": "1s"}, "limits": {"rings": 4}}
HOSTS = [{"name": "x", "number": 1, "address": "10.0.0.1"}]
NET = {"cluster": "c", "transport": "tcp", "hosts": HOSTS, "services": [{"name": "w", "number": 1}],
       "nodes": [{"name": "n", "number": 1, "host": "x", "service": "w"}],
       "balance": [{"service": "w", "socket": "/s"}], "reconf": {"margin": "20%"}, "load": {"scan": "50ms"}}
MARKET = {"policy": "freemarket", "params": {"low": "10%"}}
RUN = {"guests": [{"name": "a", "apps": [{"kind": "server"}], "sla": {}}], "policy": "null", "host": {},
       "events": [{"at": "1s", "do": "guest-set", "guest": "a", "set": {"weight": 5}}]}

# Where, and a value that is wrong there (GONE: none); the same place with one that is right, or None.
GONE = object()
BROKEN = {
    "resexd.json": (CONF, [
        ("links", GONE, None), ("links", [], None), ("links", LINKS * 9, None), ("intervall", "1ms", None),
        ("interval", 1, "2ms"), ("interval", "1 ms", None), ("epoch", "1min", "2s"), ("policy", "Null", "null"),
        ("lock_memory", 1, True), ("realtime_priority", 100, 99), ("socket", "sock", "/sock"), ("socket", "", None),
        ("links.0.rate", "10GB", "10GB/s"), ("links.0.rate", 10, 1000000), ("links.0.name", GONE, None),
        ("links.0.mtu", 1000, 512), ("links.0.mtu", 8192, 4096), ("links.0.counter", "x", "none"),
        ("links.0.counter", "port:mlx5_0/65536", "port:mlx5_0/65535"), ("links.0.counter", "port:-a/1", "port:a-/1"),
        ("links.0.counter", "vif", None), ("links.0.counter", "port:%s/1" % ("a" * 64), "port:%s/1" % ("a" * 63)),
        ("guests.default.counter", "x", "vif"), ("guests.default.counter", "vf:e/100000", "vf:e/00007"),
        ("guests.default.counter", "vf:sixteen_letters_/1", "vf:fifteen_letters/1"),
        ("links.0.profile", "paper", "paper-2011"), ("links.0.name", "a\nb", "b"), ("guests.default.min_cap", "5", "5 %"),
        ("guests.default.min_cap", 101, 100), ("guests.default.cap", 5, None), ("guests.web", [], {}),
        ("guests.default.unreadable", "all", "nothing"), ("guests.default.unreadable", "1MB", "1MB/s"),
        ("guests.default.sla", {"tolerance": "2.55%"}, {"tolerance": "2.5%"}), ("limits.rings", 0, 1),
        ("crosscheck.window", "1", "2s"), ("crosscheck.off", None, False)]),
    "cluster.json": (NET, [
        ("cluster", GONE, None), ("hosts", GONE, None), ("hosts.0.number", 0, 1), ("hosts.0.number", "1", None),
        ("hosts.0.role", "boss", "member"), ("hosts.0.port", 65536, 65535), ("transport", "udp", "tcp"),
        ("membership", True, "static"), ("heartbeat", "100", "100ms"), ("drift", -1, 1000), ("servicse", [], None),
        ("services.0.low", "900", 900), ("services.0.balancers", "x", ["x"]), ("nodes.0.kind", "none", "both"),
        ("nodes.0.only", [], ["w"]), ("balance.0.k", 0, 1), ("balance.0.k", "all", "auto"),
        ("balance.0.service_time", 5, "5ms"), ("reconf.margin", 20, "30%"), ("reconf.budget", "6", "6/h"),
        ("reconf.s", "1s", None), ("load.source", "lm", "ulm"), ("cache", {"words": 0}, {"words": 1})]),
    "policy": (MARKET, [
        ("policy", GONE, None), ("policy", "a/b", None), ("params", [], {}), ("params.lo", 5, None),
        ("params.low", "10", 100), ("params.low", 1001, "100%"), ("params.low", "1.25%", "1.2 %"),
        ("params.step", "5%", "5ms"), ("params.step", 1, 100000), ("params.min_cap", "1.0001%", "1.001%")]),
    "cached.json": ({"ring_slots": 64}, [
        ("socket", "api.sock", "/api.sock"), ("ring_slots", 63, 128), ("ring_slots", "64", None), ("timeout", 5, "5ms"),
        ("ring_clients", 65, 64), ("ring_group", "", "www"), ("rings", 1, None), ("sql", {}, None),
        ("sql", {"backend": "oracle", "where": "x"}, None)]),
    "scenario": (RUN, [
        ("guests", GONE, None), ("guests", [], None), ("guests.0.name", GONE, None), ("duration", 10, "10s"),
        ("seed", -1, 1), ("clock", "fast", "real"), ("policy", {"policy": "null", "params": {"x": 1}}, MARKET),
        ("policy", "2nd", "ratio"), ("guests.0.counter", "none", None), ("guests.0.apps.0.kind", "client", "idle"),
        ("guests.0.apps.0.size", "1MB/s", "1MB"), ("guests.0.apps.0.variation", "10", "10%"), ("events.0.do", "x", "guest-set"),
        ("events.0.set.link", "ib0", None), ("events.0.set.weight", 0, 1), ("hosts", [], [{}]), ("host.scheduler", "x", "credit"),
        ("swap", ["a"], None), ("guests.0.vcpus", 513, 2)]),
}


def changed(value, path, new):
    value = copy.deepcopy(value)
    *way, last = [int(p) if p.isdigit() else p for p in path.split(".")]
    at = value
    for p in way:
        at = at[p]
    if new is GONE:
        del at[last]
    else:
        at[last] = new
    return value


def broken_files_are_refused_by_both(bed):
    for kind, (good, rows) in BROKEN.items():
        assert not bed.wrong(kind, good) and bed.takes(kind, good), kind
        for path, bad, right in rows:
            value = changed(good, path, bad)
            assert bed.wrong(kind, value), "the schema of %s takes %s %r" % (kind, path, bad)
            assert not bed.takes(kind, value), "resexd takes %s %s %r" % (kind, path, bad)
            if right is not None:
                value = changed(good, path, right)
                if path == "hosts" and kind == "scenario":
                    del value["host"]
                wrong = bed.wrong(kind, value)
                assert not wrong, "%s %s %r: %s" % (kind, path, right, wrong)
                assert bed.takes(kind, value), "resexd refuses %s %s %r" % (kind, path, right)


def names_of_plugins_are_valid(bed):
    """A schema cannot know which there are; parameters of built-in policies are checked as before."""
    for kind, name in (("resexd.json", "dear"), ("scenario", "dear"), ("policy", "dear")):
        value = changed(BROKEN[kind][0], "policy", name)
        assert not bed.wrong(kind, value), (kind, bed.wrong(kind, value))
        assert not bed.takes(kind, value), "resexd has no policy dear, and takes it"
    value = {"policy": "dear", "params": {"any": "5%"}}
    assert not bed.wrong("policy", value)
    assert not bed.wrong("scenario", dict(RUN, policy=value))
    assert bed.wrong("policy", dict(value, parms={}))
    assert bed.wrong("policy", dict(MARKET, params={"any": "5%"}))


def main():
    with tempfile.TemporaryDirectory() as folder:
        bed = Bed(folder)
        for test in (schemas_are_whole, shipped_files_are_valid, what_resexd_takes_is_valid,
                     broken_files_are_refused_by_both, names_of_plugins_are_valid):
            test(bed)
            print("ok", test.__name__)


if __name__ == "__main__":
    main()
