#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""seeds.py OUT: write a small seed corpus a target into OUT/<target>/.

The layouts are restated here from guest_abi.h and the heads of the targets: the seeds need no build.
"""
import json
import os
import struct
import sys

from cache_seeds import CACHE
from cluster_seeds import CLUSTER
from http_seeds import HTTP
from methods_seeds import METHODS
from mlx4_seeds import MLX4_SEEDS
from mlx5_seeds import MLX5_SEEDS
from queue_seeds import QUEUES
from replay_seeds import REPLAY


def write(out, target, seeds):
    folder = os.path.join(out, target)
    os.makedirs(folder, exist_ok=True)
    for name, data in seeds.items():
        with open(os.path.join(folder, name), "wb") as f:
            f.write(data if isinstance(data, bytes) else data.encode())


CONF = {
    "full": """{
  "interval": "1ms", "weight": 256, "policy": "freemarket", "lock_memory": true,
  "links": [{ "name": "ib0", "rate": "10Gbit/s", "profile": "scaled" },
            { "name": "ib1", "rate": 1073741824, "profile": "paper-2011" }],
  "x": "links[1].rate"
}""",
    "empty": "{}",
    "unknown": '{"wieght": 1, "links": [{"nam": 1}]}',
    "range": '{"weight": 70000, "interval": "1us"}',
    "types": '{"weight": "1", "lock_memory": 1, "policy": [], "interval": {}}',
    "missing": '{"links": [{}, {"name": ""}, {"name": "1234567"}]}',
    "paths": '{"a": {"b": [1, {"c": "d"}]}, "a.b": 2, "x": "a.b[1].c"}', "path_gone": '{"a": [1, 2], "x": "a[7].b.c"}',
    "utf8": '{"\u00e9\u00e8": "\\u00e9", "links": [{"name": "\u20ac", "rate": "x"}]}',
    "comments": '// a { [ "\n # b\n{ "weight": 1, // c\n"policy": "http://x", "x": "#"//\n}#',
    "percents": '{"percent": "35 %", "permille": "2.5%", "mpct": "99.999%", "ns": "10ms"}',
    "no_percents": '{"percent": "2.5%", "permille": "5.%", "mpct": "1.0001%", "ns": "5%"}',
    "syntax": '{"weight": 1,, }', "deep": "[" * 33 + "]" * 33, "twice": '{"weight": 1, "weight": 2}',
    "long": '{"policy": "%s", "%s": 1}' % ("y" * 300, "z" * 300),
}

CONTROL = {
    "list": '{"jsonrpc":"2.0","id":1,"method":"list"}',
    "brief": '{"jsonrpc":"2.0","id":1,"method":"list","params":{"brief":true}}',
    "why": '{"jsonrpc":"2.0","id":"a","method":"why","params":{"guest":"bulk"}}',
    "no_id": '{"jsonrpc":"2.0","method":"list"}',
    "id_null": '{"jsonrpc":"2.0","id":null,"method":"list"}',
    "version": '{"jsonrpc":"1.0","id":1,"method":"list"}',
    "method_64": '{"jsonrpc":"2.0","id":1,"method":"%s"}' % ("m" * 64),
    "method_none": '{"jsonrpc":"2.0","id":1,"method":""}',
    "params_list": '{"jsonrpc":"2.0","id":1,"method":"list","params":[]}',
    "batch": '[{"jsonrpc":"2.0","id":1,"method":"list"}]',
    "twice": '{"id":1,"id":2}',
    "not_json": "{id: 1}",
    "not_utf8": b'{"jsonrpc":"2.0","id":"\xff","method":"x"}',
    "odd_utf8": b'{"jsonrpc":"2.0","id":1,"method":"x"}\xc3',
}


def saved(number, more=""):
    return '{"domid": %d, "uuid": "%s", "cap": 60, "weight": 256%s}' % (
        number, "-".join("%02x" % number * n for n in (4, 2, 2, 2, 6)), more)


def caps_record(slot, number, last, *words):
    return struct.pack("<BHBQB", slot, number, number, last, len(words)) + b"".join(
        struct.pack("<BQ", i, 0x5555 << i % 32) for i in words)


def caps(guests, gone=None, head='"hv": "xen", "boot": "boot-1"', boot=1, bak="", notes=b""):
    text = "{%s, \"guests\": [%s]%s}" % (head, guests, ', "gone": [%s]' % gone if gone is not None else "")
    return bytes([boot]) + b"\0".join([text.encode(), bak.encode(), notes])


SET = ', "written": [[1, 3], [80, 80], [8191, 8191]], "last": [1, 45]'
GONE = saved(9, SET + ', "until": 2000000')
CAPS = {
    "least": caps("", head='"hv": "xen"'),
    "old": b"\1" + ('{"guests": [%s]}' % saved(1)).encode(),
    "full": caps(saved(1, SET) + "," + saved(2), GONE),
    "notes": caps(saved(1, SET) + "," + saved(2), GONE, notes=b"\0" + caps_record(
        0, 1, 1 << 32 | 5 << 16 | 6, 0, 1) + caps_record(3, 9, 0, 127) + caps_record(7, 5, 0)),
    "notes_spoiled": caps(saved(1, SET), notes=b"\x21" + caps_record(0, 1, 0, 0)),
    "boot": caps(saved(1, SET) + "," + saved(9, SET), GONE, boot=2),
    "boot_none": caps(saved(1, SET), GONE, boot=0, notes=b"\0" + caps_record(0, 1, 0, 0)),
    "expired": caps(saved(1), saved(3, ', "until": 5')),
    "bak": b"\1{\0" + caps(saved(1))[1:],
    "bak_bad": b"\1{\0{}",
    "foreign": caps(saved(1), head='"hv": "sim"'),
    "uuid": caps('{"domid": 1, "uuid": "%s", "cap": 1, "weight": 1}' % ("x" * 36)),
    "range": caps(saved(1, ', "written": [[0, 8192]]')),
    "range_back": caps(saved(1, ', "written": [[3, 1]]')),
    "range_three": caps(saved(1, ', "written": [[1, 2, 3]]')),
    "last": caps(saved(1, ', "last": [1, 65536]')),
    "last_text": caps(saved(1, ', "last": ["1", 1]')),
    "last_minus": caps(saved(1, ', "last": [-1, 1]')),
    "written_no": caps(saved(1, ', "written": {}')),
    "domid": caps(saved(0)),
    "gone_no": caps(saved(1), '{"domid": 0}'),
    "not_lists": b'\1{"guests": {}}',
    "none": b"\1",
}


# --- registry: struct control, registry page, pages (fuzz_registry.c) ------

PAGE, SLICE, REGISTRY = 4096, 640, 1616
SQ, CQ, RXE = 1, 2, 1


def ref(kind, number):
    return struct.pack("<IIQ", kind, 0, number)


def refs(count, *given):
    return b"".join(given) + ref(0, 0) * (count - len(given))


def registry(directories, frame_pages, latencies, frames, generation=2, magic=0x52585245, version=2,
             load=(0, 0)):
    data = struct.pack("<IIIIQIIII", magic, version, generation, 77, 5, len(directories),
                       len(frame_pages), len(latencies), frames) + bytes(24)
    data += refs(16, *directories) + refs(64, *frame_pages) + refs(16, *latencies) + ref(*load)
    assert len(data) == REGISTRY
    return data


def ring(number, kind=SQ, elem=256, entries=64, mtu=1024, first=0, frames=5, comm=b"perftest", **over):
    f = dict(provider=RXE, offset=0, db_frame=0, db_offset=0, db_bytes=0)
    f.update(over)
    data = struct.pack("<IHHIIIIIIIIQIIQ", number, kind, f["provider"], 17, 4321, elem, entries, mtu,
                       f["offset"], first, frames, f["db_frame"], f["db_offset"], f["db_bytes"], 99)
    data += comm.ljust(16, b"\0") + bytes(48)
    assert len(data) == 128
    return data


def directory(*rings, magic=0x44585245, used=None):
    data = struct.pack("<II", magic, len(rings) if used is None else used) + bytes(120)
    return (data + b"".join(rings)).ljust(SLICE, b"\0")


def frames(*numbers):
    return struct.pack("<%dQ" % len(numbers), *numbers).ljust(SLICE, b"\0")


def control(rings=256, pages=4096, after=0xFFFF, at=0, value=0, absent=0):
    return struct.pack("<HHHHII", rings, pages, after, at, value, absent)


GRANT, FRAME = 1, 2
TWO = registry([ref(GRANT, 0)], [ref(FRAME, 1)], [ref(GRANT, 2)], 12)
TWO_PAGES = directory(ring(1), ring(2, CQ, 128, 64, 0, 5, 3)) + frames(*range(1000, 1080))


def latency(written, *samples, writing=None, dropped=0, magic=0x4c585245):
    """The beginning of a latency page: samples are (ctime, wtime, ptime)."""
    data = struct.pack("<IIQQQ", magic, 17, written, written if writing is None else writing, dropped) + bytes(32)
    data += b"".join(struct.pack("<III", *times) for times in samples)
    return data.ljust(SLICE, b"\0")


REGISTRY_SEEDS = {
    "latencies": control() + TWO + latency(0) + bytes(SLICE * 7) + latency(2, (9, 8, 7), (6, 5, 4))
                 + latency(3, (0, 0, 0), (0, 0, 0), (1, 1, 1), dropped=4),
    "latency_lies": control() + TWO + latency(5) + bytes(SLICE * 7) + latency(1 << 40, (2, 3, 4), dropped=1 << 63)
                    + latency(2, (2, 3, 4), (0xffffffff, 0xffffffff, 0xffffffff), writing=1),
    "latency_gone": control() + TWO + latency(5) + bytes(SLICE * 7) + latency(1, magic=0)
                    + latency(6, (2, 3, 4), writing=400),
    "two_rings": control() + TWO + TWO_PAGES,
    "limits": control(rings=1, pages=5) + TWO + TWO_PAGES,
    "load": control() + registry([], [], [], 0, load=(GRANT, 3)),
    "odd": control() + registry([], [], [], 0, generation=3),
    "other_version": control() + registry([], [], [], 0, version=1),
    "changed_meanwhile": control(after=1, at=8, value=4) + TWO + TWO_PAGES,
    "count_changed": control(after=0, at=24, value=16) + TWO + TWO_PAGES,
    "page_absent": control(absent=2) + TWO + TWO_PAGES,
    "bad_rings": control() + TWO
                 + directory(ring(1, elem=100), ring(2, entries=1 << 21), ring(3, first=7), ring(4, frames=0))
                 + frames(1, 2, 3),
    "bad_rings_2": control() + TWO
                   + directory(ring(1, offset=4096), ring(1, mtu=9000), ring(5, provider=9), ring(6, kind=7))
                   + frames(1, 2, 3),
    "same_id": control() + TWO + directory(ring(1), ring(1), ring(1, comm=b"\x1b[2J\xff")) + frames(1, 2),
    "two_directories": control() + registry([ref(GRANT, 0), ref(FRAME, 3)], [ref(FRAME, 1), ref(GRANT, 4)], [], 600)
                       + directory(ring(1)) + frames(7) + bytes(SLICE) + directory(ring(9, first=510, frames=5)),
    "node_grant": "2 grant 7",
    "node_frame": "2 frame 262144",
    "node_version": "1 grant 7",
    "node_large": "2 frame 18446744073709551615",
    "node_zero": "2 grant 07",
}

# --- ring: struct shape, PSN, a program (fuzz_ring.c) -----------------------

POST, COMPLETE, SAMPLE, WRITE32, WRITE_WQE, SET_PRODUCER, SET_CONSUMER, FILL = range(8)


def shape(kind=0, elem=2, entries=3, mtu=2, offset=0, missing=0, lie=0, psn=100):
    return struct.pack("<BBBBHBBI", kind, elem, entries, mtu, offset, missing, lie, psn)


def post(op=0, length=5000):
    return struct.pack("<BBI", POST, op, length)


def complete(n):
    return bytes([COMPLETE + 8 * (n - 1)])


def sample_after(us=1000):
    """Once the guest is no longer honest, SAMPLE takes the nanoseconds since."""
    return bytes([SAMPLE]) + struct.pack("<I", us * 1000)


ASK = bytes([SAMPLE])
HISTORY = struct.pack("<BBI", 0x80, 0, 4096)

RING_SEEDS = {
    "idle": shape() + ASK,
    "traffic": shape() + ASK + (post() + post(1, 100) + complete(2) + ASK) * 6,
    "kinds": shape() + ASK + b"".join(post(i, 3000) for i in range(8)) + complete(8) + ASK,
    "backlog": shape() + ASK + post() * 9 + complete(3) + ASK + complete(6) + ASK,
    "lapped": shape(entries=1) + ASK + (post() + complete(1)) * 9 + ASK,
    "psn_wraps": shape(psn=0xFFFFFE) + ASK + (post(0, 9000) + complete(1) + ASK) * 4,
    "history": shape() + (HISTORY + b"\xc0") * 20 + ASK + post() + complete(1) + ASK,
    "cq": shape(kind=1, elem=1) + ASK + (post(1, 9) + bytes(4) + complete(1) + ASK) * 5,
    "offset": shape(offset=640) + ASK + post() + complete(1) + ASK,
    "too_short": shape(missing=1) + ASK,
    "header_lies": shape(lie=16) + ASK,
    "index_out": shape() + ASK + bytes([SET_CONSUMER]) + struct.pack("<I", 4096) + sample_after(),
    "index_back": shape() + ASK + post() * 5 + complete(4) + ASK + bytes([SET_CONSUMER])
                  + struct.pack("<I", 1) + sample_after(),
    "header_changes": shape() + ASK + bytes([WRITE32]) + struct.pack("<HI", 1, 255) + sample_after(),
    "entry_forged": shape() + ASK + post() + bytes([WRITE_WQE]) + struct.pack("<BBI", 0, 46, 0xFFFFFFFF)
                    + complete(1) + sample_after(),
    "ssn_jumps": shape() + ASK + post() + bytes([WRITE_WQE]) + struct.pack("<BBI", 0, 44, 0x7FFFFFFF)
                 + complete(1) + sample_after(1),
    "filled": shape() + ASK + bytes([FILL, 0xFF]) + struct.pack("<H", 4000) + sample_after(),
}

# --- scenario: a file (fuzz_scenario.c) ------------------------------------------

IDLE = '{"kind": "idle"}'
ONE = '{"guests": [{"name": "a", "apps": [%s]}]%s}'

SCENARIO = {
    "least": ONE % (IDLE, ""),
    "all": """{"name": "n", "duration": "30s", "series": "100ms", "clock": "real", "seed": 7, "swap": ["b", "a"],
 "host": {"scheduler": "credit", "cap_period": "20ms", "interval": "2ms", "epoch": "500ms"},
 "links": [{"name": "x", "rate": "1MiB/s"}, {"name": "y", "rate": "10Gbit/s", "mtu": 4096, "profile": "paper-2011"}],
 "policy": {"policy": "freemarket", "params": {"low": 200}},
 "guests": [{"name": "a"},
  {"name": "b", "vcpus": 4, "weight": 512, "cap": 250, "link": "y", "exempt": true, "min_cap": 5, "max_cap": 300,
   "blind": true, "later": true, "sla": {"tolerance": 70, "base": "9us", "base_io": "8us", "base_deviation": "1us"},
   "apps": [{"name": "s", "kind": "sender", "op": "read", "size": "2MiB", "depth": 8, "queue_pairs": 3, "mtu": 2048,
             "rate": 1000, "burst": 4, "post": "2us", "start": "1s", "stop": "2s"},
            {"kind": "server", "compute": "10us", "clients": 5, "report": 500, "report_stop": "3s"}]}],
 "events": [{"at": "3s", "do": "destroy", "guest": "a"}, {"at": "1s", "do": "policy", "policy": "null"},
  {"at": "2s", "do": "reboot", "guest": "b"}, {"at": "0s", "do": "cap", "guest": "b", "cap": 400},
  {"at": "4s", "do": "release", "guest": "b"}, {"at": "4s", "do": "retake", "guest": "b"}]}""",
    "hosts": ONE % (IDLE, ', "hosts": [{"epoch": "100ms"}]'),
    "several": ONE % (IDLE, ', "hosts": [{}, {}]'),
    "both": ONE % (IDLE, ', "hosts": [{}], "host": {}'),
    "intervals": ONE % (IDLE, ', "host": {"interval": "3ms"}'),
    "slow": ONE % (IDLE, ', "links": [{"name": "x", "rate": "8Mbit/s"}]'),
    "apps": ONE % (", ".join([IDLE] * 4), ""),
    "apps_more": ONE % (", ".join([IDLE] * 5), ""),
    "deep": ONE % (", ".join(['{"kind": "sender", "queue_pairs": 64, "depth": 1024}'] * 4), ""),
    "not_for_it": ONE % ('{"kind": "burner", "size": 5}', ""),
    "stop": ONE % ('{"kind": "burner", "start": "2s", "stop": "1s"}', ""),
    "burst": ONE % ('{"kind": "sender", "burst": 2}', ""),
    "mtu": ONE % ('{"kind": "sender", "mtu": 2048}', ""),
    "mtu_odd": ONE % ('{"kind": "sender", "mtu": 1000}', ""),
    "twins": '{"guests": [{"name": "a"}, {"name": "a"}]}',
    "name": '{"guests": [{"name": "a b"}]}',
    "own_cap": '{"guests": [{"name": "a", "cap": 101}]}',
    "swap_one": ONE % (IDLE, ', "swap": ["a", "a"]'),
    "swap_none": ONE % (IDLE, ', "swap": ["a", 7]'),
    "swap_odd": ONE % (IDLE, ', "swap": {}'),
    "series": ONE % (IDLE, ', "series": "11s"'),
    "late": ONE % (IDLE, ', "events": [{"at": "11s", "do": "destroy", "guest": "a"}]'),
    "nobody": ONE % (IDLE, ', "events": [{"at": "1s", "do": "destroy", "guest": "b"}]'),
    "needs": ONE % (IDLE, ', "events": [{"at": "1s", "do": "cap", "guest": "a"}]'),
    "too_much": ONE % (IDLE, ', "events": [{"at": "1s", "do": "policy", "policy": "null", "guest": "a"}]'),
    "cap_high": ONE % (IDLE, ', "events": [{"at": "1s", "do": "cap", "guest": "a", "cap": 101}]'),
    "events_odd": ONE % (IDLE, ', "events": {}'),
    "sets": ONE % (IDLE, """, "events": [{"at": "3s", "do": "guest-set", "guest": "a", "set": {"weight": 7}},
      {"at": "1s", "do": "guest-set", "guest": "a", "set": {"min_cap": 7}}, {"at": "2s", "do": "reboot", "guest": "a"},
      {"at": "1s", "do": "pause"}, {"at": "2s", "do": "pause", "guest": "a"}, {"at": "2s", "do": "resume"}]"""),
    "set_link": ONE % (IDLE, ', "events": [{"at": "3s", "do": "guest-set", "guest": "a", "set": {"link": "x"}}]'),
    "set_bad": ONE % (IDLE, ', "events": [{"at": "3s", "do": "guest-set", "guest": "a", "set": {"weight": 0}}]'),
    "no_policy": ONE % (IDLE, ', "policy": "dear"'),
}

# --- trace: a file (fuzz_trace.c) -------------------------------------------------

TRACE = {
    "all": "# made up\n\n0 trade 40 512\n\t12.5  feed\t0 64K # behind\r\n3600000000 trade 1048576 16M",
    "units": "1ms feed 0 1\n2s feed 0 1\n7ns feed 0 1k\n0.001us trade 0 1m\n",
    "few": "0 trade 1\n",
    "many": "0 trade 1 1 1\n",
    "gap": "0.0001 trade 1 1\n",
    "gap_large": "3600000001 trade 1 1\n",
    "kind": "1 treed 1 1\n",
    "options": "1 trade 1048577 1\n",
    "fed": "1 feed 1 1\n",
    "size": "1 trade 1 16777217\n",
    "no_size": "1 trade 1 0\n",
    "nothing": "# only this\n\n",
    "bytes": b"1 \xff\x00\x1b trade 1\n",
    "long": "1 " + "y" * 300 + " 1 1\n",
    "huge": "99999999999999999999 trade 99999999999999999999 99999999999999999999M\n",
}

# --- record: a byte, a header, a byte and a record, ... (fuzz_record.c) --------------

def entry(offset, stride, count, kind, part=0):
    return struct.pack("<6I", kind, part, offset, stride, count, 0)


WORDS = [entry(4096 * i, 8, 512, 64 + i, 1) for i in range(4)]


CACHED = [entry(0, 8, 1, 68, 3), entry(64, 8, 1, 69, 3), entry(4096, 8, 1000, 70, 3), entry(16384, 8, 768, 71, 1)]


def region(right, magic=0x4e47525845534552, version=2, bytes_=30 * 4096, tables=None, words=WORDS, loads=0,
           words_bytes=16384, versions=0):
    entries = ([entry(4096, 320, 1, 2), entry(8192, 192, 256, 3), entry(57344, 128, 256, 4), entry(90112, 128, 256, 5)]
               if tables is None else tables) + words
    return bytes([right]) + struct.pack("<4I", 1, 832, 1, 0) + struct.pack(
        "<QIIQ10I", magic, version, 3, 17, len(entries), 0, bytes_, words_bytes, loads, versions, 0, 0, 0, 0) + b"".join(
        entries).ljust(32 * 24, b"\0") + bytes([0, 1, 0, 0, 0, 1, 250, 6, 0, 0, 0, 1, 0, 0, 1])


def cached(entries, words_bytes=24576, versions=12288):
    return region(7, bytes_=4096, tables=[], words=entries, words_bytes=words_bytes, versions=versions)


HEAD = bytes(16)
RECORDS = {
    "host": b"\0" + HEAD + struct.pack("<8Q4I3Q", 7, 1, 17, 1, 7, 0, 0, 0, 1, 2, 4, 1, 1 << 30, 1, 5)
    + b"north".ljust(64, b"\0") + b"1".ljust(32, b"\0") + b"null".ljust(64, b"\0") + bytes(32),
    "guest": b"\1" + HEAD + bytes(32) + bytes(range(56)) + b"b\xc3\xa9b\x1b".ljust(64, b"\0") + bytes(24),
    "node": b"\2" + HEAD + struct.pack("<4I", 3, 1, 900, 2) + b"n3".ljust(64, b"\0") + bytes(32),
    "service": b"\3" + HEAD + struct.pack("<2I4Q", 2, 1, 5, 0, 0, 0) + b"shop".ljust(64, b"\0") + bytes(8),
    "load": b"\4" + HEAD + struct.pack("<4IQqQ6Q6I2Q", 3, 1, 8, 2, 9, 77, 10000000, 1, 2, 3, 4, 5, 6, 1, 0, 7, 8, 9, 0,
                                      10, 11) + bytes(112),
    "no_end": b"\3" + HEAD + struct.pack("<2I4Q", 2, 1, 5, 0, 0, 0) + b"x" * 72,
}
RECORD = {
    "all": region(7) + b"".join(RECORDS.values()),
    "other": region(3) + RECORDS["host"],
    "torn": region(5) + b"".join(RECORDS.values()),
    "torn_header": region(6),
    "version": region(7, version=1),
    "magic": region(7, magic=0),
    "small": region(7, bytes_=8192),
    "huge": region(7, bytes_=1 << 21),
    "stride": region(7, tables=[entry(4096, 512, 1, 2), entry(8192, 512, 8, 3), entry(16384, 448, 9, 4),
                                entry(32768, 128, 3, 5)]) + RECORDS["node"],
    "loads": region(7, words=WORDS + [entry(0, 256, 256, 6, 2)], loads=65536) + RECORDS["load"],
    "few_loads": region(7, words=WORDS + [entry(64, 320, 8, 6, 2)], loads=4096) + RECORDS["load"],
    "loads_beyond": region(7, words=WORDS + [entry(64, 256, 256, 6, 2)], loads=65536),
    "loads_twice": region(7, words=WORDS + 2 * [entry(0, 256, 256, 6, 2)], loads=65536),
    "later": region(7, words=[entry(1, 2, 3, 99, 7)] + WORDS[::-1]) + RECORDS["node"],
    "twice": region(7, words=WORDS + WORDS[:1]),
    "lacks": region(7, words=WORDS[:3]),
    "app": cached(CACHED),
    "app_lacks": cached(CACHED[1:]),
    "app_twice": cached(CACHED + CACHED[:1]),
    "app_one_twice": cached(CACHED[:3] + CACHED[:1]),
    "app_of_resexd": cached(CACHED + [entry(4096, 320, 1, 2)]),
    "app_elsewhere": cached([entry(8, 8, 1, 68, 3)] + CACHED[1:]),
    "app_many": cached(CACHED[:2] + [entry(4096, 8, 1000001, 70, 3)] + CACHED[3:], versions=64 << 20),
    "app_slots": cached(CACHED[:3] + [entry(16384, 8, 769, 71, 1)]),
    "app_small": cached(CACHED, versions=8192),
    "proxy": cached([], words_bytes=4096, versions=0),
    "proxy_no_words": cached([], words_bytes=0),
}

# --- hello: steps (fuzz_hello.c) ---------------------------------------------------------

TO_CALLER, TO_RESPONDER = 0, 4
ALL_HONEST = bytes([TO_RESPONDER, TO_CALLER, TO_RESPONDER, TO_CALLER])


def hello_start(message):
    return struct.pack("<IHH", 0x68785352, 4, message)


def hello_step(control, message):
    return bytes([control]) + struct.pack("<H", len(message)) + message


def hello_who(host, to, start=7, agreement=0, role=0, rights=0):
    return struct.pack("<HHHHQQQ", host, to, role, rights, 9, start, agreement)


def hello_call(cluster=b"fuzz", host=1, start=7, agreement=0, role=0, rights=0):
    return (hello_start(1) + hello_who(host, 2, start, agreement, role, rights) + bytes(32)
            + cluster.ljust(64, b"\0"))


def hello_answer(host=2, agreement=0, role=0, verdict=0):
    return (hello_start(2) + hello_who(host, 1, agreement=agreement, role=role) + bytes(32)
            + struct.pack("<II", verdict, 0) + bytes(32))


def hello_keys(n, told=None):
    return hello_start(4) + struct.pack("<II", n if told is None else told, 0) + bytes(n + 32)


HELLO = {
    "honest": ALL_HONEST + b"\0",
    "call": hello_step(6, hello_call()) + bytes([TO_CALLER, TO_RESPONDER]),
    "cluster": hello_step(6, hello_call(b"fuss")),
    "host": hello_step(6, hello_call(host=65)),
    "keys": ALL_HONEST[:3] + hello_step(3, hello_keys(100)),
    "keys_long": ALL_HONEST[:3] + hello_step(3, hello_keys(128)),
    "keys_too_long": ALL_HONEST[:3] + hello_step(3, hello_keys(129)),
    "keys_wrong": ALL_HONEST[:3] + hello_step(3, hello_keys(64, 65)),
    "answer": ALL_HONEST[:1] + hello_step(3, hello_answer()),
    "other_host": ALL_HONEST[:1] + hello_step(3, hello_answer(3)),
    "disagrees": ALL_HONEST[:1] + hello_step(3, hello_answer(agreement=5))
    + hello_step(3, hello_keys(6)),
    "call_disagrees": hello_step(6, hello_call(agreement=5)) + hello_step(7, hello_start(3) + bytes(32)),
    "no_start": hello_step(6, hello_call(start=0)),
    "client": hello_step(6, hello_call(role=1, rights=1)) + hello_step(7, hello_start(3) + bytes(32)),
    "no_role": hello_step(6, hello_call(role=2)),
    "no_rights": hello_step(6, hello_call(role=1, rights=2)),
    "members_rights": hello_step(6, hello_call(rights=1)),
    "verdict": ALL_HONEST[:1] + hello_step(3, hello_answer(verdict=2)) + hello_step(3, hello_keys(6)),
    "no_verdict": ALL_HONEST[:1] + hello_step(3, hello_answer(verdict=4)),
    "answering_client": ALL_HONEST[:1] + hello_step(3, hello_answer(role=1)),
    "proof": ALL_HONEST[:2] + hello_step(7, hello_start(3) + bytes(32)) + b"\0",
    "flip": ALL_HONEST[:2] + bytes([5]) + struct.pack("<HBB", 39, 1, 1) + ALL_HONEST[2:],
    "short": bytes([5]) + struct.pack("<HB", 135, 0) + b"\0" + ALL_HONEST,
}

# --- tcp: a byte, steps (fuzz_tcp.c) -----------------------------------------------------


def frame(type_, slot, payload):
    return b"Rx" + struct.pack("<BBI", type_, slot, len(payload)) + payload


def tcp_read(slot, part, offset, length):
    return frame(2, slot, struct.pack("<3I", part, offset, length))


def tcp_cas(slot, part, offset, compare, value):
    return frame(3, slot, struct.pack("<2I2Q", part, offset, compare, value))


def tcp_faa(slot, part, offset, value):
    return frame(4, slot, struct.pack("<2IQ", part, offset, value))


def arrive(data, pieces=199):
    return b"".join(bytes([len(data[i:i + pieces])]) + data[i:i + pieces] for i in range(0, len(data), pieces))


TCP_ALL = (tcp_read(1, 0, 0, 4096) + tcp_faa(2, 1, 8, 5) + tcp_cas(3, 1, 8, 5, 9) + tcp_cas(4, 1, 8, 5, 1)
           + tcp_read(5, 1, 0, 16) + frame(5, 6, b"a message"))
TCP_BAD = (tcp_read(1, 2, 0, 8) + tcp_read(2, 0, 4, 8) + tcp_read(3, 0, 0, 0) + tcp_read(4, 0, 4096, 8)
           + tcp_read(5, 1, 4088, 16) + tcp_faa(6, 0, 0, 1) + tcp_faa(7, 1, 4096, 1) + tcp_cas(8, 1, 3, 0, 1)
           + tcp_read(9, 0, 0, 16392))
TCP = {
    "all": b"\0" + arrive(TCP_ALL),
    "bad": b"\0" + arrive(TCP_BAD) + b"\xf9",
    "pieces": b"\0" + arrive(TCP_ALL + TCP_BAD, 3),
    "full": b"\0" + arrive(tcp_read(0, 0, 0, 4096) * 150) + b"\xf9\xf9" + arrive(TCP_ALL),
    "messages": b"\0\xfa" + arrive(frame(5, 1, b"x" * 1000) * 3) + b"\xfa" + arrive(TCP_ALL),
    "none": b"\0" + arrive(TCP_ALL + frame(1, 0, bytes(8))),
    "long": b"\0" + arrive(b"Rx\x05\x00" + struct.pack("<I", 1025)),
    "magic": b"\0" + arrive(b"rx\x05\x00\x01\x00\x00\x00"),
    "call": b"\1" + arrive(frame(1, 0, hello_call(host=3)) + frame(1, 0, hello_start(3) + bytes(32)), 120),
    "request": b"\1" + arrive(TCP_ALL),
    "answers": b"\2" + bytes(range(8)) + b"".join(
        frame(6, i, bytes([8 * (1 + i // 4), 8, 8, 0][i % 4])) for i in range(8)),
    "refusals": b"\2" + bytes(range(8)) + b"".join(frame(7, i, struct.pack("<I", 13 * i)) for i in range(8)),
    "client": b"\3\0" + arrive(TCP_ALL + TCP_BAD),
    "client_atomics": b"\3\1" + arrive(TCP_ALL + TCP_BAD),
    "client_full": b"\3\0\xfa" + arrive(frame(5, 1, b"x") * 3 + TCP_ALL) + b"\xfa",
    "answers_wrong": b"\2" + bytes(range(8)) + frame(6, 0, bytes(8)) + frame(6, 2, bytes(8)),
}

# --- btf: header, types, strings (kernel's Documentation/bpf/btf.rst) -----------------------


def btf(types, strings=b"\0rq\0nr_running\0u32\0", magic=0xeb9f, version=1, length=24, gap=b""):
    head = struct.pack("<HBB5I", magic, version, 0, length, 0, len(types), len(types) + len(gap), len(strings))
    return head + bytes(length - 24 if length > 24 else 0) + types + gap + strings


def btf_type(name, kind, size, members=0, bits=0):
    return struct.pack("<3I", name, bits << 31 | kind << 24 | members, size)


def btf_rq(offset=32, of=1, bits=0, size=64):
    return btf_type(1, 4, size, 2, bits) + struct.pack("<6I", 15, of, 0, 4, of, offset)


BTF_U32 = btf_type(15, 1, 4) + struct.pack("<I", 32)
BTF_ALL = b"".join(btf_type(0, kind, 4, members) + bytes(fixed + each * members) for kind, fixed, each, members in (
    (2, 0, 0, 0), (3, 12, 0, 0), (5, 0, 12, 2), (6, 0, 8, 3), (7, 0, 0, 0), (9, 0, 0, 0), (10, 0, 0, 0), (11, 0, 0, 0),
    (12, 0, 0, 0), (13, 0, 8, 2), (14, 4, 0, 0), (15, 0, 12, 2), (16, 0, 0, 0), (17, 4, 0, 0), (18, 0, 0, 0),
    (19, 0, 12, 1)))
BTF = {
    "least": btf(BTF_U32 + btf_rq()),
    "all": btf(BTF_U32 + BTF_ALL + btf_rq(64), length=32, gap=b"gap!"),
    "typedef": btf(BTF_U32 + btf_type(15, 8, 1) + btf_rq(of=2)),
    "circle": btf(BTF_U32 + btf_type(15, 8, 2) + btf_rq(of=2)),
    "two": btf(BTF_U32 + btf_rq() + btf_rq(64)),
    "twice": btf(BTF_U32 + btf_rq() + btf_rq()),
    "bits": btf(BTF_U32 + btf_rq(32 | 3 << 24, bits=1)),
    "no_bits": btf(BTF_U32 + btf_rq(bits=1)),
    "outside": btf(BTF_U32 + btf_rq(64, size=8)),
    "pointer": btf(btf_type(0, 2, 1) + btf_rq()),
    "void": btf(btf_rq(of=0)),
    "future": btf(BTF_U32 + btf_type(0, 20, 0) + btf_rq()),
    "cut": btf(BTF_U32 + btf_rq()[:-4]),
    "none": btf(BTF_U32),
    "magic": btf(BTF_U32, magic=0x9feb),
    "short": btf(BTF_U32)[:20],
}


# --- claim: steps of an op, an argument, and a word with its place (fuzz_claim.c) ------

LOOK, PUBLISH = bytes([0, 0]), bytes([3, 0])


def honest(times, percent=50):
    """Samples of 10 ms, each looked at; the hypervisor counts 50 %."""
    return bytes([6 + 8 * (times - 1), percent])


def word(op, at, value):
    return bytes([op, 0]) + struct.pack("<QB", value, at)


def field(at, value):
    """By the rule: word at of the record."""
    return word(2, at, value)


BEAT, SAMPLED, PERIOD, BUSY = 4, 5, 6, 7
CLAIM = {
    "honest": honest(32) * 5,
    "liar": honest(32) * 4 + honest(32, 0) * 8,
    "liar_back": honest(32, 0) * 4 + honest(32) * 24,
    "torn": honest(3) + b"".join(bytes([4, i]) + LOOK for i in range(32)) + honest(3),
    "magic": honest(3) + bytes([5, 1]) + LOOK + bytes([5, 0]) + LOOK + honest(2),
    "empty": LOOK + honest(1),
    "clock_back": honest(3) + field(SAMPLED, 5) + honest(2),
    "busy_back": honest(3) + field(BUSY, 5) + honest(2),
    "other_times": b"".join(honest(2) + field(at, 1 << 50) + honest(1) + field(at, 7) + honest(1) for at in range(7, 13)),
    "cpus": honest(1) + field(3, 5 << 32) + honest(1) + field(3, 4 << 32) + honest(1) + field(3, 0) + honest(1),
    "source": honest(1) + field(2, 3 << 32) + honest(1) + field(2, 2 << 32) + honest(1),
    "period": honest(1) + field(PERIOD, 1) + honest(1) + field(PERIOD, 1 << 40) + honest(1),
    "beat": honest(2) + field(BEAT, 0) + LOOK + field(BEAT, 1 << 63) + honest(1),
    "too_high": honest(1) + field(BUSY, 1 << 61) + honest(1),
    "kind": honest(1) + word(1, 9, 0x0123456789abcdef) + LOOK + word(1, 8, 0) + LOOK,
    "paused": honest(32) * 4 + bytes([7, 200]) + honest(32) * 5,
    "late": (bytes([7, 1]) + honest(1)) * 60,
}

# --- proc: a byte for the file, its text (fuzz_proc.c) -------------------------------

STAT = "cpu  74608 2520 24433 1117073 6176 4054 999 12 0 0\n"

PROC = {
    "stat": "\0" + STAT + "cpu0 1 2\ncpu1 3 4\nintr 12 0\nctxt 7\n",
    "stat_no_cpus": "\0" + STAT + "intr 12 0\n",
    "stat_short": "\0cpu  1 2 3\ncpu0 1\n",
    "stat_too_high": "\0cpu  1 2 3 4 5 6 7 18446744073709551616\ncpu0 1\n",
    "stat_many": "\0" + STAT + "cpu\n" * 1000,
    "loadavg": "\0010.42 1.05 12.00 3/567 8910\n",
    "loadavg_odd": "\0010.4 1.05 12.00 3/567 8910\n",
    "pressure": "\2some avg10=0.00 avg60=1.50 avg300=0.12 total=123456789\nfull avg10=0.00 total=1\n",
    "pressure_none": "\2some avg10=0.00\n",
    "pressure_too_high": "\2some total=18446744073709551\n",
}


# --- history: a line (fuzz_history.c) --------------------------------------------------


def history(**members):
    o = {"id": 7, "wall_ns": 1764172800000000000, "node": "n1", "from": "mail", "to": "web", "why": "load",
         "outcome": "observed", "high_ns": 5000000000, "seen_wall_ns": 0, "taker_before": 1800, "donor_before": 200,
         "taker_predicted": 900, "donor_predicted": 400, "taker_seen": -1, "donor_seen": -1}
    o.update(members)
    return json.dumps(o, separators=(",", ":"))


HISTORY = {
    "move": history(), "seen": history(taker_seen=950, donor_seen=0, seen_wall_ns=1764172900000000000),
    "cut": history()[:100], "no_id": history(id=0), "number": history(node=7), "text": history(high_ns="x"),
    "long_name": history(to="x" * 70), "full_name": history(node="n" * 64), "full_why": history(why="w" * 16),
    "real": history(donor_seen=0.5), "array": "[]", "trace": history(host="xen1", taker_fence="4.17", told=2, held_ns=11),
    "trace_wrong": history(host=1), "told_wrong": history(told="2"),
}


# --- httplog: a byte for the CPUs, the log (fuzz_httplog.c) ---------------------------


def httplog(*lines, date="26/Nov/2026:03:15:09", cpus="\1"):
    return cpus + "".join(
        "%s10.0.0.9:33317 [%s.%03d] www web/n1 %s 200 2750 - - ---- %s 0/0 \"GET /a HTTP/1.1\"\n"
        % (prefix, date, ms, times, conns) for ms, times, conns, prefix in lines)


HTTPLOG = {
    "raw": httplog((655, "10/0/30/69/109", "1/1/1/1/0", ""), (600, "0/0/0/0/+0", "9/9/9/9/+1", "")),
    "syslog": httplog((655, "0/0/0/5/5", "1/1/1/1/0", "Nov 26 03:15:09 lb1 haproxy[812]: ")) + "Server web/n1 is UP\n",
    "unanswered": httplog((1, "-1/-1/-1/-1/0", "1/1/0/0/0", ""), (2, "0/0/0/1/1", "1/1/1/1/0", "")),
    "leap": httplog((1, "0/0/0/1/1", "1/1/1/1/0", ""), date="29/Feb/2024:23:59:60"),
    "far": httplog((1, "0/0/0/1/1", "1/1/1/1/0", "")) + httplog((1, "0/0/0/1/1", "1/1/1/1/0", ""), date="27/Nov/2026:03:15:09", cpus=""),
    "no_server": "\0x [26/Nov/2026:03:15:09.655] www\n",
    "tcplog": "\0x [26/Nov/2026:03:15:09.655] www web/n1 0/0/5007 212 -- 0/0/0/0/3 0/0\n",
    "status": "\0x [26/Nov/2026:03:15:09.655] w b/s 0/0/0/1/1 2000 1 - - -- 1/1/1/1/0\n",
    "bytes": "\0x [26/Nov/2026:03:15:09.655] w b/s 0/0/0/1/1 200 - - - -- 1/1/1/1/0\n",
    "connections": "\0x [26/Nov/2026:03:15:09.655] w b/s 0/0/0/1/1 200 1 - - -- 1/1/1\n",
    "date_alone": "\0x [26/Nov/2026:03:15:09.655]",
    "many": httplog(*[(i, "0/0/0/1/1", "1/1/1/1/0", "") for i in range(40)]),
}


# --- haproxy: a byte for the kind of reply, one for the pieces, the reply (fuzz_haproxy.c) -----

STATES = "\2\0041\n# be_id be_name srv_id srv_name srv_op_state srv_admin_state srv_uweight srv_iweight srv_fqdn\n"
STATS = "\3\5# pxname,svname,qcur,qmax,scur,smax,slim,stot,rtime,last_chk,\n"

HAPROXY = {
    "empty": "\0\0\n> ",
    "words": "\0\1No such server.\n\n> ",
    "info": "\1\2Name: HAProxy\nPid: 12\nStopping: 0\n\n> ",
    "stopping": "\1\3Name: HAProxy\nStopping: 1\n\n> ",
    "info_words": "\1\3Permission denied\n\n> ",
    "info_none": "\1\3Name: HAProxy\n\n> ",
    "state": STATES + "3 web 1 n1 2 0 100 100 -\n3 web 2 n2 0 1 0 0 a.b\n3 web 3 n4 2 8 256 256 -\n\n> ",
    "state_twice": STATES + "3 web 1 n1 2 0 100 100 -\n3 web 2 n1 2 0 100 100 -\n\n> ",
    "state_ids": STATES + "3 web 1 n1 2 0 100 100 -\n4 web 2 n2 2 0 100 100 -\n\n> ",
    "state_high": STATES + "3 web 1 n1 2 0 257 257 -\n\n> ",
    "state_short": STATES + "3 web 1 n1 2 0 25 25\n\n> ",
    "state_column": "\2\0061\n# be_id be_name srv_name\n\n> ",
    "state_version": "\2\0062\n\n> ",
    "state_none": "\2\6\n> ",
    "state_after": STATES + "\nmore\n> ",
    "stat": STATS + "web,n1,0,1,2,3,,456,4,,\nweb,n2,0,0,0,0,,7,4,\"a,\"\"b\",\n\n> ",
    "stat_plain": STATS + "web,n1,0,1,2,3,,18446744073709551615,4,,\nweb,n3,4,0,0,0,,7,4,L4OK,\n\n> ",
    "stat_twice": STATS + "web,n1,0,1,2,3,,4,4,,\nweb,n1,0,1,2,3,,4,4,,\n\n> ",
    "stat_other": STATS + "we,n1,0,1,2,3,,4,4,,\n\n> ",
    "long": "\0\7" + "x" * 9000,
    "lines": "\0\10" + "line\n" * 200 + "\n> ",
}


# --- nodes: a byte whether the crc is put right, the text (fuzz_nodes.c) -----------------------

NODES = {
    "empty": "\0", "none": "\0resex nodes 1\ncrc 00000000\n", "two": "\1resex nodes 1\n0 1 0 1\n3 2 5 9\n",
    "highest": "\1resex nodes 1\n255 256 1073741823 16777215\n",
    "too_high": "\1resex nodes 1\n0 300 1 1\n1 1 1 16777216\n",
    "count_0": "\1resex nodes 1\n0 1 5 0\n", "no_crc": "\0resex nodes 1\n0 1 0 1\n3 2 5 9\n",
    "text": "\0resex nodes 1\n0 1 0 x\n",
    "long": "\0resex nodes 1\n" + "7 1 1 1\n" * 2000,
}


# --- cached: a byte, cached.json (fuzz_cached.c) ----------------------------------------------

SQL = '"sql": {"backend": "pgsql", "where": "dbname=x"}'
CACHED_JSON = {
    **{"app_%d" % i: "\0{%s}" % text for i, text in enumerate((
        SQL, '"listings": 9, "log": 9, "fill_timeout": "9s", ' + SQL, "", '"sql": []', '"sql": {"backend": "pgsql"}',
        '"sql": {"backend": "x", "where": "y"}', '"sql": {"backend": "sqlite", "where": "/db", "timeout": "1s"}',
        '"sql": {"backend": "sqlite", "where": "db"}', '"ring": "/r", ' + SQL, '"ring_group": "r", ' + SQL,
        '"ring_slots": 64, ' + SQL, '"ring_clients": 6, ' + SQL, '"timeout": "9s", ' + SQL))},
    **{"proxy_%d" % i: "\1{%s}" % text for i, text in enumerate((
        "", '"cluster_file": "/c", "state_dir": "/d", "socket": "/s", "socket_group": "g"',
        '"ring": "/r", "ring_group": "g", "ring_slots": 128, "ring_clients": 9, "timeout": "9ms"',
        '"ring_slots": 100', '"ring": "r"', '"ring": "/s", "socket": "/s"', SQL, '"log": 9', '"listings": 9',
        '"fill_timeout": "9s"', '"x": 1'))},
}


def body(which, text):
    return bytes([which]) + text.encode()


API = {
    "fill": body(0, '{"home": 2, "word": 17}'),
    "end": body(1, '{"tags": ["item/5", "\u00e9"], "snapshot": "10:20:10,14"}'),
    "end_tags": body(1, json.dumps({"tags": ["a"] * 64})),
    "end_more": body(1, json.dumps({"tags": ["a"] * 65})),
    "end_long": body(1, json.dumps({"tags": ["t" * 255, "t" * 256]})),
    "end_control": body(1, '{"tags": ["\\u0085", ""]}'),
    "update": body(2, '{"tags": ["a"], "statements": ["x", {"sql": "$1", "params": ["v", null]}, {"sql": "y"}]}'),
    "update_more": body(2, json.dumps({"tags": [], "statements": [{"sql": "x", "params": ["p"] * 65}]})),
    "update_wrong": body(2, '{"tags": ["a"], "statements": [{"sql": 7}, {"params": [1]}, 8]}'),
    "tag": body(3, '{"tag": "item/5"}'),
    "page": body(3, '{"page": "12ab"}'),
    "all": body(3, '{"all": true}'),
    "all_false": body(3, '{"all": false}'),
    "host": body(4, '{"host": "app1", "force": true}'),
    "number": body(4, '{"host": 256}'),
    "query": body(5, "item/5"),
    "query_long": body(5, "t" * 256),
    "hex": body(5, "12abCDEF"),
}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for name, seeds in {
            "api": API, "btf": BTF, "cache": CACHE, "cached": CACHED_JSON, "caps": CAPS, "claim": CLAIM, "cluster": CLUSTER, "conf": CONF, "control":
            CONTROL, "haproxy": HAPROXY, "hello": HELLO, "history": HISTORY, "http": HTTP, "httplog": HTTPLOG, "methods": METHODS, "mlx4": MLX4_SEEDS,
            "mlx5": MLX5_SEEDS, "nodes": NODES, "proc": PROC, "queues": QUEUES, "record": RECORD, "registry": REGISTRY_SEEDS, "replay": REPLAY, "ring": RING_SEEDS, "scenario": SCENARIO, "tcp": TCP, "trace": TRACE}.items():
        write(sys.argv[1], name, seeds)


if __name__ == "__main__":
    main()
