#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# gate: layers. First that the checker can fail, then that the tree is clean,
# then that what was just built calls nothing that it may not.
set -eu
top=${srcdir:-$(dirname "$0")/../..}
"$top/tests/check-layers.sh" --self-test "$top"
"$top/tests/check-layers.sh" "$top"
[ -f libcore.a ] || exit 0
"$top/tests/check-layers.sh" --archives .
"$top/tests/check-layers.sh" --tick .
"$top/tests/check-layers.sh" --circles .
