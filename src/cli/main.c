// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * resex: the command line of resexd and of resex-cached, in the manner of xl. main() parses the
 * options, finds the verb (cmdtable.c) and runs it; the verb calls its daemon over its socket and
 * prints the reply. Wrong options and verbs are refused before the daemon is called, wrong
 * arguments by the verb.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "resex/exit.h"
#include "src/cli/cmdtable.h"
#include "src/util/file.h"
#include "src/util/utf8.h"

static void print_help(FILE *f)
{
	fputs("Usage: resex [-j] [-s SOCKET] VERB [ARGUMENT]...\n\n", f);
	for (const struct verb *v = verbs; v->name; v++)
		fprintf(f, "  %-12s %s%s%s\n", v->name, v->args,
			*v->args ? "\n               " : "", v->text);
	fputs("\n", f);
	options_print(f, OPT_COMMON);
	fputs("\nOptions may stand before or after the verb; resex VERB --help shows a verb's "
	      "own.\n"
	      "GUEST is a name, a domain id or a UUID. See resex(1).\n",
	      f);
}

static void print_verb_help(FILE *f, const struct verb *v)
{
	fprintf(f, "Usage: resex [-j] [-s SOCKET] %s%s%s\n\n  %s\n\n", v->name, *v->args ? " " : "",
		v->args, v->text);
	options_print(f, v->options);
	options_print(f, OPT_COMMON);
	fputs("\nSee resex(1).\n", f);
}

static const struct verb *find_verb(const char *name)
{
	for (const struct verb *v = verbs; v->name; v++)
		if (!strcmp(v->name, name))
			return v;
	return NULL;
}

/* The word may come from a script and hold anything: the terminal gets it escaped. */
static int unknown_verb(const char *name)
{
	char shown[128];

	utf8_escape(name, shown, sizeof(shown));
	fprintf(stderr, "resex: unknown verb \"%s\": see resex --help\n", shown);
	return RESEX_USAGE;
}

/* resex help [VERB] */
static int print_wanted_help(int argc, char **argv)
{
	const struct verb *v = argc ? find_verb(argv[0]) : NULL;

	if (argc > 1) {
		fputs("resex: help takes at most one verb: see resex --help\n", stderr);
		return RESEX_USAGE;
	}
	if (argc && !v)
		return unknown_verb(argv[0]);
	if (v)
		print_verb_help(stdout, v);
	else
		print_help(stdout);
	return RESEX_OK;
}

/*
 * A request is in UTF-8: jansson makes no string of an argument that is not, and the request would
 * lack it. To resexd, pause without a guest means all guests.
 */
static int check_arguments(struct cli *c)
{
	char shown[256];

	for (int i = 0; c->verb->arguments == ARGS_UTF8 && i < c->argc; i++) {
		if (utf8_good(c->argv[i]))
			continue;
		utf8_escape(c->argv[i], shown, sizeof(shown));
		snprintf(c->client.error, sizeof(c->client.error),
			 "\"%s\" is not in UTF-8: write it so", shown);
		return RESEX_USAGE;
	}
	return RESEX_OK;
}

static bool is_cached(const struct cli *c)
{
	return c->verb->options & OPT_CACHED;
}

static const char *socket_of(const struct cli *c)
{
	if (c->options.socket)
		return c->options.socket;
	return is_cached(c) ? RESEX_RUNDIR "-cached/api.sock" : RESEX_RUNDIR "/resexd.sock";
}

static int run_verb(struct cli *c)
{
	int rc = check_arguments(c);

	c->client.path = socket_of(c);
	c->client.daemon = is_cached(c) ? "resex-cached" : "resexd";
	if (!rc && !(c->verb->options & OPT_ALONE))
		rc = client_open(&c->client, c->client.path, c->client.daemon);
	if (!rc)
		rc = c->verb->run(c);
	client_close(&c->client);
	if (rc && c->client.error[0]) {	    /* doctor has printed why it does not end with 0 */
		utf8_tame(c->client.error); /* it may hold text of resexd */
		fprintf(stderr, "resex: %s\n", c->client.error);
	}
	return rc;
}

/*
 * Options before the verb, the verb, then its options among its arguments: two passes, since only
 * the verb tells which options there are (-f is --file of one and --follow of another).
 */
static int parse_words(struct cli *c, int argc, char **argv)
{
	char *error = c->client.error;
	int i = options_parse(&c->options, OPT_COMMON, NULL, argc, argv, error,
			      sizeof(c->client.error));

	if (i >= 0 && i < argc) {
		c->verb = find_verb(argv[i]);
		if (!c->verb)
			return unknown_verb(argv[i]);
		argc -= i;
		argv += i;
		i = options_parse(&c->options, OPT_COMMON | c->verb->options, c->verb->name, argc,
				  argv, error, sizeof(c->client.error));
	}
	if (i < 0) {
		fprintf(stderr, "resex: %s\n", error);
		return RESEX_USAGE;
	}
	c->argc = argc - i;
	c->argv = argv + i;
	return RESEX_OK;
}

int main(int argc, char **argv)
{
	struct cli c = {
		.options = { .lines = -1 },
		.client = { .fd = -1 },
	};
	int rc;

	file_keep_standard();
	rc = parse_words(&c, argc, argv);
	setlocale(LC_CTYPE, "C.UTF-8"); /* widths of guests' names, which are in UTF-8 */
	if (rc)
		return rc;
	if (c.options.help && c.verb) {
		print_verb_help(stdout, c.verb);
	} else if (c.options.help) {
		print_help(stdout);
	} else if (c.options.version) {
		puts("resex " PACKAGE_VERSION);
	} else if (!c.verb) {
		print_help(stderr);
		rc = RESEX_USAGE;
	} else if (!c.verb->run) {
		rc = print_wanted_help(c.argc, c.argv);
	} else {
		rc = run_verb(&c);
	}
	/* A script must not take a reply that could not be printed for an empty one. */
	if (!rc && (fflush(stdout) || ferror(stdout))) {
		perror("resex: output");
		rc = RESEX_FAILURE;
	}
	return rc;
}
