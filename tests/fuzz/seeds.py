#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""seeds.py OUT: write a small seed corpus a target into OUT/<target>/.

The layouts are restated here from include/resex/guest_abi.h and from the
formats given at the top of each target, so that the seeds need no build.
"""
import os
import struct
import sys


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
    "paths": '{"a": {"b": [1, {"c": "d"}]}, "a.b": 2, "x": "a.b[1].c"}',
    "path_gone": '{"a": [1, 2], "x": "a[7].b.c"}',
    "utf8": '{"\u00e9\u00e8": "\\u00e9", "links": [{"name": "\u20ac", "rate": "x"}]}',
    "syntax": '{"weight": 1,, }',
    "deep": "[" * 33 + "]" * 33,
    "twice": '{"weight": 1, "weight": 2}',
    "long": '{"policy": "%s", "%s": 1}' % ("y" * 300, "z" * 300),
}

CONTROL = {
    "list": '{"jsonrpc":"2.0","id":1,"method":"list"}',
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


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    write(sys.argv[1], "conf", CONF)
    write(sys.argv[1], "control", CONTROL)


if __name__ == "__main__":
    main()
