# lock.gp: a lock and a scan beside one READ. gnuplot -e 'data="FILE"; out="FILE.svg"' lock.gp
set terminal svg size 640,400
set output out
set title "Behind 1 ms a round trip: time beside one READ (shm)"
set ylabel "x one READ"
set yrange [0:*]
set ytics 1
set grid ytics
set style fill solid 0.5
set boxwidth 0.5
unset key
plot data using 0:3:xtic(1) with boxes, data using 0:($3 + 0.1):(sprintf("%.2f", $3)) with labels
