#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# examples.sh OUT [PAGE]...: the packages in OUT (build.sh) are installed in a Debian 12 of their own, in
# OUT/examples, and the examples of all pages, or of these, are run there (examples.py). As root, on Debian 12,
# whose archive is asked for OUT/base once.
# examples.sh --list: which examples there are, and what each needs and does (examples.rows).
#
# systemd runs there, in namespaces. resexd has the simulated host, or fake_xen.c.
# shellcheck disable=SC2154 # root.sh sets it
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
[ "${1-}" != --list ] || exec python3 "$here/examples.py" "$top" --list
out=$(cd "${1:?usage: examples.sh OUT [PAGE]...}" && pwd)
shift
# shellcheck disable=SC2034 # root.sh reads them
root=$out/examples hostname=xen1
# shellcheck source=tests/deb/root.sh
. "$here/root.sh"

[ "$(id -u)" = 0 ] || die "run it as root: it makes a root of its own"
ls "$out"/resexd_*.deb >/dev/null 2>&1 || die "there are no packages in $out: run ./dev deb first"
make_base
start_root
mkdir -p "$root/debs" "$root/pages" "$root/run-example" "$root/srv/sources/tests/cache" "$root/srv/sources/tests/cli"
debs | xargs cp -t "$root/debs"
cp "$top"/man/*.[1-8] "$root/pages"
cp -r "$top/etc" "$root/srv/sources"
cp "$top/tests/cache/check.py" "$root/srv/sources/tests/cache"
cp "$top/tests/cli/httplog.txt" "$root/srv/sources/tests/cli"
cp "$here/world.sh" "$root"
chmod 777 "$root/run-example" # commands are those of two users
gcc -shared -fPIC -O1 -Wall -Wextra -Werror -o "$root/usr/local/lib/fake_xen.so" "$here/fake_xen.c"
for address in 127.0.0.1/8 10.0.0.{1,2,3,9,11,12,21,30}/32; do
	nsenter -t "$init" -n ip address add "$address" dev lo 2>/dev/null || true
done
nsenter -t "$init" -n ip link set lo up
check "installs" in_root sh -c 'dpkg -i /debs/*.deb'
[ "$failed" = 0 ] || exit 1
python3 "$here/examples.py" "$top" --run "$root" "$init" "$@"
