#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# gate: bash completion offers each verb of the program just built, and guests as they are named.
set -eu
top=${srcdir:-$(dirname "$0")/../..}
# shellcheck source=/dev/null
. "$top/etc/bash-completion/resex"
program=$PWD/resex
[ -x "$program" ] || { echo "completion: resex is not built in $PWD"; exit 77; }

# Without a daemon: answers are given here.
# shellcheck disable=SC2317 # the completion calls it
resex() {
	asked=$*
	[ "$1" != -s ] || shift 2
	echo "$asked" >said
	case $* in
	--help) "$program" --help ;;
	*\ --help) "$program" "$@" ;;
	list) printf '%s\n' 'NAME ID' 'web 1' 'bulk$(touch${IFS}hit) 2' ;;
	node-list) printf '%s\n' 'NODE NUMBER' 'n1 1' ;;
	service-list) printf '%s\n' 'SERVICE NODES' 'shop 3' 'mail 1' ;;
	balance-list) printf '%s\n' 'SERVICE BACKEND' 'shop be' ;;
	doctor\ --list) "$program" doctor --list ;;
	policy-list) printf '%s\n' 'NAME IN-FORCE' 'null no' 'freemarket yes' ;;
	policy-show*) printf '%s\n' "$2 (active): what it does" 'PARAMETER VALUE' 'low 100' ;;
	*) echo "resex: unexpected $*" >&2; return 2 ;;
	esac
}

# expect WANTED WORD...: what is offered for the last word of "resex WORD..."
expect() {
	local wanted=$1
	shift
	COMP_WORDS=(resex "$@") COMP_CWORD=$#
	_resex
	[ "${COMPREPLY[*]}" = "$wanted" ] && return
	echo "completion: for '$*' offers '${COMPREPLY[*]}', not '$wanted'"
	exit 1
}

expect 'policy-list policy-show policy-set policy-check' policy-
expect 'web' why w
expect 'web bulk\$\(touch\$\{IFS\}hit\)' -j -s /run/sock guest-show ''
[ ! -e hit ]
grep -qx -- '-s /run/sock list' said || { echo "completion: -s is not passed on"; exit 1; }
expect 'low=' policy-set freemarket ''
expect 'n1' why n
expect 'shop' balance-set ''
expect 'shop mail n1' why-move ''
expect 'shop mail' history ''
expect 'act observe equal' balance-set shop ''
expect 'n1' node-fix n
expect 'on off' node-fix n1 o
expect 'shop' service-set sh
expect 'share=' service-set shop sh
expect '--node --json --socket --help --version' why --
expect '--follow' events --f
expect '--kind' events --k
expect '' events --lines ''
expect '--undo' cap-release --u
expect '--undo --json --socket --help --version' cap-release --
expect 'web' -s/run/sock why w
grep -qx -- '-s /run/sock list' said || { echo "completion: -sSOCKET is not passed on"; exit 1; }
expect 'web' --socket = /run/sock why w
grep -qx -- '-s /run/sock list' said || { echo "completion: --socket=SOCKET is not passed on"; exit 1; }
expect 'rings reports' doctor --cap-test web r
expect 'web' doctor --cap-test w
expect '--cap-test' doctor --c
expect 'help' help he
expect 'freemarket' policy-set free
expect '' events -n ''
expect '' top -n ''
expect '' top -d ''
expect 'mtus-sent mtus-recv' top -o mt
expect 'cap capped' top --sort = cap
# Every verb that the program has, and no other word.
COMP_WORDS=(resex '') COMP_CWORD=1
_resex
for verb in "${COMPREPLY[@]}"; do
	case $verb in --*) continue ;; esac
	"$program" -s /nonexistent/socket "$verb" x x x >/dev/null 2>said || true # no daemon
	! grep -q 'unknown verb' said || { echo "completion: offers $verb, which resex does not know"; exit 1; }
done
rm -f said
[ "${#COMPREPLY[@]}" -ge 10 ]

# With a daemon, the tables that the program really prints.
[ -x resexd ] || exit 0
dir=$(mktemp -d /tmp/resex-completion-XXXXXX)
printf '{ "links": [ { "name": "sim0", "rate": "1GiB/s" } ], "lock_memory": false,
	"socket": "%s/sock", "state_dir": "%s", "lock_file": "%s/lock" }\n' "$dir" "$dir" "$dir" >"$dir/c.json"
./resexd --hv sim -c "$dir/c.json" 2>/dev/null &
daemon=$!
trap 'kill $daemon; wait $daemon; rm -rf "$dir"' EXIT
resex() { "$program" "$@"; }
for _ in $(seq 100); do
	"$program" -s "$dir/sock" list 2>/dev/null | grep -q bulk && break
	sleep 0.05
done
expect 'server bulk' -s "$dir/sock" why ''
expect 'freemarket' -s "$dir/sock" policy-show free
expect 'step=' -s "$dir/sock" policy-set freemarket st
