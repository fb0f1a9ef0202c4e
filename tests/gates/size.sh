#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# gate: sizes of functions, files and lines, after a proof that it can fail.
set -eu
top=${srcdir:-$(dirname "$0")/../..}
"$top/tests/check-size.sh" --self-test "$top"
"$top/tests/check-size.sh" "$top"
