/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store: a store that may block, such as xenstore, behind calls that do not block.
 *
 * A thread of its own makes all calls to the store. The functions below only put requests into
 * a table and take answers out of it. So a store that is stopped, full or slow delays answers
 * and nothing else. They are made for struct hv_watch_ops (hv.h has the contract).
 */
#ifndef RESEX_HV_STORE_H
#define RESEX_HV_STORE_H

#include "src/hv/hv.h"

/*
 * The calls to the store, made by the store's thread alone, one at a time. Each may block for
 * any time, except fd() and next().
 */
struct store_calls {
	int (*open)(void **h, void *arg);
	void (*close)(void *h);
	/* Readable when next() has an event. */
	int (*fd)(void *h);
	/* 1 and an event; 0: none now; -errno: the connection is lost, so it is opened anew. */
	int (*next)(void *h, struct hv_event *ev);
	/* The others are those of struct hv_watch_ops, without -EAGAIN. */
	int (*watch)(void *h, uint32_t domid);
	void (*unwatch)(void *h, uint32_t domid);
	int (*read)(void *h, uint32_t domid, char *buf, size_t size);
	int (*name)(void *h, uint32_t domid, char *buf, size_t size);
	int (*want)(void *h, uint32_t domid, const char *value);
	int (*answer)(void *h, uint32_t domid, char *buf, size_t size);
};

struct store_conf {
	const struct store_calls *calls;
	void *arg;    /* for calls->open(); used until the thread ends, also after store_close() */
	int open_ms;  /* how long store_open() waits at most */
	int close_ms; /* how long store_close() waits at most */
};

enum {
	STORE_DOMS_MAX = 513,  /* domains in the table: twice all guests, and the one in a call */
	STORE_VALUE_MAX = 384, /* bytes of a value with its NUL; a longer one is -EMSGSIZE */
};

struct store;

/* -ETIMEDOUT: the store did not answer within open_ms; the errors of calls->open(). */
int store_open(struct store **out, const struct store_conf *c);
/*
 * A thread that is blocked in a call of the store is left behind after close_ms: it frees what
 * it uses when the call returns.
 */
void store_close(struct store *s);
int store_fd(const struct store *s);
int store_next(struct store *s, struct hv_event *ev);
int store_watch(struct store *s, uint32_t domid);
void store_unwatch(struct store *s, uint32_t domid);
int store_read(struct store *s, uint32_t domid, char *buf, size_t size);
int store_name(struct store *s, uint32_t domid, char *buf, size_t size);
int store_want(struct store *s, uint32_t domid, const char *value);
int store_answer(struct store *s, uint32_t domid, char *buf, size_t size);

#endif
