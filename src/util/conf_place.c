// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * conf_place: find the place of a path in JSON text. Used only to report errors, on
 * text that jansson has accepted (for the depth: before jansson parses it). It
 * never reads beyond the text, valid or not.
 *
 * A path is what conf_fail() gets, as "guests.web.sla" or "links[0].rate". The text is walked
 * again for each error: reading ends at the first one, and the text has at most 1 MiB.
 */
#include "src/util/conf_parts.h"

#include <stdlib.h>
#include <string.h>

struct cursor {
	const char *text;
	size_t len, at;
};

static char peek(const struct cursor *c)
{
	return c->at < c->len ? c->text[c->at] : '\0';
}

/*
 * JSON's four kinds of white space (RFC 8259, 2). strchr() also finds the NUL that ends its
 * string.
 */
static void skip_space(struct cursor *c)
{
	while (c->at < c->len && strchr(" \t\r\n", c->text[c->at]) && c->text[c->at])
		c->at++;
}

/*
 * From an opening quote to behind the closing one. The byte after a backslash cannot end the
 * string; of \u1234 the digits are ordinary bytes.
 */
static void skip_string(struct cursor *c)
{
	for (c->at++; c->at < c->len && c->text[c->at] != '"'; c->at++)
		if (c->text[c->at] == '\\')
			c->at++;
	c->at++;
}

/* Behind the string that begins at text[at]; or its line's end, which no string may hold. */
static size_t end_of_string(const char *text, size_t len, size_t at)
{
	for (at++; at < len && text[at] != '"' && text[at] != '\n'; at++)
		if (text[at] == '\\' && at + 1 < len && text[at + 1] != '\n')
			at++;
	return at < len && text[at] == '"' ? at + 1 : at;
}

size_t conf_cut_comments(char *text, size_t len)
{
	bool begun = false; /* the line has something that is no blank */
	size_t n = 0, at = 0;

	while (at < len) {
		size_t from = at;

		if ((text[at] == '#' && !begun) ||
		    (text[at] == '/' && at + 1 < len && text[at + 1] == '/')) {
			while (at < len && text[at] != '\n')
				at++;
			continue;
		}
		if (text[at] == '\n')
			begun = false;
		else if (!strchr(" \t\r", text[at]))
			begun = true;
		at = text[at] == '"' ? end_of_string(text, len, at) : at + 1;
		memmove(text + n, text + from, at - from);
		n += at - from;
	}
	return n;
}

static bool opens(char b)
{
	return b == '{' || b == '[';
}

static bool closes(char b)
{
	return b == '}' || b == ']';
}

/* From the start of a value to behind it. */
static void skip_value(struct cursor *c)
{
	size_t depth = 0;

	while (c->at < c->len) {
		char b = peek(c);

		/*
		 * What can follow a value at its own level; within brackets it belongs to the
		 * value.
		 */
		if (!depth && (closes(b) || b == ',' || b == ':'))
			return;
		if (b == '"') {
			skip_string(c);
			continue;
		}
		if (opens(b))
			depth++;
		else if (closes(b))
			depth--;
		c->at++;
	}
}

size_t conf_too_deep(const char *text, size_t len)
{
	struct cursor c = { text, len, 0 };
	size_t depth = 0;

	while (c.at < len) {
		char b = peek(&c);

		if (b == '"') {
			skip_string(&c);
			continue;
		}
		if (opens(b) && ++depth > CONF_DEPTH_MAX)
			return c.at;
		if (closes(b) && depth)
			depth--;
		c.at++;
	}
	return len;
}

/*
 * How much of path the key between two offsets matches: its length when path ends
 * or continues with a dot or a bracket, else -1. jansson decodes the escapes.
 */
static int match_key(const struct cursor *c, size_t from, size_t to, const char *path)
{
	json_t *key = json_loadb(c->text + from, to - from, JSON_DECODE_ANY, NULL);
	size_t n = json_string_length(key);
	int ret = -1;

	if (key && !strncmp(path, json_string_value(key), n) && strchr(".[", path[n]))
		ret = (int)n;
	json_decref(key);
	return ret;
}

/* These three take the cursor by value: an attempt that fails leaves the caller's where it was. */
static bool find_value(struct cursor c, const char *path, bool key, size_t *found);

static bool find_member(struct cursor c, const char *path, bool key, size_t *found)
{
	if (*path == '.')
		path++;
	for (c.at++; c.at < c.len; c.at++) { /* over the brace, then over commas */
		size_t from, to;
		int n;

		skip_space(&c);
		if (peek(&c) != '"')
			return false;
		from = c.at;
		skip_string(&c);
		to = c.at < c.len ? c.at : c.len;
		n = match_key(&c, from, to, path);
		skip_space(&c);
		c.at++; /* the colon */
		skip_space(&c);
		if (n >= 0 && key && !path[n]) {
			*found = from;
			return true;
		}
		/*
		 * A key may contain dots: if the rest is not found below this one, a later key
		 * may match more.
		 */
		if (n >= 0 && find_value(c, path + n, key, found))
			return true;
		skip_value(&c);
		if (peek(&c) != ',')
			return false;
	}
	return false;
}

static bool find_element(struct cursor c, const char *path, bool key, size_t *found)
{
	unsigned long index;
	char *end;

	if (*path != '[')
		return false;
	index = strtoul(path + 1, &end, 10);
	if (end == path + 1 || *end != ']')
		return false;
	for (c.at++; index; index--, c.at++) {
		skip_value(&c);
		if (peek(&c) != ',')
			return false;
	}
	skip_space(&c);
	if (peek(&c) == ']')
		return false;
	return find_value(c, end + 1, key, found);
}

/* c is at the start of a value. Recursion is bounded by the nesting of the text. */
static bool find_value(struct cursor c, const char *path, bool key, size_t *found)
{
	if (!*path) {
		*found = c.at;
		return true;
	}
	if (peek(&c) == '{')
		return find_member(c, path, key, found);
	if (peek(&c) == '[')
		return find_element(c, path, key, found);
	return false;
}

/* Remove the last component of a path. */
static void drop_last_component(char *path)
{
	char *dot = strrchr(path, '.'), *bracket = strrchr(path, '[');
	char *cut = dot > bracket ? dot : bracket;

	*(cut ? cut : path) = '\0';
}

size_t conf_find(const char *text, size_t len, const char *path, bool key)
{
	struct cursor root = { text, len, 0 };
	char *part = strdup(path);
	size_t found;

	skip_space(&root);
	found = root.at;
	/* Without memory for the copy the error is reported at the root. */
	while (part && *part && !find_value(root, part, key, &found)) {
		drop_last_component(part);
		key = false;
	}
	free(part);
	return found;
}

void conf_line_column(const char *text, size_t offset, int *line, int *column)
{
	*line = 1;
	*column = 1;
	for (size_t i = 0; i < offset; i++) {
		if (text[i] == '\n') {
			++*line;
			*column = 1;
		} else if (((unsigned char)text[i] & 0xc0) != 0x80) {
			++*column; /* bytes that continue a character do not count */
		}
	}
}
