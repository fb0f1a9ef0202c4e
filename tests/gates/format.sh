#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# gate: .clang-format is followed (that it can fail is shown by size.sh).
set -eu
top=${srcdir:-$(dirname "$0")/../..}
"$top/tests/check-size.sh" format "$top"
