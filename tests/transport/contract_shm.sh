#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The contract suite, on shm.
exec ./tests/transport/contract shm
