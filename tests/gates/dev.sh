#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# gate: ./dev refuses what it does not have, with the names of what it has; and packages that it
# installs do not start their services, after which the machine's own policy is as it was.
set -eu
top=$(cd "${srcdir:-$(dirname "$0")/../..}" && pwd)
[ -x "$top/dev" ] || { echo "dev: a tarball has no ./dev"; exit 77; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0
wrong() { echo "dev: $*"; failed=1; }

refuses() { # PATTERN ARGUMENT...
	pattern=$1
	shift
	if "$top/dev" "$@" >"$tmp/out" 2>&1; then
		wrong "./dev $* is not refused"
	else
		grep -q "$pattern" "$tmp/out" || wrong "./dev $*: no \"$pattern\" in: $(cat "$tmp/out")"
	fi
}

refuses 'there is no subcommand "nosuch": see ./dev help' nosuch
refuses 'unit takes the name of a configuration: .*asan' unit
refuses 'no configuration "nosuch": give one of .*asan' unit nosuch
refuses 'unit takes a name, and --build or nothing' unit gcc --nosuch
refuses 'kmod takes one version of Linux, or none' kmod 6.1 6.2
refuses 'check takes no "nosuch"' check nosuch
refuses '^dev: demo takes no "nosuch": see ./dev demo --help$' demo nosuch
refuses '^dev: demo takes one of -j --test --wide: see ./dev demo --help$' demo -j --wide
refuses '^dev: demo --hosts takes no "--wide": see ./dev demo --help$' demo --hosts --wide
refuses '^dev: demo --cache takes no "nosuch": see ./dev demo --help$' demo --cache nosuch
refuses 'there is no target nosuch: see ./dev fuzz --list' fuzz nosuch
refuses 'there is no row nosuch: see ./dev model --list' model nosuch

# Instead of dpkg-query and apt-get: no package is there, and what would be installed sees the policy.
policy=$tmp/policy-rc.d
printf '#!/bin/sh\nexit 1\n' >"$tmp/dpkg-query"
cat >"$tmp/apt-get" <<-EOT
	#!/bin/sh
	[ "\$1" != install ] || { cat "$policy" >>"$tmp/seen" 2>&1; test ! -e "$tmp/fails"; }
EOT
chmod +x "$tmp/dpkg-query" "$tmp/apt-get"

installs() { # what the policy says meanwhile, and afterwards ("": there is none)
	rm -f "$tmp/seen"
	PATH=$tmp:$PATH RESEX_POLICY_RC=$policy "$top/dev" deps >"$tmp/out" 2>&1 || [ -e "$tmp/fails" ] ||
		wrong "deps fails: $(cat "$tmp/out")"
	grep -q "$1" "$tmp/seen" || wrong "while packages are installed the policy is no \"$1\""
	if [ -n "$2" ]; then
		grep -q "$2" "$policy" || wrong "afterwards the policy is no \"$2\""
	else
		[ ! -e "$policy" ] || wrong "afterwards there is a policy: $(cat "$policy")"
	fi
}

if [ "$(id -u)" = 0 ]; then
	installs 'exit 101' ''
	touch "$tmp/fails"
	installs 'exit 101' ''
	rm "$tmp/fails"
	printf '#!/bin/sh\nexit 104\n' >"$policy" # of the machine
	installs 'exit 104' 'exit 104'
	printf '#!/bin/sh\n# made by ./dev for the time of an installation\nexit 101\n' >"$policy" # of one that was killed
	installs 'exit 101' ''
else
	PATH=$tmp:$PATH refuses 'these packages are missing; as root: apt-get install ' deps
fi
exit $failed
