#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# rxe.sh [NETDEV ADDRESS [MAC]]: bring up rxe0, a soft-RoCE device on this network device,
# without one on a dummy: its traffic is a loop then. A guest's eth0 may still be on its way.
# MAC: the netdev's new address.
dev=${1:-dummy0}
case $dev in
dummy0)
	modprobe dummy numdummies=0
	/usr/sbin/ip link add dummy0 type dummy
	;;
eth0)
	modprobe xen-netfront # of a guest of Xen
	modprobe e1000 # of a plain VM with a cable
	;;
esac
wait_for() {
	i=0
	until [ -e "$1" ]; do
		i=$((i + 1))
		[ $i -gt 100 ] && return 1
		usleep 50000
	done
}
wait_for "/sys/class/net/$dev" || exit 1
[ $# -lt 3 ] || /usr/sbin/ip link set "$dev" address "$3"
/usr/sbin/ip link set "$dev" up
/usr/sbin/ip addr add "${2:-10.99.0.1}/24" dev "$dev"
modprobe ib_uverbs && modprobe rdma_ucm && modprobe rdma_rxe || exit 1
rdma link add rxe0 type rxe netdev "$dev" || exit 1
wait_for /dev/infiniband/uverbs0 && wait_for /dev/infiniband/rdma_cm
