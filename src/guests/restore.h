/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * restore: the own caps of guests, as they were before resexd changed them, on disk.
 *
 * STATE/caps.json is written (to a temporary file, fsync, rename, fsync of
 * the directory) before a guest's cap is changed for the first time. Caps are
 * restored from it at stop, at the next start, and by resexd --restore-caps.
 *
 * An entry outlives its domain: a toolstack copies the cap in force, which may be one that resexd
 * set, into the configuration of the domain that a reboot, a restored image or a migration makes.
 * resexd(8) says what each field of the file means.
 */
#ifndef RESEX_GUESTS_RESTORE_H
#define RESEX_GUESTS_RESTORE_H

#include "src/core/flow.h"
#include "src/hv/hv.h"
#include "src/tick/written.h"
#include "src/util/conf.h"
#include "src/util/kept_file.h"

enum {
	RESTORE_GONE_MAX = 1024,
	RESTORE_GONE_S = 30 * 24 * 3600, /* a domain that went may be restored from an image */
	RESTORE_ENDED_S = 3600,		 /* its cap was given back: only an image under way */
	RESTORE_BOOT_MAX = 40,
};

/* A set of percents. */
struct percents {
	uint64_t bit[WRITTEN_PERCENTS / 64];
};

/* What is known of the caps that resexd set last: one of the two is in force. */
struct written_last {
	bool known; /* false: nothing was read, and any cap may be one of them */
	bool any;   /* false: none was set */
	uint32_t from, to;
};

struct saved_cap {
	uint32_t domid; /* of an entry that outlived a boot: 0 */
	uint8_t uuid[16];
	struct hv_sched_params params; /* its own */
	int64_t until;		       /* of a domain that is gone: kept until then, in s */
	struct written_last last;
	struct percents written; /* by resexd, ever */
};

struct restore {
	char dir[112];
	char file[128];
	char hv[16];		     /* name of the hypervisor that has these domains */
	char boot[RESTORE_BOOT_MAX]; /* of the host; "": not known */
	int64_t now_s;		     /* wall clock; the owner keeps it up to date */
	bool foreign;		     /* the file is of another hypervisor */
	bool absent;		     /* there was no file to be read, */
	bool removed;		     /* though caps were set in this boot (restore_open) */
	struct kept_file file_kept, journal_kept; /* as they were written last */
	uint32_t entries, gones;
	struct saved_cap entry[FLOW_GUESTS_MAX];
	struct saved_cap gone[RESTORE_GONE_MAX]; /* of domains that are gone, the oldest first */
};

/*
 * Read what an earlier run left on this hypervisor ("xen", "sim"). 0 (also when
 * there is no file), or -errno with e filled; then there are no entries. A file about
 * another hypervisor's domains (foreign) is never overwritten: an operator must look at it.
 */
int restore_load(struct restore *r, const char *state_dir, const char *hv, struct conf_error *e);

/*
 * As restore_load, for this boot of the host: entries of another one are of domains that are gone.
 * Adds what the actor noted (journal.h). If the file is damaged and its former copy is good, the
 * copy is read, e says what is wrong with the file, and 1 is returned. removed is set if there is
 * no file although the actor has noted caps in this boot: the guests' own caps are then not known.
 */
int restore_open(struct restore *r, const char *state_dir, const char *hv, const char *boot,
		 int64_t now_s, struct conf_error *e);

/* Rename the file to caps.json.bad. 0 or -errno. */
int restore_put_aside(const struct restore *r);

struct saved_cap *restore_find(struct restore *r, uint32_t domid, const uint8_t uuid[16]);
/* The entry of the domain that was this guest before: it has the UUID, and another id. */
struct saved_cap *restore_before(struct restore *r, uint32_t domid, const uint8_t uuid[16]);

bool percents_has(const struct percents *p, uint32_t percent);
void percents_add(struct percents *p, const struct percents *more);
void percents_drop(struct percents *p, uint32_t percent);
bool percents_empty(const struct percents *p);

enum own_verdict {
	OWN_UNKNOWN,  /* the domain has not run: its cap may not be set yet */
	OWN_PRESENT,  /* nothing is known: the cap in force is its own */
	OWN_IN_FORCE, /* its own is in force */
	OWN_OURS,     /* resexd set the cap in force: its own must be given back */
	OWN_OPERATOR, /* another program set the cap in force: it is the own from now on */
};

/*
 * Whose is the cap in force, in percent? was: its entry, or that of the domain that was this guest
 * before (same false); NULL: there is none.
 */
enum own_verdict own_judge(const struct saved_cap *was, bool same, uint32_t percent,
			   uint32_t dom_flags);

/*
 * Change entries in memory, then write once: each write waits for the disk.
 * A change is on disk only when restore_save returned 0; until then the file is
 * unchanged. The former file is kept as caps.json.bak.
 */
int restore_add(struct restore *r, const struct saved_cap *c); /* or change; 0 or -ENOSPC */
void restore_drop(struct restore *r, uint32_t domid, const uint8_t uuid[16]);
/* Its domain is gone. Only an entry with caps that resexd set is kept, for keep_s. */
void restore_gone(struct restore *r, uint32_t domid, const uint8_t uuid[16], int64_t keep_s);
/*
 * Unlinks the files when no entry is left. A file has at most CONF_BYTES_MAX bytes: guests that are
 * gone are dropped for that, the oldest first; -EFBIG: those that are there need more.
 */
int restore_save(struct restore *r);

/* What to do about a file that cannot be written. */
const char *restore_remedy(int rc);

struct restored {
	uint32_t caps; /* given back */
	uint32_t operators;
	/* Domains whose caps another program set: these caps were left. */
	struct {
		uint32_t domid, percent, own;
	} operator[FLOW_GUESTS_MAX];
	int save_rc; /* why the file could not be written or removed */
};

/*
 * Restore the cap of each guest of the file that is still there, and of guests that came back
 * with a cap of ours. end: no entry of a domain that is there stays, since caps are not changed
 * any more. Returns how many could not be restored, or -errno when the list of domains failed.
 */
int restore_all(struct restore *r, const struct hv_sched_ops *ops, struct hv_sched *s, bool end,
		struct restored *out);

#endif
