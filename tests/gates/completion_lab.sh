#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# gate: bash completion offers each experiment and option of the resex-lab just built.
set -eu
top=${srcdir:-$(dirname "$0")/../..}
# shellcheck source=/dev/null
. "$top/etc/bash-completion/resex-lab"
program=$PWD/resex-lab
[ -x "$program" ] || { echo "completion: resex-lab is not built in $PWD"; exit 77; }
# shellcheck disable=SC2317 # the completion calls it
resex-lab() { "$program" "$@"; }

# expect WANTED WORD...: what is offered for the last word of "resex-lab WORD..."
expect() {
	local wanted=$1
	shift
	COMP_WORDS=(resex-lab "$@") COMP_CWORD=$#
	_resex_lab
	[ "${COMPREPLY[*]}" = "$wanted" ] && return
	echo "completion: for '$*' offers '${COMPREPLY[*]}', not '$wanted'"
	exit 1
}

expect 'figures load reconf replay sweep --help --version' ''
expect 'figures' f
expect '--paper --out --duration --seed --jobs --json --help --version' figures 9 ''
expect 'load' l
expect '--seed --seeds' load --see
expect '--nodes --cpus --frontends --clients --rate --burst --think --alpha --single --workload --scan --slice --loaded --wake-first --duration --seed --seeds --figures --json --help --version' load ''
expect 'resex reconf' figures -p re
expect 'rubis' load -w r
expect '--alpha' load -j --a
expect '--alpha' load --seeds 3 --a
expect '--shares --bursts --apart --over --cpus --only --priority --minimum --guarantee --maximum --clients --scan --checks --high --low --margin --rest --freeze --budget --without --op --duration --seed --seeds --figures --json --help --version' reconf ''
expect 'rest reversal' reconf -w re
expect '--maximum --margin' reconf --apart --ma
expect '--policy --set --json --help --version' replay -
expect 'ioshares' replay -p i

# After an option that takes a value no option is offered.
for experiment in figures load reconf replay sweep; do
	for option in $("$program" "$experiment" --help | sed -n 's/^  \(-.\), \(--[a-z-]*\) [A-Z].*/\1 \2/p'); do
		expect '' "$experiment" "$option" --
	done
done
