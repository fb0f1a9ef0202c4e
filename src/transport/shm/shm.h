/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shm: what the files of the backend "shm" share.
 *
 * A host listens at DIR/host-N.sock. A caller proves itself there, gets the parts as memory
 * files, and maps them. Only the owner can map them writable (they are sealed), except the
 * words: a client without the right to atomics gets a descriptor of them that is open for reading
 * alone. Then the caller executes its operations itself (exec.c). The
 * socket stays open for messages; its end is the link's end.
 *
 * The table is followed by one page of epochs. The owner raises epoch[h - 1] when it
 * destroys the link of host h. A caller checks it before each operation.
 *
 * The versions are followed by one page with the life of the owner (life.h), also where there are
 * none. The memory outlives the owner, and a caller notices its end only when it looks at the
 * socket. So it checks the life after each READ has copied: else a caller that hangs before that
 * would take a dead host's memory for that of its next life.
 */
#ifndef RESEX_TRANSPORT_SHM_SHM_H
#define RESEX_TRANSPORT_SHM_SHM_H

#include <sys/types.h>

#include "src/transport/backend.h"
#include "src/transport/shm/faults.h"
#include "src/transport/shm/life.h"

enum {
	SHM_EPOCHS_BYTES = 4096,
	SHM_HELLOS_MAX = 1024,
	/* Ids of epoll events: the listener, our links, links to us, unproven callers. */
	SHM_ID_LISTENER = 0,
	SHM_ID_OUT = 1,
	SHM_ID_IN = SHM_ID_OUT + TRANSPORT_HOSTS_MAX,
	SHM_ID_HELLO = SHM_ID_IN + TRANSPORT_HOSTS_MAX,
};

/* The contents of KEYS; the memory files are sent with it. */
struct shm_keys {
	uint64_t bytes[TRANSPORT_PARTS];
	uint64_t epoch;
};

struct shm_region {
	int fd[TRANSPORT_PARTS];
	int words_read; /* the words again, for clients that may only READ */
	void *mem[TRANSPORT_PARTS];
	size_t len[TRANSPORT_PARTS];
	uint64_t *epochs;
	struct shm_life life;
};

/* A peer's region, mapped. */
struct shm_map {
	void *mem[TRANSPORT_PARTS];
	size_t len[TRANSPORT_PARTS];
	const uint64_t *epochs;
	uint64_t epoch; /* of our link, while it is up */
	const uint32_t *life;
	int versions; /* the file of VERSIONS, for shm_share; 0: none */
};

/* An outstanding operation. */
struct shm_entry {
	struct transport_op op;
	struct transport_slot *slot;
	struct mono exec, done;
	bool lost, lost_back, tear, executed;
	uint64_t old;
};

struct shm_out {
	int fd;
	struct hello hello;
	struct shm_map map;
	uint8_t *data; /* TRANSPORT_SLOTS times TRANSPORT_READ_MAX */
	struct shm_entry queue[TRANSPORT_DEPTH];
	uint32_t n;
	struct mono exec_last; /* of the newest operation: none overtakes another */
	bool lost, lost_back;  /* all further requests, results of this link are lost */
	bool stuck;	       /* a SEND waits for room in the socket */
	bool cut;
	/* Operations of the link before: executed until its responder destroys that link. */
	struct shm_map late_map;
	struct shm_entry late[TRANSPORT_DEPTH];
	uint32_t lates;
};

/* An unproven caller; fd < 0: none. */
struct shm_hello {
	int fd;
	struct mono due;
	struct hello hello;
};

struct shm {
	struct transport t; /* the first member */
	int epoll, listener;
	char path[TRANSPORT_ADDRESS_MAX + 16]; /* of our socket, while we listen */
	struct shm_region region;
	struct shm_out out[TRANSPORT_HOSTS_MAX];
	int in[TRANSPORT_HOSTS_MAX];  /* peers' links to us; < 0: none */
	int old[TRANSPORT_HOSTS_MAX]; /* the links before, until their messages are received */
	struct shm_hello *hello;
	uint32_t hellos_max;
	struct shm_faults faults;
	uint64_t rng;
	struct hostset busy; /* operations to them are outstanding */
};

static inline struct shm *shm_of(struct transport *t)
{
	return (struct shm *)t;
}

static inline struct shm_out *shm_out(struct shm *s, const struct transport_out *o)
{
	return &s->out[o - s->t.out];
}

/* --- region.c ----------------------------------------------------------- */

/* -EBADF: a descriptor of conf.fd cannot serve its part. text: one sentence for people. */
int shm_region_open(struct shm_region *r, const struct transport_conf *c, char text[static 256]);
void shm_region_close(struct shm_region *r);
/* The files for a host that may post atomics, or may not. */
void shm_region_files(const struct shm_region *r, bool atomics, int file[TRANSPORT_PARTS]);
/* Map the files of a peer; the words writable if we may post atomics. Does not close them. */
int shm_map(struct shm_map *m, const int fd[TRANSPORT_PARTS], const struct shm_keys *k,
	    bool atomics);
void shm_unmap(struct shm_map *m);
int shm_share(const struct transport *t, const struct transport_out *o, int *fd);

/* --- socket.c ------------------------------------------------------------ */

/* A socket's address; -ENAMETOOLONG. */
int shm_address(char *path, size_t size, const char *dir, uint16_t host);
/* Listen at DIR/host-N.sock. -EADDRINUSE: another process listens there. */
int shm_listen(const char *dir, const char *path, int *fd);
/* -ECONNREFUSED, -ENOENT: no process listens there. */
int shm_connect(const char *path, int *fd);
/* Is the other end's user root or ours? 0; -EACCES. */
int shm_check_peer(int fd);
int shm_watch(int epoll, int op, int fd, uint32_t events, uint32_t id);
void shm_close(int *fd);
/* A message, with TRANSPORT_PARTS files beside it when file is not NULL. 0 or -errno. */
int shm_send(int fd, const void *data, size_t len, const int *file);
/*
 * Receive a message. Returns its length, or -errno: -EAGAIN: none now; -ECONNRESET: the
 * other end is closed; -EMSGSIZE. file: gets the files sent with it, -1: none; NULL: discard them.
 */
ssize_t shm_recv(int fd, void *buf, size_t size, int file[TRANSPORT_PARTS]);

/* --- call.c: our links ----------------------------------------------------- */

int shm_check(const struct transport_peer *p);
int shm_call(struct transport *t, struct transport_out *o, struct mono now);
void shm_hang_up(struct transport *t, struct transport_out *o);
void shm_out_event(struct shm *s, uint32_t i, uint32_t events, struct mono now);

/* --- serve.c: links to us ---------------------------------------------------- */

void shm_accept(struct shm *s, struct mono now);
void shm_hello_event(struct shm *s, uint32_t i, struct mono now);
void shm_in_event(struct shm *s, uint32_t i);
void shm_evict(struct transport *t, uint16_t host);
bool shm_serves(const struct transport *t, uint16_t host);
void shm_hellos_timers(struct shm *s, struct mono now);
void shm_hellos_due(const struct shm *s, struct mono *due);

/* --- exec.c: outstanding operations ---------------------------------------------- */

int shm_submit(struct transport *t, struct transport_out *o, struct transport_slot *slot,
	       struct mono now);
void shm_run(struct shm *s, uint32_t i, struct mono now);
void shm_run_due(const struct shm *s, struct mono *due);
/* The link ended: its outstanding operations lose their slots, and become late. */
void shm_orphan(struct shm *s, struct shm_out *o);
/* The responder has destroyed the link before: none of its operations is executed any more. */
void shm_forget_late(struct shm_out *o);

#endif
