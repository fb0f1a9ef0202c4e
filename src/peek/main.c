// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * resex-peek: read what the hosts of a cluster publish, as a client of them: no member, no resexd
 * of its own, and only READs. For an operator who wants to see the memory itself, and not what
 * another host's resexd or resex-cached says of it.
 *
 * All hosts are read at once, each at its own pace (read.c, read_cached.c); what was read within
 * the time is printed (show.c).
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resex/exit.h"
#include "src/peek/peek.h"
#include "src/util/clock.h"
#include "src/util/file.h"

enum { EVENTS = 64 };

/* The two kinds of hosts have no agreement with each other: a transport for each. */
enum side { MEMBERS, CACHED, SIDES };

struct peek {
	struct peek_options o;
	struct cluster_conf conf;
	struct cluster_key key;
	struct clock clock;
	struct transport *t[SIDES]; /* NULL: no host of it is read */
	struct peek_all all;
};

static struct mono now_of(struct peek *p)
{
	return p->clock.now(&p->clock);
}

static int fail_conf(const struct conf_error *e)
{
	fprintf(stderr, "resex-peek: %s\n", e->text);
	return (int)e->exit;
}

static int fail_memory(void)
{
	fputs("resex-peek: there is no memory\n", stderr);
	return RESEX_FAILURE;
}

/* --- which hosts ------------------------------------------------------------------- */

/* The start of a client is a time: a later one replaces an earlier one that still runs. */
static int open_transport(struct peek *p, enum side side)
{
	const struct cluster_client *self = &p->conf.client[p->conf.self];
	const struct transport_backend *b = transport_backends[p->conf.transport];
	struct transport_conf tc = { .host = (uint16_t)self->number,
				     .generation = (uint64_t)clock_wall_ns(),
				     .role = TRANSPORT_CLIENT,
				     .agreement = side == MEMBERS
							  ? cluster_agreement(&p->conf)
							  : cluster_cache_agreement(&p->conf),
				     .key = p->key.bytes,
				     .key_len = p->key.len };
	char text[256] = "";
	int rc;

	strcpy(tc.cluster, p->conf.cluster); /* conf's arrays are as long */
	strcpy(tc.address, self->address);
	rc = b->open(&p->t[side], &tc, now_of(p), text);
	if (!rc)
		return 0;
	fprintf(stderr, "resex-peek: transport \"%s\": %s\n", b->name,
		text[0] ? text : strerror(-rc));
	return (int)conf_exit(rc);
}

/* Opens the transport of this side first, if this is the first host of it. */
static int call_host(struct peek *p, enum side side, const struct transport_peer *peer)
{
	int rc = p->t[side] ? 0 : open_transport(p, side);

	if (rc)
		return rc;
	rc = transport_add(p->t[side], peer, now_of(p));
	if (!rc)
		return 0;
	fprintf(stderr, "resex-peek: host \"%s\" cannot be called: %s\n", peer->name,
		rc == -EEXIST ? "name each host once" : strerror(-rc));
	return rc == -EEXIST ? RESEX_USAGE : RESEX_FAILURE;
}

static int add_member(struct peek *p, uint32_t i)
{
	struct peek_host *h;
	struct transport_peer peer;
	int rc;

	cluster_peer(&p->conf, i, &peer);
	rc = call_host(p, MEMBERS, &peer);
	if (rc)
		return rc;
	h = malloc(sizeof(*h));
	if (!h)
		return fail_memory();
	peek_begin(h, &p->conf.host[i]);
	p->all.host[p->all.hosts++] = h;
	return 0;
}

static int add_cached(struct peek *p, uint32_t i)
{
	struct peek_cached *h;
	struct transport_peer peer;
	int rc;

	cluster_cached_peer(&p->conf, i, &peer);
	rc = call_host(p, CACHED, &peer);
	if (rc)
		return rc;
	h = malloc(sizeof(*h));
	if (!h)
		return fail_memory();
	peek_cached_begin(h, &p->conf.cached[i]);
	p->all.cached[p->all.caches++] = h;
	return 0;
}

static int add_named(struct peek *p, const char *name)
{
	for (uint32_t i = 0; i < p->conf.hosts; i++)
		if (!strcmp(p->conf.host[i].name, name))
			return add_member(p, i);
	for (uint32_t i = 0; i < p->conf.caches; i++)
		if (!strcmp(p->conf.cached[i].name, name))
			return add_cached(p, i);
	fprintf(stderr,
		"resex-peek: no member or cached host is called \"%s\": use a name of hosts[] in "
		"%s\n",
		name, p->o.cluster);
	return RESEX_USAGE;
}

static int add_hosts(struct peek *p)
{
	int rc = 0;

	for (int i = 0; !rc && i < p->o.hosts; i++)
		rc = add_named(p, p->o.host[i]);
	for (uint32_t i = 0; !rc && !p->o.hosts && i < p->conf.hosts; i++)
		rc = add_member(p, i);
	for (uint32_t i = 0; !rc && !p->o.hosts && i < p->conf.caches; i++)
		rc = add_cached(p, i);
	return rc;
}

/* --- reading ------------------------------------------------------------------------ */

static void handle_event(struct peek *p, enum side side, const struct transport_event *ev,
			 struct mono now)
{
	for (size_t k = 0; side == MEMBERS && k < p->all.hosts; k++)
		if (p->all.host[k]->conf->number == ev->host)
			peek_event(p->all.host[k], ev, now);
	for (size_t k = 0; side == CACHED && k < p->all.caches; k++)
		if (p->all.cached[k]->conf->number == ev->host)
			peek_cached_event(p->all.cached[k], ev, now);
}

static void handle_events(struct peek *p, struct mono now)
{
	struct transport_event ev[EVENTS];

	for (int side = 0; side < SIDES; side++) {
		size_t n = p->t[side] ? transport_poll(p->t[side], now, ev, EVENTS) : 0;

		for (size_t i = 0; i < n; i++)
			handle_event(p, (enum side)side, &ev[i], now);
	}
}

/* Sleep until something is due. */
static void wait_for(struct peek *p, struct mono due, struct mono now)
{
	struct pollfd fd[SIDES];
	nfds_t n = 0;
	int64_t ns;

	for (int side = 0; side < SIDES; side++) {
		struct mono busy;

		if (!p->t[side])
			continue;
		if (transport_arm(p->t[side], now, &busy))
			return;
		fd[n++] = (struct pollfd){ .fd = transport_fd(p->t[side]), .events = POLLIN };
		due = mono_earlier(due, busy);
	}
	ns = mono_sub(due, now);
	if (ns > 0)
		poll(fd, n, (int)((ns + NS_PER_MS - 1) / NS_PER_MS));
}

/* Post what is due on each host. Returns whether all are read; *due: when to call again. */
static bool step_all(struct peek *p, struct mono now, struct mono *due)
{
	const struct peek_pace member = { .timeout_ns = p->conf.timeout_ns,
					  .beat_ns = p->conf.heartbeat_ns / 2,
					  .silent_ns = 10 * p->conf.heartbeat_ns };
	/* Its beat changes four times in fresh. */
	const struct peek_pace cached = { .timeout_ns = p->conf.timeout_ns,
					  .beat_ns = p->conf.cache.fresh_ns / 8,
					  .silent_ns = p->conf.cache.fresh_ns };
	bool over = true;

	for (size_t i = 0; i < p->all.hosts; i++) {
		struct peek_host *h = p->all.host[i];

		*due = mono_earlier(*due, peek_step(h, p->t[MEMBERS], &member, now));
		over &= peek_over(h);
	}
	for (size_t i = 0; i < p->all.caches; i++) {
		struct peek_cached *h = p->all.cached[i];

		*due = mono_earlier(*due, peek_cached_step(h, p->t[CACHED], &cached, now));
		over &= peek_cached_over(h);
	}
	return over;
}

static void read_all(struct peek *p)
{
	struct mono now = now_of(p), end = mono_add(now, p->o.within_ns);
	bool over = false;

	while (!over && mono_sub(now, end) < 0) {
		struct mono due = end;

		handle_events(p, now);
		over = step_all(p, now, &due);
		if (!over)
			wait_for(p, due, now);
		now = now_of(p);
	}
	for (size_t i = 0; i < p->all.hosts; i++)
		peek_give_up(p->all.host[i]);
	for (size_t i = 0; i < p->all.caches; i++)
		peek_cached_give_up(p->all.cached[i]);
}

/* --- the whole ---------------------------------------------------------------------- */

static bool all_read(const struct peek_all *all)
{
	bool done = true;

	for (size_t i = 0; i < all->hosts; i++)
		done &= all->host[i]->stage == PEEK_DONE;
	for (size_t i = 0; i < all->caches; i++)
		done &= all->cached[i]->stage == PEEK_CACHED_DONE;
	return done;
}

static int show(struct peek *p)
{
	json_t *all = peek_json(&p->conf, &p->all);

	if (!all) {
		fputs("resex-peek: there is no memory for the output\n", stderr);
		return RESEX_FAILURE;
	}
	if (p->o.json) {
		json_dumpf(all, stdout, JSON_INDENT(1));
		putchar('\n');
	} else {
		peek_print(all);
	}
	json_decref(all);
	if (fflush(stdout) || ferror(stdout)) {
		perror("resex-peek: output");
		return RESEX_FAILURE;
	}
	return all_read(&p->all) ? RESEX_OK : RESEX_NO_DAEMON;
}

static int run(struct peek *p)
{
	struct conf_error e = { 0 };
	int rc;

	if (cluster_client_load(&p->conf, p->o.cluster, p->o.as, &e) ||
	    cluster_key_load(&p->key, p->conf.key_file, &e))
		return fail_conf(&e);
	rc = add_hosts(p);
	explicit_bzero(&p->key, sizeof(p->key)); /* the transports have their own copies */
	if (rc)
		return rc;
	read_all(p);
	return show(p);
}

int main(int argc, char **argv)
{
	struct peek *p = calloc(1, sizeof(*p));
	int rc;

	file_keep_standard();
	if (!p)
		return fail_memory();
	rc = peek_options(&p->o, argc, argv);
	clock_real(&p->clock);
	if (rc < 0)
		rc = run(p);
	for (int side = 0; side < SIDES; side++)
		transport_close(p->t[side]);
	for (size_t i = 0; i < p->all.hosts; i++)
		free(p->all.host[i]);
	for (size_t i = 0; i < p->all.caches; i++)
		free(p->all.cached[i]);
	free(p);
	return rc;
}
