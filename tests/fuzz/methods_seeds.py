# SPDX-License-Identifier: GPL-2.0-or-later
"""Seeds of fuzz_methods.c: lines of the control protocol, and what the methods behind them see."""
import struct

# A byte, 64 + 28 bytes of figures, lines.


def call(method, params=None, root=1, cluster=0, figures=bytes(range(1, 65))):
    return bytes([root]) + figures + struct.pack("<Q20s", cluster, bytes(20)) + b"".join(
        b'{"jsonrpc":"2.0","id":%d,"method":"%s"%s}\n'
        % (i, m.encode(), b',"params":' + p.encode() if p else b"")
        for i, (m, p) in enumerate(zip(method.split(), params or [None] * 99)))


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
       for bits in (0, 0xff << 32, 1 << 40, 1 << 41, 1 << 42)},
    "moves": call("service-list why-move why-move why-move history history history", [
        None, '{"name":"web"}', '{"name":"n2"}', '{"name":"x"}', None, '{"service":"web","since_ns":4}',
        '{"service":"x"}'], cluster=0xc1),
    **{"orders_%d" % errno: call("lock-break move move reconf-set node-fix service-set", [
        '{"service":"web"}', '{"node":"n1","service":"web"}', '{}', '{"mode":"act"}', '{"node":"n2","fixed":true}',
        '{"service":"mail","settings":{"high":2000,"share":2}}'], cluster=(0x21 if errno else 0xc1) | errno << 8)
       for errno in (0, 1, 2, 11, 13, 16, 18, 38, 61, 95, 107, 114, 125)},
    **{"sources_%d" % i: call("load-show", ['{"node":"n1"}'], cluster=0xc1 | bits << 43)
       for i, bits in enumerate((1, 3, 7, 9, 19, 51, 115))},
    **{"whys_%d" % i: call("why-move why-move service-list", ['{"name":"web"}', '{"name":"n2"}', None], cluster=0xc1 | bits << 50)
       for i, bits in enumerate((1, 2, 4, 8, 16, 48, 64, 128, 192, 256, 320, 448))},
    **{"policy_%d_%d" % (i, reason): call("list why info", [None, '{"guest":"web"}', None],
       figures=bytes([i, 0, 0, 0] + [reason, 1, *[0] * 7, 7, *[2] * 8, 3, 0] * 3)) for i in range(4) for reason in range(13)},
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
    "trace": call("info trace-stop trace-start info trace-stop trace-start trace-stop", [
        None, None, '{"file":"/var/t"}', None, None, '{"file":"/var/tx"}', None]),
    "trace_wrong": call("trace-start trace-start trace-start trace-start trace-start trace-start", [
        '{}', '{"file":"/"}', '{"file":"/a"}', '{"file":"/ab"}', '{"file":"/abc"}', '{"file":"/abcd"}']),
    "unknown": call("lst list", [None, '{"colour":1}']),
}
