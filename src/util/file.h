/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * file: small files, read whole, and replaced whole or not at all.
 *
 * Configuration, traces, keys and the daemon's saved state go through here.
 */
#ifndef RESEX_UTIL_FILE_H
#define RESEX_UTIL_FILE_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Read all of a regular file of at most max bytes. 0, and *data must be freed;
 * -EINVAL: not a regular file; -EFBIG: longer than max (max + 1 bytes were read);
 * -ENOMEM; or the -errno of opening or reading.
 */
int file_load(const char *file, size_t max, char **data, size_t *len);

/*
 * Let no file that is opened later be standard input, output or error, because the program was
 * started without: what it prints would be written there. Reading the first and writing to the
 * others fails. What main() does first.
 */
void file_keep_standard(void);

/* Read up to size bytes; fewer only at the end of the file. Their number, or -errno. */
ssize_t file_read(int fd, void *buf, size_t size);

/*
 * Replace file, mode 0600, by len bytes of text: on disk when this returns 0.
 * After an error the old file is unchanged; FILE.new is written on the way. May
 * wait for the disk. 0 or -errno.
 */
int file_save(const char *file, const char *text, size_t len);

/* Remove file, on disk as well; 0 also when it did not exist. Or -errno. */
int file_remove(const char *file);

#endif
