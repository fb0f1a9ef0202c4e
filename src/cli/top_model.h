/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top_model: what resex top knows: the newest replies of resexd as rows, their order, which guest
 * is chosen, and whether resexd answers. Pure: replies and the time are arguments; top_layout.h
 * draws it.
 */
#ifndef RESEX_CLI_TOP_MODEL_H
#define RESEX_CLI_TOP_MODEL_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "src/core/units.h"

/* In the order in which a terminal has room for them. */
enum top_column {
	TOP_NAME,
	TOP_SENT, /* bytes/s */
	TOP_RECV,
	TOP_CPU,     /* percent of one CPU */
	TOP_BALANCE, /* percent of the epoch's allocation */
	TOP_CAP,     /* percent of one CPU */
	TOP_CAPPED,  /* percent of the time */
	TOP_MEAN,    /* us */
	TOP_P99,
	TOP_RESOS, /* spent, percent of the allocation */
	TOP_MTUS_SENT,
	TOP_MTUS_RECV,
	TOP_WEIGHT,
	TOP_VCPUS,
	TOP_ID,
	TOP_RINGS,
	TOP_STATE,
	TOP_COLUMNS
};

/* The word of -o, such as "mtus-sent". */
const char *top_column_word(enum top_column c);
/* By its word, in any case; TOP_COLUMNS: there is none. */
enum top_column top_column_find(const char *word);

struct top_guest {
	char name[256]; /* as resexd sent it: top_layout.c alone decides what is drawn */
	char uuid[40];
	char state[32];
	double v[TOP_COLUMNS]; /* of the columns that are figures; NaN: not known */
	size_t index;	       /* in the reply */
	double full_cap;       /* of all its VCPUs, percent */
};

/* The replies that are wanted, in this order. */
enum top_reply { TOP_LIST, TOP_INFO, TOP_WHY, TOP_RINGLIST, TOP_HOSTS, TOP_LOCKS, TOP_REPLIES };

enum top_page { TOP_PAGE_GUESTS, TOP_PAGE_HOSTS };

enum top_key {
	TOP_KEY_NONE,
	TOP_KEY_QUIT,
	TOP_KEY_UP,
	TOP_KEY_DOWN,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_HOME,
	TOP_KEY_END,
	TOP_KEY_LEFT,  /* sort by the column before */
	TOP_KEY_RIGHT, /* by the next one */
	TOP_KEY_REVERSE,
	TOP_KEY_PAGE, /* the other page */
	TOP_KEY_GUESTS,
	TOP_KEY_HOSTS,
	TOP_KEY_HELP,
	TOP_KEY_REFRESH
};

struct top_model {
	struct top_guest *guests; /* sorted */
	size_t n;
	json_t *info, *why, *rings, *hosts, *locks; /* the newest replies; NULL: none */
	char refused[TOP_REPLIES][256];		    /* why there is none; "": not refused */
	char policy[64];
	json_int_t epoch;
	bool simulated;
	/* what the user chose */
	enum top_page page;
	enum top_column sort;
	bool reverse, help;
	char chosen[40]; /* UUID: it stays when the order, or the guest's name, changes */
	size_t at;	 /* the chosen guest's index in guests; 0 if n is 0 */
	size_t host_at;	 /* the first row of the page of hosts */
	/* whether resexd answers */
	bool waits, seen;      /* a request is out; a list came at least once */
	struct mono asked;     /* the request that is out */
	struct mono listed;    /* the newest list */
	struct mono restarted; /* when a new resexd was seen; ns 0: never */
	long pid;	       /* of resexd; 0: not known */
	char lost[640];	       /* why there is no connection; "": there is one */
};

void top_model_init(struct top_model *m);
void top_model_free(struct top_model *m);

/*
 * A reply came; r is only read. That of list may be brief. 0, or -ENOMEM: then the former rows
 * stay. A reply of any shape is taken: what it lacks is not known.
 */
int top_model_reply(struct top_model *m, enum top_reply what, json_t *r, struct mono now);
/* resexd answered with an error. */
void top_model_refused(struct top_model *m, enum top_reply what, const char *sentence);
/* There is a connection to the process pid; 0: it is not known. Another one was started anew. */
void top_model_connected(struct top_model *m, long pid, struct mono now);
/* A request was sent. */
void top_model_asked(struct top_model *m, struct mono now);
/* The connection is lost. sentence: why. */
void top_model_lost(struct top_model *m, const char *sentence);

/* For so long a request is waited for until resexd counts as hung. */
#define TOP_HUNG_NS (2 * NS_PER_S)
bool top_model_hung(const struct top_model *m, struct mono now);

/*
 * One sentence on what is wrong with what is shown, or "": no connection, no answer, started anew,
 * list refused. True: the rows are not of now.
 */
bool top_model_trouble(const struct top_model *m, struct mono now, char *text, size_t size);

/* By m->sort and m->reverse. Figures descend, words ascend; unknown ones are last. */
void top_model_sort(struct top_model *m);

/* The chosen guest, or NULL. */
const struct top_guest *top_model_chosen(const struct top_model *m);

/* The guest of a reply of why or ring-list, if it is the chosen one; else NULL. */
const json_t *top_model_detail(const struct top_model *m, const json_t *reply);

/* rows: of a page, for the keys that turn pages. */
void top_model_key(struct top_model *m, enum top_key key, size_t rows);

#endif
