#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# broken.sh: with any one rule of the shared state broken, vt finds what it prevents.
set -eu
exec tests/shared/vt --broken all --seed 1 --schedules "${RESEX_SCHEDULES:-60000}"
