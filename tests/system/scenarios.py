# SPDX-License-Identifier: GPL-2.0-or-later
"""scenarios: the table of all scenarios and the beds they run in."""
import collections

import sc_hello

# One VM each, in this order.
BEDS = {
    "plain": {"kind": "plain", "memory": 512, "limit": 60},
    "credit2": {"sched": "credit2", "limit": 420},
    "credit": {"sched": "credit", "limit": 240},
}

Scenario = collections.namedtuple("Scenario", "name bed run text")

ALL = [
    Scenario("hello", "credit2", sc_hello.hello,
             "the programs start in dom0 and in guests, and guests have RDMA"),
]


def clean(vm):
    """After each scenario: no guest is left for the next."""
    for name in vm.guests:
        vm.run("xl destroy " + name)
    vm.guests.clear()
