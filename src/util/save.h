/* SPDX-License-Identifier: GPL-2.0-or-later */
/* save: a small file, whole or not at all, whatever happens while it is written. */
#ifndef RESEX_UTIL_SAVE_H
#define RESEX_UTIL_SAVE_H

#include <stddef.h>

/*
 * Replace file, mode 0600, by len bytes of text: on disk when this returns 0.
 * After an error the old one is as it was; FILE.new is written on the way. May
 * wait for the disk. 0 or -errno.
 */
int file_save(const char *file, const char *text, size_t len);

/* Remove it, on disk as well; 0 too when it was not there. Or -errno. */
int file_remove(const char *file);

#endif
