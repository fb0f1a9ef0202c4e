// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * resex-peek: read what the hosts of a cluster publish, as a client of them: no member, no resexd
 * of its own, and only READs. For an operator who wants to see the memory itself, and not what
 * another host's resexd says of it.
 *
 * All hosts are read at once, each at its own pace (read.c); what was read within the time is
 * printed (show.c).
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resex/exit.h"
#include "src/peek/peek.h"
#include "src/util/clock.h"

enum { EVENTS = 64 };

struct peek {
	struct peek_options o;
	struct cluster_conf conf;
	struct clock clock;
	struct transport *t;
	struct peek_host *host[REGION_HOSTS_MAX];
	size_t hosts;
};

static int fail_conf(const struct conf_error *e)
{
	fprintf(stderr, "resex-peek: %s\n", e->text);
	return (int)e->exit;
}

/* The start of a client is a time: a later one replaces an earlier one that still runs. */
static int open_transport(struct peek *p, const struct cluster_key *key)
{
	const struct cluster_client *self = &p->conf.client[p->conf.self];
	const struct transport_backend *b = transport_backends[p->conf.transport];
	struct transport_conf tc = { .host = (uint16_t)self->number,
				     .generation = (uint64_t)clock_wall_ns(),
				     .role = TRANSPORT_CLIENT,
				     .agreement = cluster_agreement(&p->conf),
				     .key = key->bytes,
				     .key_len = key->len };
	char text[256] = "";
	int rc;

	strcpy(tc.cluster, p->conf.cluster); /* conf's arrays are as long */
	strcpy(tc.address, self->address);
	rc = b->open(&p->t, &tc, p->clock.now(&p->clock), text);
	if (!rc)
		return 0;
	fprintf(stderr, "resex-peek: transport \"%s\": %s\n", b->name,
		text[0] ? text : strerror(-rc));
	return (int)conf_exit(rc);
}

static int add_host(struct peek *p, uint32_t i)
{
	struct peek_host *h = malloc(sizeof(*h));
	struct transport_peer peer;
	int rc = h ? 0 : -ENOMEM;

	cluster_peer(&p->conf, i, &peer);
	if (!rc)
		rc = transport_add(p->t, &peer, p->clock.now(&p->clock));
	if (rc) {
		free(h);
		fprintf(stderr, "resex-peek: host \"%s\" cannot be called: %s\n", peer.name,
			rc == -EEXIST ? "name each host once" : strerror(-rc));
		return rc == -EEXIST ? RESEX_USAGE : RESEX_FAILURE;
	}
	peek_begin(h, &p->conf.host[i]);
	p->host[p->hosts++] = h;
	return 0;
}

static int add_named(struct peek *p, const char *name)
{
	for (uint32_t i = 0; i < p->conf.hosts; i++)
		if (!strcmp(p->conf.host[i].name, name))
			return add_host(p, i);
	fprintf(stderr, "resex-peek: no member is called \"%s\": use a name of hosts[] in %s\n",
		name, p->o.cluster);
	return RESEX_USAGE;
}

static int add_hosts(struct peek *p)
{
	int rc = 0;

	for (int i = 0; !rc && i < p->o.hosts; i++)
		rc = add_named(p, p->o.host[i]);
	for (uint32_t i = 0; !rc && !p->o.hosts && i < p->conf.hosts; i++)
		rc = add_host(p, i);
	return rc;
}

static void handle_events(struct peek *p, struct mono now)
{
	struct transport_event ev[EVENTS];
	size_t n = transport_poll(p->t, now, ev, EVENTS);

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < p->hosts; k++)
			if (p->host[k]->conf->number == ev[i].host)
				peek_event(p->host[k], &ev[i], now);
}

/* Sleep until something is due. */
static void wait_for(struct peek *p, struct mono due, struct mono now)
{
	struct pollfd fd = { .fd = transport_fd(p->t), .events = POLLIN };
	struct mono busy;
	int64_t ns;

	if (transport_arm(p->t, now, &busy))
		return;
	ns = mono_sub(mono_earlier(due, busy), now);
	if (ns > 0)
		poll(&fd, 1, (int)((ns + NS_PER_MS - 1) / NS_PER_MS));
}

static void read_all(struct peek *p)
{
	struct peek_pace pace = { .timeout_ns = p->conf.timeout_ns,
				  .beat_ns = p->conf.heartbeat_ns / 2,
				  .silent_ns = 10 * p->conf.heartbeat_ns };
	struct mono now = p->clock.now(&p->clock), end = mono_add(now, p->o.within_ns);
	bool over = false;

	while (!over && mono_sub(now, end) < 0) {
		struct mono due = end;

		handle_events(p, now);
		over = true;
		for (size_t i = 0; i < p->hosts; i++) {
			due = mono_earlier(due, peek_step(p->host[i], p->t, &pace, now));
			over &= peek_over(p->host[i]);
		}
		if (!over)
			wait_for(p, due, now);
		now = p->clock.now(&p->clock);
	}
	for (size_t i = 0; i < p->hosts; i++)
		peek_give_up(p->host[i]);
}

static int show(struct peek *p)
{
	json_t *all = peek_json(&p->conf, p->host, p->hosts);
	int rc = RESEX_OK;

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
	for (size_t i = 0; i < p->hosts; i++)
		if (p->host[i]->stage != PEEK_DONE)
			rc = RESEX_NO_DAEMON;
	if (fflush(stdout) || ferror(stdout)) {
		perror("resex-peek: output");
		return RESEX_FAILURE;
	}
	return rc;
}

static int run(struct peek *p)
{
	struct cluster_key key = { 0 };
	struct conf_error e = { 0 };
	int rc;

	if (cluster_client_load(&p->conf, p->o.cluster, p->o.as, &e) ||
	    cluster_key_load(&key, p->conf.key_file, &e))
		return fail_conf(&e);
	rc = open_transport(p, &key);
	explicit_bzero(&key, sizeof(key)); /* the transport has its own copy */
	if (!rc)
		rc = add_hosts(p);
	if (rc)
		return rc;
	read_all(p);
	return show(p);
}

int main(int argc, char **argv)
{
	struct peek *p = calloc(1, sizeof(*p));
	int rc;

	if (!p) {
		fputs("resex-peek: there is no memory\n", stderr);
		return RESEX_FAILURE;
	}
	rc = peek_options(&p->o, argc, argv);
	clock_real(&p->clock);
	if (rc < 0)
		rc = run(p);
	transport_close(p->t);
	for (size_t i = 0; i < p->hosts; i++)
		free(p->host[i]);
	free(p);
	return rc;
}
