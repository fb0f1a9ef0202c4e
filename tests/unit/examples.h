/* SPDX-License-Identifier: GPL-2.0-or-later */
/* examples: what a man page shows between .Bd -literal and .Ed before its first .Sh DESCRIPTION. */
#ifndef RESEX_TESTS_EXAMPLES_H
#define RESEX_TESTS_EXAMPLES_H

#include <string.h>
#include <sys/stat.h>

#include "tests/unit/prop.h"

enum { EXAMPLES_MAX = 8, EXAMPLE_BYTES = 4096 };

struct examples {
	uint32_t n;
	char text[EXAMPLES_MAX][EXAMPLE_BYTES];
};

/* A file of the source tree; automake names its top in srcdir. */
static inline const char *example_path(const char *file, char *buf, size_t size)
{
	const char *top = getenv("srcdir");

	snprintf(buf, size, "%s/%s", top ? top : ".", file);
	return buf;
}

/* Build a plug-in as an author does, but without a warning: what is wrong is meant to be. */
static inline void build_plugin(const char *to, const char *source, const char *flags)
{
	char path[256], include[256], top[256], command[1400];
	const char *cc = getenv("CC");

	snprintf(command, sizeof(command),
		 "%s -std=gnu11 -w -O1 -I%s -I%s -shared -fPIC -fvisibility=hidden %s -o %s %s",
		 cc && *cc ? cc : "cc", example_path("include", include, sizeof(include)),
		 example_path("", top, sizeof(top)), flags, to,
		 example_path(source, path, sizeof(path)));
	if (system(command))
		fail_msg("failed: %s", command);
	assert_int_equal(chmod(to, 0644), 0);
}

/* Escapes of roff that stand in examples: "\e" is a backslash. */
static inline void example_line(char *to, const char *line)
{
	size_t n = strlen(to);

	for (; *line && n + 1 < EXAMPLE_BYTES; line++) {
		if (line[0] == '\\' && line[1] == 'e')
			line++, to[n++] = '\\';
		else
			to[n++] = *line;
	}
	to[n] = 0;
}

static inline void examples_open(struct examples *ex, const char *page)
{
	char path[256], line[1024];
	FILE *f = fopen(example_path(page, path, sizeof(path)), "r");
	bool inside = false;

	if (!f)
		fail_msg("%s cannot be read: set srcdir to the top of the sources", path);
	memset(ex, 0, sizeof(*ex));
	while (fgets(line, sizeof(line), f) && strncmp(line, ".Sh DESCRIPTION", 15) != 0) {
		if (!strncmp(line, ".Bd -literal", 12)) {
			inside = true;
		} else if (inside && !strncmp(line, ".Ed", 3)) {
			inside = false;
			ex->n++;
			assert_true(ex->n < EXAMPLES_MAX);
		} else if (inside) {
			example_line(ex->text[ex->n], line);
		}
	}
	fclose(f);
}

#endif
