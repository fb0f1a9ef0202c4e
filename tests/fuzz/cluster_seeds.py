#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The seeds of fuzz_cluster, for seeds.py: a cluster.json each. Each refusal of the parser, and each
thing that it takes, has one, so that the fuzzer need not find the long keys by itself."""

HOSTS = '"hosts": [{"name": "xen1", "number": 1, "address": "10.0.0.1"},' \
        ' {"name": "xen2", "number": 2, "address": "10.0.0.2", "port": 1, "corosync_node": 12}]'

# A service's further keys, and those of reconf.
RECONF = ('{"cluster": "c", ' + HOSTS + ', "services": [{"name": "w", "number": 1%s}, {"name": "m", "number": 2}], "nodes":'
          ' [{"name": "n1", "number": 1, "host": "xen1", "service": "w", "kind": "switch", "capacity": 500, "only": ["w", "m"]},'
          ' {"name": "n2", "number": 1, "host": "xen2", "service": "m"}], "reconf": {%s}}')
CLUSTER = {
    "least": '{"cluster": "c", %s}' % HOSTS,
    "full": '{"cluster": "c", "host": "xen2", "transport": "tcp", "membership": "corosync",'
            ' "key_file": "/k", "heartbeat": "20ms", "scan": "1s", "timeout": "2s", "hold": "1s",'
            ' "drift": 500, "callers": 3, "callers_second": 9, %s,'
            ' "services": [{"name": "web", "number": 3, "minimum": 2, "balancers": ["xen1"]},'
            ' {"name": "mail", "number": 9, "balancers": ["xen2", "xen1"]}]}' % HOSTS,
    "services": '{"cluster": "c", %s, "services": [{"name": "a", "number": 1},'
                ' {"name": "b", "number": 1}]}' % HOSTS,
    "drift": '{"cluster": "c", %s, "hold": "60s", "timeout": "60s", "drift": 100000}' % HOSTS,
    "nobody": '{"cluster": "c", %s, "services": [{"name": "a", "number": 1,'
              ' "balancers": ["y"]}]}' % HOSTS,
    "twice": '{"cluster": "c", "hosts": [{"name": "xen1", "number": 1, "address": "a"},'
             ' {"name": "xen1", "number": 2, "address": "a"}]}',
    "clients": '{"cluster": "c", "hosts": [{"name": "xen1", "number": 1, "address": "a"}, {"name": "peek",'
               ' "number": 2, "role": "client"}, {"name": "cache", "number": 3, "role": "client", "rights": "atomics",'
               ' "address": "b"}], "services": [{"name": "a", "number": 1, "balancers": ["xen1"]}]}',
    "client_balances": '{"cluster": "c", "hosts": [{"name": "xen1", "number": 1, "address": "a"}, {"name": "peek",'
                       ' "number": 2, "role": "client"}], "services": [{"name": "a", "number": 1,'
                       ' "balancers": ["peek"]}]}',
    "client_serves": '{"cluster": "c", "hosts": [{"name": "xen1", "number": 1, "address": "a"}, {"name": "peek",'
                     ' "number": 2, "role": "client", "port": 9}]}',
    "balance": '{"cluster": "c", %s, "services": [{"name": "w", "number": 1}, {"name": "m", "number": 2, "balancers":'
               ' ["xen1"]}], "nodes": [{"name": "n1", "number": 1, "host": "xen1", "service": "w", "server": "s-1"},'
               ' {"name": "n2", "number": 1, "host": "xen2", "service": "m"}], "balance": [{"service": "w", "backend":'
               ' "b", "socket": "/h", "k": 2, "mode": "act", "service_time": "5ms"}, {"service": "m", "by": "weights",'
               ' "socket": "/i", "k": "auto", "service_time": "auto"}]}' % HOSTS,
    "balance_twice": '{"cluster": "c", %s, "services": [{"name": "w", "number": 1}], "nodes": [{"name": "n1", "number":'
                     ' 1, "host": "xen1", "service": "w"}], "balance": [{"service": "w", "socket": "/h"}, {"service":'
                     ' "w", "socket": "/i"}]}' % HOSTS,
    "balance_agent": '{"cluster": "c", %s, "services": [{"name": "w", "number": 1}], "nodes": [{"name": "n1", "number":'
                     ' 1, "host": "xen1", "service": "w"}], "balance": [{"service": "w", "by": "agent", "port": 9,'
                     ' "service_time": "5ms"}]}' % HOSTS,
    **{"balance_wrong_%d" % i: '{"cluster": "c", %s, "services": [{"name": "w", "number": 1}, {"name": "m", "number":'
       ' 2}], "nodes": [{"name": "n1", "number": 1, "host": "xen1", "service": "w"}, {"name": "n2", "number": 1,'
       ' "host": "xen2", "service": "m"}], "balance": [{"service": "w", %s}]}' % (HOSTS, keys)
       for i, keys in enumerate((
           '"by": "agent", "service_time": "5ms"', '"by": "agent", "port": 9', '"by": "agent", "port": 9, "socket": "/h"',
           '"socket": "/h", "port": 9', '"mode": "act"', '"socket": "h"', '"socket": "/h", "backend": "a b"',
           '"socket": "/h", "k": 0', '"socket": "/h"}, {"service": "m", "socket": "/h", "backend": "w"',
           '"by": "agent", "port": 9, "service_time": "5ms"}, {"service": "m", "by": "agent", "port": 9, "service_time":'
           ' "5ms"', '"socket": "/h"}, {"service": "m", "by": "agent", "port": 9, "service_time": "5ms", "backend": "w"'))},
    "reconf": RECONF % ("", '"mode": "observe", "S": "100ms", "T": "5s", "margin": "20%", "rest": "30s", "freeze": "60s",'
                        ' "budget": "6/min"'),
    "reconf_full": RECONF % (', "guarantee": 1, "share": 1, "maximum": 2, "priority": 5, "high": 1500, "low": 900',
                             '"budget": "9/h", "margin": "0%"'),
    **{"reconf_wrong_%d" % i: RECONF % pair for i, pair in enumerate((
        ("", '"S": "10ms"'), ("", '"T": "3s"'), ("", '"S": "4s"'), ("", '"margin": "501%"'), ("", '"budget": "6"'),
        (', "minimum": 3', ""), (', "guarantee": 3', ""), (', "guarantee": 2, "share": 1', ""), (', "low": 1500', ""),
        (', "priority": 8', "")))},
    "reconf_no_nodes": '{"cluster": "c", %s, "reconf": {}}' % HOSTS,
    **{"only_%d" % i: '{"cluster": "c", %s, "services": [{"name": "w", "number": 1}, {"name": "m", "number": 2}], "nodes":'
       ' [{"name": "n1", "number": 1, "host": "xen1", "service": "w", "only": %s}]}' % (HOSTS, only)
       for i, only in enumerate(('["m", "w"]', '["m"]', '["x"]', '[]', '7'))},
    "only_clients": '{"cluster": "c", "hosts": [{"name": "xen1", "number": 1, "role": "client"}]}',
    "empty": "{}",
}

# A file with two nodes of one service, and keys of its own: of each node, and of the file.
NODES = ('{"cluster": "c", ' + HOSTS + ', "services": [{"name": "w", "number": 1}], "nodes": [{"name": "n1", "number": 1,'
         ' "host": "xen1"%s}, {"name": "n2", "number": 1, "host": "xen2"%s}]%s}')
SERVES = ', "service": "w"'
SWITCH = SERVES + ', "kind": "switch"'
HOOK = ', "reconf": {"hook": "%s", "hook_timeout": "9s", "give_up": "%s"}'


def one_host(transport, host, more=""):
    return '{"cluster": "c", "transport": "%s", "hosts": [{"name": "xen1", "number": 1, %s}%s]}' % (transport, host, more)


CLUSTER.update({
    "port_twice": one_host("tcp", '"address": "a", "port": 7', ', {"name": "x", "number": 2, "address": "a", "port": 7}'),
    "ports_of_shm": one_host("shm", '"address": "/a"', ', {"name": "x", "number": 2, "address": "/b"}'),
    "folder_not_whole": one_host("shm", '"address": "a"'),
    "address_wrong": one_host("tcp", '"address": "a!"'),
    "client_address_wrong": one_host("tcp", '"address": "a"', ', {"name": "x", "number": 2, "role": "client", "address": "!"}'),
    "client_of_tcp": one_host("tcp", '"address": "a"', ', {"name": "x", "number": 2, "role": "client", "address": "b"}'),
    "self_is_client": '{"cluster": "c", "host": "x", "hosts": [{"name": "xen1", "number": 1, "address": "a"}, {"name": "x",'
                      ' "number": 2, "role": "client"}]}',
    "guests": NODES % (SERVES + ', "guest": "g"', "", ""),
    "guest_twice": '{"cluster": "c", %s, "nodes": [{"name": "n1", "number": 1, "host": "xen1", "guest": "g"}, {"name": "n2",'
                   ' "number": 2, "host": "xen1", "guest": "g"}]}' % HOSTS,
    "server_of_none": NODES % (', "server": "s"', "", ""),
    "server_twice": NODES % (SERVES + ', "server": "s"', SERVES + ', "server": "s"',
                             ', "balance": [{"service": "w", "socket": "/h"}]'),
    "switch_agent": NODES % (SWITCH, SERVES,
                             ', "balance": [{"service": "w", "by": "agent", "port": 9, "service_time": "5ms"}]'),
    "switch_weights": NODES % (SWITCH, SERVES,
                               ', "balance": [{"service": "w", "by": "weights", "socket": "/h"}]' + HOOK % ("/h", "0s")),
    "load_stale": NODES % (SERVES, SERVES, ', "load": {"period": "1s", "scan": "1s", "stale": "3s"}'),
    "load": NODES % (SERVES, SERVES, ', "load": {"period": "10ms", "scan": "10ms", "stale": "1s"}'),
    "hook": NODES % (SWITCH, SWITCH, HOOK % ("/h", "10s")),
    "hook_not_whole": NODES % (SWITCH, SWITCH, HOOK % ("h", "10s")),
    "give_up_early": NODES % (SWITCH, SWITCH, HOOK % ("/h", "9s")),
    "corosync_twice": '{"cluster": "c", "hosts": [{"name": "xen1", "number": 1, "address": "a"}, {"name": "x", "number": 2,'
                      ' "address": "b", "corosync_node": 1}]}',
    "rights_of_member": one_host("tcp", '"address": "a", "rights": "atomics"'),
    "balancers_text": '{"cluster": "c", %s, "services": [{"name": "a", "number": 1, "balancers": "xen1"}]}' % HOSTS,
})


def cached(rows, more=""):
    return '{"cluster": "c", "transport": "tcp", %s"hosts": [{"name": "xen1", "number": 1, "address": "a"}, %s]}' % (more, rows)


APP = '{"name": "app1", "number": 10, "role": "app", "address": "b"%s}'
PROXY = '{"name": "p1", "number": 20, "role": "proxy", "address": "c", "port": 9}'
CLUSTER.update({
    "cached": cached(APP % "" + ", " + PROXY, '"cache": {"fresh": "1s", "detect": "2s", "words": 65536, "slots": 8}, '),
    "cached_client": cached(APP % "" + ', {"name": "peek", "number": 9, "role": "client"}, ' + PROXY),
    "cached_rights": cached(APP % ', "rights": "read"'),
    "cached_corosync": cached(APP % ', "corosync_node": 3'),
    "cached_no_address": cached('{"name": "app1", "number": 10, "role": "app"}'),
    "cached_number": cached(APP % "" + ', {"name": "x", "number": 10, "role": "proxy", "address": "d"}'),
    "cached_number_client": cached(APP % "" + ', {"name": "x", "number": 10, "role": "client"}'),
    "cached_name": cached(APP % "" + ', {"name": "app1", "number": 11, "address": "d"}'),
    "cached_port": cached('{"name": "app1", "number": 10, "role": "app", "address": "a"}'),
    "cached_address": cached('{"name": "app1", "number": 10, "role": "app", "address": "!"}'),
    "cached_self": cached(APP % "", '"host": "app1", '),
    "cached_only": '{"cluster": "c", "hosts": [%s]}' % (APP % ""),
    "cached_balances": cached(APP % "", '"services": [{"name": "w", "number": 1, "balancers": ["app1"]}], '),
    **{"cache_%d" % i: cached(PROXY, '"cache": %s, ' % text) for i, text in enumerate((
        "{}", "[]", '{"fresh": "9ms"}', '{"fresh": "61s"}', '{"detect": "99ms"}', '{"words": 0}', '{"words": 1000001}',
        '{"slots": 65}', '{"slot": 1}'))},
})
