#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# record-golden.sh TESTBED [OUT]: record the golden rings of rxe anew.
#
# TESTBED is the directory of the test bed's scripts (vm.sh, mkovl.sh), whose
# ../work holds vmlinux and base.cpio. OUT is where the recordings go
# (tests/golden/rxe). One plain virtual machine, about twenty seconds.
set -eu
cd "$(dirname "$0")/../.."
bed=$(cd "${1:?usage: record-golden.sh TESTBED [OUT]}" && pwd)
out=$(mkdir -p "${2:-tests/golden/rxe}" && cd "${2:-tests/golden/rxe}" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp/ovl/t" "$tmp/out"

${CC:-gcc} -std=gnu11 -O2 -D_GNU_SOURCE -I. tests/system/src/load_*.c tests/system/src/ringrec.c \
	-o "$tmp/ovl/t/ringrec" -libverbs

cat >"$tmp/ovl/t/record" <<'GUEST'
#!/bin/sh
modprobe dummy numdummies=0
ip link add dummy0 type dummy
ip link set dummy0 mtu 4200 up
ip addr add 10.99.0.1/24 dev dummy0
modprobe ib_uverbs; modprobe rdma_rxe
rdma link add rxe0 type rxe netdev dummy0
i=0; until [ -e /dev/infiniband/uverbs0 ] || [ $i -gt 50 ]; do usleep 100000; i=$((i+1)); done
modprobe virtio_pci; modprobe 9pnet_virtio; modprobe 9p
mount -t 9p -o trans=virtio,version=9p2000.L host /mnt || exit 1
fail=0
rec() { name=$1; shift; timeout 60 /t/ringrec /mnt/$name.ring $name "$@" || { echo "FAILED $name"; fail=1; }; }
for op in send send_imm write write_imm read fetch_add cmp_swap; do
	rec rc-$op 1-5 plain -n 40-80 -D 15 -x $op -s 0-20000
done
rec uc-write 1-5 plain -t uc -n 40-80 -D 15 -x write -s 0-20000
rec uc-send 1-5 plain -t uc -n 40-80 -D 15 -x send,send_imm -s 0-20000
rec ud 1-5 plain -t ud -n 40-80 -D 15
rec ud-lapped 20-60 plain -t ud -n 300-500 -D 7 -u 50
rec mixed 1-9 plain -n 150-250 -D 31 -u 50 -b 8 -x random
rec unsignalled 1-20 plain -n 100-200 -D 63 -u 95 -b 4
rec pieces 1-5 plain -n 60-100 -D 15 -g 6 -x send,write,read
rec inline 1-5 plain -n 60-100 -D 15 -i 100 --max-inline 400 -s 0-400 -x send,write
rec inline-wr-api 1-5 plain -n 60-100 -D 15 -i 100 --max-inline 200 -s 0-400 -x send,write --wr-api 100
rec ud-wr-api 1-6 plain -t ud -n 60-100 -D 15 -b 3 -u 30 --wr-api 100 -i 50 --max-inline 200
rec tiny 1-1 plain -n 40-60 -D 1
rec tiny-lapped 3-50 plain -n 400-600 -D 1
rec lapped-writes 20-200 plain -n 2000-3000 -D 7 -x write,send,fetch_add -b 3
rec lapped-reads 20-200 plain -n 2000-3000 -D 7 -x write,read -b 3
rec refused 1-4 plain -n 100-150 -D 3 --refuse 50 -b 2 -u 30
rec refused-lapped 10-90 plain -n 500-800 -D 3 --refuse 50 -b 2 -u 30
rec aborted 1-4 plain -n 100-150 -D 15 -b 4 --wr-api 100 --abort 30
rec aborted-lapped 20-90 plain -n 500-800 -D 7 -b 4 --wr-api 100 --abort 30
rec error-remote-1 1-3 plain -n 2000 -D 15 -b 6 --errors 60 -x write,read
rec error-remote-2 1-3 plain -n 2000 -D 31 -b 12 -u 50 --errors 60 -x write,send,fetch_add
rec error-local-uc 1-3 plain -t uc -n 2000 -D 15 -b 6 --errors 30
rec error-local-ud 1-3 plain -t ud -n 2000 -D 15 -b 6 --errors 30
rec waiting 1-6 starve -n 150-250 -D 15 -x send,write,send_imm -s 0-5000 -u 40
rec reset 1-6 plain --reset 1 -n 100-200 -D 15 -b 3 -u 30
rec reset-waiting 1-6 starve -n 150-250 -D 15 -x send --reset 1 --reset-dirty
rec resized 1-5 resize -n 100-200 -D 15
rec dead 1-1 dead -n 150-200 -D 15 -p 1000 -s 0-5000
sync
umount /mnt
exit $fail
GUEST
chmod +x "$tmp/ovl/t/record"

(cd "$bed" && ./mkovl.sh "$tmp/ovl" && KIND=plain MEM=384 SMP=1 TEST=record TMO=${TMO:-120} \
	LOG="$tmp/log" QARGS="-virtfs local,path=$tmp/out,mount_tag=host,security_model=none,id=h" \
	./vm.sh) || { cat "$tmp/log"; exit 1; }
grep -a RECORDED "$tmp/log"
cp "$tmp"/out/*.ring "$out"/
du -sb "$out"
