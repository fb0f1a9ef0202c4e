#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# rxe.sh: bring up rxe0, a soft-RoCE device on a dummy network device.
modprobe dummy numdummies=0
ip link add dummy0 type dummy
ip link set dummy0 up
ip addr add 10.99.0.1/24 dev dummy0
modprobe ib_uverbs && modprobe rdma_ucm && modprobe rdma_rxe || exit 1
rdma link add rxe0 type rxe netdev dummy0 || exit 1
i=0
until [ -e /dev/infiniband/uverbs0 ]; do
	i=$((i + 1))
	[ $i -gt 50 ] && exit 1
	usleep 100000
done
