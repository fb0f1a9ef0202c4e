#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# test_cluster.sh: several resexd on simulated hosts that share state, and resex beside them.
#
#	tests/cli/test_cluster.sh [BUILD]
#
# Each error of a cluster's files; three hosts over shm, of which one is stopped and one dies
# and starts again; a lock that is broken; cluster.json changed while they run; three hosts over
# tcp, and callers without the key.
# Exit: 0, 1 when something was not as it should be, 77 when python3 is missing.
set -u
top=$(cd "${srcdir:-$(dirname "$0")/../..}" && pwd)
build=$(cd "${1:-.}" && pwd)
dir=$(mktemp -d /tmp/resex-cluster-XXXXXX)
chmod 755 "$dir"
# shellcheck source=tests/cli/checks.sh
. "$top/tests/cli/checks.sh"
daemon=(0 "" "" "" "") # by host, from 1
export COLUMNS=900 # tables as wide as they are
key=0123456789abcdef0123456789abcdef

command -v python3 >/dev/null || { echo "test_cluster: python3 was not found; on Debian: apt-get install python3" >&2; exit 77; }

cleanup() {
	local i
	for i in 1 2 3 4; do
		[ -z "${daemon[i]}" ] || kill -KILL "${daemon[i]}" 2>/dev/null
	done
	wait 2>/dev/null
	rm -rf "$dir"
}
trap cleanup EXIT

# Programs that run as nobody must not need to enter the build directory.
cp "$build/resex" "$build/resexd" "$build/takelock" "$dir/"

# resexd HOST OPTION...; resex HOST ARGUMENT...
resexd() { local n=$1; shift; "$dir/resexd" --hv sim -c "$dir/$n/c.json" "$@"; }
resex() { local n=$1; shift; "$dir/resex" -s "$dir/$n/sock" "$@"; }

config() { # HOST [MEMBERS]: its resexd.json
	mkdir -p "$dir/$1/state"
	cat >"$dir/$1/c.json" <<-END
	{ "links": [ { "name": "sim0", "rate": "1GiB/s" } ], "lock_memory": false,
	 "socket": "$dir/$1/sock", "state_dir": "$dir/$1/state", "lock_file": "$dir/$1/lock"${2:+, }${2-} }
	END
}

# cluster HOST TRANSPORT ADDRESS...: its cluster.json, with a host for each address. more: further members; nodes_more: nodes;
# web: further keys of that service; services: further ones.
cluster() {
	local n=$1 transport=$2 i=0 address hosts='' nodes=''
	shift 2
	for address; do
		i=$((i + 1))
		hosts="$hosts${hosts:+,}
  { \"name\": \"xen$i\", \"number\": $i, $address }"
	done
	mkdir -p "$dir/$n"
	[ $i -lt 2 ] || nodes='"nodes": [ { "name": "n2", "number": 3, "host": "xen2", "service": "web", "server": "s2" },
	  { "name": "g", "number": 9, "host": "xen2", "guest": "bulk" },
	  { "name": "none", "number": 4, "host": "xen2", "guest": "nobody" },
	  { "name": "none5", "number": 5, "host": "xen2", "guest": "nobody5" },
	  { "name": "none6", "number": 6, "host": "xen2", "guest": "nobody6" }'"${nodes_more-}"' ],
	 "balance": [ { "service": "web", "socket": "/nonexistent/haproxy.sock"} ],
	 "reconf": { "T": "4s" },'
	cat >"$dir/$n/cluster.json" <<-END
	{ "cluster": "test", "host": "xen$n", "transport": "$transport", "key_file": "$dir/$n/key",
	 "heartbeat": "50ms", "scan": "100ms", "timeout": "1s", "hold": "1s",${more-}
	 "hosts": [$hosts ], ${nodes-}
	 "services": [ { "name": "web", "number": 1${web-} }, { "name": "mail", "number": 2, "balancers": [ "xen1" ] }${services-} ] }
	END
	(umask 077; echo "$key" >"$dir/$n/key")
	config "$n" "\"cluster_file\": \"$dir/$n/cluster.json\""
}

# start HOST: its daemon, until it answers. SIGHUP reloads it, also when this test runs under nohup;
# setsid, lest the terminal sends one when it is closed.
start() {
	setsid env --default-signal=HUP "$dir/resexd" --hv sim -c "$dir/$1/c.json" 2>>"$dir/$1/log" &
	daemon[$1]=$!
	for _ in $(seq 400); do
		kill -0 "${daemon[$1]}" 2>/dev/null || break
		[ "$(COLUMNS=200 resex "$1" list --totals 2>/dev/null | grep -cE ' [1-9][0-9]* +(managed|exempt)$')" -ge 2 ] && return
		sleep 0.05
	done
	echo "not ok: resexd of host $1 did not come up:"
	cat "$dir/$1/log"
	exit 1
}

stop() { # HOST SIGNAL
	kill "-$2" "${daemon[$1]}"
	wait "${daemon[$1]}" 2>/dev/null
	code=$?
	daemon[$1]=
	name="host $1: SIG$2" checks=$((checks + 1))
	[ "$2" = KILL ] || [ "$code" -eq 0 ] || { cp "$dir/$1/log" "$dir/err"; bad "exit status $code"; }
}

# ages HOST STOPPED OTHER: while the one gets 2 s old, the other is never half as old.
ages() {
	python3 -c 'import json, subprocess, sys, time
most, until = 0, time.time() + 60
while time.time() < until:
    said = subprocess.run(sys.argv[1:4] + ["-j", "host-list"], stdout=subprocess.PIPE, check=True).stdout
    age = {h["name"]: h["age_ms"] or 0 for h in json.loads(said)["hosts"]}
    most = max(most, age[sys.argv[5]])
    if age[sys.argv[4]] > 2000:
        sys.exit(2 * most >= age[sys.argv[4]] and "%d ms, and the stopped %s" % (most, age))
    time.sleep(0.01)
sys.exit("it does not get old")' "$dir/resex" -s "$dir/$1/sock" "$2" "$3"
}

in_log() { # HOST PATTERN: it comes
	until_says "$2" cat "$dir/$1/log"
}

# holds NAME EXPRESSION HOST ARGUMENT...: of what resex -j says, o, it is true in python.
holds() {
	local expression=$2 n=$3
	run "$1" "$dir/resex" -s "$dir/$n/sock" -j "${@:4}"
	python3 -S -c 'import json, sys
o = json.load(open(sys.argv[1]))
def of(rows, key, name): return next(r for r in rows if r[key] == name)
sys.exit(not eval(sys.argv[2]))' "$dir/out" "$expression" || bad "not so: $expression"
}

# --- files ----------------------------------------------------------------------------

shm="\"address\": \"$dir/shm\""
mkdir "$dir/shm"
cluster 1 shm "$shm" "$shm" "$shm" "$shm"
good '--check of a cluster' 'c.json: good: .*, host xen1 of 4 in cluster test$' resexd 1 --check
that '--check begins nothing' not test -e "$dir/1/state/generation"

# refused CODE PATTERN: by --check and at the start, in the same words
refused() {
	fails "$1" resexd "$2" resexd 1 --check
	fails "$1" resexd "$2" resexd 1
}
config 1 "\"cluster_file\": \"$dir/none.json\""
refused 4 "$dir/none.json: "
cluster 1 shm "$shm"
sed -i 's/"heartbeat": "50ms"/"heartbeat": "4ms"/' "$dir/1/cluster.json"
refused 4 "cluster.json:2:[0-9]+: heartbeat is "
cluster 1 shm "$shm"
sed -i 's/"cluster"/"frobnicate": 1, "cluster"/' "$dir/1/cluster.json"
refused 4 'cluster.json:1:3: unknown key "frobnicate"'
cluster 1 shm "$shm"
sed -i 's/"host": "xen1"/"host": "xen9"/' "$dir/1/cluster.json"
refused 4 'cluster.json:1:[0-9]+: unknown host "xen9": use a name of hosts\[\]'
cluster 1 shm "$shm"
sed -i 's/"host": "xen1", //' "$dir/1/cluster.json"
refused 4 "this host is called \"$(uname -n | sed 's/[.].*//')\", which is not in hosts\[\]: add it, or give its name"
cluster 1 shm "$shm" "$shm"
sed -i 's/"number": 2, "address"/"number": 1, "address"/' "$dir/1/cluster.json"
refused 4 'number 1 is already used by "xen1": give each host its own'
cluster 1 shm "$shm"
rm "$dir/1/key"
refused 4 "$dir/1/key: the key is missing: make one with \"openssl rand -hex 32\""
(umask 077; echo short >"$dir/1/key")
refused 4 "$dir/1/key: a key has 16 to 256 bytes"
echo "$key" >"$dir/1/key"
chmod 640 "$dir/1/key"
refused 4 "$dir/1/key: other users may read the key: chmod 600 it"
if [ "$(id -u)" -eq 0 ]; then
	chmod 600 "$dir/1/key"
	chown 65534 "$dir/1/key"
	refused 4 "$dir/1/key: another user owns the key: run this as that user, or chown the key"
fi
rm -f "$dir/1/key"
# What only a start finds out.
cluster 1 shm "\"address\": \"$dir/nowhere\""
fails 4 resexd "$dir/nowhere/host-1.sock: .*the folder must be there" resexd 1
that 'a start that cannot serve counts no generation' not test -e "$dir/1/state/generation"
cluster 1 tcp '"address": "127.0.0.1"' '"address": "xen2.example"'
fails 4 resexd 'host "xen2" cannot be called at "xen2.example": give an IP address' resexd 1
cluster 1 shm "$shm"
echo many >"$dir/1/state/generation"
fails 4 resexd "$dir/1/state/generation: the generation must be a number from 0 to 1073741822" resexd 1
rm "$dir/1/state/generation"

# --- alone ----------------------------------------------------------------------------

config 1
start 1
for verb in host-list lock-list load-list 'load-show n2' node-list balance-list 'balance-set web act' 'why -n n2' service-list history 'why-move web' 'list --all-hosts' 'lock-break web'; do
	# shellcheck disable=SC2086
	fails 15 resex 'in no cluster: name a cluster_file in resexd.json' resex 1 $verb
done
config 1 "\"cluster_file\": \"$dir/1/cluster.json\""
kill -HUP "${daemon[1]}"
that 'SIGHUP cannot bring a cluster' in_log 1 'c.json:[0-9]+:[0-9]+: cluster_file cannot change while resexd runs'
stop 1 TERM

# --- three over shm -------------------------------------------------------------------

for n in 1 2 3; do
	cluster $n shm "$shm" "$shm" "$shm" "$shm" # the fourth never comes
	start $n
done
for n in 1 2 3; do
	for other in 1 2 3; do
		[ $n -eq $other ] || that "$n sees $other" until_says "^xen$other +$other +up +yes " resex $n host-list
	done
done
good 'host-list' '^cluster test over shm, view [0-9]+$' resex 1 host-list
good 'itself' '^xen1 +1 +self +yes +[0-9.]+m?s +[1-9][0-9]* +[0-9]+ +2 +freemarket ' resex 1 host-list
good 'one that never came' '^xen4 +4 +down +yes +- .*not seen yet: its resexd does not run' resex 1 host-list
good 'in 80 columns notes are below' '^xen4: not seen yet: its resexd does not run' env COLUMNS=80 "$dir/resex" -s "$dir/1/sock" host-list
that 'and addresses left out, if there is no room' not grep -q ADDRESS <(COLUMNS=80 resex 1 host-list)
that 'no column is wider' test "$(COLUMNS=80 resex 1 host-list | grep -E '^(NAME|xen[1-4] )' | awk 'length > 80' | wc -l)" = 0
that 'a note is there once' test "$(COLUMNS=900 resex 1 host-list | grep -c 'not seen yet')" = 1
good 'what is simulated says so' '^xen2: SIMULATED: none of its guests' resex 1 host-list
good 'list --all-hosts' '^xen2 +bulk +2 +1 +256 ' resex 1 list --all-hosts
good 'its own' '^xen1 +server +1 +1 +256 ' resex 1 list --all-hosts
good 'a host that was not seen is named' '^xen4: down: not seen yet' resex 3 list --all-hosts
that 'guests of three hosts' bash -c "[ \"\$('$dir/resex' -s '$dir/3/sock' list --all-hosts | grep -cE '^xen[123] +(bulk|server) ')\" -eq 6 ]"
that 'list is of one host' not grep -q xen2 <(resex 1 list)
that 'the load of a node is fresh' until_says '^n2 +xen2 +- +fresh +[0-9]+ +[1-9][0-9]* .* ulm ' resex 1 load-list
that 'that of a guest, too' until_says '^g +xen2 +bulk +fresh +[1-9][0-9]* +- +1 +- +hv ' resex 1 load-list
holds 'it is simulated, and was busy' \
	'[n for n in o["nodes"] if n["guest"] == "bulk" and "simulated" in n["flags"] and n["busy_ns"] > 0 and n["running"] is None]' 3 load-list
good 'a guest that is not there is named' '^none +xen2 +nobody +unread .* the guest nobody does not run on xen2$' resex 1 load-list
good 'and in detail' '^number at its host +3$' resex 3 load-show n2
fails 2 resex 'there is no node "n9": see resex node-list' resex 1 load-show n9
good 'node-list' '^n2 +3 +xen2 +- +web +s2 +fresh +- +no +-$' resex 1 node-list
good 'a guest that serves nothing' '^g +9 +xen2 +bulk +- +- +' resex 1 node-list
good 'balance-list' '^web +web +weights +observe +0 +0 +none +- .*/nonexistent/haproxy.sock' resex 1 balance-list
good 'and its servers' '^s2 +n2 +no +- +- +- +0 +0 +0$' resex 1 balance-list -v
good 'balance-set' '^web +web +weights +equal ' resex 1 balance-set web equal
fails 2 resex 'this host does not balance service "mail"' resex 1 balance-set mail act
fails 2 resex 'there is no service "wbe": see resex balance-list' resex 1 balance-set wbe act
fails 2 resex 'mode is "even": give act, observe or equal' resex 1 balance-set web even
fails 2 resex 'balance-set: a service and act, observe or equal are required: see' resex 1 balance-set web
good 'why of a node' '^n2: it takes no part: .*/nonexistent/haproxy.sock' resex 1 why n2
good 'why of a node that serves nothing' '^g: it serves no service: give it a "service"' resex 1 why --node g
good 'why of a guest' '^bulk: ' resex 1 why bulk
fails 3 resex 'there is no guest "n9": see resex list, and no node of this name: see resex node-list' resex 1 why n9
fails 2 resex 'why --node: exactly one node is required' resex 1 why -n
good 'service-list' '^web +1 +1 +[0-9]+ .* - +- +- +xen4 was not read yet: see resex host-list$' resex 1 service-list
good 'why-move' '^web: nothing is decided: xen4 was not read yet' resex 1 why-move web
good 'of a node' '^n2: it stays at web: nothing is decided: xen4' resex 1 why-move n2
fails 2 resex 'there is no service and no node "wbe": see resex service-list' resex 1 why-move wbe
fails 2 resex 'why-move: exactly one service or node is required: see' resex 1 why-move
good 'history' '^TIME +NODE +FROM +TO +WHY +OUTCOME ' resex 1 history --since 10m web
fails 2 resex 'there is no service "wbe"' resex 1 history wbe
fails 2 resex 'history takes at most one service: see' resex 1 history a b
fails 2 resex '"10x" is not 90s, 10m, 2h or 3d' resex 1 history --since 10x
fails 2 resex 'load-show: exactly one node is required' resex 1 load-show
that 'members are those of resex-control(7)' python3 "$top/tests/cli/members.py" --cluster \
	"$top/man/resex-control.7" "$dir/resex" -s "$dir/2/sock"
holds 'MTUs of another host grow' \
	'[g for g in of(o["hosts"], "name", "xen2")["guests"] if g["name"] == "bulk" and g["mtus_sent"] > 0]' 1 list --all-hosts
resex 2 guest-set bulk weight=999 >/dev/null
that 'a setting there is seen here' until_says '^xen2 +bulk +2 +1 +999 ' resex 1 list --all-hosts
resex 3 pause >/dev/null
that 'a pause there is seen here' until_says '^xen3 +bulk .* observed ' resex 1 list --all-hosts
fails 2 resex 'unexpected argument "xen2": see' resex 1 host-list xen2
fails 2 resex 'unexpected argument "web": see' resex 1 lock-list web
fails 2 resex 'unexpected argument "xen2": see' resex 1 list --all-hosts xen2
fails 2 resex 'unknown option "--some-hosts": see resex list --help' resex 1 list --some-hosts
config 1
kill -HUP "${daemon[1]}"
that 'SIGHUP cannot end it' in_log 1 'c.json:[0-9]+:[0-9]+: cluster_file cannot change while resexd runs'
config 1 "\"cluster_file\": \"$dir/1/cluster.json\""
kill -HUP "${daemon[1]}"
that 'the same cluster.json is nothing to tell' in_log 1 'reload: configuration read again'
that 'the same cluster.json is nothing to tell' not grep -q 'has changed' "$dir/1/log"
sed -i 's/"hold": "1s"/"hold": "2s"/' "$dir/1/cluster.json"
kill -HUP "${daemon[1]}"
that 'SIGHUP says what must not change' in_log 1 'cluster.json:[0-9]+:[0-9]+: hold is 1s in force, and must be equal on all hosts: write that, or stop resexd on all of them'
sed -i -e 's/"hold": "2s"/"hold": "1s"/' -e 's/"web", "number": 1/&, "minimum": 2/' "$dir/1/cluster.json"
kill -HUP "${daemon[1]}"
that 'SIGHUP says what puts another cluster.json in force' in_log 1 'cluster.json: has changed .service web: minimum 2, was 1.: resex cluster-reload puts it in force'
echo '{' >"$dir/1/cluster.json"
kill -HUP "${daemon[1]}"
that 'and what is wrong with it' in_log 1 'cluster.json:[0-9]+:[0-9]+: not valid JSON.*correct it before the next start'

cluster 1 shm "$shm" "$shm" "$shm" "$shm"
config 9 "\"cluster_file\": \"$dir/1/cluster.json\""
fails 11 resexd 'host-1.sock: another process serves as host 1 there' resexd 9
that 'nor one whose address is taken' not test -e "$dir/9/state/generation"
good 'the host that serves is not disturbed' '^xen2 +2 +up ' resex 1 host-list

# One is stopped: its memory can be read, but its heartbeat has stopped.
kill -STOP "${daemon[3]}"
that 'a stopped host is silent' until_says '^xen3 +3 +silent +yes .*no heartbeat for [0-9]+\.[0-9] s: its resexd hangs or is stopped' resex 1 host-list
good 'its guests are still listed' '^xen3 +bulk ' resex 1 list --all-hosts
good 'and it is named' '^xen3: silent: no heartbeat for ' resex 1 list --all-hosts
kill -CONT "${daemon[3]}"
that 'and up when it goes on' until_says '^xen3 +3 +up ' resex 1 host-list

# One dies.
holds 'its generation' 'of(o["hosts"], "name", "xen2")["generation"] == 1' 1 host-list
stop 2 KILL
that 'one that is killed is down' until_says '^xen2 +2 +down .*closed the connection; resex events on it may say why' \
	resex 1 host-list
that 'an event says so' until_says ' host +xen2: its memory cannot be read any more: ' resex 1 events
good 'what was known of it' '^xen2 +bulk ' resex 1 list --all-hosts
start 2
that 'it is up again' until_says '^xen2 +2 +up ' resex 1 host-list
that 'with a higher generation' until_says '"generation": 2,' resex 1 -j host-list
that 'an event says so, too' until_says ' host +xen2: its memory can be read, generation 2$' resex 1 events
that 'its guests anew' until_says '^xen2 +bulk +2 +1 +256 ' resex 1 list --all-hosts

# --- locks ----------------------------------------------------------------------------

that 'locks are free, at the lowest member' until_says '^web +1 +xen1 +free +- ' resex 3 lock-list
fails 2 resex 'there is no service "wbe": see resex lock-list' resex 3 lock-break wbe
fails 2 resex 'exactly one service is required: see resex lock-break --help' resex 3 lock-break
fails 2 resex 'exactly one service is required: see resex lock-break --help' resex 3 lock-break web mail
fails 2 resex 'unknown option "--frce": see resex lock-break --help' resex 3 lock-break --frce web
if [ "$(id -u)" -eq 0 ]; then
	fails 1 resex 'the lock of web is not held: nothing to break' resex 3 lock-break web
	that 'the fourth takes a lock and dies' "$dir/takelock" "$dir/1/cluster.json" 4 1 1 1
	that 'it is held' until_says '^web +1 +xen1 +held +xen4 +[1-9]' resex 3 lock-list
	fails 13 resex 'the lock of web was acquired only lately, .*wait, or give --force' resex 3 lock-break web
	good 'it is broken by force' '^web +1 +xen1 +broken +- +[1-9]' resex 3 lock-break web --force
	that 'as the others see' until_says '^web +1 +xen1 +broken +- ' resex 2 lock-list
	fails 1 resex 'the lock of web is not held' resex 2 lock-break --force web
	that 'another one is taken' "$dir/takelock" "$dir/1/cluster.json" 4 1 2 2
	that 'and can be broken without force after a while' until_says '"state": "broken"' \
		"$dir/resex" -s "$dir/1/sock" -j lock-break mail 2>/dev/null
	if as_nobody true 2>/dev/null; then
		chmod 666 "$dir/3/sock" # as a socket_group would let in its members
		fails 8 resex 'lock-break changes something: run it as root' as_nobody "$dir/resex" -s "$dir/3/sock" lock-break web
		good 'others may look' '^xen1 +1 +up ' as_nobody "$dir/resex" -s "$dir/3/sock" host-list
	fi
	# Without its home a lock cannot be acquired, and no caller waits for it for ever.
	stop 1 KILL
	that 'the home is down' until_says '^xen1 +1 +down ' resex 3 host-list
	fails 1 resex 'the lock of web is not held|the lock of web cannot be read: see resex host-list' resex 3 lock-break web
else
	echo "test_cluster: not root: that locks can be broken is not tested"
	stop 1 KILL
fi
stop 2 TERM
that 'one that stops leaves its host too' until_says '^xen2 +2 +down ' resex 3 host-list
stop 3 TERM

# --- another key ----------------------------------------------------------------------

cluster 1 shm "$shm" "$shm"
cluster 2 shm "$shm" "$shm"
(umask 077; echo "${key}x" >"$dir/2/key")
start 1
start 2
that 'another key is an alarm' until_says ' alarm .*key' resex 1 events
good 'and no host' '^xen2 +2 +down ' resex 1 host-list
that 'the key is in no log' not grep -q "$key" "$dir/1/log" "$dir/2/log"
stop 1 TERM
stop 2 TERM

# --- another hold ---------------------------------------------------------------------

cluster 2 shm "$shm" "$shm"
sed -i 's/"hold": "1s"/"hold": "900ms"/' "$dir/2/cluster.json"
start 1
start 2
for n in 1 2; do
	other=$((3 - n)) why='settings that must be equal differ: compare cluster.json on both, see cluster.json\(5\)'
	that "$n shows the other as down, and why" until_says "^xen$other +$other +down +yes .*$why" resex $n host-list
	that "$n has an alarm of it" until_says " alarm +xen$other: host $other .*$why" resex $n events
	that "the log of $n names it" in_log $n "xen$other: host $other .*$why"
done
stop 2 TERM
sed -i 's/"hold": "900ms"/"hold": "1s"/' "$dir/2/cluster.json"
start 2
that 'alike again they see each other' until_says '^xen1 +1 +up ' resex 2 host-list

# --- a generation that was lost -------------------------------------------------------

that 'each other' until_says '^xen2 +2 +up ' resex 1 host-list
generation=$(cat "$dir/2/state/generation")
stop 2 TERM
echo $((generation - 1)) >"$dir/2/state/generation"
start 2
that 'one that begins anew as the same is down, and why' until_says \
	"^xen2 +2 +down .*began anew as generation $generation again: mend its generation file, see cluster.json\\(5\\)" \
	resex 1 host-list
that 'the log names it' in_log 1 "xen2: host 2 .*began anew as generation $generation again"
stop 2 TERM
echo "$generation" >"$dir/2/state/generation"
start 2
that 'with a higher one it is up' until_says '^xen2 +2 +up ' resex 1 host-list
stop 1 TERM
stop 2 TERM

# --- another cluster.json while they run ----------------------------------------------

# change HOST ADDRESS...: another cluster.json, in force there
change() { cluster "$1" shm "${@:2}" && resex "$1" cluster-reload; }
# n_up HOST N: it sees N others; all_agree HOST: of no lock a member has other settings
n_up() { until_says "^$2\$" eval "resex $1 host-list | grep -cE ' up '"; }
all_agree() { until_says '^0$' eval "resex $1 lock-list | grep -vE '^SERVICE| -\$' | grep -c ."; }

if [ "$(id -u)" -eq 0 ]; then
	for n in 1 2 3; do
		cluster $n shm "$shm" "$shm" "$shm"
		start $n
	done
	for n in 1 2 3; do
		that "$n sees the others" n_up $n 2
		that "and they have the same file" all_agree $n
	done
	good 'a file that has not changed' '^cluster.json has not changed$' resex 1 cluster-reload
	fails 2 resex 'unexpected argument "now"' resex 1 cluster-reload now

	# A host is added: on one after the other.
	cluster 1 shm "$shm" "$shm" "$shm" "$shm"
	good 'a dry run tells' '^would change: host xen4 is new$' resex 1 cluster-reload -n
	holds 'and in JSON' 'o["dry_run"] and o["changed"] and of(o["changes"], "number", 4)["kind"] == "host-added"' \
		1 cluster-reload --dry-run
	that 'and changes nothing' not grep -q xen4 <(resex 1 host-list)
	good 'who is to be started' '^then start resexd with the same file on these new hosts: xen4$' resex 1 cluster-reload -n
	good 'who needs it too' '^give these hosts the same file, and run resex cluster-reload there: xen2, xen3$' \
		resex 1 cluster-reload
	good 'it is in force' '^xen4 +4 +down ' resex 1 host-list
	that 'the others say who differs' until_says '^xen1 +1 +up .* its cluster.json has other hosts: give both' \
		resex 2 host-list
	that 'which touches each lock' until_says '^mail .* xen1$' resex 2 lock-list
	fails 1 resex 'the lock of mail is not broken: xen1 has other hosts, or other settings' resex 2 lock-break mail
	for n in 2 3; do
		good "it is in force on $n" '^in force: host xen4 is new$' change $n "$shm" "$shm" "$shm" "$shm"
	done
	that 'an event says that they have the same' \
		until_says ' agreement +xen1: holds the same cluster.json as this host again$' resex 2 events
	cluster 4 shm "$shm" "$shm" "$shm" "$shm"
	start 4
	for n in 1 2 3 4; do
		that "$n sees the others, with the new one" n_up $n 3
		that "and they all have the same file" all_agree $n
	done

	# A service is added, and another one changed: on all but one.
	web=', "minimum": 2' services=', { "name": "cache", "number": 3 }'
	for n in 1 2 4; do
		good "a service is new on $n" '^in force: service cache is new$' change $n "$shm" "$shm" "$shm" "$shm"
	done
	that 'its lock is there' until_says '^cache +3 +xen1 +free ' resex 2 lock-list
	that 'the one with the old file is named' until_says \
		'^xen3 +3 +up .* its cluster.json differs in service web: give both' resex 1 host-list
	that 'and it alone' until_says '^1$' eval "resex 1 host-list | grep -c 'cluster.json differs in'"
	holds 'in JSON' 'of(o["hosts"], "name", "xen3")["agrees"] is False and of(o["hosts"], "name", "xen4")["agrees"]' \
		1 host-list
	that 'the lock is touched' until_says '^web .* xen3$' resex 1 lock-list
	fails 1 resex 'the lock of web is not broken: xen3 has other hosts, or other settings' resex 1 lock-break web
	fails 1 resex 'the lock of web is not held' resex 1 lock-break --force web
	fails 1 resex 'the lock of mail is not held' resex 1 lock-break mail
	good 'it has the same again' '^in force: service web: minimum 2, was 1$' change 3 "$shm" "$shm" "$shm" "$shm"
	that 'no lock is touched' all_agree 1

	# What is refused changes nothing.
	sed -i 's/"hold": "1s"/"hold": "2s"/' "$dir/1/cluster.json"
	fails 4 resex 'cluster.json:[0-9]+:[0-9]+: hold is 1s in force, and must be equal on all hosts: write that, or stop' resex 1 cluster-reload
	services='' cluster 1 shm "$shm" "$shm" "$shm" "$shm"
	fails 4 resex 'cluster.json:[0-9]+:[0-9]+: service "cache" is left out: ' resex 1 cluster-reload
	cluster 1 shm "$shm" "$shm" "$shm"
	fails 4 resex 'cluster.json:[0-9]+:[0-9]+: host "xen4" is up and left out: stop its resexd first' \
		resex 1 cluster-reload --dry-run
	fails 4 resex 'host "xen4" is up and left out' resex 1 cluster-reload
	that 'no lock is touched by it' all_agree 2
	if as_nobody true 2>/dev/null; then
		chmod 666 "$dir/1/sock"
		fails 8 resex 'cluster-reload changes something: run it as root' as_nobody "$dir/resex" -s "$dir/1/sock" cluster-reload
	fi

	# A host is removed: stopped first.
	stop 4 TERM
	for n in 1 2 3; do
		that "$n sees it leave" until_says '^xen4 +4 +down ' resex $n host-list
		good "it is removed on $n" '^in force: host xen4 is left out$' change $n "$shm" "$shm" "$shm"
	done
	for n in 1 2 3; do
		that "the locks are free of it on $n" all_agree $n
		that "$n does not name it" not grep -q xen4 <(resex $n host-list)
	done
	for n in 1 2 3; do
		stop $n TERM
	done
	unset web services
else
	echo "test_cluster: not root: that cluster.json can be changed is not tested"
fi

# --- three over tcp -------------------------------------------------------------------

read -r port1 port2 port3 < <(python3 -c 'import socket
s = [socket.socket() for i in range(3)]
for x in s: x.bind(("127.0.0.1", 0))
print(*(x.getsockname()[1] for x in s))')
nodes_more=', { "name": "n3", "number": 7, "host": "xen3", "service": "web", "server": "s3" },
  { "name": "n8", "number": 8, "host": "xen3", "guest": "server", "service": "mail" }'
for n in 1 2 3; do
	rm -rf "$dir/$n/state"/*
	cluster $n tcp "\"address\": \"127.0.0.1\", \"port\": $port1" "\"address\": \"127.0.0.1\", \"port\": $port2" \
		"\"address\": \"127.0.0.1\", \"port\": $port3"
	start $n
done
that 'they see each other over tcp' until_says '^xen2 +2 +up ' resex 1 host-list
that 'they see each other over tcp' until_says '^xen1 +1 +up ' resex 2 host-list
good 'by its name' '^cluster test over tcp, ' resex 1 host-list
that 'guests of the other' until_says '^xen1 +server ' resex 2 list --all-hosts
that 'locks' until_says '^web +1 +xen1 +free ' resex 2 lock-list
that 'a move could be begun' until_says '^node n3 would be asked to go to mail$' resex 2 move --dry-run n3 mail
good 'and is not' '^n3 +7 +xen3 +- +web +s3 ' resex 2 node-list
good 'a node is moved' '^node n3 serves mail$' resex 2 move n3 mail
that 'its host keeps it' until_says '^7 2 [0-9]+ [0-9]+$' cat "$dir/3/state/nodes"
for n in 1 2 3; do
	that "as host $n sees" until_says '^n3 +7 +xen3 +- +mail +s3 ' resex $n node-list
done
fails 1 resex 'resex: n3 serves mail already$' resex 2 move n3 mail
fails 1 resex 'resex: n2 is not moved: web keeps its minimum of 1 node, and has 1: move another node to it first' resex 1 move n2 mail
fails 2 resex 'there is no node "n9": see resex node-list' resex 1 move n9 mail
fails 2 resex 'move: exactly one node and one service are required' resex 1 move n3
that 'it is in the history' until_says ' n3 +web +mail +order +moved ' resex 2 history
that 'with all that is known of it' until_says '^fence of to.s lock +[0-9]+\.[0-9]+$' resex 2 history -v
good 'also of its phases' '^locks released +[0-9.]+[mu]?s$' resex 2 history -v
good 'and who decided' '^by +operator$' resex 2 history --verbose mail
not_wide() { resex 2 history -v | awk 'length > 80 { exit 1 }'; }
that 'in 80 columns' not_wide
holds 'and for programs' 'o["moves"][-1]["host"] == "xen2" and 0 < o["moves"][-1]["held_us"] < o["moves"][-1]["released_us"]' \
	2 history
that 'and in the events' until_says ' reconf +moved node n3 from web to mail \(order\)' resex 2 events
rm "$dir/2/state/history.jsonl" && mkdir "$dir/2/state/history.jsonl"
that 'it goes back' until_says '^node n3 serves web$' resex 2 move n3 web
history_says() { resex 2 history 2>&1; }
that 'a history that cannot be written says so' until_says 'history.jsonl is not written: Is a directory: make room, or move away' history_says
rmdir "$dir/2/state/history.jsonl"
that 'and again to mail' until_says '^node n3 serves mail$' resex 2 move n3 mail
that 'the next one is written' until_says '"outcome":"moved"' cat "$dir/2/state/history.jsonl"
good 'all are shown' ' n3 +mail +web +order +moved ' resex 2 history
holds 'and nothing is wrong any more' 'o["note"] == "" and len(o["moves"]) == 3' 2 history
good 'a node is fixed' '^node n3 is fixed: this host does not move it$' resex 2 node-fix n3 on
good 'on this host' '^n3 +7 +xen3 +- +mail +s3 +[a-z]+ +- +yes ' resex 2 node-list
good 'and on no other' '^n3 +7 +xen3 +- +mail +s3 +[a-z]+ +- +no ' resex 1 node-list
fails 1 resex 'n3 is not moved: an operator has fixed it on this host: run resex node-fix n3 off first$' resex 2 move n3 web
good 'and says why' 'an operator has fixed it on this host' resex 2 why-move n3
good 'it is released' '^node n3 is not fixed on this host$' resex 2 node-fix n3 off
good 'and may go' '^node n3 would be asked to go to web$' resex 2 move --dry-run n3 web
fails 2 resex 'node-fix: a node and on or off are required' resex 2 node-fix n3
fails 2 resex '"yes" is not on or off' resex 2 node-fix n3 yes
fails 2 resex 'there is no node "n9": see resex node-list' resex 2 node-fix n9 on
good 'a service is set' ' priority=3\(0\),high=2000\(1500\) ' resex 2 service-set web high=2000 priority=3
good 'which the list shows' '^web .* priority=3\(0\),high=2000\(1500\) ' resex 2 service-list
holds 'both values' '[s["configured"]["high"] for s in o["services"] if s["high"] == 2000] == [1500]' 2 service-list
good 'of this host alone' '^web .* - +-$' resex 1 service-list
fails 6 resex 'low 900 of "web" is not below its high, 800: write a lower low, or a higher high$' \
	resex 2 service-set web high=800
fails 6 resex 'minimum: other hosts count on it: write it into cluster.json of all hosts' resex 2 service-set web minimum=0
fails 2 resex '"high" is not KEY=VALUE, such as share=4' resex 2 service-set web high
fails 2 resex 'service-set: a service and at least one KEY=VALUE are required' resex 2 service-set web
good 'a reload ends it' '^in force: service web as in cluster.json, no longer priority 3, high 2000, which an operator has set$' \
	resex 2 cluster-reload
good 'and then nothing' '^cluster.json has not changed$' resex 2 cluster-reload
good 'moves are paused' '^moves of nodes by this host: pause$' resex 2 reconf pause
that 'which the list says' until_says 'an operator has paused it: resex reconf observe' resex 2 service-list
holds 'and shows' 'o["mode"] == "pause"' 2 service-list
fails 2 resex 'reconf: observe, act or pause is required' resex 2 reconf
fails 2 resex 'mode is "on": give observe, act or pause' resex 2 reconf on
stop 3 KILL
start 3
for n in 1 2 3; do
	that "a restart leaves it where it is, as host $n sees" until_says '^n3 +7 +xen3 +- +mail +s3 ' resex $n node-list
done
lose() { # n3's host starts again, and its file is damaged
	stop 3 KILL
	echo >>"$dir/3/state/nodes"
	start 3
}
lose
that 'a damaged file is an event' until_says ' reconf +.*/nodes is damaged: the nodes of this host are in no service' resex 3 events
that 'its node is in no service' until_says '^n3 +7 +xen3 +- +- +s3 .* it is in no service: its host had lost' resex 2 node-list
good 'and why' '^n3: it is in no service, and goes on as before: .*resex move n3 SERVICE does$' resex 2 why-move n3
that 'mode observe notes who would adopt it' until_says ' n3 +- +mail +adopt +observed ' resex 1 history
good 'moves are made' '^moves of nodes by this host: act$' resex 1 reconf act
for n in 1 2 3; do
	that "it is adopted, as host $n sees" until_says '^n3 +7 +xen3 +- +mail +s3 ' resex $n node-list
done
that 'by the service that it was in last' until_says ' n3 +- +mail +adopt +moved ' resex 1 history
that 'and in the events' until_says ' reconf +node n3 was in no service, and serves mail \(adopt\)' resex 1 events
that 'its host keeps it' until_says '^7 2 [0-9]+ [0-9]+$' cat "$dir/3/state/nodes"
good 'moves are noted' '^moves of nodes by this host: observe$' resex 1 reconf observe
lose
that 'it is in no service again' until_says '^n3 +7 +xen3 +- +- +s3 ' resex 2 node-list
that 'an order could be begun' until_says '^node n3 would be asked to go to web$' resex 2 move --dry-run n3 web
good 'an order adopts it, too' '^node n3 serves web$' resex 2 move n3 web
that 'its host keeps that' until_says '^7 1 [0-9]+ [0-9]+$' cat "$dir/3/state/nodes"
stop 1 KILL
that 'one that hung up is down, and where to look' until_says '^xen1 +1 +down .*closed the connection; resex events on it may say why' \
	resex 2 host-list
that 'one that is killed is down' until_says '^xen1 +1 +down .*[a-z] [a-z]' resex 2 host-list
start 1
that 'and up again' until_says '^xen1 +1 +up ' resex 2 host-list
# tcp needs the other's process: a stopped one cannot be read at all, and delays no other.
that 'the third is up' until_says '^xen3 +3 +up ' resex 2 host-list
kill -STOP "${daemon[1]}"
that 'a stopped host makes no other old' ages 2 xen1 xen3
that 'a stopped host is down' until_says '^xen1 +1 +down .*answer' resex 2 host-list
kill -CONT "${daemon[1]}"
that 'and up when it goes on' until_says '^xen1 +1 +up ' resex 2 host-list
stop 2 TERM
stop 3 TERM

# --- callers without the key -----------------------------------------------------------------------

foe() { python3 "$top/tests/cli/foe.py" 127.0.0.1 "$port1" test "$key" 2 1 "$1"; }
strangers() { [ "$(resex 1 events | grep -Ec ' alarm +a caller: .*says it is host')" -ge 1 ]; }
that 'who holds the key and comes with a generation above the last one is refused' foe above
that 'which is an alarm with the way out' until_says \
	' alarm +xen2: host 2 was refused: it comes with a generation above 1073741823, the last one: mend' \
	resex 1 events
that 'who holds the key and reads too far is refused' foe bounds
that 'which is an alarm of that host' until_says \
	' alarm +xen2: host 2 was refused 4096 bytes at 1048576 of part 0: it ends before' resex 1 events
that 'who says many numbers and proves none' foe numbers
that 'its alarm is of a caller' strangers
that 'and as no host' not eval "resex 1 events | grep -Eq ' alarm +host [0-9]+:'"
that 'hides no other event' eval "resex 1 events | grep -Eq ' members +xen1: view '"
stop 1 TERM

echo "test_cluster: $checks checks, $wrong wrong"
[ "$wrong" -eq 0 ]
