# onesided.gp: READ latency over the target's load. gnuplot -e 'data="FILE"; out="FILE.svg"' onesided.gp
set terminal svg size 640,400
set output out
set title "READ of 8 bytes while threads load the target's CPU (shm is no HCA)"
set xlabel "threads"
set ylabel "us"
set logscale xy 2
set key left top
# 0 threads stand at 1/2.
x(n) = n < 1 ? 0.5 : n
set xtics ("0" 0.5, "1" 1, "2" 2, "4" 4, "8" 8, "16" 16, "32" 32, "64" 64)
plot data using (x($1)):2 with linespoints title "shm, one-sided: median", \
	data using (x($1)):3 with lines dashtype 2 title "shm: 90 %", \
	data using (x($1)):4 with linespoints title "tcp, two-sided: median", \
	data using (x($1)):5 with lines dashtype 2 title "tcp: 90 %"
