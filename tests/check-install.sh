#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# check-install.sh BUILD: what make install puts where, and that make uninstall takes it away.
# BUILD is configured as ./dev build does: for /usr, with Xen.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
version=$(sed -n 's|^AC_INIT(\[resex\],\[\([^]]*\)\]).*|\1|p' "$here/../configure.ac")
module=/usr/src/resex-loadmon-$version # where DKMS looks
build=$(cd "${1:?usage: check-install.sh BUILD}" && pwd)

expected() {
	cat <<'END'
/usr/bin/benchex
/usr/bin/resex
/usr/bin/resex-auction
/usr/bin/resex-cacheload
/usr/bin/resex-lab
/usr/bin/resex-peek
/usr/include/resex/agent_socket.h
/usr/include/resex/cache.h
/usr/include/resex/flow.h
/usr/include/resex/ibmon.h
/usr/include/resex/policy.h
/usr/include/resex/report.h
/usr/include/resex/units.h
/usr/lib/libibmon.so
/usr/lib/libibmon.so.0
/usr/lib/libresex-cache.a
/usr/lib/libresex-report.a
/usr/lib/libresex-rings.so
/usr/lib/pkgconfig/resex-cache.pc
/usr/lib/pkgconfig/resex-ibmon.pc
/usr/lib/pkgconfig/resex-policy.pc
/usr/lib/pkgconfig/resex-report.pc
/usr/lib/systemd/system/resex-agent.service
/usr/lib/systemd/system/resex-cached.service
/usr/lib/sysusers.d/resex-cached.conf
/usr/lib/sysusers.d/resexd.conf
/usr/lib/systemd/system/resexd.service
/usr/sbin/resex-agent
/usr/sbin/resex-cached
/usr/sbin/resexd
/usr/lib/udev/rules.d/60-resex.rules
/usr/share/bash-completion/completions/benchex
/usr/share/bash-completion/completions/resex
/usr/share/bash-completion/completions/resex-agent
/usr/share/bash-completion/completions/resex-auction
/usr/share/bash-completion/completions/resex-cached
/usr/share/bash-completion/completions/resex-cacheload
/usr/share/bash-completion/completions/resex-lab
/usr/share/bash-completion/completions/resex-peek
/usr/share/bash-completion/completions/resexd
/usr/share/doc/resex/examples/cached-app.json
/usr/share/doc/resex/examples/cached-proxy.json
/usr/share/doc/resex/examples/cluster-cache.json
/usr/share/doc/resex/examples/auction-guard-sqlite.sql
/usr/share/doc/resex/examples/auction-guard.sql
/usr/share/doc/resex/examples/auction-sqlite.sql
/usr/share/doc/resex/examples/auction.sql
/usr/share/doc/resex/examples/cache.c
/usr/share/doc/resex/examples/cluster-web.json
/usr/share/doc/resex/examples/cluster.json
/usr/share/doc/resex/examples/ice-like.trace
/usr/share/doc/resex/examples/ibmon/Makefile
/usr/share/doc/resex/examples/ibmon/count.c
/usr/share/doc/resex/examples/ibmon/simple.c
/usr/share/doc/resex/examples/policy/Makefile
/usr/share/doc/resex/examples/policy/limit.c
/usr/share/doc/resex/examples/report.c
/usr/share/doc/resex/examples/resex.vcl
/usr/share/doc/resex/examples/resexd.json
/usr/share/doc/resex/examples/two-hosts/cluster.json
/usr/share/doc/resex/examples/two-hosts/resexd.json
/usr/share/doc/resex/examples/two-hosts/run
/usr/share/resex/cache/schema-sqlite.sql
/usr/share/resex/cache/schema.sql
END
	echo "$(pkg-config --variable=vmoddir varnishapi)/libvmod_resex.so"
	printf '%s\n' "$module"/{Kbuild,dkms.conf,loadmon.c} "$module"/include/resex/{load,loadmon,region}_abi.h
	(cd "$here/../etc/scenarios" &&
		printf '/usr/share/doc/resex/examples/scenarios/%s\n' ./*.json | sed 's|\./||')
	# A page for each that stands in man/, and a file for each policy.
	(cd "$here/../man" && for page in *.[1-9]; do echo "/usr/share/man/man${page##*.}/$page"; done)
	(cd "$here/../policies" && printf '/usr/share/resex/policies/%s\n' ./*.json | sed 's|\./||')
}

installed() {
	(cd "$dest" && find . ! -type d | sed 's/^\.//' | LC_ALL=C sort)
}

same_list() {
	diff -u --label expected --label installed <(expected | LC_ALL=C sort) <(installed)
}

programs_run() {
	for program in "$dest"/usr/bin/* "$dest"/usr/sbin/*; do
		"$program" --version || return 1
	done
}

example_is_right() {
	"$dest/usr/sbin/resexd" --hv sim --check -c "$dest/usr/share/doc/resex/examples/resexd.json" || return
	for scenario in "$dest"/usr/share/doc/resex/examples/scenarios/*.json; do
		"$dest/usr/sbin/resexd" --hv sim --check --scenario "$scenario" || return
	done
	PATH=$dest/usr/bin:$dest/usr/sbin:$PATH "$dest/usr/share/doc/resex/examples/two-hosts/run" host-list
}

# Copies whose programs are those just installed, since systemd looks for them.
units_are_right() {
	mkdir "$tmp/units"
	for unit in "$dest"/usr/lib/systemd/system/*.service; do
		sed "s|/usr/sbin/|$dest&|" "$unit" >"$tmp/units/${unit##*/}"
	done
	said=$(systemd-analyze verify --man=no "$tmp"/units/*.service 2>&1) && [ -z "$said" ] ||
		{ echo "$said"; return 1; }
}

# Whoever has the headers of a kernel builds the module of what is installed; its name is DKMS's.
module_is_whole() {
	grep -qx "PACKAGE_VERSION=\"$version\"" "$dest$module/dkms.conf" || return
	printf '%s\n' "$dest$module"/include/resex/*.h | while read -r header; do
		echo "#include \"$header\""
	done >"$tmp/headers.c"
	# Without this tree: each header finds the others.
	cc -std=gnu11 -Wall -Wextra -Werror -I"$dest$module/include" -c -o "$tmp/headers.o" "$tmp/headers.c"
}

# flags LIBRARY: what a compiler needs for it. (In a sysroot pkg-config would put $dest before the
# folders of other libraries, too.)
flags() {
	PKG_CONFIG_PATH=$dest/usr/lib/pkgconfig PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 PKG_CONFIG_ALLOW_SYSTEM_LIBS=1 \
		pkg-config --define-variable=prefix="$dest/usr" --define-variable=exec_prefix="$dest/usr" \
		--define-variable=libdir="$dest/usr/lib" --define-variable=includedir="$dest/usr/include" \
		--cflags --libs "$1"
}

# The example serves its page and says that nobody caches it.
cache_library_serves() {
	flags=$(flags resex-cache) || return
	for language in c c++; do
		# shellcheck disable=SC2086 # flags are words
		clang -x $language -Wall -Wextra -Werror -o "$tmp/example" \
			"$dest/usr/share/doc/resex/examples/cache.c" -x none $flags || return
		RESEX_CACHE_SOCKET=/nonexistent/sock "$tmp/example" 2>&1 | grep -q '^the page is not cached: ' || return
	done
}

# As a user of the library builds, in both languages; the example runs until it is ended.
library_serves() {
	flags=$(flags resex-report) || return
	for language in c c++; do
		# shellcheck disable=SC2086 # flags are words
		clang -x $language -Wall -Wextra -Werror -o "$tmp/example" \
			"$dest/usr/share/doc/resex/examples/report.c" -x none $flags || return
		RESEX_AGENT_SOCKET=/nonexistent/sock timeout 0.3 "$tmp/example"
		[ $? = 124 ] || return
	done
}

# The template of a policy, against the headers that were installed and nothing of this tree.
compile_policy() { # INCLUDE-DIR
	(cd "$tmp" && cc -std=c11 -Wall -Wextra -Werror -I"$1" -c -o policy.o policy.c)
}

policy_compiles_alone() {
	cp "$here/../policies/null.c" "$tmp/policy.c"
	compile_policy "$dest/usr/include"
}

# The example as its reader would build it: by the installed headers, pkg-config and Makefile. It is
# tried and installed; what resexd then says of it comes from the file itself.
policy_example_decides() {
	local at=$tmp/example-policy scenario=$dest/usr/share/doc/resex/examples/scenarios/paper.json out
	cp -r "$dest/usr/share/doc/resex/examples/policy" "$at"
	sed "s|^prefix=.*|prefix=$dest/usr|; s|=/usr/|=$dest/usr/|" "$dest/usr/lib/pkgconfig/resex-policy.pc" >"$at/resex-policy.pc"
	out=$(PATH=$dest/usr/sbin:$PATH PKG_CONFIG_PATH=$at make -s -C "$at" CFLAGS='-std=c11 -O2 -Wall -Wextra -Werror' \
		SCENARIO="$scenario" try) || { echo "$out"; return 1; }
	grep -q '"policy": *"limit"' <<<"$out" || { echo "$out"; return 1; }
	PKG_CONFIG_PATH=$at make -s -C "$at" install || return
	"$dest/usr/sbin/resexd" --hv sim --check -S "$scenario" --policy-dir "$dest/usr/lib/resex/policies" -p limit |
		grep -q 'good: policy limit,' || return
	rm -r "$dest/usr/lib/resex"
}

# What libibmon exports is what its header declares, and it needs libc alone.
ibmon_exports_its_header() {
	local so=$dest/usr/lib/libibmon.so.0
	diff <(sed -nE 's/^[a-z].*[ *](ibmon_[a-z_]+)\(.*/\1/p' "$dest/usr/include/resex/ibmon.h" | grep -v '^ibmon_read' | sort) \
		<(nm -D --defined-only "$so" | awk '$2 == "T" { sub(/@@LIBIBMON_0$/, "", $3); print $3 }' | sort) || return
	[ "$(nm -D --defined-only "$so" | awk '$2 !~ /[TA]/' | wc -l)" = 0 ] || return
	readelf -d "$so" | grep -q 'SONAME.*\[libibmon\.so\.0\]' || return
	[ "$(readelf -d "$so" | grep NEEDED | sed 's/.*\[//')" = 'libc.so.6]' ]
}

# replayed RECORDING ELSE...: the example counts what the recording says.
replayed() {
	LD_LIBRARY_PATH=$dest/usr/lib python3 "$here/golden/replay.py" "$@"
}

# The examples as their reader would build them: by the installed header, library and Makefile. They
# read what real providers wrote; the layout as well as the one that is built in.
ibmon_example_counts() {
	local at=$tmp/example-ibmon
	cp -r "$dest/usr/share/doc/resex/examples/ibmon" "$at" && chmod go-w "$at" &&
		sed "s|^prefix=.*|prefix=$dest/usr|; s|=/usr/|=$dest/usr/|" "$dest/usr/lib/pkgconfig/resex-ibmon.pc" >"$at/resex-ibmon.pc" &&
		PKG_CONFIG_PATH=$at make -s -C "$at" CFLAGS='-std=gnu11 -O2 -Wall -Wextra -Werror' || return
	replayed "$here/golden/rxe/rc-write.ring" "$at/count" && replayed "$here/golden/mlx/mlx5-rc.ring" "$at/count" &&
		replayed "$here/golden/rxe/rc-write.ring" "$at/count" "$at/simple.so" || return
	chmod o+w "$at/simple.so"
	! replayed "$here/golden/rxe/rc-write.ring" "$at/count" "$at/simple.so" || return
	echo 'int main(void) { struct ibmon *m; return ibmon_open(&m, IBMON_ABI); }' | cat <(echo '#include <resex/ibmon.h>') - >"$tmp/plus.cc"
	# shellcheck disable=SC2046 # flags are words
	clang -x c++ -Wall -Wextra -Werror -o "$tmp/plus" "$tmp/plus.cc" -x none $(flags resex-ibmon) &&
		LD_LIBRARY_PATH=$dest/usr/lib "$tmp/plus"
}

# The same with a header that needs this tree must fail: else the test above shows nothing.
policy_that_needs_the_tree_does_not_compile() {
	cp -r "$dest/usr/include" "$tmp/planted"
	echo '#include "src/core/flow.h"' >>"$tmp/planted/resex/policy.h"
	! compile_policy "$tmp/planted"
}

# patterns: of each line of debian/*.install, what of "make install" goes into which package. Debian's
# places of libraries and units are others than those of ./dev build.
patterns() {
	(cd "$here/../debian" && awk '$1 !~ /^(debian|html)\// { print FILENAME, $1 }' ./*.install) |
		sed -e 's|^\./||' -e 's| lib/systemd/| usr/lib/systemd/|' -e 's|usr/lib/\*/|usr/lib/|'
	[ -z "${planted-}" ] || echo "$planted"
}

# packaged FILE...: each is in one package, and no pattern is of no file.
packaged() {
	local file package pattern n rc=0
	patterns >"$tmp/patterns"
	: >"$tmp/used"
	for file; do
		n=0
		while read -r package pattern; do
			# shellcheck disable=SC2053 # it is a pattern
			[[ ${file#/} == $pattern || ${file#/} == $pattern/* ]] || continue
			n=$((n + 1))
			echo "$package $pattern" >>"$tmp/used"
		done <"$tmp/patterns"
		[ $n = 1 ] || { echo "$file is in $n packages: see debian/*.install"; rc=1; }
	done
	sort -u "$tmp/used" | diff - <(sort -u "$tmp/patterns") >"$tmp/unused" || { echo "matches nothing:"; cat "$tmp/unused"; rc=1; }
	return $rc
}

# As patterns has it: without the name of the architecture.
files_to_package() {
	installed | sed 's|^/usr/lib/[^/]*/varnish/|/usr/lib/varnish/|'
}

all_is_packaged() {
	# shellcheck disable=SC2046
	packaged $(files_to_package)
}

# So would be noticed: a file of no package, a pattern of no file, and a file of two packages.
what_is_not_packaged_is_noticed() {
	local all
	all=$(files_to_package)
	# shellcheck disable=SC2086
	! packaged $all /usr/bin/new && ! packaged ${all/\/usr\/bin\/benchex/} &&
		! planted="resexd.install usr/bin/resex" packaged $all
}

# Debian's configuration is the example, with the group that the package makes.
debians_configuration_is_the_example() {
	diff "$here/../etc/resexd.json" <(grep -v '"socket_group": "resex",' "$here/../debian/resexd.json")
}

# Every reference of the pages in HTML to one of them leads there.
pages_are_whole_in_html() {
	local page link
	"$here/../man/html.sh" "$tmp/html" "$here"/../man/*.[1-9] || return
	[ "$(ls "$tmp"/html/*.html | wc -l)" = "$(($(ls "$here"/../man/*.[1-9] | wc -l) + 1))" ] || return
	for page in "$tmp"/html/*.html; do
		grep -q '</html>' "$page" || { echo "$page ends early"; return 1; }
		for link in $(grep -o 'href="[^"#]*' "$page" | sed 's/href="//' | sort -u); do
			case $link in
			https://manpages.debian.org/resex* | https://manpages.debian.org/benchex*) ;;
			https://*) continue ;;
			*) [ ! -e "$tmp/html/$link" ] || continue ;;
			esac
			echo "${page##*/}: $link leads nowhere"
			return 1
		done
	done
}

# A file that a user made stays, with its folder; folders of our own go when they are empty, others stay.
nothing_is_left() {
	local mine=/usr/share/doc/resex/examples/mine
	touch "$dest$mine"
	make -s -C "$build" uninstall DESTDIR="$dest" >/dev/null && [ "$(installed)" = "$mine" ] || { installed; return 1; }
	rm "$dest$mine"
	make -s -C "$build" uninstall DESTDIR="$dest" >/dev/null || return
	find "$dest" -name '*resex*'
	[ -z "$(installed)$(find "$dest" -name '*resex*')" ] && [ -d "$dest/usr/share/man/man1" ] && [ -d "$dest/usr/include" ]
}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
dest=$tmp/dest
passed=0 failed=0
make -s -C "$build" install DESTDIR="$dest" >"$tmp/out" 2>&1 ||
	{ cat "$tmp/out"; echo "install: 0 passed, 1 failed"; exit 1; }
for what in same_list programs_run example_is_right units_are_right module_is_whole all_is_packaged \
	    what_is_not_packaged_is_noticed debians_configuration_is_the_example pages_are_whole_in_html library_serves cache_library_serves \
	    ibmon_exports_its_header ibmon_example_counts \
	    policy_compiles_alone policy_example_decides policy_that_needs_the_tree_does_not_compile nothing_is_left; do
	if $what >"$tmp/out" 2>&1; then
		echo "pass ${what//_/ }"
		passed=$((passed + 1))
	else
		cat "$tmp/out"
		echo "FAIL ${what//_/ }"
		failed=$((failed + 1))
	fi
done
echo "install: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
