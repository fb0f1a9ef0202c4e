// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * schema: print the JSON Schema of a file that resexd reads (src/conf/schema.h, src/lab). main.c
 * calls it with the options; nothing is read or opened.
 */
#include "src/conf/schema.h"

#include <stdio.h>
#include <string.h>

#include "resex/exit.h"
#include "src/daemon/modes.h"
#include "src/lab/run.h"

static const struct {
	const char *name;
	json_t *(*make)(void);
} schemas[] = {
	{ "resexd.json", schema_settings },
	{ "cluster.json", schema_cluster },
	{ "policy", schema_policy_file },
	{ "scenario", scenario_schema },
};

enum { SCHEMAS = sizeof(schemas) / sizeof(schemas[0]) };

static int print_schema(json_t *schema)
{
	int rc = schema ? json_dumpf(schema, stdout, JSON_INDENT(1)) : -1;

	json_decref(schema);
	if (!rc && putchar('\n') != EOF)
		return RESEX_OK;
	if (!ferror(stdout)) /* main.c says what is wrong with the output */
		fputs("resexd: out of memory\n", stderr);
	return ferror(stdout) ? RESEX_OK : RESEX_FAILURE;
}

int mode_schema(const struct options *o)
{
	for (size_t i = 0; i < SCHEMAS; i++)
		if (!strcmp(o->schema, schemas[i].name))
			return print_schema(schemas[i].make());
	fprintf(stderr, "resexd: there is no schema \"%s\": use", o->schema);
	for (size_t i = 0; i < SCHEMAS; i++)
		fprintf(stderr, "%s %s", i ? "," : "", schemas[i].name);
	fputc('\n', stderr);
	return RESEX_USAGE;
}
