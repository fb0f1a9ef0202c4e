#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# deps.sh: install what the test bed needs on the machine that runs it (Debian 12).
# Silent and quick when all of it is there. Exit 77: missing and not to be had.
set -euo pipefail
packages=(qemu-system-x86 mmdebstrap binutils kmod python3)

missing=()
for p in "${packages[@]}"; do
	dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null | grep -qx installed || missing+=("$p")
done
[ ${#missing[@]} -eq 0 ] && exit 0
if [ "$(id -u)" != 0 ]; then
	echo "the test bed needs ${missing[*]}: as root, apt-get install ${missing[*]}" >&2
	exit 77
fi
export DEBIAN_FRONTEND=noninteractive
if ! { apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}"; } >/dev/null; then
	echo "apt-get could not install ${missing[*]}: look at its message above" >&2
	exit 77
fi
