// SPDX-License-Identifier: GPL-2.0-or-later
/* error: why a call of libresex-cache failed: a sentence in the handle. See resex/cache.h. */
#include <stdarg.h>
#include <stdio.h>

#include "src/appcache/appcache.h"

/* What others wrote may hold what a terminal would execute. */
static void tame(char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			*s = '?';
}

int appcache_fail(struct resex_cache *c, int rc, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(c->error, sizeof(c->error), fmt, ap);
	va_end(ap);
	tame(c->error);
	return rc;
}

int appcache_said(struct resex_cache *c, int rc, const struct appcache_answer *a, const char *key,
		  const char *otherwise)
{
	const char *text = json_string_value(json_object_get(a->body, key));

	return appcache_fail(c, rc, "%s", text && *text ? text : otherwise);
}

const char *resex_cache_error(const struct resex_cache *c)
{
	return c->error;
}
