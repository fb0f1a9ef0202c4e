# SPDX-License-Identifier: GPL-2.0-or-later
# check-objects.awk: the part of check-layers.sh that looks at objects. Reads
# "SOURCE TYPE SYMBOL" lines (of nm, the object named by its source) on standard
# input and the tables from the folder tmp; prints violations.
#
#	-v mode=tick	what the 1 ms path's objects need, from its roots on
#	-v mode=circles	objects that need each other

function report(text)
{
	print text
	bad++
}

# A shell pattern as a regular expression.
function glob(p)
{
	gsub(/\./, "\\.", p)
	gsub(/\*/, ".*", p)
	return "^" p "$"
}

function folder(src)
{
	sub(/[^\/]*$/, "", src)
	return src
}

# The source that defines sym, as src sees it; "" when none does.
function definer(sym, src,	n, part, i)
{
	if (!(sym in defs))
		return ""
	n = split(defs[sym], part, " ")
	for (i = 1; i <= n; i++)
		if (n == 1 || folder(part[i]) == folder(src))
			return part[i]
	return ""
}

{
	src = $1
	type = $2
	sym = $3
	files[src] = 1
	if (type == "U")
		needs[src] = needs[src] " " sym
	else if (type ~ /^[TDRBVWG]$/)
		defs[sym] = (sym in defs ? defs[sym] " " : "") src
}

# --- the 1 ms path -------------------------------------------------------------

function may(src, sym,	i)
{
	if (sym ~ plain)
		return 1
	for (i = 1; i <= mays; i++)
		if (src ~ may_src[i] && index(may_syms[i] " ", " " sym " "))
			return 1
	return 0
}

function tick(	line, part, n, i, k, sym, found, src, to, from)
{
	getline plain < (tmp "/plain")
	while ((getline line < (tmp "/tick_may")) > 0) {
		n = split(line, part, " ")
		may_src[++mays] = glob(part[1])
		may_syms[mays] = ""
		for (i = 2; i <= n && part[i] != "#"; i++)
			may_syms[mays] = may_syms[mays] " " part[i]
	}
	while ((getline line < (tmp "/tick_roots")) > 0) {
		split(line, part, " ")
		found = 0
		for (sym in defs)
			if (sym ~ part[1]) {
				found = 1
				n = split(defs[sym], from, " ")
				for (i = 1; i <= n; i++)
					if (!(from[i] in path)) {
						path[from[i]] = sym
						todo[++todos] = from[i]
					}
			}
		if (!found)
			report("no object defines a root of the 1 ms path: " part[1])
	}
	for (k = 1; k <= todos; k++) {
		src = todo[k]
		print src > (tmp "/closure")
		n = split(needs[src], from, " ")
		for (i = 1; i <= n; i++) {
			sym = from[i]
			to = definer(sym, src)
			if (to != "" && (to in path))
				continue
			if (to == "") {
				if (!may(src, sym))
					report(src ": calls " sym ", which the 1 ms path may not (" \
						path[src] ")")
				continue
			}
			path[to] = path[src] " > " sym
			todo[++todos] = to
		}
	}
	close(tmp "/closure")
}

# --- circles -------------------------------------------------------------------

# Strongly connected files, by Tarjan. Groups of more than one are circles.
function connect(v,	n, part, i, w, group)
{
	low[v] = num[v] = ++nums
	stack[++top] = v
	on[v] = 1
	n = split(edges[v], part, " ")
	for (i = 1; i <= n; i++) {
		w = part[i]
		if (!(w in num)) {
			connect(w)
			if (low[w] < low[v])
				low[v] = low[w]
		} else if (on[w] && num[w] < low[v]) {
			low[v] = num[w]
		}
	}
	if (low[v] != num[v])
		return
	group = ""
	n = 0
	do {
		w = stack[top--]
		on[w] = 0
		in_group[w] = v
		group = group " " w
		n++
	} while (w != v)
	if (n > 1)
		circle[v] = group
}

# One way round: which symbols hold the circle together.
function tell_circle(v,	n, part, i, k, w, out, syms, m)
{
	n = split(circle[v], part, " ")
	for (i = 1; i <= n; i++) {
		m = split(edges[part[i]], out, " ")
		for (k = 1; k <= m; k++) {
			w = out[k]
			if (in_group[w] == v)
				print "	" part[i] " -> " w ":" by[part[i], w]
		}
	}
}

function circles(	line, part, n, i, src, sym, to, v, skip, k)
{
	while ((getline line < (tmp "/ops")) > 0) {
		split(line, part, " ")
		ops[++nops] = part[1]
	}
	for (src in files) {
		n = split(needs[src], part, " ")
		for (i = 1; i <= n; i++) {
			sym = part[i]
			to = definer(sym, src)
			if (to == "" || to == src)
				continue
			skip = 0
			for (k = 1; k <= nops && !skip; k++)
				skip = sym ~ ops[k]
			if (skip)
				continue
			if (!((src, to) in by))
				edges[src] = edges[src] " " to
			by[src, to] = by[src, to] " " sym
		}
	}
	for (src in files)
		if (!(src in num))
			connect(src)
	for (v in circle) {
		report("circle of files:" circle[v])
		tell_circle(v)
	}
}

END {
	if (mode == "tick")
		tick()
	else
		circles()
	exit bad ? 1 : 0
}
