// SPDX-License-Identifier: GPL-2.0-or-later
/* kept_file: see kept_file.h. */
#include "src/util/kept_file.h"

#include <sys/stat.h>

void kept_file_note(struct kept_file *k, const char *path)
{
	struct stat st;

	*k = (struct kept_file){ 0 };
	if (!lstat(path, &st))
		*k = (struct kept_file){ true, st.st_dev, st.st_ino };
}

bool kept_file_is_there(const struct kept_file *k, const char *path)
{
	struct stat st;

	return !k->any || (!lstat(path, &st) && st.st_dev == k->dev && st.st_ino == k->ino);
}
