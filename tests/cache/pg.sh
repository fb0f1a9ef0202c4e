#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# pg.sh: a PostgreSQL of one's own, for tests: only on a UNIX socket, and without fsync.
#
#	tests/cache/pg.sh start DIR [PORT]	make DIR (it must be new) and a server in it; prints
#						the connection string (the user is "postgres", who may
#						do all; the database is "postgres")
#	tests/cache/pg.sh stop DIR		end the server at once, as by a crash; DIR goes away
#	tests/cache/pg.sh restart DIR		end it at once, and start it again
#	tests/cache/pg.sh bin			where PostgreSQL's programs are
#
# DIR has no more than 90 bytes, since it has the socket. It belongs to the user that runs the server,
# which is "postgres" or "nobody" when root asks.
# Exit: 0, 1 (says why), 2 used wrongly, 77 there is no PostgreSQL (1 when CI=true).
set -eu

usage() {
	sed -n 's/^#\t/\t/p' "$0" >&2
	exit 2
}

# The newest of Debian's versions, or what PATH has.
find_bin() {
	bin=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -t / -k 5 -n | tail -n 1)
	[ -x "$bin/initdb" ] || bin=$(dirname "$(command -v initdb || echo none)")
	[ -x "$bin/initdb" ] && [ -x "$bin/pg_ctl" ] && return
	echo "pg.sh: there is no initdb; on Debian: apt-get install postgresql" >&2
	[ "${CI-}" = true ] && exit 1
	exit 77
}

# PostgreSQL does not run as root.
as_user() {
	if [ "$(id -u)" = 0 ]; then
		(cd / && runuser -u "$user" -- "$@")
	else
		"$@"
	fi
}

# Output goes to the log: the server keeps its standard output, on which callers may wait.
control() {
	as_user "$bin/pg_ctl" "$@" -D "$dir/data" >>"$dir/log" 2>&1
}

absolute() {
	case $1 in /*) echo "$1" ;; *) echo "$PWD/$1" ;; esac
}

# What this script did not make is not stopped, and not removed.
ours() {
	[ -f "$dir/data/PG_VERSION" ] && [ -f "$dir/log" ] && return
	echo "pg.sh: there is no server of pg.sh in $dir" >&2
	exit 1
}

start() {
	control start -w -t 60 -l "$dir/server.log" && return
	cat "$dir/log" "$dir/server.log" >&2 || true
	echo "pg.sh: the server in $dir does not start" >&2
	exit 1
}

user=postgres
id "$user" >/dev/null 2>&1 || user=nobody
[ $# -ge 1 ] || usage
find_bin
case $1 in
start)
	[ $# -ge 2 ] && [ $# -le 3 ] || usage
	dir=$(absolute "$2") port=${3:-5432}
	[ ${#dir} -le 90 ] || { echo "pg.sh: $dir is too long for a socket: give one of 90 bytes" >&2; exit 1; }
	mkdir "$dir"
	chmod 700 "$dir"
	: >"$dir/log"
	[ "$(id -u)" != 0 ] || chown -R "$user" "$dir"
	as_user "$bin/initdb" -D "$dir/data" -U postgres -A trust -E UTF8 --locale=C.UTF-8 -N \
		>>"$dir/log" 2>&1 || { cat "$dir/log" >&2; echo "pg.sh: initdb failed" >&2; exit 1; }
	cat >>"$dir/data/postgresql.conf" <<-EOT
	listen_addresses = ''
	unix_socket_directories = '$dir'
	port = $port
	fsync = off
	max_connections = 200
	shared_buffers = 32MB
	autovacuum_naptime = 10s
	EOT
	start
	echo "host=$dir port=$port user=postgres dbname=postgres" ;;
stop)
	[ $# -eq 2 ] || usage
	dir=$(absolute "$2")
	ours
	control stop -m immediate -w -t 60 || true
	rm -rf "$dir" ;;
restart)
	[ $# -eq 2 ] || usage
	dir=$(absolute "$2")
	ours
	control stop -m immediate -w -t 60 || true
	start ;;
bin)
	echo "$bin" ;;
*)
	usage ;;
esac
