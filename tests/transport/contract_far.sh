#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The contract suite, on tcp, with every other host at the far end of a connection: as on two
# machines (far.h), but on one.
set -e
pid=
trap '[ -z "$pid" ] || kill "$pid"; rm -f "$out"' EXIT
out=$(mktemp)
port=$((15000 + $$ % 5000))
./tests/transport/contract serve 127.0.0.2 $port >"$out" &
pid=$!
i=0
until grep -q listening "$out"; do
	[ $i -lt 200 ]
	kill -0 $pid
	sleep 0.05
	i=$((i + 1))
done
./tests/transport/contract tcp 127.0.0.1 127.0.0.2 $port
