// SPDX-License-Identifier: GPL-2.0-or-later
/* benchex: parse the options and run the role. See benchex.h. */
#include "resex/exit.h"
#include "src/benchex/benchex.h"

int main(int argc, char **argv)
{
	struct bx_conf conf;
	int ret = bx_options(&conf, argc, argv);

	if (ret)
		return ret < 0 ? RESEX_OK : ret;
	switch (conf.role) {
	case BX_CLIENT:
		return bx_client(&conf);
	case BX_BULK:
		return bx_bulk(&conf);
	default:
		return bx_server(&conf);
	}
}
