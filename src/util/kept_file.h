/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kept_file: is a file that this process wrote still there, or was it removed or replaced? */
#ifndef RESEX_UTIL_KEPT_FILE_H
#define RESEX_UTIL_KEPT_FILE_H

#include <stdbool.h>
#include <sys/types.h>

struct kept_file {
	bool any; /* false: none was written */
	dev_t dev;
	ino_t ino;
};

/* The file was written just now. Of one that cannot be looked at, nothing is known. */
void kept_file_note(struct kept_file *k, const char *path);
/* Is it still that one? True, too, if none was written. */
bool kept_file_is_there(const struct kept_file *k, const char *path);

#endif
