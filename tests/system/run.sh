#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# run.sh [NAME...]: run all or the named system scenarios on real Xen and real verbs,
# under QEMU's emulation; --list shows them. One line each; exits 0 only if all passed.
#
#	BUILD                build directory of the programs under test (./build)
#	RESEX_TESTBED_DIR    where images and logs are kept (~/.cache/resex-testbed)
#	RESEX_DEEP=1         as --deep
#	CI=true              what is missing is an error; elsewhere it is a skip, exit 77
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(realpath "${BUILD:-$here/../../build}")
work=${RESEX_TESTBED_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/resex-testbed}

absent() {
	echo "system: $1"
	[ "${CI:-}" = true ] && exit 1
	exit 77
}

program=run.py
if [ "${1:-}" = --demo ]; then # ./dev demo --real
	program=real.py
	shift
fi
case " $* " in
*" -h "* | *" --help "*) exec python3 -B "$here/$program" --help ;;
esac
[ "${1:-}" = --list ] && exec python3 "$here/run.py" --list
[ "$(uname -m)" = x86_64 ] || absent "the test bed runs on x86-64 only"
mkdir -p "$work"
work=$(realpath "$work")
options=()
[ $program = real.py ] || options=(--snapshots "$work/snapshots" --build "$build")
exec 9>"$work/.lock"
flock -n 9 || { echo "system: waiting for another run in $work"; flock 9; }

"$here/deps.sh" || absent "what the test bed needs is not installed"
"$here/fetch-root.sh" "$work/root" >"$work/fetch.log" 2>&1 ||
	{ tail -n 5 "$work/fetch.log"; absent "Debian's packages could not be fetched: see $work/fetch.log"; }

# The images are made anew when the packages or the scripts that make them changed.
stamp=$(cat "$work/root/.complete" "$here/images.py" "$here/cpio.py" | sha256sum)
if [ "$(cat "$work/images/.stamp" 2>/dev/null)" != "$stamp" ]; then
	rm -rf "$work/images"
	python3 -B "$here/images.py" "$work/root" "$work/images"
	echo "$stamp" >"$work/images/.stamp"
fi
python3 -B "$here/overlay.py" "$build" "$work/images"
exec python3 -B "$here/$program" --images "$work/images" --logs "$work/logs" "${options[@]}" "$@"
