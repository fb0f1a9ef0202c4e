/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * settings: resexd.json (man resexd.json), checked whole before anything starts, and again at
 * SIGHUP. Nearly every part of the daemon reads its own keys from struct daemon_conf.
 */
#ifndef RESEX_CONF_SETTINGS_H
#define RESEX_CONF_SETTINGS_H

#include "ibmon/registry.h"
#include "src/core/resos.h"
#include "src/counters/counters.h"
#include "src/util/conf.h"

enum {
	CONFIG_PATH_MAX = 107, /* fits sockaddr_un */
	SETTINGS_ALSO_MAX = 14,
	COUNTER_TEXT_MAX = 79, /* "port:", a device, "/", a number */
};

/* A counter: as written ("" is the default), and parsed. */
struct counter_setting {
	char text[COUNTER_TEXT_MAX + 1];
	struct counter_name name;
};

/* What a guest is charged while a send queue that it publishes cannot be read. */
struct unreadable_conf {
	enum { UNREADABLE_LAST_RATE, UNREADABLE_NOTHING, UNREADABLE_RATE } mode;
	uint64_t bytes_s; /* UNREADABLE_RATE */
};

/* Settings of one guest, or the default of all. */
struct guest_conf {
	char name[FLOW_NAME_MAX]; /* a guest's name or UUID */
	uint64_t weight;	  /* 1 .. 65535 */
	bool exempt;
	uint64_t min_cap; /* percent, 1 .. 100 */
	uint64_t max_cap; /* percent; 0: none. The operator's cap may be lower */
	struct sla sla;	  /* all 0: base figures are learned */
	char link_name[FLOW_NAME_MAX];
	uint32_t link; /* index, from link_name */
	struct counter_setting counter;
	struct unreadable_conf unreadable;
};

/* The comparison of what rings claim with counters (core/crosscheck.h). */
struct crosscheck_conf {
	bool off;
	int64_t window_ns;
	uint64_t tolerance; /* permille */
	uint64_t floor;	    /* bytes a second; 0: a twentieth of the link */
};

struct daemon_conf {
	int64_t interval_ns, epoch_ns;
	struct link_conf link[FLOW_LINKS_MAX];
	struct counter_setting link_counter[FLOW_LINKS_MAX];
	uint32_t links;
	struct crosscheck_conf crosscheck;
	struct guest_conf guest_default;
	struct guest_conf guest[FLOW_GUESTS_MAX];
	uint32_t guests;
	struct registry_limits limits;
	char policy[FLOW_NAME_MAX];
	char policy_file[CONFIG_PATH_MAX + 1]; /* "": built-in defaults */
	char policy_dir[CONFIG_PATH_MAX + 1];  /* has the plug-ins */
	char layout_dir[CONFIG_PATH_MAX + 1];  /* has layouts of rings; "": none */
	char socket[CONFIG_PATH_MAX + 1];
	char socket_group[FLOW_NAME_MAX];    /* "": root only */
	char state_dir[CONFIG_PATH_MAX + 1]; /* holds caps.json */
	char lock_file[CONFIG_PATH_MAX + 1];
	char cluster_file[CONFIG_PATH_MAX + 1]; /* cluster.json; "": this host is alone */
	uint64_t realtime_priority;		/* 0: not real-time */
	bool lock_memory;
};

/* 0 or -errno of conf_load; e is filled on error. conf may be large: not on a small stack. */
int settings_load(struct daemon_conf *c, const char *file, struct conf_error *e);
/* The same for a running daemon with settings *was: -EINVAL also if a fixed key has changed. */
int settings_reload(struct daemon_conf *c, const struct daemon_conf *was, const char *file,
		    struct conf_error *e);
int settings_parse(struct daemon_conf *c, const char *name, const char *text, size_t len,
		   struct conf_error *e);

/* --- tables, for their schemas (schema.h) --- */

enum settings_table { SETTINGS_TOP, SETTINGS_LINK, SETTINGS_LIMITS, SETTINGS_CROSSCHECK };
/* c: all defaults, which the table refers to. */
struct conf_table settings_table(enum settings_table t, const struct daemon_conf *c);
struct conf_table settings_guest_table(const struct guest_conf *g);
struct conf_table settings_sla_table(void);
struct conf_table settings_unreadable_table(void);
extern const char *const settings_unreadable_words[];
extern const struct conf_list settings_links;

/* --- parts, for files with the same keys (scenarios) --- */

/* All defaults. */
void settings_default(struct daemon_conf *c);
/* "links" of d's root, added to c->link. 0, or -EINVAL and e is filled. */
int settings_bind_links(struct daemon_conf *c, const struct conf_doc *d, struct conf_error *e);
/*
 * g->link from g->link_name: by name, or the first when it is "". 0, or -EINVAL
 * and e is filled; path is the guest's.
 */
int settings_find_link(const struct daemon_conf *c, const struct conf_doc *d, const char *path,
		       struct guest_conf *g, struct conf_error *e);

/* Defaults of a guest. */
void settings_guest_default(struct guest_conf *g);
/*
 * Bind the settings of one guest, an object at path of d, to *g. Absent keys leave *g
 * unchanged. also[]: further keys of the object that the caller reads, at most
 * SETTINGS_ALSO_MAX (ended by NULL; may be NULL). g->name and g->link are not set: see
 * settings_find_link. 0, or -EINVAL with e filled and *g unchanged.
 */
int settings_bind_guest(const struct conf_doc *d, const char *path, const json_t *obj,
			const char *const *also, struct guest_conf *g, struct conf_error *e);

/* The settings of the guest with this name or UUID (text); guest_default if it has none. */
const struct guest_conf *settings_guest(const struct daemon_conf *c, const char *name,
					const char *uuid);

#endif
