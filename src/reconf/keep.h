/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * keep: a host keeps the words of its own nodes: what other hosts' moves have made of them is
 * saved on disk, and then their kept words say so (move.h, "Kept words").
 *
 * The step function reads words and kept words once a check, through the loopback. If a word
 * differs from its kept word, and is not what was saved last, the owner must save all words
 * (KEEP_SAVES, keep_wants). When they are durable, or could not be saved, it answers with STEP_ASK.
 * Then each kept word that is behind is changed by CAS from the value that was read. What becomes
 * of these does not matter: the next READ shows it. A late one writes a word that is durable, and
 * fails if the kept word has changed meanwhile.
 */
#ifndef RESEX_RECONF_KEEP_H
#define RESEX_RECONF_KEEP_H

#include "resex/region_abi.h"
#include "src/reconf/step.h"

/*
 * The words with which a host begins, REGION_NODES_MAX of them. file: as many, 0 where it names
 * no node; NULL: the host has no file that is whole. service: of each node in the configuration.
 * first: the host never ran before. A node of the file gets the file's word. One that the file does
 * not name has never been counted, as none has at the first start: it gets its configured service.
 * If the file is lost, the nodes belong to no service until a move adopts them (move.h): where the
 * others have moved them, this host does not know. true: save these words, before anybody can read
 * them.
 */
bool keep_begin(uint64_t *node, const uint64_t *file, const uint16_t *service, bool first);

enum { KEEP_TAGS = 1 << 16 }; /* tags conf.tag .. conf.tag + KEEP_TAGS - 1 */

struct keep_conf {
	uint16_t self;
	uint32_t tag;
	uint32_t nodes;	  /* the words of nodes 0 .. nodes - 1 are kept; 1 .. REGION_NODES_MAX */
	int64_t check_ns; /* from one READ to the next */
};

enum keep_state {
	KEEP_RESTS,
	KEEP_READS,
	KEEP_SAVES, /* its owner saves keep_wants */
	KEEP_KEEPS, /* CASes of kept words */
};

/* event.what of STEP_ASK: the answer to KEEP_SAVES. */
enum keep_ask {
	KEEP_SAVED,  /* the words of keep_wants are durable */
	KEEP_FAILED, /* they are not, or may not be: it is asked for again after a check */
};

struct keep {
	struct keep_conf conf;
	enum keep_state state;
	uint64_t word[REGION_NODES_MAX];  /* as read last; SAVES: what is to be saved */
	uint64_t kept[REGION_NODES_MAX];  /* as read last */
	uint64_t saved[REGION_NODES_MAX]; /* durable */
	uint32_t word_link;		  /* the link that returned word and kept */
	uint32_t todo;			  /* KEEPS: the first node that may need a CAS */
	uint32_t round;			  /* of operations; part of their tags */
	uint32_t waited;		  /* operations of this round that are outstanding */
	bool full;			  /* the last step had no room for all operations */
	bool down;			  /* no link to self that is newer than link */
	uint32_t link;
	struct mono next; /* no READ before */
};

/* saved: conf->nodes words that are on disk, with which the region has begun (region_words). */
void keep_init(struct keep *k, const struct keep_conf *c, const uint64_t *saved);
/* Handles one event; appends operations to *out. */
void keep_step(struct keep *k, const struct step_event *ev, struct mono now, struct step_out *out);
struct mono keep_due(const struct keep *k);
enum keep_state keep_state(const struct keep *k);
/*
 * SAVES: conf.nodes words, until the answer. NULL: there is nothing to save. One save at a time: it
 * ends when keep_step has handled its answer. The answer to a second one would be taken for that to
 * later words.
 */
const uint64_t *keep_wants(const struct keep *k);

#endif
