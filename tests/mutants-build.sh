# SPDX-License-Identifier: GPL-2.0-or-later
# mutants-build.sh: builds and runs unit tests from the tree in $tmp. mutants.sh reads it.
# shellcheck shell=sh disable=SC2154 # CC and tmp are mutants.sh's

# build TEST: from the tree as it is now; objects there already are kept. An
# archive, since tests of the sampler bring their own scan_guest.
build() {
	# shellcheck disable=SC2046
	set -- "$1" $(find src ibmon policies tests/fakes tests/fakeverbs tests/unit/unit.c -name '*.c' ! -path "ibmon/agent/*" ! -path "ibmon/report/*" ! -path "ibmon/rings/*" | sort) \
		ibmon/agent/book.c ibmon/agent/load_page.c ibmon/agent/pages_file.c ibmon/agent/nldev.c ibmon/agent/pagemap.c ibmon/agent/procs.c ibmon/agent/qpns.c ibmon/agent/track*.c ibmon/agent/wanted.c \
		ibmon/agent/queue_entry.c ibmon/agent/queue_tables.c ibmon/agent/proc.c ibmon/agent/maps.c ibmon/rings/queue_list.c
	test=$1
	shift
	objs=
	for f in "$@" "tests/unit/test_$test.c"; do
		case $f in
		src/cacheload/main.c | src/auction/*) continue ;;
		src/cacheload/*) case $test in cacheload_*) ;; *) continue ;; esac ;;
		src/appcache/*) [ "$test" = appcache ] || continue ;;
		src/cluster/history*) case $test in cacheload_*) continue ;; esac ;; # it has its own
		src/transport/verbs/reaper.c) ;; # without verbs
		src/lab/main.c | src/cached/main.c) continue ;;
		src/sql/*) case $test in sql | sql_*) ;; *) continue ;; esac ;; # others need no database
		src/cli/quantity.c | src/cli/table.c | src/cli/doctor*.c) ;;
		src/cli/top_grid.c | src/cli/top_layout.c | src/cli/top_list.c | src/cli/top_model.c) ;;
		src/cli/* | src/daemon/* | src/kmod/* | src/peek/* | src/vmod/* | src/hv/xen/* | src/transport/verbs/*) continue ;;
		tests/fakeverbs/*) case $test in golden_mlx*) ;; *) continue ;; esac ;; # only over a real provider
		tests/fakes/fake_haproxy.c) case $test in cluster_balances | cluster_roles | cluster_agent) ;; *) continue ;; esac ;;
		src/reconf/act_haproxy.c) case $test in cluster_balances | cluster_roles | cluster_agent) continue ;; esac ;; # they have the fake one
		tests/fakes/fake_cluster.c) case $test in control | control_cluster | control_reconf) ;; *) continue ;; esac ;;
		src/cluster/*) case $test in control | control_cluster | control_reconf) continue ;; esac ;; # they have the fake one
		src/benchex/hello.c | src/benchex/merge.c | src/benchex/number.c | src/benchex/option_rows.c | \
		src/benchex/options.c | src/benchex/price.c | src/benchex/profile.c | src/benchex/result.c | \
		src/benchex/trace.c) ;; # those without verbs
		src/benchex/*) continue ;;
		tests/fakes/fake_node.c) [ "$test" = cached_proxy ] || continue ;; # others have the real one
		src/cached/node.c) [ "$test" != cached_proxy ] || continue ;;
		tests/fakes/fake_app.c) case $test in cached_api | cached_http) ;; *) continue ;; esac ;;
		src/cached/app*.c | src/cached/proxy.c) case $test in cached_api | cached_http) continue ;; esac ;; # they have the fake one
		tests/fakes/fake_transport.c) [ "${test%_nodes}" = peers ] || continue ;; # others have the real one
		src/transport/*) [ "${test%_nodes}" != peers ] || continue ;;
		esac
		o=$tmp/obj/$(echo "$f" | tr / _).o
		[ -f "$o" ] ||
			$CC -std=gnu11 -D_GNU_SOURCE -DHAVE_CONFIG_H -O1 -w -I. -Iinclude -DGOLDEN_DIR="\"$top/tests/golden\"" -DRESEX_RUNDIR='"/run/resex"' -DRESEX_CONFDIR='"/etc/resex"' \
				-DRESEX_STATEDIR='"/var/lib/resex"' -DRESEX_PLUGINDIR='"/usr/lib/resex/policies"' -DPACKAGE_VERSION='"0.0"' -I/usr/include/postgresql -MMD -MF "${o%.o}.d" -c -o "$o" "$f" || return 1
		objs="$objs $o"
	done
	verbs=
	case $test in golden_mlx*) verbs='-libverbs -Wl,--export-dynamic' ;; esac
	rm -f "$tmp/lib.a"
	# shellcheck disable=SC2086
	ar crs "$tmp/lib.a" $objs && $CC -o "$tmp/test_$test" "$o" "$tmp/lib.a" \
		-lcmocka -ljansson -luuid -lisal -lnettle -levent_extra -levent_core -lpq -lsqlite3 -lcurl -lpthread -lm $verbs
}

# forget FILE: the objects that are made of it; of a header, those whose dependencies name it.
forget() {
	case $1 in
	*.h) { grep -lF "$1" "$tmp"/obj/*.d || true; } | sed 's/d$/o/' | xargs -r rm -f ;;
	*) rm -f "$tmp/obj/$(echo "$1" | tr / _).o" ;;
	esac
}

# run_tests TESTS: 0 when all pass.
run_tests() {
	for t in $1; do
		build "$t" >"$tmp/out" 2>&1 || return 2
		(cd "$tmp/tree" && timeout 60 "../test_$t") >"$tmp/out" 2>&1 || return 1
	done
}
