/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trial: the configuration of the simulated host where none is given: all its files are in a
 * directory of the user's own, so that anybody can try it beside a resexd of the real host.
 */
#ifndef RESEX_CONF_TRIAL_H
#define RESEX_CONF_TRIAL_H

#include "src/util/conf.h"

enum { TRIAL_PATH_MAX = 256 };

/*
 * Make the configuration and its directory, if they are not there. file: its name, which is
 * $XDG_RUNTIME_DIR/resex/resexd.json, or /tmp/resex-UID/resexd.json without that variable. 0, or
 * -errno and e filled: -EPERM if another user could change the directory.
 */
int trial_config(char file[static TRIAL_PATH_MAX], struct conf_error *e);

#endif
