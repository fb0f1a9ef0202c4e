#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# html.sh OUT PAGE...: the manual pages in HTML, in the folder OUT, and an index. A reference to one
# of them is a link to it; that to another page leads to Debian's manual pages.
set -eu
command -v mandoc >/dev/null || { echo "html.sh: mandoc was not found; on Debian: apt-get install mandoc" >&2; exit 1; }
out=$1
shift
mkdir -p "$out"
rm -f "$out"/*.html
out=$(realpath "$out")
for page; do
	# A page that lies beside this one is linked to by the first of these names.
	(cd "${page%/*}" && mandoc -T html -I os=ResEx "${page##*/}" \
		-O 'style=style.css,man=%N.%S.html;https://manpages.debian.org/%N.%S') >"$out/${page##*/}.html"
done

cat >"$out/style.css" <<'EOT'
body { max-width: 50em; margin: 1em auto; padding: 0 1em; font-family: sans-serif; line-height: 1.4; }
pre, code, .Li { font-family: monospace; }
table.head, table.foot { width: 100%; color: #666; }
td.head-vol, td.foot-date { text-align: center; }
td.head-rtitle, td.foot-os { text-align: right; }
h1 { font-size: 1.2em; }
h2 { font-size: 1em; }
a.permalink { color: inherit; text-decoration: none; }
.Bl-compact > dd, .Bl-compact > dt, .Bl-compact > li { margin-top: 0; }
.Nm, .Fl, .Cm, .Ic { font-weight: bold; }
.Ar, .Pa, .Va, .Em { font-style: italic; font-weight: normal; }
EOT

{
	echo '<!DOCTYPE html>'
	echo '<html lang="en"><head><meta charset="utf-8"><title>ResEx: manual pages</title>'
	echo '<link rel="stylesheet" href="style.css"></head><body>'
	echo '<h1>ResEx: manual pages</h1><p>Begin with <a href="resex.7.html">resex(7)</a>.</p><dl>'
	for page; do
		name=${page##*/}
		# The first .Nd is the line of NAME.
		sed -n 's/^\.Nd //p' "$page" | sed -e '1!d' -e 's/&/\&amp;/g; s/</\&lt;/g' \
			-e "s|.*|<dt><a href=\"$name.html\">${name%.*}(${name##*.})</a></dt><dd>&</dd>|"
	done | sort
	echo '</dl></body></html>'
} >"$out/index.html"
