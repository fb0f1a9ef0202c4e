/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * modes: what resexd does once its options are read. All log their errors and return the
 * exit code of the process.
 */
#ifndef RESEX_DAEMON_MODES_H
#define RESEX_DAEMON_MODES_H

#include "src/daemon/options.h"
#include "src/util/conf.h"

/* --check, --restore-caps, or the daemon itself, with a configuration. */
int mode_configured(const struct log *log, const struct options *o);
/* --scenario, also with --check. */
int mode_scenario(const struct log *log, const struct options *o);

/* --schema: of any host, from the tables that read the files. */
int mode_schema(const struct options *o);

/* Log an error. Its exit code. */
int report_error(const struct log *log, const struct conf_error *e);

#endif
