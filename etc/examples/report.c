// SPDX-License-Identifier: GPL-2.0-or-later
/* report: an application that reports its latencies to the host. See resex_report(3). */

#include <resex/report.h>
#include <unistd.h>

int main(void)
{
	struct resex_report *r = 0;

	resex_report_open(&r, 0); /* also without an agent */
	while (usleep(1000) == 0) /* ns: computed, waited, polled */
		resex_report(r, 100000, 850000, 50000);
	resex_report_close(r);
}
