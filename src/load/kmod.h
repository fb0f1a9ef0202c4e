/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kmod: the load record that the module resex_loadmon fills (LOAD_KLM), and the choice between it
 * and a source that is sampled.
 *
 * The module writes the record itself, where other hosts READ it. resexd only looks whether its
 * beat moves.
 */
#ifndef RESEX_LOAD_KMOD_H
#define RESEX_LOAD_KMOD_H

#include <stdbool.h>

#include "resex/loadmon_abi.h"
#include "src/core/units.h"

/* The module, or what a test has in its place. */
struct load_filler {
	/* Let it fill this record from now on. A handle >= 0, or -errno: it does not. */
	int (*begin)(const struct loadmon_fill *f);
	/* When this returns, the record is the caller's again. */
	void (*end)(int handle);
};

extern const struct load_filler load_kmod;

/*
 * What loadmon_fill.running_offset is for the kernel that runs, by this file of BTF. It reads some
 * megabytes. LOADMON_NO_OFFSET: the file does not tell.
 */
uint32_t load_running_offset(const char *file);

/* --- one record that the module may fill (fill.c) -------------------------------------- */

struct load_choice {
	bool filling;
	uint64_t beat;
	struct mono began, moved; /* while it fills */
	struct mono again;	  /* when it is asked again */
	int64_t pause_ns;	  /* the last one; 0: its beat was never unchanged for too long */
};

struct load_fill {
	const struct load_filler *filler; /* NULL: it is never asked */
	struct loadmon_fill what;
	struct load_choice choice; /* .filling: the record is the module's, and not the caller's */
	int handle;		   /* -1: none */
};

/*
 * Call both in each period, with the record's beat. True: the module was let go just now, since its
 * beat is unchanged for too long; the record is the caller's again.
 */
bool load_fill_lost(struct load_fill *f, uint64_t beat, struct mono now);
/* Ask the module, when it is time. 0; -errno: it was asked, and does not fill. */
int load_fill_ask(struct load_fill *f, uint64_t beat, struct mono now);
/* Let it go, if it fills. */
void load_fill_end(struct load_fill *f);

/* --- the choice (choose.c), pure ---------------------------------------------------- */

/*
 * Does the module fill the record, or must somebody else? Zeros: it is asked for the first time.
 * It is asked again each second. While it fills, its beat must change. When the beat is unchanged
 * for load_choice_patience(), the module hangs or an operator holds it: it is let go, and asked
 * again after a pause. The pause doubles, from a second to a minute, each time that this happens
 * within 10 s of filling.
 */
int64_t load_choice_patience(int64_t period_ns);
/* Must the module be asked now? */
bool load_choice_asks(const struct load_choice *c, struct mono now);
/* It was asked: it fills, and this is its beat, or it does not. */
void load_choice_fills(struct load_choice *c, uint64_t beat, struct mono now);
void load_choice_refused(struct load_choice *c, struct mono now);
/* Its beat is this. True: it is unchanged for too long, and the module must be let go. */
bool load_choice_unchanged(struct load_choice *c, uint64_t beat, int64_t period_ns,
			   struct mono now);

#endif
