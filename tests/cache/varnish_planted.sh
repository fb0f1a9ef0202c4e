#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# varnish_planted.sh: an error in any one line of etc/cache/resex.vcl is found by varnish.py.
set -eu
# What is wrong does not come: no need to wait for it as long as on a busy machine.
RESEX_PATIENCE=4 exec "${srcdir:-$(dirname "$0")/../..}/tests/cache/varnish.py" --plant
