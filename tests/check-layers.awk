# SPDX-License-Identifier: GPL-2.0-or-later
# check-layers.awk: the checker behind check-layers.sh. Reads names of files
# on standard input and the tables from the folder tmp; prints violations.

# A shell pattern as a regular expression.
function glob(p)
{
	gsub(/\./, "\\.", p)
	gsub(/\*/, ".*", p)
	return "^" p "$"
}

# Does header h match one of the list's items (a prefix when it ends in /)?
function listed(h, item)
{
	if (item ~ /\/$/)
		return index(h, item) == 1
	return h == item
}

function expand(list,	n, part, i, out)
{
	n = split(list, part, " ")
	out = ""
	for (i = 1; i <= n; i++)
		out = out " " (part[i] in group ? expand(group[part[i]]) : part[i])
	return out
}

function report(file, line, text)
{
	print file (line ? ":" line : "") ": " text
	bad++
}

# The line without comments and strings; keeps "in a comment" in the global inside.
function strip(s,	out, i, c, two)
{
	out = ""
	while (s != "") {
		if (inside) {
			i = index(s, "*/")
			if (!i)
				return out
			s = substr(s, i + 2)
			inside = 0
			continue
		}
		if (!match(s, /["']|\/\*|\/\//))
			return out s
		out = out substr(s, 1, RSTART - 1) " "
		c = substr(s, RSTART, 1)
		two = substr(s, RSTART, 2)
		s = substr(s, RSTART + RLENGTH)
		if (two == "//")
			return out
		if (two == "/*") {
			inside = 1
			continue
		}
		while (s != "" && substr(s, 1, 1) != c)
			s = substr(s, substr(s, 1, 1) == "\\" ? 3 : 2)
		s = substr(s, 2)
	}
	return out
}

function check_include(file, n, line, row,	name, angled, i, ok)
{
	sub(/^[ \t]*#[ \t]*(include|include_next|import)[ \t]*/, "", line)
	if (line !~ /^["<]/) {
		if (allow[row] !~ /\*/)
			report(file, n, "include of a macro: name the header")
		return
	}
	angled = line ~ /^</
	name = substr(line, 2)
	sub(/[">].*/, "", name)
	ok = 0
	for (i = 1; i <= items[row]; i++) {
		if (item[row, i] == "*")
			ok = 1
		else if (item[row, i] ~ /^!/) {
			if (listed(name, substr(item[row, i], 2)))
				ok = 0
		} else if (listed(name, item[row, i])) {
			ok = 1
			token_used[row, token_of[row, i]] = 1
		}
	}
	if (!ok)
		report(file, n, pattern[row] " may not include " \
			(angled ? "<" name ">" : name))
}

function check_words(file, n, code,	i, w, rest, at, before, after)
{
	rest = code
	at = ""
	while (match(rest, /[A-Za-z_][A-Za-z0-9_]*/)) {
		w = substr(rest, RSTART, RLENGTH)
		before = RSTART > 1 ? substr(rest, RSTART - 1, 1) : at
		after = substr(rest, RSTART + RLENGTH)
		at = substr(w, length(w), 1)
		rest = after
		if (before ~ /[0-9]/ || !(w in word))
			continue
		for (i = 1; i <= nwords; i++)
			if (wmatch[i] && ((i, w) in wset) && !((w) in excused) &&
			    (wkind[i] == "names" || after ~ /^[ \t]*\(/)) {
				report(file, n, wpattern[i] " may not " \
					(wkind[i] == "names" ? "name " : "call ") w)
				break
			}
	}
}

function check_file(file,	row, i, j, n, line, part, k)
{
	row = 0
	for (i = 1; i <= rows && !row; i++)
		if (file ~ regex[i])
			row = i
	if (!row) {
		report(file, 0, "no row for it in tests/check-layers.sh: say who it may include")
		return
	}
	row_used[row] = 1
	for (i = 1; i <= nwords; i++) {
		wmatch[i] = file ~ wregex[i]
		wused[i] = wused[i] || wmatch[i]
	}
	for (k in excused)
		delete excused[k]
	for (i = 1; i <= nexcept; i++)
		if (file ~ eregex[i]) {
			eused[i] = 1
			j = split(except[i], part, " ")
			for (; j; j--)
				excused[part[j]] = 1
		}
	n = 0
	inside = 0
	while ((getline line < file) > 0) {
		n++
		if (!inside && line ~ /^[ \t]*#[ \t]*(include|include_next|import)([^A-Za-z_]|$)/) {
			check_include(file, n, line, row)
			strip(line) # it may begin a comment
			continue
		}
		check_words(file, n, strip(line))
	}
	close(file)
	if (n == 0)
		report(file, 0, "cannot be read, or is empty")
}

BEGIN {
	while ((getline line < (tmp "/groups")) > 0) {
		split(line, part, " ")
		group[part[1]] = substr(line, length(part[1]) + 2)
	}
	while ((getline line < (tmp "/table")) > 0) {
		split(line, part, " ")
		pattern[++rows] = part[1]
		regex[rows] = glob(part[1])
		allow[rows] = substr(line, length(part[1]) + 1)
		tokens[rows] = split(allow[rows], part, " ")
		items[rows] = 0
		for (i = 1; i <= tokens[rows]; i++) {
			token[rows, i] = part[i]
			group_used[part[i]] = 1
			n = split(expand(part[i]), each, " ")
			for (j = 1; j <= n; j++) {
				item[rows, ++items[rows]] = each[j]
				token_of[rows, items[rows]] = i
			}
		}
	}
	while ((getline line < (tmp "/words")) > 0) {
		n = split(line, part, " ")
		wpattern[++nwords] = part[1]
		wregex[nwords] = glob(part[1])
		wkind[nwords] = part[2]
		for (i = 3; i <= n; i++) {
			wset[nwords, part[i]] = 1
			word[part[i]] = 1
		}
	}
	while ((getline line < (tmp "/except")) > 0) {
		split(line, part, " ")
		epattern[++nexcept] = part[1]
		eregex[nexcept] = glob(part[1])
		except[nexcept] = substr(line, length(part[1]) + 1)
	}
	if (!rows || !nwords || !nexcept) {
		print "check-layers: tables are missing"
		exit 1
	}
}

{
	check_file($0)
}

# What is in the tables and is not needed by any file. The lowest folders are every row's.
function check_stale(	i, k, g, table, base)
{
	table = "tests/check-layers.sh"
	base = "^([!*].*|src/core/.*|src/util/|config\\.h|@pure|@libc)$"
	for (i = 1; i <= rows; i++) {
		if (!row_used[i])
			report(table, 0, "no file is in the row of " pattern[i])
		for (k = 1; row_used[i] && k <= tokens[i]; k++)
			if (token[i, k] !~ base && !((i, k) in token_used))
				report(table, 0, "no file of " pattern[i] " includes " token[i, k])
	}
	for (i = 1; i <= nwords; i++)
		if (!wused[i])
			report(table, 0, "no file is in the row of words for " wpattern[i])
	for (i = 1; i <= nexcept; i++)
		if (!eused[i])
			report(table, 0, "no file is in the exceptions for " epattern[i])
	for (g in group)
		if (!(g in group_used) && !nested(g))
			report(table, 0, "no row names the group " g)
}

function nested(g,	other)
{
	for (other in group)
		if (index(" " group[other] " ", " " g " "))
			return 1
	return 0
}

END {
	if (whole)
		check_stale()
	exit bad ? 1 : 0
}
