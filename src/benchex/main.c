// SPDX-License-Identifier: GPL-2.0-or-later
/* benchex: parse the options and run the role. See benchex.h. */
#include <stdio.h>

#include "resex/exit.h"
#include "src/benchex/benchex.h"
#include "src/util/file.h"

int main(int argc, char **argv)
{
	struct bx_conf conf;
	int ret;

	file_keep_standard();
	/*
	 * A message is printed in parts. One line is one write(), so that a reader of the
	 * file, or another process that writes to it, never sees half a message.
	 */
	setvbuf(stderr, NULL, _IOLBF, 0);
	ret = bx_options(&conf, argc, argv);
	if (ret)
		return ret < 0 ? RESEX_OK : ret;
	/* Each role prints its own result and returns the exit code. */
	switch (conf.role) {
	case BX_CLIENT:
		return bx_client(&conf);
	case BX_BULK:
		return bx_bulk(&conf);
	default:
		return bx_server(&conf);
	}
}
