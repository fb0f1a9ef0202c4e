# recovery.gp: from a holder's death to the next acquisition.
# gnuplot -e 'real="FILE"; virtual="FILE"; out="FILE.svg"' recovery.gp
set terminal svg size 640,400
set output out
set title "From a holder's death to the next acquisition (shm, one machine)"
set xlabel "ms; the last bin has all that is longer"
set ylabel "deaths"
set key below
set style fill solid 0.5
plot real using ($1 + $3 / 4.0):2:($3 / 2.0) with boxes title "processes, SIGKILL, real time", \
	virtual using ($1 + 3 * $3 / 4.0):2:($3 / 2.0) with boxes title "virtual time"
