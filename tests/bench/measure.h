/* SPDX-License-Identifier: GPL-2.0-or-later */
/* measure: what benchmarks share: medians, the CPU time of this process, its limit of files. */
#ifndef RESEX_BENCH_MEASURE_H
#define RESEX_BENCH_MEASURE_H

#include <stddef.h>

/* Sorts v. n > 0. */
double measure_median(double *v, size_t n);
/* CPU time of this process so far, us. Ends the process with a sentence if there is none. */
double measure_cpu_us(void);
/* Raise the limit of open files to what this process may have, if it can. */
void measure_allow_files(void);

#endif
