// SPDX-License-Identifier: GPL-2.0-or-later
/* load_reader: see load_reader.h. */
#include "tests/system/src/load_reader.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "src/shared/region.h"

struct mono load_reader_now(struct load_reader *r)
{
	return r->clock.now(&r->clock);
}

int load_reader_open(struct load_reader *r, const char *program, const char *file,
		     const char *client)
{
	struct cluster_key key = { 0 };
	struct conf_error e = { 0 };
	const struct cluster_client *self;
	struct transport_conf tc;
	char text[256] = "";
	int rc;

	*r = (struct load_reader){ .name = program };
	clock_real(&r->clock);
	rc = cluster_client_load(&r->conf, file, client, &e);
	if (!rc)
		rc = cluster_key_load(&key, r->conf.key_file, &e);
	if (rc) {
		fprintf(stderr, "%s: %s\n", program, e.text);
		return rc;
	}
	self = &r->conf.client[r->conf.self];
	tc = (struct transport_conf){ .host = (uint16_t)self->number,
				      .generation = (uint64_t)clock_wall_ns(),
				      .role = TRANSPORT_CLIENT,
				      .agreement = cluster_agreement(&r->conf),
				      .key = key.bytes,
				      .key_len = key.len };
	strcpy(tc.cluster, r->conf.cluster);
	strcpy(tc.address, self->address);
	rc = transport_backends[r->conf.transport]->open(&r->t, &tc, load_reader_now(r), text);
	for (uint32_t i = 0; !rc && i < r->conf.hosts; i++) {
		struct transport_peer p;

		cluster_peer(&r->conf, i, &p);
		rc = transport_add(r->t, &p, load_reader_now(r));
	}
	if (rc)
		fprintf(stderr, "%s: %s: %s\n", program, text, strerror(-rc));
	return rc;
}

static void post(struct load_reader *r, uint32_t i)
{
	const struct cluster_node *n = &r->conf.node[i];
	struct transport_op op = { .kind = TRANSPORT_READ,
				   .host = n->host,
				   .part = TRANSPORT_LOAD,
				   .offset = (uint32_t)(n->number * sizeof(struct load_record)),
				   .len = sizeof(struct load_record),
				   .tag = ++r->tag,
				   .deadline = mono_add(load_reader_now(r), 2 * NS_PER_S) };

	r->pending = transport_post(r->t, &op, 1, load_reader_now(r), NULL) == 1;
}

int load_reader_read(struct load_reader *r, uint32_t i, const volatile sig_atomic_t *ends,
		     struct load_record *to, struct mono *at)
{
	struct pollfd p = { .fd = transport_fd(r->t), .events = POLLIN };
	int rc = -ENOTCONN;

	post(r, i);
	do {
		struct transport_event ev[16];
		struct mono due;
		size_t n = transport_poll(r->t, load_reader_now(r), ev, 16);

		for (size_t k = 0; k < n; k++) {
			if (ev[k].type != TRANSPORT_RESULT || ev[k].tag != r->tag)
				continue;
			r->pending = false;
			*at = load_reader_now(r);
			if (ev[k].outcome == TRANSPORT_DONE)
				rc = region_parse_load(ev[k].data, (uint32_t)r->conf.node[i].number,
						       to);
		}
		if (!n && !transport_arm(r->t, load_reader_now(r), &due))
			poll(&p, 1, 1);
	} while (r->pending && !*ends);
	return rc;
}
