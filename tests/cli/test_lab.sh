#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# test_lab.sh: resex-lab as people use it: its command line, its two outputs, the same again.
#
#	tests/cli/test_lab.sh [BUILD]
#
# Exit: 0, 1 when something was not as it should be, 77 when python3 is missing.
set -u
top=$(cd "${srcdir:-$(dirname "$0")/../..}" && pwd)
build=$(cd "${1:-.}" && pwd)
dir=$(mktemp -d /tmp/resex-lab-XXXXXX)
trap 'rm -rf "$dir"' EXIT
# shellcheck source=tests/cli/checks.sh
. "$top/tests/cli/checks.sh"

command -v python3 >/dev/null || { echo "test_lab: python3 was not found; on Debian: apt-get install python3" >&2; exit 77; }

lab() { "$build/resex-lab" "$@"; }
short() { lab load --duration 1 --seeds 1 "$@"; }

# member EXPRESSION: of the JSON in $dir/out, as o
# shellcheck disable=SC2317 # that() calls it
member() { python3 -c "import json,sys; o = json.load(open(sys.argv[1])); sys.exit(not ($1))" "$dir/json"; }

good help 'load --help' lab --help
good 'help of load' 'SIMULATED' lab load --help
good version '^resex-lab [0-9]' lab -V
good 'version of load' '^resex-lab [0-9]' lab load -V
fails 2 resex-lab '"" is no experiment' lab
fails 2 resex-lab '"shed" is no experiment' lab shed
fails 2 resex-lab 'nodes 65: give a whole number from 1 to 64' lab load -n 65
fails 2 resex-lab 'alpha 0.5: give a whole' lab load --alpha 0.5
fails 2 resex-lab 'loaded 9: there are only 8' lab load -l 9
fails 1 resex-lab 'give a larger --scan than 1$' lab load --single 1 --scan 1
fails 2 resex-lab 'frob' lab load --frob
fails 2 resex-lab 'more' lab load more

good 'first line' '^This cluster is SIMULATED: 8 nodes of 2 CPUs, 8 front-ends, 32 clients$' short
head -n 1 "$dir/out" | grep -q SIMULATED || bad "its first line does not say that it is simulated"
cp "$dir/out" "$dir/first"
grep -q '^ULM, stale: the loads are many service times old, so all nodes are equal (' "$dir/out" || bad "it does not say why"
good 'the same again' '^KLM' short
cmp -s "$dir/first" "$dir/out" || bad "another output"
good 'another seed' '^KLM' short -s 2
! cmp -s "$dir/first" "$dir/out" || bad "the same output"

json 'all members' short -j
cp "$dir/out" "$dir/json"
that 'it says that it is simulated, first' member 'list(o)[0] == "simulated" and o["simulated"] is True'
that 'each policy has a row' member 'len(o["policies"]) == 8 and o["policies"][3]["tps"] == o["klm_tps"]'
that 'the demo finds its members' member 'all(o[k] > 0 for k in ("random_tps", "round_robin_tps", "ulm_tps",
 "klm_tps", "hv_tps", "bound_tps", "random_variance", "klm_variance", "stale_default_tps", "stale_round_robin_tps"))'
that 'no policy is above the bound' member 'all(p["tps"] < o["bound_tps"] for p in o["policies"])'
json 'open loop' short -j --rate 1000
cp "$dir/out" "$dir/json"
that 'an open loop has no bound' member 'o["bound_tps"] is None and o["cluster"]["clients"] == 0 and
 all(900 < p["tps"] < 1100 for p in o["policies"][:5])'
good 'bursts' ' 1000 requests a second$' short --rate 1000 --burst 4
json 'one file of 4 KB' short -j --single 4
cp "$dir/out" "$dir/json"
that 'it costs the same each time' member 'abs(o["cluster"]["service_ms"] - 0.3) < 1e-6'
fails 2 resex-lab 'workload shop: give zipf, worldcup or rubis' lab load --workload shop
json 'RUBiS' short -j -w rubis
cp "$dir/out" "$dir/json"
that '26 interactions, 15 % of the requests write' member 'o["cluster"]["kinds"] == 26 and o["cluster"]["clients"] == 4000
 and 0.12 < o["cluster"]["writes"] < 0.18'
good 'World Cup' '^KLM' short -w worldcup
good 'Zipf is the default' '^KLM' short -w zipf
cmp -s "$dir/first" "$dir/out" || bad "it is not"
json 'loaded nodes, first come' short -j --loaded 2 --slice 0 --think 5 -c 8 -f 2 -C 1 -n 3 -a 900 -x 10
cp "$dir/out" "$dir/json"
that 'options are in force' member 'o["bound_tps"] is None and o["cluster"]["nodes"] == 3 and o["cluster"]["loaded_nodes"] == 2 and
 o["cluster"]["alpha"] == 0.9'
mkdir "$dir/figures"
good 'figures' '^SIMULATED: figures 5, 6, 8 and 9' short -o "$dir/figures"
for n in 5 6 8 9; do
	good "figure $n" '^# SIMULATED' head -n 1 "$dir/figures/figure$n.dat"
	# Six columns everywhere, under the heads.
	that "columns of figure $n" awk 'NR > 2 && NF != 6 { exit 1 } END { exit NR < 6 }' "$dir/figures/figure$n.dat"
done
good 'loads that are scanned often are worth more' '^[0-9]' awk 'NR == 3 { often = $5 } NR == 9 && $5 < often' \
	"$dir/figures/figure9.dat"
fails 1 resex-lab 'figures.gp cannot be written to "/nonexistent": No such' short -o /nonexistent
! command -v gnuplot >/dev/null || (cd "$dir/figures" && gnuplot figures.gp 2>"$dir/err" && [ -s figure9.svg ]) ||
	bad "gnuplot does not draw them"

echo "test_lab: $checks checks, $wrong wrong"
[ "$wrong" -eq 0 ]
