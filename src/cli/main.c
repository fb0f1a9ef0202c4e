// SPDX-License-Identifier: GPL-2.0-or-later
/* resex: the command line of resexd, in the manner of xl. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resex/exit.h"
#include "src/cli/cmdtable.h"
#include "src/util/utf8.h"

static void usage(FILE *f)
{
	fputs("Usage: resex [-j] [-s SOCKET] VERB [ARGUMENT]...\n\n", f);
	for (const struct verb *v = verbs; v->name; v++)
		fprintf(f, "  %-12s %s%s%s\n", v->name, v->args,
			*v->args ? "\n               " : "", v->text);
	fputs("\n"
	      "  -j, --json      print the reply as JSON\n"
	      "  -s, --socket S  where resexd listens (default " RESEX_RUNDIR "/resexd.sock)\n"
	      "  -h, --help      show this\n"
	      "  -V, --version   show the version\n"
	      "\n"
	      "GUEST is a name, a domain id or a UUID. See resex(1).\n",
	      f);
}

static const struct verb *find_verb(const char *name)
{
	for (const struct verb *v = verbs; v->name; v++)
		if (!strcmp(v->name, name))
			return v;
	return NULL;
}

struct words {
	const char *socket;
	const char *verb;
	bool json, help, version, bad;
	int argc;
	char **argv;
};

/* Our own options may stand before or after the verb; the rest is the verb's. */
static void sort_words(struct words *w, int argc, char **argv)
{
	bool ours = true;

	for (int i = 1; i < argc; i++) {
		const char *a = argv[i];

		if (ours && !strcmp(a, "--")) {
			ours = false;
		} else if (ours && (!strcmp(a, "-j") || !strcmp(a, "--json"))) {
			w->json = true;
		} else if (ours && (!strcmp(a, "-h") || !strcmp(a, "--help"))) {
			w->help = true;
		} else if (ours && (!strcmp(a, "-V") || !strcmp(a, "--version"))) {
			w->version = true;
		} else if (ours && (!strcmp(a, "-s") || !strcmp(a, "--socket"))) {
			if (++i < argc)
				w->socket = argv[i];
			else
				w->bad = true;
		} else if (!w->verb && a[0] == '-') {
			fprintf(stderr, "resex: there is no option \"%s\": see resex --help\n", a);
			exit(RESEX_USAGE);
		} else if (!w->verb) {
			w->verb = a;
		} else {
			w->argv[w->argc++] = argv[i];
		}
	}
}

static bool names_file(const struct cli *c, const struct verb *v, int i)
{
	return (i == 0 && v->file == FILE_FIRST) ||
	       (i == 1 && v->file == FILE_OPTION && is_file_option(c->argv[0]));
}

/* A request is UTF-8: a word that is not would be left out of it. */
static int check_words(struct cli *c, const struct verb *v)
{
	char word[256];

	for (int i = 0; i < c->argc; i++) {
		if (utf8_good(c->argv[i]) || names_file(c, v, i))
			continue;
		utf8_escape(c->argv[i], word, sizeof(word));
		snprintf(c->client.error, sizeof(c->client.error),
			 "\"%s\" is not in UTF-8: write it so", word);
		return RESEX_USAGE;
	}
	return RESEX_OK;
}

static int run(const struct words *w, const struct verb *v)
{
	struct cli c = {
		.json = w->json, .argc = w->argc, .argv = w->argv, .client = { .fd = -1 }
	};
	int rc = check_words(&c, v);

	if (!rc)
		rc = client_open(&c.client, w->socket);
	if (!rc)
		rc = v->run(&c);
	client_close(&c.client);
	if (rc) {
		utf8_tame(c.client.error); /* the server's words */
		fprintf(stderr, "resex: %s\n", c.client.error);
	}
	return rc;
}

int main(int argc, char **argv)
{
	struct words w = { .socket = RESEX_RUNDIR "/resexd.sock" };
	const struct verb *v;
	int rc = RESEX_USAGE;

	w.argv = calloc((size_t)argc + 1, sizeof(*w.argv));
	if (!w.argv)
		return RESEX_FAILURE;
	sort_words(&w, argc, argv);
	v = w.verb ? find_verb(w.verb) : NULL;
	if (w.help) {
		usage(stdout);
		rc = RESEX_OK;
	} else if (w.version) {
		puts("resex " PACKAGE_VERSION);
		rc = RESEX_OK;
	} else if (w.bad) {
		fputs("resex: --socket takes a path\n", stderr);
	} else if (!w.verb) {
		usage(stderr);
	} else if (!v) {
		fprintf(stderr, "resex: there is no verb \"%s\": see resex --help\n", w.verb);
	} else {
		rc = run(&w, v);
	}
	free(w.argv);
	if (!rc && (fflush(stdout) || ferror(stdout))) {
		perror("resex: output");
		rc = RESEX_FAILURE;
	}
	return rc;
}
