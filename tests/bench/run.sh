#!/bin/bash
# What ./dev bench runs. Figures are ratios against a peer in the same run; nothing is judged.
set -euo pipefail
cd "$(dirname "$0")/../.."
exec "${BUILD:-build}/resex-bench" "$@"
