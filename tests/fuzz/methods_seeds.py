# SPDX-License-Identifier: GPL-2.0-or-later
"""methods_seeds: seeds of fuzz_methods.c, for seeds.py: a byte, 63 + 28 bytes of figures, lines. They alone cover the lines of its floor."""
import random
import struct


def call(method, params=None, root=1, cluster=0, figures=bytes(range(1, 65))):
    return bytes([root]) + figures + struct.pack("<Q20s", cluster, bytes(20)) + b"".join(
        b'{"jsonrpc":"2.0","id":%d,"method":"%s"%s}\n'
        % (i, m.encode(), b',"params":' + p.encode() if p else b"")
        for i, (m, p) in enumerate(zip(method.split(), params or [None] * 99)))


ALL_METHODS = """list info guest-show guest-set ring-list policy-list policy-show policy-set policy-check
    cap-list cap-release pause resume why events host-list list-hosts lock-list lock-break node-list
    load-list load-show balance-list balance-set why-node service-list why-move move reconf-set
    node-fix service-set history cluster-reload""".split()

METHODS = {
    "readers": call("list info policy-list cap-list why ring-list events policy-show guest-show"),
    "guest": call("guest-show why ring-list events", ['{"guest":"bulk"}', '{"guest":"4"}', '{"guest":"7"}',
                  '{"guest":"05050505-0505-0505-0505-050505050505","since":1}']),
    "brief": call("list list events events policy-show policy-set", ['{"brief":true}', '{"brief":7}', '{"kind":"cap"}', '{"kind":"x"}', '{"policy":"empty"}', '{"policy":"null"}']),
    "unreadable": call("guest-set guest-set guest-set guest-set", [
        '{"guest":"bulk","settings":{"unreadable":"%s"}}' % w for w in ("nothing", "last-rate", "100MB/s", "x")]),
    "hosts": call("host-list list-hosts lock-list lock-break lock-break", [None] * 3 + [
                  '{"service":"web"}', '{"service":"mail","force":true}'], cluster=0xc1),
    "loads": call("load-list load-show load-show load-show", [None, '{"node":"n1"}', '{"node":"n9"}', '{}'], cluster=0xc1),
    # By the figures of the fake cluster: as they are, of the hypervisor, old, restored, balanced nowhere.
    **{"balance_%x" % (bits >> 32): call(
        "node-list balance-list balance-set balance-set balance-set why-node why-node why",
        [None, None, '{"service":"web","mode":"act"}', '{"service":"mail","mode":"act"}',
         '{"service":"web","mode":"x"}', '{"node":"n1"}', '{"node":"n3"}', '{"guest":"n1"}'], cluster=0xc1 | bits)
       for bits in (0, 0xff << 32, 1 << 40, 1 << 41, 1 << 42, *(1 << k for k in range(32, 39)))},
    "moves": call("service-list why-move why-move why-move history history history", [
        None, '{"name":"web"}', '{"name":"n2"}', '{"name":"x"}', None, '{"service":"web","since_ns":4}',
        '{"service":"x"}'], cluster=0xc1),
    **{"orders_%d" % errno: call("move move reconf-set node-fix service-set", [
        '{"node":"n1","service":"web"}', '{}', '{"mode":"act"}', '{"node":"n2","fixed":true}',
        '{"service":"mail","settings":{"high":2000,"share":2}}'], cluster=(0x21 if errno else 0xc1) | errno << 8)
       for errno in (0, 1, 2, 11, 13, 16, 38, 61, 95, 114, 125)},
    "reset": call("service-set cluster-reload", ['{"service":"web","settings":{"high":950,"minimum":1}}', None], cluster=0xc1),
    "reload": call("cluster-reload cluster-reload", ['{"dry_run":true}', None], cluster=0x30000c1),
    "hosts_refused": call("lock-break lock-break lock-break", ['{"service":"web"}', '{"service":"x"}', '{}'],
                          cluster=0x1021),
    "alone": call("host-list list-hosts lock-list lock-break", [None] * 3 + ['{"service":"web"}']),
    "nobody": call("guest-show why", ['{"guest":"nobody"}', '{"guest":7}']),
    "set": call("policy-set policy-set policy-show", ['{"policy":"null"}',
                '{"policy":"freemarket","params":{"low":250,"step":1000000}}', '{"policy":"null"}']),
    "set_wrong": call("policy-set policy-set policy-set", ['{"policy":"freemarket","params":{"low":-1}}',
                      '{"file":"f","text":"{"}', '{"policy":"x"}']),
    "set_file": call("policy-set", [r'{"file":"f","text":"{\"policy\":\"freemarket\",'
                     r'\"params\":{\"low\":9}}","params":{"cut":9}}']),
    "release": call("cap-release why cap-release", ['{"guest":"bulk"}', '{"guest":"bulk"}',
                    '{"guest":"bulk","undo":true}']),
    "pause": call("pause list resume pause why resume resume", ['{"guest":"bulk"}', None, '{"guest":"bulk"}', '{}',
                  '{"guest":"bulk"}', '{"guest":"web"}', '{}']),
    "guest_set": call("guest-set guest-show guest-set", [
        '{"guest":"bulk","settings":{"weight":512,"exempt":true,"min_cap":5,"max_cap":40,"link":"ib0",'
        '"sla":{"tolerance":30,"base":"230us","base_io":"130us","base_deviation":"2us"}}}', '{"guest":"bulk"}',
        '{"guest":"bulk","settings":{"max_cap":0,"counter":"vf:ens1f0/3","sla":{"tolerance":0}}}']),
    "guest_set_wrong": call("guest-set guest-set guest-set guest-set", [
        '{"guest":"bulk","settings":{"weight":0}}', '{"guest":"bulk","settings":{"sla":{"base":"1us"}}}',
        '{"guest":"bulk","settings":{"max_cap":3,"min_cap":4}}', '{"guest":"bulk","settings":{"link":"x"}}']),
    "policy_check": call("policy-check policy-check", [r'{"file":"f","text":"{\"policy\":\"null\"}"}',
                         r'{"file":"f","text":"{\"policy\":\"freemarket\",\"params\":{\"low\":-1}}"}']),
    "others": call("policy-set cap-release pause guest-set list", ['{"policy":"null"}', '{"guest":"web"}', '{}',
                   '{"guest":"web","settings":{"weight":1}}', None], root=0),
    "unknown": call("lst list", [None, '{"colour":1}']),
    # A member that no method takes; a name that is missing, and one that nothing has.
    **{"%s_%d" % (name, i): call(" ".join(part), [params] * len(part), cluster=0xc1)
       for name, params in (("members", '{"colour":1}'), ("nameless", "{}"),
                            ("strangers", '{"guest":"x","service":"x","node":"x","name":"x","mode":"x"}'),
                            ("service_x", '{"service":"x"}'), ("service_5", '{"service":5,"mode":"act"}'),
                            ("mode_x", '{"service":"x","mode":"act"}'), ("name_5", '{"name":5}'),
                            ("node_x", '{"node":"x","service":"web"}'), ("to_x", '{"node":"n1","service":"x"}'))
       for i, part in enumerate((ALL_METHODS[:12], ALL_METHODS[12:24], ALL_METHODS[24:]))},
    "odd": call("list-hosts lock-list host-list", cluster=0xffc1),
    "counters": call("guest-set guest-set guest-set guest-set guest-set guest-set guest-set", [
        '{"guest":"bulk","settings":{%s}}' % x for x in (
            '"counter":"none"', '"counter":"auto"', '"counter":"vf:ens1/9999999999"', '"counter":5', '"link":"ib0","weight":7',
            '"sla":{"base":"1us","base_io":"2us"}', '"weight":"x"')]),
    "gone": call("why guest-set balance-set balance-set cap-release pause events why-move", [
        '{"guest":"x"}', '{"guest":"x","settings":{"weight":1}}', '{"service":"web"}', '{"service":"mail","mode":"equal"}',
        '{"guest":"x"}', '{"guest":"x"}', '{"guest":"x"}', '{"name":"n1"}'], cluster=0xc1),
    "all_alone": call(" ".join(ALL_METHODS)),
    **{"broken_%d" % errno: call("lock-break cluster-reload cluster-reload", ['{"service":"web"}', None, '{"dry_run":true}'],
                                 cluster=0x3000141 | errno << 16) for errno in (1, 5, 11, 16, 110, 114, 116)},
    **{"unread_%d" % errno: call("cluster-reload lock-break", [None, '{"service":"web"}'], cluster=0xa1 | errno << 8)
       for errno in (1, 5, 11, 12, 16, 110, 114, 116)},
    **{"figures_%d" % i: call("list why ring-list guest-show why guest-show host-list node-list load-list why-node balance-list",
                              [None] * 3 + ['{"guest":"web"}', '{"guest":"web"}', '{"guest":"bulk"}', None, None, None,
                                            '{"node":"n1"}'],
                              cluster=int.from_bytes(random.Random(i).randbytes(8), "little"),
                              figures=random.Random(i + 99).randbytes(64)) for i in range(16)},
    "params": call("policy-set policy-set policy-check guest-set guest-set guest-set", [
        '{"policy":"freemarket","params":{"low":"5.5"}}', '{"policy":"freemarket","params":{"x":1}}', '{"file":"f"}',
        '{"guest":"bulk","settings":{}}', '{"guest":"bulk","settings":{"counter":"x"}}',
        '{"guest":"bulk","settings":{"counter":"vif"}}']),
}
