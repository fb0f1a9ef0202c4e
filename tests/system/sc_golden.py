# SPDX-License-Identifier: GPL-2.0-or-later
"""golden: record the golden rings of rxe anew, with the truth about each (tests/golden/rxe/README).

They are left beside the logs, in share/files. To replace those of the tree, copy them there: the
unit test golden_rxe reads all files of that directory.
"""
from bed import check

OPS = ("send", "send_imm", "write", "write_imm", "read", "fetch_add", "cmp_swap")
RINGS = ["rc-%s 1-5 plain -n 40-80 -D 15 -x %s -s 0-20000" % (op, op) for op in OPS] + """
uc-write 1-5 plain -t uc -n 40-80 -D 15 -x write -s 0-20000
uc-send 1-5 plain -t uc -n 40-80 -D 15 -x send,send_imm -s 0-20000
ud 1-5 plain -t ud -n 40-80 -D 15
ud-lapped 20-60 plain -t ud -n 300-500 -D 7 -u 50
mixed 1-9 plain -n 150-250 -D 31 -u 50 -b 8 -x random
unsignalled 1-20 plain -n 100-200 -D 63 -u 95 -b 4
pieces 1-5 plain -n 60-100 -D 15 -g 6 -x send,write,read
inline 1-5 plain -n 60-100 -D 15 -i 100 --max-inline 400 -s 0-400 -x send,write
inline-wr-api 1-5 plain -n 60-100 -D 15 -i 100 --max-inline 200 -s 0-400 -x send,write --wr-api 100
ud-wr-api 1-6 plain -t ud -n 60-100 -D 15 -b 3 -u 30 --wr-api 100 -i 50 --max-inline 200
tiny 1-1 plain -n 40-60 -D 1
tiny-lapped 3-50 plain -n 400-600 -D 1
lapped-writes 20-200 plain -n 2000-3000 -D 7 -x write,send,fetch_add -b 3
lapped-reads 20-200 plain -n 2000-3000 -D 7 -x write,read -b 3
refused 1-4 plain -n 100-150 -D 3 --refuse 50 -b 2 -u 30
refused-lapped 10-90 plain -n 500-800 -D 3 --refuse 50 -b 2 -u 30
aborted 1-4 plain -n 100-150 -D 15 -b 4 --wr-api 100 --abort 30
aborted-lapped 20-90 plain -n 500-800 -D 7 -b 4 --wr-api 100 --abort 30
error-remote-1 1-3 plain -n 2000 -D 15 -b 6 --errors 60 -x write,read
error-remote-2 1-3 plain -n 2000 -D 31 -b 12 -u 50 --errors 60 -x write,send,fetch_add
error-local-uc 1-3 plain -t uc -n 2000 -D 15 -b 6 --errors 30
error-local-ud 1-3 plain -t ud -n 2000 -D 15 -b 6 --errors 30
waiting 1-6 starve -n 150-250 -D 15 -x send,write,send_imm -s 0-5000 -u 40
reset 1-6 plain --reset 1 -n 100-200 -D 15 -b 3 -u 30
reset-waiting 1-6 starve -n 150-250 -D 15 -x send --reset 1 --reset-dirty
resized 1-5 resize -n 100-200 -D 15
dead 1-1 dead -n 150-200 -D 15 -p 1000 -s 0-5000
""".strip().splitlines()

# The MTU is set before rxe0 exists: rxe takes the largest of its own that fits in.
DEVICE = """
modprobe dummy numdummies=0
/usr/sbin/ip link add dummy0 type dummy
/usr/sbin/ip link set dummy0 mtu 4200 up
/usr/sbin/ip addr add 10.99.0.1/24 dev dummy0
modprobe ib_uverbs && modprobe rdma_rxe && rdma link add rxe0 type rxe netdev dummy0 || exit 1
i=0; until [ -e /dev/infiniband/uverbs0 ]; do [ $((i += 1)) -lt 100 ] || exit 1; usleep 50000; done
"""


def golden(vm):
    vm.sh(DEVICE)
    for line in RINGS:
        name, options = line.split(" ", 1)
        said = vm.sh("timeout 60 /t/ringrec /h/files/%s.ring %s %s" % (name, name, options), 80)
        check("RECORDED" in said, "%s was not recorded: %s" % (name, said))
        vm.note(said.strip())
