// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * handover_open: open and close a handover, in the control thread. The 1 ms path
 * calls handover.c and may not open or close a file, so these two are here.
 */
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "src/tick/handover.h"

int handover_open(struct handover *ho)
{
	memset(ho, 0, sizeof(*ho));
	ho->control_fd = -1;
	ho->actor_fd = eventfd(0, EFD_CLOEXEC);
	if (ho->actor_fd < 0)
		return -errno;
	ho->control_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (ho->control_fd < 0) {
		int rc = -errno;

		close(ho->actor_fd);
		return rc;
	}
	spsc_latest_init(&ho->snaps.at);
	spsc_latest_init(&ho->loads.at);
	return 0;
}

void handover_close(struct handover *ho)
{
	if (ho->actor_fd >= 0)
		close(ho->actor_fd);
	if (ho->control_fd >= 0)
		close(ho->control_fd);
	ho->actor_fd = ho->control_fd = -1;
}
