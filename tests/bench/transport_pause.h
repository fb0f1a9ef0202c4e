/* SPDX-License-Identifier: GPL-2.0-or-later */
/* transport_pause: see transport_pause.c. */
#ifndef RESEX_TESTS_BENCH_TRANSPORT_PAUSE_H
#define RESEX_TESTS_BENCH_TRANSPORT_PAUSE_H

#include <stdint.h>

struct transport_backend;

/* Prints a table. port: of host n, less n; 0: addresses have none. Exits when it fails. */
void transport_pause(const struct transport_backend *backend, const char *address, uint16_t port);

#endif
