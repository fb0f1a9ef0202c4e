// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * conf: from a JSON file to a struct, or to one sentence with the error.
 *
 * Used in the control thread only: at start, when the configuration or a policy
 * changes, and by resex policy-check. The caller's struct is written only after
 * the whole object was checked, so that a wrong file leaves the former settings in force.
 *
 * Order of the work: conf_load() reads the bytes, conf_parse() makes a document of them,
 * src/conf, src/lab and src/guests bind its objects (conf_value.c reads each value), and
 * conf_fail() finds the place of an error in the text (conf_place.c).
 */
#include "src/util/conf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/util/conf_parts.h"
#include "src/util/file.h"

enum {
	SHOW_MAX = 80,	/* a value in a message */
	WANT_MAX = 256, /* its remedy */
	NAME_MAX_SHOWN = 256,
	KEY_MAX = 64,	     /* longest key that misspellings are compared with */
	LIST_PATH_MAX = 128, /* of an element; no list is below a name that the file gives */
};

/* The text of an error is one line, whatever the file or its name contains. */
static void one_line(char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			*s = ' ';
}

__attribute__((format(printf, 5, 0))) static void error_at(struct conf_error *e, const char *file,
							   int line, int column, const char *fmt,
							   va_list ap)
{
	size_t n;

	e->line = line;
	e->column = column;
	e->unknown_key = 0;
	e->exit = RESEX_BAD_CONFIG;
	/* The form of compilers, so that editors can jump to the place. */
	if (line)
		snprintf(e->text, sizeof(e->text), "%.*s:%d:%d: ", NAME_MAX_SHOWN, file, line,
			 column);
	else
		snprintf(e->text, sizeof(e->text), "%.*s: ", NAME_MAX_SHOWN, file);
	n = strlen(e->text);
	vsnprintf(e->text + n, sizeof(e->text) - n, fmt, ap);
	one_line(e->text);
}

void conf_error_set(struct conf_error *e, enum resex_exit code, const char *fmt, ...)
{
	va_list ap;

	*e = (struct conf_error){ .exit = code };
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
}

enum resex_exit conf_exit(int rc)
{
	switch (rc) {
	case -EINVAL:
	case -EFBIG:
	case -ENOENT:
		return RESEX_BAD_CONFIG;
	case -EACCES:
	case -EPERM:
		return RESEX_PERMISSION;
	case -EADDRINUSE:
		return RESEX_RUNNING;
	default:
		return RESEX_FAILURE;
	}
}

/* An error of the file as a whole (line 0), or at a place in it. Returns ret. */
__attribute__((format(printf, 6, 7))) static int fail_at(int ret, struct conf_error *e,
							 const char *file, int line, int column,
							 const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	error_at(e, file, line, column, fmt, ap);
	va_end(ap);
	e->exit = conf_exit(ret);
	return ret;
}

__attribute__((format(printf, 4, 0))) static void error_at_path(const struct conf_doc *d,
								const char *path,
								struct conf_error *e,
								const char *fmt, va_list ap)
{
	int line, column;

	conf_line_column(d->text, conf_find(d->text, d->len, path, false), &line, &column);
	error_at(e, d->file, line, column, fmt, ap);
}

int conf_fail(const struct conf_doc *d, const char *path, struct conf_error *e, const char *fmt,
	      ...)
{
	va_list ap;

	va_start(ap, fmt);
	error_at_path(d, path, e, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* "path.key", or "key" at the root. NULL without memory: callers then use path. */
static char *join_path(const char *path, const char *key)
{
	size_t size = strlen(path) + strlen(key) + 2;
	char *s = malloc(size);

	if (s)
		snprintf(s, size, "%s%s%s", path, *path ? "." : "", key);
	return s;
}

int conf_fail_key(const struct conf_doc *d, const char *path, const char *key, struct conf_error *e,
		  const char *fmt, ...)
{
	char *at = join_path(path, key);
	va_list ap;

	va_start(ap, fmt);
	error_at_path(d, at ? at : path, e, fmt, ap);
	va_end(ap);
	free(at);
	return -EINVAL;
}

/* Report a syntax error found by jansson. */
static int fail_syntax(struct conf_error *e, const char *name, const json_error_t *je)
{
	int line = je->line > 0 ? je->line : 1, column = je->column > 0 ? je->column : 1;

	if (json_error_code(je) == json_error_duplicate_key)
		return fail_at(-EINVAL, e, name, line, column,
			       "%s: an object has each key once, remove one", je->text);
	if (json_error_code(je) == json_error_null_character)
		return fail_at(-EINVAL, e, name, line, column,
			       "a string contains a NUL character: remove it");
	return fail_at(-EINVAL, e, name, line, column, "not valid JSON, %s: correct it here",
		       je->text);
}

/* Refuse what jansson accepts: a NUL behind a number, and nesting of any depth. */
static int check_text(const char *name, const char *text, size_t len, struct conf_error *e)
{
	const char *nul = memchr(text, '\0', len);
	size_t deep = conf_too_deep(text, len);
	int line, column;

	if (nul) {
		conf_line_column(text, (size_t)(nul - text), &line, &column);
		return fail_at(-EINVAL, e, name, line, column,
			       "not valid JSON, this is a NUL byte: remove it");
	}
	if (deep < len) {
		conf_line_column(text, deep, &line, &column);
		return fail_at(-EINVAL, e, name, line, column,
			       "nested over %d deep: no file of ResEx needs that, correct it",
			       CONF_DEPTH_MAX);
	}
	return 0;
}

int conf_parse(struct conf_doc *d, const char *name, const char *text, size_t len,
	       struct conf_error *e)
{
	return conf_parse_long(d, name, text, len, CONF_BYTES_MAX, e);
}

int conf_parse_long(struct conf_doc *d, const char *name, const char *text, size_t len, size_t max,
		    struct conf_error *e)
{
	json_error_t je;
	int ret;

	memset(d, 0, sizeof(*d));
	/* Checked here too: this text may come from a client of the control socket. */
	if (len > max)
		return fail_at(-EFBIG, e, name, 0, 0,
			       "%zu bytes are too many: at most %zu are read", len, max);
	/* Before jansson, whose recursion the nesting of a hostile text would drive. */
	ret = check_text(name, text, len, e);
	if (ret)
		return ret;

	/*
	 * JSON lets a key be repeated, and then the last one counts: an operator would never see
	 * why the first has no effect.
	 */
	d->root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &je);
	if (!d->root)
		return fail_syntax(e, name, &je);
	d->len = len;
	/*
	 * Kept because errors are found after parsing too, and jansson knows no places of values.
	 */
	d->text = malloc(len + 1);
	d->file = strdup(name);
	if (!d->text || !d->file) {
		conf_free(d);
		return fail_at(-ENOMEM, e, name, 0, 0, "no memory to read it: free some");
	}
	memcpy(d->text, text, len);
	d->text[len] = '\0';
	return 0;
}

int conf_load(struct conf_doc *d, const char *file, struct conf_error *e)
{
	char *buf = NULL;
	size_t len = 0;
	int rc;

	memset(d, 0, sizeof(*d));
	/* Exit codes follow from rc, see conf_exit(). */
	rc = file_load(file, CONF_BYTES_MAX, &buf, &len);
	if (rc == -EINVAL)
		fail_at(rc, e, file, 0, 0, "is not a regular file: name a file that holds JSON");
	else if (rc == -EFBIG)
		fail_at(rc, e, file, 0, 0, "is too long: at most %d bytes are read",
			CONF_BYTES_MAX);
	else if (rc)
		fail_at(rc, e, file, 0, 0, "cannot be read (%s): check its name and permissions",
			strerror(-rc));
	else
		rc = conf_parse(d, file, buf, len, e);
	free(buf);
	return rc;
}

void conf_free(struct conf_doc *d)
{
	json_decref(d->root);
	free(d->text);
	free(d->file);
	memset(d, 0, sizeof(*d));
}

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t m = a < b ? a : b;

	return m < c ? m : c;
}

/*
 * How many letters to change, add or leave out to get from a to b (Levenshtein's distance, by
 * rows of its table); SIZE_MAX: too long. The length is bounded because the work is its
 * square and the key comes from the file.
 */
static size_t edit_distance(const char *a, const char *b)
{
	size_t row[KEY_MAX + 1], na = strlen(a), nb = strlen(b);

	if (na > KEY_MAX || nb > KEY_MAX)
		return SIZE_MAX;
	for (size_t j = 0; j <= nb; j++)
		row[j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			size_t above = row[j];

			row[j] = min3(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
			diagonal = above;
		}
	}
	return row[nb];
}

/* The i-th known key: first those of the table, then those of also; NULL after the last. */
static const char *known_key(const struct conf_key *keys, const char *const *also, size_t i)
{
	for (; keys->name; keys++)
		if (!i--)
			return keys->name;
	for (; also && *also; also++)
		if (!i--)
			return *also;
	return NULL;
}

static bool is_known(const struct conf_key *keys, const char *const *also, const char *name)
{
	const char *k;

	for (size_t i = 0; (k = known_key(keys, also, i)); i++)
		if (!strcmp(k, name))
			return true;
	return false;
}

/* The remedy for an unknown key: the nearest known key, or all of them. */
static void suggest_key(const struct conf_key *keys, const char *const *also, const char *name,
			char *buf, size_t size)
{
	const char *k, *nearest = NULL;
	size_t best = SIZE_MAX;

	for (size_t i = 0; (k = known_key(keys, also, i)); i++) {
		size_t n = edit_distance(name, k);

		if (n < best) {
			best = n;
			nearest = k;
		}
	}
	/*
	 * If more than half of the letters differ it is not a misspelling: list the keys instead.
	 */
	if (nearest && best <= (strlen(name) + 1) / 2) {
		snprintf(buf, size, "did you mean \"%s\"?", nearest);
		return;
	}
	snprintf(buf, size, "%s", known_key(keys, also, 0) ? "known here are" : "remove it");
	for (size_t i = 0; (k = known_key(keys, also, i)); i++)
		conf_append(buf, size, "%s \"%s\"", i ? "," : "", k);
}

static int fail_unknown(const struct conf_doc *d, const char *path, const char *name,
			const struct conf_key *keys, const char *const *also, struct conf_error *e)
{
	char want[WANT_MAX], *at = join_path(path, name);
	int line, column;

	suggest_key(keys, also, name, want, sizeof(want));
	conf_line_column(d->text, conf_find(d->text, d->len, at ? at : path, at != NULL), &line,
			 &column);
	free(at);
	fail_at(-EINVAL, e, d->file, line, column, "unknown key \"%.*s\": %s", KEY_MAX, name, want);
	e->unknown_key = 1;
	return -EINVAL;
}

static int fail_value(const struct conf_doc *d, const char *path, const struct conf_key *k,
		      const json_t *v, struct conf_error *e)
{
	char shown[SHOW_MAX], want[WANT_MAX];

	conf_show(v, shown, sizeof(shown));
	conf_want(k, want, sizeof(want));
	return conf_fail_key(d, path, k->name, e, "%s is %s: %s", k->name, shown, want);
}

static int fail_missing(const struct conf_doc *d, const char *path, const struct conf_key *k,
			struct conf_error *e)
{
	char want[WANT_MAX];

	conf_want(k, want, sizeof(want));
	return conf_fail(d, path, e, "key \"%s\" is missing here: add it and %s", k->name, want);
}

/* One pass over the table: check all, or (out given) store what was checked. */
static int bind_keys(const struct conf_doc *d, const char *path, const json_t *obj,
		     const struct conf_key *keys, void *out, struct conf_error *e)
{
	for (const struct conf_key *k = keys; k->name; k++) {
		const json_t *v = json_object_get(obj, k->name);
		struct conf_value value = { 0, NULL };

		if (!v && k->required)
			return fail_missing(d, path, k, e);
		if (!v)
			continue;
		if (conf_read(k, v, &value))
			return fail_value(d, path, k, v, e);
		if (out)
			conf_store(k, &value, out);
	}
	return 0;
}

int conf_bind(const struct conf_doc *d, const char *path, const json_t *obj,
	      const struct conf_key *keys, const char *const *also, void *out, struct conf_error *e)
{
	char shown[SHOW_MAX];
	const char *name;
	json_t *v;
	int ret;

	if (!json_is_object(obj)) {
		conf_show(obj, shown, sizeof(shown));
		return conf_fail(d, path, e, "%s is %s: write an object, {\"key\": value, ...}",
				 *path ? path : "the document", shown);
	}
	/* Unknown keys first: a misspelled required key is better called unknown than missing. */
	json_object_foreach((json_t *)obj, name, v)
		if (!is_known(keys, also, name))
			return fail_unknown(d, path, name, keys, also, e);

	/* Two passes: an error in the last key must not leave the first ones changed. */
	ret = bind_keys(d, path, obj, keys, NULL, e);
	return ret ? ret : bind_keys(d, path, obj, keys, out, e);
}

int conf_read_list(const struct conf_doc *d, const char *path, const json_t *obj,
		   const struct conf_list *l, void *to, struct conf_error *e)
{
	const json_t *list = json_object_get(obj, l->key);
	size_t n = json_array_size(list);

	if (!list && !l->min)
		return 0;
	if (!json_is_array(list) || n < l->min || n > l->max) {
		char least[32] = "at most";

		if (l->min)
			snprintf(least, sizeof(least), "%zu to", l->min);
		return conf_fail_key(d, path, l->key, e, "%s: give a list of %s %zu %s, such as %s",
				     l->key, least, l->max, l->what, l->example);
	}
	for (size_t i = 0; i < n; i++) {
		char at[LIST_PATH_MAX];
		int ret;

		snprintf(at, sizeof(at), "%s%s%s[%zu]", path, *path ? "." : "", l->key, i);
		ret = l->read(to, d, at, json_array_get(list, i), e);
		if (ret)
			return ret;
	}
	return 0;
}
