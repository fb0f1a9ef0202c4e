# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154 # dir is its user's
# checks.sh: checks for the tests of the programs, which source it with $dir set. A check is a
# command and its expected result; a failed one is printed with its output, and counted.
checks=0 wrong=0

bad() {
	wrong=$((wrong + 1))
	echo "not ok: $name: $1"
	sed 's/^/	out: /' "$dir/out"
	sed 's/^/	err: /' "$dir/err"
}

run() { # NAME COMMAND...: sets name, code, and the files out and err
	name=$1
	shift
	checks=$((checks + 1))
	"$@" >"$dir/out" 2>"$dir/err" </dev/null
	code=$?
}

# good NAME PATTERN COMMAND...: ends with 0, says nothing on stderr, and the pattern on stdout.
good() {
	local pattern=$2 name=$1
	shift 2
	run "$name" "$@"
	if [ "$code" -ne 0 ]; then bad "exit status $code"
	elif [ -s "$dir/err" ]; then bad "it spoke on stderr"
	elif ! grep -Eq -- "$pattern" "$dir/out"; then bad "no $pattern in its output"
	fi
}

# json NAME COMMAND...: ends with 0 and prints one JSON document.
json() {
	run "$@"
	if [ "$code" -ne 0 ]; then bad "exit status $code"
	elif [ -s "$dir/err" ]; then bad "it spoke on stderr"
	elif ! python3 -S -m json.tool "$dir/out" >/dev/null 2>"$dir/err"; then bad "its output is not JSON"
	fi
}

# fails CODE PROGRAM PATTERN COMMAND...: that exit status, nothing on stdout, one line with the
# pattern on stderr.
fails() {
	local want=$1 program=$2 pattern=$3
	shift 3
	run "$*" "$@"
	if [ "$code" -ne "$want" ]; then bad "exit status $code, not $want"
	elif [ -s "$dir/out" ]; then bad "it spoke on stdout"
	elif [ "$(wc -l <"$dir/err")" -ne 1 ]; then bad "its error is not one line"
	elif ! grep -q "^\(<[0-7]>\)\?$program: " "$dir/err"; then bad "its error does not begin with $program:"
	elif ! grep -Eq -- "$pattern" "$dir/err"; then bad "no $pattern in its error"
	fi
}

that() { # NAME COMMAND...: it ends with 0
	run "$@"
	[ "$code" -eq 0 ] || bad "exit status $code"
}

not() { ! "$@"; }

until_says() { # PATTERN COMMAND...: runs the command until it prints the pattern; else shows its last output
	local pattern=$1 said=
	shift
	for _ in $(seq 600); do
		said=$("$@")
		grep -Eq -- "$pattern" <<<"$said" && return
		sleep 0.05
	done
	printf 'no line fits "%s" in:\n%s\n' "$pattern" "$said"
	return 1
}

as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
