#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# test_peek.sh: resex-peek, and what a client may do, beside resexd on simulated hosts.
#
#	tests/cli/test_peek.sh [BUILD]
#
# Each error of the command line and of the files; two hosts over shm and over tcp, which are read,
# stopped and killed; a client that is not listed; one that changes words without the right to;
# cached hosts, with members and without.
# Exit: 0, 1 when something was not as it should be, 77 when python3 is missing.
set -u
top=$(cd "${srcdir:-$(dirname "$0")/../..}" && pwd)
build=$(cd "${1:-.}" && pwd)
dir=$(mktemp -d /tmp/resex-peek-XXXXXX)
# shellcheck source=tests/cli/checks.sh
. "$top/tests/cli/checks.sh"
daemon=(0 "" "") # by host, from 1
cached=() # processes that serve
key=0123456789abcdef0123456789abcdef

command -v python3 >/dev/null || { echo "test_peek: python3 was not found; on Debian: apt-get install python3" >&2; exit 77; }

cleanup() {
	local i
	for i in 1 2; do
		[ -z "${daemon[i]}" ] || kill -KILL "${daemon[i]}" 2>/dev/null
	done
	[ ${#cached[@]} -eq 0 ] || kill -KILL "${cached[@]}" 2>/dev/null
	wait 2>/dev/null
	rm -rf "$dir"
}
trap cleanup EXIT

peek() { "$build/resex-peek" -c "$dir/peek.json" "$@"; }
resex() { local n=$1; shift; "$build/resex" -s "$dir/$n/sock" "$@"; }

# cluster FILE HEARTBEAT "HOST": a cluster.json of this transport, of two members and two clients.
cluster() {
	cat >"$1" <<-END
	{ "cluster": "test", "host": "$3", "transport": "$transport", "key_file": "$dir/key",
	 "heartbeat": "$2", "scan": "100ms", "timeout": "1s", "hold": "1s",
	 "hosts": [
	  { "name": "xen1", "number": 1, $at1 },
	  { "name": "peek", "number": 200, "role": "client" },
	  { "name": "xen2", "number": 2, $at2 },
	  { "name": "cache", "number": 201, "role": "client", "rights": "atomics" } ],
	 "services": [ { "name": "web", "number": 1, "balancers": ["xen2"] }, { "name": "mail", "number": 2 } ],
	 "nodes": [ { "name": "n1", "number": 3, "host": "xen1" } ] }
	END
}

start() { # HOST [HEARTBEAT]: its resexd, until it answers
	mkdir -p "$dir/$1/state"
	cluster "$dir/$1/cluster.json" "${2-50ms}" "xen$1"
	cat >"$dir/$1/c.json" <<-END
	{ "links": [ { "name": "sim0", "rate": "1GiB/s" } ], "lock_memory": false, "socket": "$dir/$1/sock",
	 "state_dir": "$dir/$1/state", "lock_file": "$dir/$1/lock", "cluster_file": "$dir/$1/cluster.json" }
	END
	"$build/resexd" --hv sim -c "$dir/$1/c.json" 2>>"$dir/$1/log" &
	daemon[$1]=$!
	until_says "^xen$1 +$1 +self " resex "$1" host-list 2>/dev/null && return
	echo "not ok: resexd of host $1 did not come up:"
	cat "$dir/$1/log"
	exit 1
}

# free_ports N: not of the range from which connections get theirs, which may come at any time.
free_ports() {
	python3 -c 'import random, socket, sys
s = []
while len(s) < int(sys.argv[1]):
    x = socket.socket()
    try:
        x.bind(("127.0.0.1", random.randrange(16384, 32768)))
        s.append(x)
    except OSError:
        pass
print(*(x.getsockname()[1] for x in s))' "$1"
}

stop() { # HOST SIGNAL
	kill "-$2" "${daemon[$1]}"
	wait "${daemon[$1]}" 2>/dev/null
	daemon[$1]=
}

# holds NAME EXPRESSION ARGUMENT...: of what resex-peek -j says, o, it is true in python.
holds() {
	local expression=$2
	run "$1" peek -j "${@:3}"
	python3 -c 'import json, sys
o = json.load(open(sys.argv[1]))
def of(rows, **want): return next(r for r in rows if all(r[k] == v for k, v in want.items()))
sys.exit(not eval(sys.argv[2]))' "$dir/out" "$expression" || bad "not so: $expression"
}

# unread CODE PATTERN ARGUMENT...: it ends with this code, and the table has the pattern.
unread() {
	run "${*:3}" peek "${@:3}"
	if [ "$code" -ne "$1" ]; then bad "exit status $code, not $1"
	elif ! grep -Eq -- "$2" "$dir/out"; then bad "no $2 in its output"
	fi
}

# --- what is wrong is said --------------------------------------------------------------

transport=shm at1="\"address\": \"$dir/shm\"" at2=$at1
mkdir "$dir/shm"
(umask 077; echo "$key" >"$dir/key")
cluster "$dir/peek.json" 50ms xen1
good 'help' '^  -c, --cluster FILE ' peek --help
good 'version' '^resex-peek [0-9]' peek --version
fails 2 resex-peek 'unknown option "--bogus": see resex-peek --help' peek --bogus
fails 2 resex-peek '--within 0: give whole seconds from 1 to 3600' peek --within 0
fails 2 resex-peek '--within 1x: give whole seconds' peek -w 1x
fails 2 resex-peek 'no member or cached host is called "xen3": use a name of hosts\[\]' peek xen3
fails 2 resex-peek 'no member or cached host is called "cache": use a name' peek cache
fails 2 resex-peek 'host "xen1" cannot be called: name each host once' peek xen1 xen1
fails 4 resex-peek 'no client is called "xen1": add \{ "name": "xen1", "number": N, "role": "client" \}' peek --as xen1
fails 4 resex-peek "$dir/none.json: " "$build/resex-peek" -c "$dir/none.json"
chmod 644 "$dir/key"
fails 4 resex-peek "$dir/key: other users may read the key: chmod 600 it" peek
chmod 600 "$dir/key"
unread 7 '^xen1 +1 +unread .* no link: its resexd does not run, cannot be reached at .*, or refuses' -w 1 xen1

# A client is no host for resexd, and is called by none.
mkdir -p "$dir/1"
cluster "$dir/1/cluster.json" 50ms cache
echo "{ \"links\": [ { \"name\": \"s\", \"rate\": \"1GiB/s\" } ], \"cluster_file\": \"$dir/1/cluster.json\" }" >"$dir/1/c.json"
fails 4 resexd '"cache" is a client, which serves nothing: run resexd on members alone' \
	"$build/resexd" --hv sim --check -c "$dir/1/c.json"

# --- two hosts, over each transport -------------------------------------------------------

# A host beats if its heartbeat changes within 10 of those of the client's file: these are long, since
# another program may have the CPUs. Guests are published after the first heartbeat.
two_hosts() {
	cluster "$dir/peek.json" 500ms xen1
	start 1
	start 2
	that "$transport: they see each other" until_says '^xen2 +2 +up +yes +[^ ]+ +[0-9]+ +[0-9]+ +2 ' resex 1 host-list
	that "$transport: and each other's guests" until_says '^xen1 +1 +up +yes +[^ ]+ +[0-9]+ +[0-9]+ +2 ' resex 2 host-list
	good "$transport: both are read" '^xen2 +2 +beats +[1-9][0-9]* +[1-9] +0 +xen1,xen2 +yes +2 ' peek
	good "$transport: what is simulated says so" '^xen1: SIMULATED: none of its guests' peek
	good "$transport: a service and its lock" '^xen2 +web +1 +1 +free +[0-9]+ +0 +0 +xen2$' peek
	holds "$transport: one of them" \
		'[h["name"] for h in o["hosts"]] == ["xen2"] and len(o["services"]) == 2 and o["client"] == "cache"' --as cache xen2
	holds "$transport: the record" 'of(o["hosts"], name="xen1")["guests"] == 2 and o["hosts"][1]["says_name"] == "xen2"'
	holds "$transport: the directory" '[t["table"] for t in o["hosts"][0]["directory"]] == ["host", "guests", "nodes", "services", "loads"]'
	holds "$transport: the load of a node, of two samples" \
		'[(n["host"], n["node"], n["name"], n["source"]) for n in o["nodes"]] == [("xen1", 3, "n1", "ulm")] and 0 <= o["nodes"][0]["load"] <= 100000 and o["nodes"][0]["load_span_ns"] > 0 and o["nodes"][0]["load_cpus"] > 0'
	good "$transport: the same in the table" '^xen1 +3 +n1 +0 +0 +1 +[0-9]+ +ulm ' peek
	good "$transport: a client is no host" '^xen2 +2 +up ' resex 1 host-list
	that "$transport: a client is no host" not eval "resex 1 host-list | grep -Eq '^(peek|cache) '"
	that "$transport: nor an event" not eval "resex 1 events | grep -Eq ' (host|alarm) +(peek|cache)'"

	# In the file of the client alone.
	sed -i 's/"peek", "number": 200/"peek", "number": 199/' "$dir/peek.json"
	unread 7 '^xen1 +1 +unread .* it does not list our number: add it to cluster.json there, and run resex cluster-reload'
	that "$transport: the member says so, too" until_says ' alarm +host 199: host 199 was refused: it is not in the list of hosts' \
		resex 1 events
	sed -i 's/"number": 199/"number": 200/; s/"hold": "1s"/"hold": "900ms"/' "$dir/peek.json"
	unread 7 '^xen2 +2 +unread .* settings that must be equal differ: compare cluster.json on both'
	that "$transport: an alarm has the name of the client" until_says ' alarm +peek: host 200 was refused: settings' \
		resex 2 events
	cluster "$dir/peek.json" 500ms xen1

	kill -STOP "${daemon[2]}"
	unread 7 '^xen2 +2 +unread .* no link: ' -w 1
	unread 7 '^xen1 +1 +beats ' -w 4
	kill -CONT "${daemon[2]}"
	stop 2 KILL
	unread 7 '^xen2 +2 +unread ' -w 1
	# Its heartbeats are further apart than the client waits for.
	start 2 10s
	cluster "$dir/peek.json" 50ms xen1
	unread 0 '^xen2 +2 +silent +' xen2
	stop 2 TERM
}

two_hosts
if [ "$(id -u)" -eq 0 ]; then
	# The home is the lowest member, which takelock does not replace: it comes as host 2.
	that 'a host takes a lock and dies' "$build/takelock" "$dir/2/cluster.json" 2 1 1 99
	good 'its owner is shown' '^xen1 +web +1 +1 +xen2 +[0-9]+ +1 +0 ' peek xen1
fi
stop 1 TERM

read -r port1 port2 < <(free_ports 2)
transport=tcp at1="\"address\": \"127.0.0.1\", \"port\": $port1" at2="\"address\": \"127.0.0.1\", \"port\": $port2"
two_hosts
foe() { python3 "$top/tests/cli/foe.py" 127.0.0.1 "$port1" test "$key" "$1" 1 "$2"; }
that 'a client that changes words without the right is refused, word by word' foe 200 reader
that 'which is an alarm of that client' until_says \
	' alarm +peek: host 200 was refused 8 bytes at 0 of part 1: a client has no right to it' resex 1 events
good 'nothing has changed' '^xen1 +web +1 +1 +free +[0-9]+ +0 +0 ' peek xen1
stop 1 TERM

# --- cached hosts -------------------------------------------------------------------------

# rows FILE [MEMBER]: a cluster.json with three cached hosts, and with one member.
rows() {
	cat >"$1" <<-END
	{ "cluster": "test", "transport": "$transport", "key_file": "$dir/key", "heartbeat": "50ms",
	 "hosts": [ ${2-}
	  { "name": "peek", "number": 200, "role": "client" },
	  { "name": "app1", "number": 11, "role": "app", $at11 },
	  { "name": "app2", "number": 12, "role": "app", $at12 },
	  { "name": "front", "number": 21, "role": "proxy", $at21 } ],
	 "cache": { "fresh": "1s", "words": ${words-4000}, "slots": 3 } }
	END
}

serve() { # NAME HOW
	"$build/servecache" "$dir/peek.json" "$1" "$2" >"$dir/serves" &
	cached+=($!)
	until_says '^serves' cat "$dir/serves" || { echo "not ok: servecache $1 did not come up"; exit 1; }
}

end() { # all that serve
	kill -KILL "${cached[@]}"
	wait "${cached[@]}" 2>/dev/null
	cached=()
}

cached_hosts() {
	rows "$dir/peek.json"
	serve app1 beats
	serve app2 silent
	serve front beats
	good "$transport: an application server" '^app1 +11 +app +beats +[0-9]+ +3 +7 +4000 +4000 +1 +3 +-$' peek app1
	good "$transport: one whose beat does not change" '^app2 +12 +app +silent +1 +3 +7 +4000 ' peek
	good "$transport: a proxy" '^front +21 +proxy +read( +-){8}$' peek front
	good "$transport: an acknowledgement" '^app1 +1 +app1 +4 +9$' peek app1
	holds "$transport: the same for a script" \
		'o["hosts"] == [] and [h["name"] for h in o["cached"]] == ["app1", "app2", "front"] and of(o["cached"], name="app2")["start"] == 17 and "words" not in of(o["cached"], name="front") and of(o["acks"], host="app2") == {"host": "app2", "slot": 1, "by": "app1", "fence": 4, "number": 9}'
	holds "$transport: the one that is named" '[h["name"] for h in o["cached"]] == ["app2"]' app2
	# In the file of the client alone.
	words=4001 rows "$dir/peek.json"
	unread 7 '^app1 +11 +app +unread .* settings that must be equal differ' app1
	rows "$dir/peek.json"
	sed -i 's/"role": "proxy"/"role": "app"/' "$dir/peek.json"
	unread 7 '^front +21 +app +unread .* settings that must be equal differ' front
	end
	rows "$dir/peek.json"
	serve app1 closed
	good "$transport: one that is no member" '^app1 +11 +app +closed +- +- +- +4000 +0 +0 +3 +-$' peek app1
	unread 7 '^app2 +12 +app +unread .* no link: its resex-cached does not run, cannot be reached at ' -w 1
	end
}

transport=shm at11="\"address\": \"$dir/shm\"" at12=$at11 at21=$at11
cached_hosts
# All of the largest, and a member beside it.
at1=$at11
words=1000000 rows "$dir/peek.json" "{ \"name\": \"xen1\", \"number\": 1, $at1 },"
serve app1 beats
unread 7 '^app1 +11 +app +beats +[0-9]+ +3 +7 +1000000 +1000000 +1 +3 +-$' -w 5
unread 7 '^xen1 +1 +unread .* no link: its resexd ' -w 1
end
read -r port1 port2 port3 < <(free_ports 3)
transport=tcp at11="\"address\": \"127.0.0.1\", \"port\": $port1" at12="\"address\": \"127.0.0.1\", \"port\": $port2" at21="\"address\": \"127.0.0.1\", \"port\": $port3"
cached_hosts

echo "test_peek: $checks checks, $wrong wrong"
[ "$wrong" -eq 0 ]
