// SPDX-License-Identifier: GPL-2.0-or-later
/* page: builds the text of a page. See page.h. */
#include "src/auction/page.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void page_free(struct page *p)
{
	free(p->text);
	free(p->state);
}

/* Room for n more bytes and a NUL. */
static bool room(char **at, size_t len, size_t *space, size_t n)
{
	size_t more = *space ? *space : 1024;
	char *to;

	if (len + n < *space)
		return true;
	while (more <= len + n)
		more *= 2;
	to = realloc(*at, more);
	if (!to)
		return false;
	*at = to;
	*space = more;
	return true;
}

static void add(struct page *p, char **at, size_t *len, size_t *space, const char *text, size_t n)
{
	if (!room(at, *len, space, n)) {
		p->no_memory = true;
		return;
	}
	memcpy(*at + *len, text, n);
	*len += n;
	(*at)[*len] = 0;
}

void page_put(struct page *p, const char *fmt, ...)
{
	char text[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	add(p, &p->text, &p->len, &p->space, text,
	    (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

void page_put_text(struct page *p, const char *text)
{
	for (; *text; text++) {
		size_t plain = strcspn(text, "<>&\"'-");

		add(p, &p->text, &p->len, &p->space, text, plain);
		text += plain;
		if (!*text)
			return;
		/* "-", too: no name ends a comment, or begins one that a checker would read. */
		page_put(p, "&#%d;", *text);
	}
}

void page_depends(struct page *p, const char *kind, const char *id, const char *part,
		  const char *value, const char *last)
{
	char name[PAGE_NAME_MAX + 1], state[128];
	int n;

	snprintf(name, sizeof(name), "%s/%s%s%s", kind, id, *part ? "/" : "", part);
	for (size_t i = 0; i < p->things && p->things_max; i++)
		if (!strcmp(p->thing[i], name))
			return;
	if (p->things_max && p->things == p->things_max) {
		p->too_many = true;
		return;
	}
	if (p->things_max)
		strcpy(p->thing[p->things], name);
	n = snprintf(state, sizeof(state), "%s%s=%s:%s", p->things ? " " : "", name, value, last);
	p->things++;
	add(p, &p->state, &p->state_len, &p->state_space, state, (size_t)n);
}

char *page_whole(const struct page *p, const char *path, size_t *len)
{
	static const char tail[] = "</body></html>\n";
	size_t size = p->state_len + p->len + strlen(path) + 256;
	char *text = p->no_memory ? NULL : malloc(size);

	if (!text)
		return NULL;
	*len = (size_t)snprintf(text, size,
				"<!doctype html>\n<!-- page: %s state: %s -->\n"
				"<html><head><meta charset=\"utf-8\"><title>auction</title></head>"
				"<body>\n%s%s",
				path, p->state ? p->state : "", p->text ? p->text : "", tail);
	return text;
}
