// SPDX-License-Identifier: GPL-2.0-or-later
/* db_error: why a database refused something. See db.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "src/auction/db_backends.h"

int db_fail(struct db_error *e, int rc, const char *fmt, ...)
{
	va_list ap;
	size_t len;

	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	/* libpq ends its sentences with a new line, and puts some between. */
	len = strlen(e->text);
	while (len && e->text[len - 1] == '\n')
		e->text[--len] = 0;
	for (char *s = e->text; *s; s++)
		if ((unsigned char)*s < 0x20)
			*s = ' ';
	return rc;
}
