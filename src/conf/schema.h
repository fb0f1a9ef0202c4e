/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * schema: the JSON Schemas of resexd.json, cluster.json and policy files, made from the tables that
 * read them (src/util/conf_schema.h); and parts that scenarios have, too. NULL: no memory.
 */
#ifndef RESEX_CONF_SCHEMA_H
#define RESEX_CONF_SCHEMA_H

#include "src/util/conf_schema.h"

json_t *schema_settings(void);
json_t *schema_cluster(void);
json_t *schema_policy_file(void);

/* A policy's name, or an object as in a policy file. */
json_t *schema_policy(void);
/* The names of all built-in policies, and any that a plug-in can have. */
json_t *schema_policy_name(void);
/* "links" of resexd.json. */
json_t *schema_links(void);
/* The settings of a guest, without a title; with the keys of more, if it is not NULL. */
json_t *schema_guest(const struct conf_table *more, const struct conf_says *says);

#endif
