/* SPDX-License-Identifier: GPL-2.0-or-later */
/* run_priv: between the files of run. */
#ifndef RESEX_TESTS_CACHE_VT_RUN_PRIV_H
#define RESEX_TESTS_CACHE_VT_RUN_PRIV_H

#include "tests/cache/vt/run.h"

/*
 * What a timer or an ASK of the world means: the high 8 bits. The others say of what: a call
 * (index, serial), a job of an application server, a host.
 */
enum {
	RUN_EV_ARRIVE = 1, /* calls: */
	RUN_EV_ANSWER,
	RUN_EV_COMMIT,
	RUN_EV_GIVE_UP,
	RUN_EV_IDLE,
	RUN_EV_CLOSE,
	RUN_EV_TOLD,  /* ASK: its end is known */
	RUN_EV_STORE, /* a beat, after a pause */
	RUN_EV_WISH,
	RUN_EV_REQUEST,
	RUN_EV_FILL, /* ASK: an application server gets a request */
	RUN_EV_BEGIN,
	RUN_EV_SNAPSHOT,
	RUN_EV_COMPUTED,
	RUN_EV_COPY,
	RUN_EV_EVICT,
	RUN_EV_STALL,
	RUN_EV_BLIND,  /* by, host */
	RUN_EV_REMOVE, /* once more: by, host */
	RUN_EV_TROUBLE,
	RUN_EV_STRIKE,
	RUN_EV_QUIET,
};

static inline uint32_t run_what(uint32_t event, uint32_t of)
{
	return event << 24 | (of & 0xffffff);
}

static inline uint32_t run_event(uint32_t what)
{
	return what >> 24;
}

static inline uint32_t run_of(uint32_t what)
{
	return what & 0xffffff;
}

static inline int64_t between(struct run *r, int64_t lo, int64_t hi)
{
	return world_between(&r->w, lo, hi);
}

static inline bool one_in(struct run *r, uint64_t n)
{
	return n != 0 && world_random(&r->w) % n == 0;
}

static inline bool run_is_app(uint32_t host)
{
	return host >= 1 && host <= RUN_APPS;
}

static inline void run_timer(struct run *r, int64_t in, uint32_t event, uint32_t of)
{
	world_timer(&r->w, r->w.now + in, run_what(event, of));
}

static inline void run_tell(struct run *r, uint16_t host, uint32_t event, uint32_t of)
{
	world_ask(&r->w, host, run_what(event, of));
}

/* The hash of a tag that goes through the protocol. */
uint64_t run_tag(uint32_t i);

/* --- run_record.c ----------------------------------------------------------------- */

void run_note(struct run *r, const char *what, uint16_t host, uint64_t a, uint64_t b, uint64_t c);
__attribute__((format(printf, 3, 4))) void run_fail(struct run *r, enum run_violation v,
						    const char *format, ...);

/* --- run_draw.c --------------------------------------------------------------------- */

void run_draw(struct run *r, uint64_t seed, const struct run_options *o, struct world_conf *c);

/* --- run.c ----------------------------------------------------------------------- */

/* The process of host ends, perhaps for good. */
void run_crash(struct run *r, uint16_t host, int64_t down);
/* An operator at one host removes another one, which may live. */
void run_remove(struct run *r, uint16_t by, uint16_t host);
/* R7 k: right after its look; it hangs, and does not notice it. */
void run_remove_now(struct run *r, uint16_t host);

/* --- run_call.c --------------------------------------------------------------------- */

void run_call_init(struct run *r);
/* index + 1; 0: the connection is refused */
uint32_t run_call(struct run *r, const struct db_wish *w);
/* A timer of a call. */
void run_call_event(struct run *r, uint32_t event, uint32_t of);
/* The call that was told, if the process of host awaits it; else NULL. *index: its number. */
struct run_call *run_call_told(struct run *r, uint16_t host, uint32_t of, uint32_t *index);
/* The process of host has ended. */
void run_call_crashed(struct run *r, uint16_t host);
/* All calls of host lose their connections now; 0: of all hosts. */
void run_call_lose(struct run *r, uint16_t host);

/* --- run_app.c, run_fill.c ------------------------------------------------------------ */

void run_app_boot(struct run *r, uint16_t host, struct mono now);
void run_app_step(struct run *r, uint16_t host, const struct step_event *ev, struct mono now,
		  struct step_out *out);
struct mono run_app_due(const struct run *r, uint16_t host);
/* The owner SENDs a message, and awaits no result. Without a free operation it is dropped. */
void run_app_send(struct run_app *a, uint16_t host, const void *message, uint32_t len,
		  struct step_out *out);
/* The beat that it held when its loop stopped. */
void run_app_store(struct run *r, uint16_t host);
/* May the words be used? Is it a member as it believes? */
bool run_app_is_open(const struct run_app *a);

void run_fill_boot(struct run *r, uint16_t host, struct mono now);
void run_fill_step(struct run *r, uint16_t host, const struct step_event *ev, struct mono now,
		   struct step_out *out);
struct mono run_fill_due(const struct run_app *a);
/* This job's transaction takes its snapshot, wherever its host is by then. */
void run_fill_snapshot(struct run *r, uint32_t of);

/* --- run_proxy.c -------------------------------------------------------------------- */

void run_proxy_boot(struct run *r, uint16_t host);
void run_proxy_step(struct run *r, uint16_t host, const struct step_event *ev, struct mono now,
		    struct step_out *out);
struct mono run_proxy_due(const struct run *r, uint16_t host);
/* A READ of a version word by a proxy was executed. */
void run_proxy_read(struct run *r, uint16_t host, uint32_t tag);
/* A page with its version is on its way, and has come. */
void run_proxy_deliver(struct run *r, uint16_t host, uint16_t home, uint16_t page, uint64_t version,
		       uint32_t seen);
void run_proxy_store(struct run *r, uint32_t of);

#endif
