#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# gate: systemd understands our units, after a proof that it is noticed when not.
set -eu
top=${srcdir:-$(dirname "$0")/../..}
[ -x resexd ] || { echo "units: resexd is not built in $PWD"; exit 77; }
"$top/tests/check-unit-file.sh" --self-test .
"$top/tests/check-unit-file.sh" .
