// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lab_cmd: what is the same in "resex-lab load" and "resex-lab reconf". load_options.c and
 * reconf_options.c call it first, main.c and reconf_cmd.c last, and load_figures.c and
 * reconf_figures.c for each file. See lab_cmd.h.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "src/lab/lab_cmd.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "resex/exit.h"
#include "src/util/utf8.h"

/* --- options ---------------------------------------------------------------------- */

int lab_refuse(const char *fmt, ...)
{
	char text[8192];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	utf8_mend(text);
	utf8_tame(text);
	fprintf(stderr, "resex-lab: %s\n", text);
	return RESEX_USAGE;
}

static void print_help(const struct lab_cmd *cmd)
{
	printf("Usage: resex-lab %s%s%s [OPTION]...\n%s\n\n", cmd->name, cmd->operands ? " " : "",
	       cmd->operands ? cmd->operands : "", cmd->does);
	cmdline_print_rows(cmd->rows, 18);
	printf("\n%sSee resex-lab(1).\n", cmd->more);
}

static int set_number(const struct lab_cmd *cmd, void *arg, int letter, const char *value)
{
	const struct lab_limit *limit = &cmd->limits[letter];
	const struct cmdline_row *row = cmd->rows;
	char *end;
	long v = strtol(value, &end, 10);

	while (row->letter != letter)
		row++;
	if (*end || v < limit->least || v > limit->most)
		return lab_refuse("--%s %s: give a whole number from %ld to %ld", row->name, value,
				  limit->least, limit->most);
	cmd->set_number(arg, letter, v);
	return -1;
}

static int set_option(const struct lab_cmd *cmd, struct lab_out *out, void *arg, int letter,
		      const char *value)
{
	switch (letter) {
	case 'j':
		out->json = true;
		return -1;
	case 'o':
		out->figures = value;
		return -1;
	case 'h':
		print_help(cmd);
		return RESEX_OK;
	case 'V':
		puts("resex-lab " PACKAGE_VERSION);
		return RESEX_OK;
	}
	return cmd->limits[letter].most ? set_number(cmd, arg, letter, value)
					: cmd->set_word(arg, letter, value);
}

int lab_options(const struct lab_cmd *cmd, int argc, char **argv, struct lab_out *out, void *arg)
{
	struct option longs[CMDLINE_OPTIONS_MAX];
	char help[64], error[256];
	struct cmdline c = { .argc = argc, .argv = argv, .longs = longs, .help = help };
	int letter, rc;

	snprintf(help, sizeof(help), "resex-lab %s --help", cmd->name);
	cmdline_longs(cmd->rows, longs);
	cmdline_begin(&c);
	while ((letter = cmdline_next(&c, error, sizeof(error))) >= 0) {
		rc = set_option(cmd, out, arg, letter, optarg);
		if (rc >= 0)
			return rc;
	}
	while (letter == CMDLINE_END && cmd->operand && optind < argc) {
		rc = cmd->operand(arg, argv[optind++]);
		if (rc >= 0)
			return rc;
	}
	if (letter == CMDLINE_END && optind < argc) {
		cmdline_unexpected(&c, argv[optind], error, sizeof(error));
		letter = CMDLINE_WRONG;
	}
	return letter == CMDLINE_END ? -1 : lab_refuse("%s", error);
}

/* --- output ----------------------------------------------------------------------- */

void lab_print_json(const json_t *all)
{
	json_dumpf(all, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
	putchar('\n');
}

int lab_printed(json_t *all)
{
	if (!all) {
		fputs("resex-lab: there is no memory for the output\n", stderr);
		return RESEX_FAILURE;
	}
	json_decref(all);
	if (fflush(stdout) || ferror(stdout)) {
		perror("resex-lab: output");
		return RESEX_FAILURE;
	}
	return RESEX_OK;
}

/* --- files of figures ------------------------------------------------------------- */

int lab_make_folder(const char *folder)
{
	struct stat st;
	int rc = mkdir(folder, 0777) && errno != EEXIST ? -errno : 0;

	if (!rc && stat(folder, &st))
		rc = -errno;
	if (!rc && !S_ISDIR(st.st_mode))
		rc = -ENOTDIR;
	if (!rc && access(folder, W_OK | X_OK))
		rc = -errno;
	if (!rc)
		return RESEX_OK;
	fprintf(stderr, "resex-lab: figures cannot be written to \"%s\": %s: give another --out\n",
		folder, strerror(-rc));
	return RESEX_FAILURE;
}

FILE *lab_figure_begin(const char *folder, const char *name, const char *ending)
{
	char path[4096];
	int n = snprintf(path, sizeof(path), "%s/%s%s", folder, name, ending);
	FILE *file;

	if (n >= (int)sizeof(path))
		errno = ENAMETOOLONG;
	file = n < (int)sizeof(path) ? fopen(path, "w") : NULL;
	if (!file)
		fprintf(stderr, "resex-lab: %s%s cannot be written to \"%.200s\": %s\n", name,
			ending, folder, strerror(errno));
	return file;
}

int lab_figure_end(FILE *file, const char *name, int rc)
{
	bool bad = ferror(file) != 0;

	if (!fclose(file) && !bad)
		return rc;
	fprintf(stderr, "resex-lab: %s is not whole: %s: free some space, or give another folder\n",
		name, strerror(errno));
	return RESEX_FAILURE;
}

void lab_figure_head(FILE *file, const char *x)
{
	fprintf(file, "# SIMULATED: man resex-lab\n\"%s\"", x);
}
