/* SPDX-License-Identifier: GPL-2.0-or-later */
/* load: files into memory, whatever they are, and however long. */
#ifndef RESEX_UTIL_LOAD_H
#define RESEX_UTIL_LOAD_H

#include <stddef.h>
#include <sys/types.h>

/*
 * All of a regular file that was opened for reading (with O_NONBLOCK: a FIFO
 * must not hold the opener up) and read from nowhere yet. 0, *data to be freed;
 * -EINVAL: it is no regular file; -EFBIG: it has more than max bytes, of which
 * no more were read than tell; -ENOMEM; or the -errno of reading.
 */
int file_load(int fd, size_t max, char **data, size_t *len);

/* Up to size bytes, less only at the end of the file: how many, or -errno. */
ssize_t file_read(int fd, void *buf, size_t size);

#endif
