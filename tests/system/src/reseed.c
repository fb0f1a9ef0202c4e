// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * reseed TEXT: seed this kernel's randomness with TEXT.
 *
 * VMs that are restored from one snapshot would all draw the same numbers otherwise. The kernel
 * uses data written to /dev/urandom only when it reseeds itself, up to a minute later;
 * RNDRESEEDCRNG makes it do so at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int fd = open("/dev/urandom", O_RDWR | O_CLOEXEC);
	size_t len;

	if (argc != 2) {
		fputs("usage: reseed TEXT\n", stderr);
		return 2;
	}
	len = strlen(argv[1]);
	if (fd < 0 || write(fd, argv[1], len) != (ssize_t)len || ioctl(fd, RNDRESEEDCRNG)) {
		fprintf(stderr, "reseed: /dev/urandom: %s\n", strerror(errno));
		return 1;
	}
	return 0;
}
