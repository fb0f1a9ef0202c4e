#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# gate: the picture of the architecture in README.md fits the tree and the table of layers, and that of
# the demo is a screen; after a proof that it is noticed when they do not.
set -eu
top=${srcdir:-$(dirname "$0")/../..}
command -v python3 >/dev/null || { echo "pictures: python3 was not found"; exit 77; }
python3 "$top/etc/pictures/pictures.py" --self-test
python3 "$top/etc/pictures/pictures.py" --check "$top"
