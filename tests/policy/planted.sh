#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# planted.sh: an error in any one rule of the second implementation is found by compare.py.
set -eu
exec "${srcdir:-$(dirname "$0")/../..}/tests/policy/compare.py" --planted
