# cache.gp: figures of caching, by the data that ./dev bench cache leaves.
# gnuplot -e 'what="figure8"; data="FILE"; out="FILE.svg"' cache.gp
# The columns are named in the first line of the data.
set terminal svg size 640,400
set output out
set key below
set yrange [0:*]
if (what eq "figure8") {
	set title "Replies a second (figure 8a)"
	set xlabel "trace"
	set logscale y
	set yrange [*:*]
	plot data using 1:2 with linespoints title "no cache", \
		data using 1:3 with linespoints title "Invalidate All", \
		data using 1:4 with linespoints title "dependency lists"
}
if (what eq "figure8b") {
	set title "Response time (figure 8b)"
	set xlabel "trace"
	set ylabel "us, mean"
	plot data using 1:9 with linespoints title "no cache", \
		data using 1:10 with linespoints title "Invalidate All", \
		data using 1:11 with linespoints title "dependency lists"
}
if (what eq "figure9") {
	set title "Cache misses (figure 9)"
	set xlabel "trace"
	set ylabel "of all replies"
	plot data using 1:(1 - $7) with linespoints title "Invalidate All", \
		data using 1:(1 - $8) with linespoints title "dependency lists"
}
if (what eq "rate") {
	set title "By updates a second, the same for all three"
	set xlabel "updates a second"
	set ylabel "replies a second"
	set logscale xy
	set yrange [*:*]
	plot data using 1:2 with linespoints title "no cache", \
		data using 1:3 with linespoints title "Invalidate All", \
		data using 1:4 with linespoints title "dependency lists"
}
if (what eq "size") {
	set title "Zipf, by the size of the cache (figure 10)"
	set xlabel "KiB"
	set ylabel "replies a second"
	set logscale x 2
	plot data using 1:3 with linespoints title "dependency lists", \
		data using 1:4 with linespoints title "no cache"
}
if (what eq "depends") {
	set title "By the things on which a page depends (figure 11)"
	set xlabel "things"
	set ylabel "replies a second"
	set logscale x 2
	plot data using 1:2 with linespoints title "dependency lists", \
		data using 1:3 with linespoints title "Invalidate All", \
		data using 1:4 with linespoints title "no cache"
}
if (what eq "load") {
	set title "By busy processes beside the back-ends (figure 12)"
	set xlabel "busy processes"
	set ylabel "lists / no cache"
	plot data using 1:5 with linespoints title "trace 5", \
		data using 1:8 with linespoints title "the same updates a second"
}
if (what eq "origin") {
	set title "By what a page costs without a cache"
	set xlabel "ms"
	set ylabel "with / without a cache"
	set logscale xy
	set yrange [*:*]
	plot data using 1:4 with linespoints title "lists, trace 2", \
		data using 1:7 with linespoints title "lists, trace 5", \
		data using 1:9 with linespoints title "Invalidate All, trace 5", 1 title "no gain"
}
