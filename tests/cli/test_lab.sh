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
# As short, of a small cluster: for what makes many requests.
small() { short -n 4 -f 4 -C 1 -c 16 "$@"; }

# member EXPRESSION: of the JSON in $dir/out, as o
# shellcheck disable=SC2317 # that() calls it
member() { python3 -c "import json,sys; o = json.load(open(sys.argv[1])); sys.exit(not ($1))" "$dir/json"; }

good help 'load --help' lab --help
good 'help of load' 'SIMULATED' lab load --help
good version '^resex-lab [0-9]' lab -V
good 'version of load' '^resex-lab [0-9]' lab load -V
run 'no experiment' lab
[ "$code" -eq 2 ] && [ ! -s "$dir/out" ] && grep -q '^Usage: resex-lab EXPERIMENT' "$dir/err" || bad "no usage on stderr"
good 'help of figures' 'SIMULATED' lab figures --help
fails 2 resex-lab 'figure 10: give numbers from 1 to 9, or none for all' lab figures 9 10
fails 2 resex-lab 'figure 4x: give numbers' lab figures 4x
fails 2 resex-lab 'duration 3: give a whole number from 4 to 3600' lab figures -d 3
fails 2 resex-lab 'paper auction: give resex, load or reconf' lab figures -p auction
fails 2 resex-lab 'paper cache: its figures are not simulated' lab figures --paper cache
fails 2 resex-lab 'paper load: all its figures are drawn, .* give only' lab figures 4 --paper load
fails 2 resex-lab 'paper reconf: all its figures' lab figures --paper reconf -d 5
touch "$dir/file"
fails 1 resex-lab 'cannot be written to .*: Not a directory' lab figures 6 -o "$dir/file/figures"
fails 1 resex-lab 'cannot be written to .*: Not a directory' lab figures 6 -o "$dir/file"
good 'a figure' '^ *6 .*Resos  *624288' lab figures 6 -d 4 -o "$dir/six"
# shellcheck disable=SC2317 # that() calls it
only() { [ "$(cd "$dir/six" && find . -type f ! -name '*.png' | sort | tr '\n' ' ')" = "$1 " ]; }
that 'its files are there, and no others' only './figure6.csv ./figure6.svg ./figures.gp ./report.html'
# shellcheck disable=SC2317 # good() calls it
without_gnuplot() { PATH=/nowhere lab "$@"; }
good 'without gnuplot it says so' '^There are no PNGs: gnuplot drew none' without_gnuplot figures 6 -d 4 -o "$dir/six"
good 'help of sweep' 'SIMULATED' lab sweep --help
fails 2 resex-lab 'no scenario: give files' lab sweep
fails 2 resex-lab 'caps 5,3: give up to 15 whole percentages' lab sweep -c 5,3 "$top/etc/scenarios/paper.json"
fails 2 resex-lab 'caps 100: give' lab sweep -c 100 "$top/etc/scenarios/paper.json"
fails 2 resex-lab './paper: another scenario is called paper, too: rename one' lab sweep "$top/etc/scenarios/paper.json" ./paper
for name in $'\xff' $'\e[31m' "$(printf '%064d' 0)"; do
	fails 2 resex-lab '" cannot name results: rename the file: at most 63 bytes before' lab sweep "$dir/$name.json"
done
fails 4 resex-lab 'No such file' lab sweep "$dir/none.json"
echo '{"guests":[{"name":"a","apps":[{"kind":"sender"}]}]}' >"$dir/lonely.json"
fails 4 resex-lab 'lonely.json cannot be swept: it has no server' lab sweep "$dir/lonely.json"
echo '{"duration":"500ms", // a comment
 "guests":[{"name":"s","apps":[{"kind":"server"}]},{"name":"b","apps":[{"kind":"sender","size":"2MiB"}]},
 {"name":"b2","apps":[{"kind":"sender","size":"2MiB"}]}]}' >"$dir/pair.json"
swept() { lab sweep -c 2,50 "$@" "$dir/pair.json"; }
good 'a sweep' '^cap 2, in turn .* \*$' swept -o "$dir/swept"
that 'its files are there' [ -s "$dir/swept/pair.svg" ]
that 'its rows are columns' python3 -c 'import csv, sys; r = list(csv.reader(open(sys.argv[1])))[1:]; sys.exit(len(r) != 10 or {len(x) for x in r} != {11})' "$dir/swept/pair.csv"
COLUMNS=80 good 'in 80 columns' '^RUN +MEAN-US  OVER-%  RECOVERED-%  b-MB/S  GIVEN-UP-%  FRONTIER-%$' swept
mv "$dir/out" "$dir/table"
that 'no line is longer' not grep -E '.{81}' "$dir/table"
COLUMNS=200 good 'a wide one has all columns' '^RUN +MEAN-US  P99-US  OVER-%  RECOVERED-%  b-MB/S  b2-MB/S  GIVEN-UP-%  FRONTIER-%$' swept
cp "$dir/pair.json" "$dir/<&.json"
good 'a name with signs of XML' '^<&: s alone takes' lab sweep -c 50 -o "$dir/swept" "$dir/<&.json"
that 'its picture is XML' python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$dir/swept/<&.svg"
json 'a sweep as JSON' swept -J 1 -j
cp "$dir/out" "$dir/json"
that 'JSON has what the table has' member 'o["simulated"] and [r["run"] for r in o["scenarios"][0]["rows"]][:3] == ["null", "cap 2", "cap 2, in turn"] and
 set(o["scenarios"][0]["rows"][0]["sent"]) == {"b", "b2"}'
json 'the same by four processes' swept -J 4 -j
cp "$dir/out" "$dir/four"
that 'the same bytes' cmp -s "$dir/four" "$dir/json"
json 'another seed' swept -s 9 -j
that 'other bytes' [ "$(cmp -s "$dir/out" "$dir/json"; echo $?)" = 1 ]
fails 2 resex-lab 'unknown experiment "shed": see resex-lab --help' lab shed
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
json 'nodes with other processes' short -j --loaded 4 --wake-first
cp "$dir/out" "$dir/json"
that 'they have no bound' member 'o["bound_tps"] is None and o["cluster"]["clients"] == 32'
good 'nor in the table' '^KLM' short --loaded 4
! grep -q 'No policy can serve more' "$dir/out" || bad "it shows a bound"
good 'bursts' ' 1000 requests a second$' short --rate 1000 --burst 4
json 'one file of 4 KB' small -j --single 4
cp "$dir/out" "$dir/json"
that 'it costs the same each time' member 'abs(o["cluster"]["service_ms"] - 0.3) < 1e-6'
fails 2 resex-lab 'workload shop: give zipf, worldcup, rubis or log:FILE' lab load --workload shop
fails 2 resex-lab 'workload zipf: it was given as rubis before: give one' lab load -w rubis -w zipf
fails 2 resex-lab 'single: --workload rubis says which requests come' lab load -w rubis -k 4
fails 2 resex-lab 'rate 1000000: 16 CPUs serve at most 16000 of these requests a second: give at most 32000' lab load -r 1000000
fails 2 resex-lab 'at most 32000, or more --nodes' lab load -r 32001
json 'RUBiS' short -j -w rubis
cp "$dir/out" "$dir/json"
that '26 interactions, 15 % of the requests write' member 'o["cluster"]["kinds"] == 26 and o["cluster"]["clients"] == 4000
 and 0.12 < o["cluster"]["writes"] < 0.18'
good 'World Cup' '^KLM' small -w worldcup
good 'Zipf is the default' '^KLM' short -w zipf
cmp -s "$dir/first" "$dir/out" || bad "it is not"
json 'loaded nodes, first come' short -j --loaded 2 --slice 0 --think 5 -c 8 -f 2 -C 1 -n 3 -a 900 -x 10
cp "$dir/out" "$dir/json"
that 'options are in force' member 'o["bound_tps"] is None and o["cluster"]["nodes"] == 3 and o["cluster"]["loaded_nodes"] == 2 and
 o["cluster"]["alpha"] == 0.9'
mkdir "$dir/figures"
good 'figures' '^ *5  KLM over random, alpha 0.1, % .*  22$' small -o "$dir/figures"
for n in 4:5 5:6 6:6 7:9 8:6 9:6; do
	good "figure ${n%:*}" '^# SIMULATED' head -n 1 "$dir/figures/figure${n%:*}.dat"
	# As many columns everywhere, under the heads.
	that "columns of figure ${n%:*}" awk -v n="${n#*:}" 'NR > 2 && NF != n { exit 1 } END { exit NR < 6 }' \
		"$dir/figures/figure${n%:*}.dat"
done
json 'figures as JSON' small -j -o "$dir/figures"
cp "$dir/out" "$dir/json"
that 'ours and those of the paper' member 'list(o)[0] == "simulated" and len(o["figures"]) == 10 and
 {f["figure"] for f in o["figures"]} == {4, 5, 7, 8} and all(f["here"] > 0 and f["paper"] for f in o["figures"])'
fails 2 resex-lab 'figures: they are of Zipf' short -o "$dir/figures" -w rubis
fails 2 resex-lab 'give at least 16 --clients' short -o "$dir/figures" -c 15
good 'loads that are scanned often are worth more' '^[0-9]' awk 'NR == 3 { often = $5 } NR == 9 && $5 < often' \
	"$dir/figures/figure9.dat"
fails 1 resex-lab 'figures.gp cannot be written to "/nonexistent": No such' short -o /nonexistent
! command -v gnuplot >/dev/null || (cd "$dir/figures" && gnuplot figures.gp 2>"$dir/err" && [ -s figure9.svg ] && [ -s figure4.svg ] && [ -s figure7.svg ]) ||
	bad "gnuplot does not draw them"

# A log that a real HAProxy wrote (tests/cli/httplog.txt says how).
log=$top/tests/cli/httplog.txt
good 'a log' '^This cluster is SIMULATED: .* requests of a log in ' lab load -S 1 -w "log:$log"
json 'a log as JSON' lab load -S 1 -j -w "log:$log"
cp "$dir/out" "$dir/json"
that 'each line of the log is counted' member "o['log']['requests'] + o['log']['unanswered'] + o['log']['other_lines'] == $(wc -l <"$log")"
that 'requests, and some that no server answered' member 'o["log"]["requests"] > 100 and o["log"]["unanswered"] >= 2 and
 o["log"]["other_lines"] >= 1 and o["bound_tps"] is None and o["cluster"]["service_ms"] > 0.5'
{ cat "$log"; echo 'x [26/Nov/2026:03:15:09.655] www web/n1 1/2/3 --'; } >"$dir/tcplog"
fails 1 resex-lab "tcplog:$(($(wc -l <"$log") + 1)): its times are not TR/Tw/Tc/Tr/Ta" lab load -w "log:$dir/tcplog"
fails 1 resex-lab '/nonexistent: No such file' lab load -w log:/nonexistent
fails 2 resex-lab 'clients: --workload log:x says which requests come: leave one' lab load -c 3 -w log:x

# Nodes that move between sites.
reconf() { lab reconf --duration 1 --seeds 1 "$@"; }
good 'help of reconf' 'SIMULATED' lab reconf --help
good 'version of reconf' '^resex-lab [0-9]' lab reconf -V
fails 2 resex-lab 'shares 3: give the nodes of 2 to 8 sites' lab reconf -k 3
fails 2 resex-lab 'shares 3:x: give' lab reconf --shares 3:x
fails 2 resex-lab 'shares 30:3: .* at most 32 nodes' lab reconf --shares 30:3
fails 2 resex-lab 'bursts 512,0: give up to 16 lengths' lab reconf -b 512,0
fails 2 resex-lab '"hom" is no rule' lab reconf --without rest,hom
fails 2 resex-lab 'over 9: there are only 8' lab reconf --over 9
fails 2 resex-lab 'low 2000: give less than --high, which is 2000' lab reconf -L 2000
fails 2 resex-lab 'scan 200: a lease of .* give at least 240' lab reconf --scan 200
fails 2 resex-lab 'checks 2: give a whole number from 3' lab reconf --checks 2
fails 2 resex-lab 'frob' lab reconf --frob
fails 2 resex-lab 'more' lab reconf more
good 'first line of reconf' '^These clusters are SIMULATED: 128 clients, ' reconf -k 2:2:2:2 -b 512,8192 -o "$dir/figures"
head -n 1 "$dir/out" | grep -q SIMULATED || bad "its first line does not say that it is simulated"
cp "$dir/out" "$dir/first"
good 'the same moves again' '^A move put out ' reconf -k 2:2:2:2 -b 512,8192
cmp -s "$dir/first" "$dir/out" || bad "another output"
that 'columns of QoS and chains' awk 'FNR > 2 { rows++; if (NF != (FILENAME ~ /qos/ ? 21 : 10)) exit 1 } END { exit rows != 100 }' \
	"$dir/figures/qos.dat" "$dir/figures/chains.dat"
for file in bursts-4 busy-4-512 busy-4-8192; do
	good "figure $file" '^# SIMULATED' grep SIMULATED "$dir/figures/$file.dat"
	that "columns of $file" awk '!/^#/ && !/^"/ { rows++; if (NF != 4) exit 1 } END { exit rows < 2 }' "$dir/figures/$file.dat"
done
! command -v gnuplot >/dev/null || (cd "$dir/figures" && gnuplot reconf.gp 2>"$dir/err" && [ -s bursts-4.svg ] && [ -s busy-4-512.svg ]) ||
	bad "gnuplot does not draw them"
fails 1 resex-lab 'reconf.gp cannot be written to "/nonexistent": No such' reconf -k 1:1 -b 64 -o /nonexistent
json 'moves as JSON' reconf -j -b 8192
cp "$dir/out" "$dir/json"
that 'it says that it is simulated, first, and has its members' member 'list(o)[0] == "simulated" and o["simulated"] is True and
 all(o[k] > 0 for k in ("rigid_tps", "over_tps", "reconf_tps", "equal_rigid_tps", "equal_reconf_tps")) and o["equal_moves"] >= 0'
that 'both clusters of the paper' member '[(c["shares"], c["over_nodes"]) for c in o["clusters"]] == [("3:3:2", 6), ("2:2:2:2", 5)] and
 o["clusters"][1]["bursts"][0]["reconf"] == o["reconf_tps"]'
that 'what a move put out' member '0 < o["move"]["reads"] <= 20 and o["move"]["cas"] <= 7 and o["move"]["faa"] == 1'
that 'QoS and chains' member '[v["variant"] for v in o["chains"]] == ["rigid", "any site", "without chains", "chains"] and
 o["qos"][2]["variant"] == "priority" and o["qos"][2]["high"]["tps"] > 2 * o["qos"][0]["high"]["tps"] and
 o["qos"][2]["low"]["nodes"] == 1 and o["chains"][3]["taker"]["nodes"] > o["chains"][2]["taker"]["nodes"] and
 0 < o["qos"][2]["changed_ms"] < 50'
that 'predictions' member 'o["forecasts"]["moves"] == 20 <= o["forecasts"]["clusters"] and
 all(o["forecasts"][k]["within_20_percent"] >= 0.8 and o["forecasts"][k]["half"] < 0.2 for k in ("taker", "donor"))'
fails 2 resex-lab 'priority 8: give numbers from 0 to 7' lab reconf -P 8
fails 2 resex-lab 'minimum 0: give numbers from 1' lab reconf -M 0
fails 2 resex-lab 'minimum 3 of site 2: it has only 2 of --shares' lab reconf -k 2:2 -M 1:3
fails 2 resex-lab 'maximum 1 of site 1: give at least its --minimum, which is 2' lab reconf -M 2 -X 1
fails 2 resex-lab 'guarantee 4 of site 1: give at most its --maximum, which is 3' lab reconf -G 4 -X 3
fails 2 resex-lab 'guarantee 9 of site 1: .* which is 8' lab reconf -G 9
fails 2 resex-lab 'cpus 2:65: give the CPUs' lab reconf -C 2:65
fails 2 resex-lab 'only 1:9: give the numbers of the sites' lab reconf --only 1:9
fails 2 resex-lab 'only: node 2 begins in site 1' lab reconf -k 2:2 --only 0:2
fails 2 resex-lab "the papers' rule knows nothing of it" lab reconf -k 2:2 --only 1 -w paper
json 'the rule of the papers' reconf -j -k 2:2:2:2 -b 512 --without paper
cp "$dir/out" "$dir/json"
that 'it thrashes' member 'o["equal_moves"] > 100 and o["equal_reconf_tps"] < 0.96 * o["equal_rigid_tps"] and o["plan"]["without"] == "paper"'
json 'options of reconf are in force' reconf -j -k 1:2:1 -b 256 -i -v 3 -c 64 -t 2000 -T 5 -H 3000 -L 500 -m 100 -r 70 -f 90 -B 4 -p 20 -s 5 \
	-C 1:4 -O 12:0:23 -P 1:0:2 -M 1:2 -G 2 -X 3:4
cp "$dir/out" "$dir/json"
that 'all of them' member '(lambda p, c: (p["clients"], p["bursts_apart"], p["scan_ms"], p["checks"], p["high"], p["low"], p["margin"],
 p["rest_ms"], p["freeze_ms"], p["budget"], p["budget_ms"], p["operation_us"], p["first_seed"], p["seeds"], c["shares"], c["over_nodes"],
 [n["cpus"] for n in c["each_node"]], [n["only"] for n in c["each_node"]], [s["priority"] for s in c["each_site"]],
 [s["minimum"] for s in c["each_site"]], [s["guarantee"] for s in c["each_site"]], [s["maximum"] for s in c["each_site"]]) ==
 (64, True, 2, 5, 3000, 500, 0.1, 70, 90, 4, 1000, 20, 5, 1, "1:2:1", 3,
 [1, 4, 2, 2], [3, 0, 6, 0], [1, 0, 2], [1, 2, 1], [2, 0, 0], [3, 4, 0]))(o["plan"], o["clusters"][0])'

echo "test_lab: $checks checks, $wrong wrong"
[ "$wrong" -eq 0 ]
