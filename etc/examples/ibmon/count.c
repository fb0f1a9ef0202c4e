// SPDX-License-Identifier: GPL-2.0-or-later
/* count: what a send queue did whose memory is in a file. libibmon(3) explains it. */
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <resex/ibmon.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char why[IBMON_WHY_MAX] = "";
	uint32_t arg[8] = { 0 };
	struct ibmon_counts c;
	struct ibmon_ring *r;
	struct ibmon *m;
	long ms;

	if (argc < 8) /* DB: where the doorbell record is in the file; 0: there is none */
		errx(2, "usage: count FILE PROVIDER NUMBER BYTES ENTRIES MTU DB [PLUGIN]");
	for (int i = 2; i < 8; i++)
		arg[i] = (uint32_t)strtoul(argv[i], NULL, 0);
	int fd = open(argv[1], O_RDONLY);
	off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
	const char *at = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED || size <= arg[7] || size > UINT32_MAX)
		err(1, "%s", argv[1]);
	struct ibmon_desc d = { arg[2], IBMON_SQ, arg[3], arg[4], arg[5], arg[6], 0, 0 };
	struct ibmon_mem mem = { at, at + arg[7], (uint32_t)size, (uint32_t)size - arg[7] };
	if (ibmon_open(&m, IBMON_ABI))
		errx(1, "libibmon has another version");
	if (argc > 8 && ibmon_layout_load(m, argv[8], why, sizeof(why)))
		errx(1, "%s: %s", argv[8], why);
	if (ibmon_ring_open(m, &r, &d, &mem))
		errx(1, "%s: there is no such ring", argv[1]);
	while (scanf("%ld", &ms) == 1) { /* so many ms passed since the line before */
		if (ibmon_ring_sample(r, ms * 1000000, &c))
			errx(1, "%s", ibmon_fault_text(ibmon_ring_fault(r)));
		printf("%" PRIu64 " requests, %" PRIu64 " MTUs, %" PRIu64 " bytes sent\n", c.wrs,
		       c.mtus_sent, c.bytes_sent);
		fflush(stdout);
	}
	ibmon_close(m);
}
