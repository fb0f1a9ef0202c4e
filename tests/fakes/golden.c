// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * golden: reads the recorded rings of tests/golden, record by record. See golden.h;
 * the format is in the READMEs there.
 */
#include "tests/fakes/golden.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "resex/guest_abi.h"

static int add_ring(struct golden *g, const char *value)
{
	struct golden_ring *r = &g->ring[g->rings];
	uint32_t number, elem, entries;
	char kind[8];

	if (g->rings == GOLDEN_RINGS_MAX || sscanf(value, "%7s %" SCNu32 " %" SCNu32 " %" SCNu32,
						   kind, &number, &elem, &entries) != 4)
		return -1;
	r->desc = (struct ring_desc){ .id = ++g->rings,
				      .kind = strcmp(kind, "sq") ? RING_CQ : RING_SQ,
				      .provider = g->provider,
				      .number = number,
				      .elem_size = elem,
				      .entries = entries,
				      .qp_type = g->qp_type,
				      .path_mtu = g->mtu };
	r->len = (g->provider == GUEST_PROVIDER_RXE ? 384 : 0) + (size_t)elem * entries;
	r->desc.frames = (uint32_t)((r->len + GUEST_PAGE - 1) / GUEST_PAGE);
	if (g->provider != GUEST_PROVIDER_RXE)
		r->len = (size_t)ring_frames(NULL, &r->desc) * GUEST_PAGE;
	r->mem = aligned_alloc(8, r->len);
	if (!r->mem)
		return -1;
	memset(r->mem, 0, r->len);
	if (r->desc.kind == RING_SQ)
		g->sq = r;
	return 0;
}

static void set_type(struct golden *g, const char *value)
{
	g->datagrams = !strcmp(value, "UD");
	if (g->provider != GUEST_PROVIDER_RXE) /* that of rxe is told by nobody */
		g->qp_type = g->datagrams	   ? GUEST_QP_UD
			     : strcmp(value, "RC") ? GUEST_QP_UC
						   : GUEST_QP_RC;
}

static int header_line(struct golden *g, const char *key, const char *value)
{
	static const struct {
		const char *key;
		enum sample_op op;
	} ops[] = { { "op_SEND", OP_SEND },	    { "op_SEND_IMM", OP_SEND },
		    { "op_WRITE", OP_WRITE },	    { "op_WRITE_IMM", OP_WRITE },
		    { "op_READ", OP_READ },	    { "op_FETCH_ADD", OP_FETCH_ADD },
		    { "op_CMP_SWAP", OP_CMP_SWAP }, { "op_LOCAL", OP_LOCAL } };
	const struct {
		const char *key;
		uint64_t *to;
	} counts[] = { { "wrs", &g->wrs },
		       { "errors", &g->errors },
		       { "unknown", &g->unknown },
		       { "unknown_mtus", &g->unknown_mtus },
		       { "signalled", &g->signalled },
		       { "mtus_sent", &g->mtus_sent },
		       { "mtus_recv", &g->mtus_recv },
		       { "bytes_sent", &g->bytes_sent },
		       { "bytes_recv", &g->bytes_recv } };
	uint64_t v = strtoull(value, NULL, 10);

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (!strcmp(key, ops[i].key))
			g->ops[ops[i].op] += v;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		if (!strcmp(key, counts[i].key))
			*counts[i].to = v;
	if (!strcmp(key, "mtu"))
		g->mtu = (uint32_t)v;
	else if (!strcmp(key, "snaps"))
		g->snaps = (uint32_t)v;
	else if (!strcmp(key, "dead_from"))
		g->dead_from = (uint32_t)v;
	else if (!strcmp(key, "type"))
		set_type(g, value);
	else if (!strcmp(key, "provider"))
		g->provider = !strcmp(value, "mlx4") ? GUEST_PROVIDER_MLX4 : GUEST_PROVIDER_MLX5;
	else if (!strcmp(key, "case"))
		snprintf(g->name, sizeof(g->name), "%s", value);
	else if (!strcmp(key, "ring"))
		return add_ring(g, value);
	return 0;
}

int golden_open(struct golden *g, const char *path)
{
	char line[256], *value;

	memset(g, 0, sizeof(*g));
	g->provider = GUEST_PROVIDER_RXE;
	g->f = fopen(path, "rb");
	if (!g->f || !fgets(line, sizeof(line), g->f) || strcmp(line, "resex-golden 1\n"))
		goto bad;
	while (fgets(line, sizeof(line), g->f) && line[0] != '\n') {
		line[strcspn(line, "\n")] = '\0';
		value = strchr(line, ' ');
		if (!value)
			goto bad;
		*value++ = '\0';
		if (header_line(g, line, value))
			goto bad;
	}
	if (g->sq)
		return 0;
bad:
	golden_close(g);
	return -1;
}

void golden_close(struct golden *g)
{
	if (g->f)
		fclose(g->f);
	for (uint32_t i = 0; i < g->rings; i++)
		free(g->ring[i].mem);
	memset(g, 0, sizeof(*g));
}

static int read_varint(FILE *f, uint64_t *out)
{
	uint64_t v = 0;
	int c;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		c = getc(f);
		if (c == EOF)
			return -1;
		v |= (uint64_t)(c & 0x7f) << shift;
		if (!(c & 0x80)) {
			*out = v;
			return 0;
		}
	}
	return -1;
}

static int apply(FILE *f, struct golden_ring *r)
{
	size_t words = r->len / 8, at = 0;
	uint64_t skip, n;

	for (;;) {
		if (read_varint(f, &skip))
			return -1;
		if (skip == 0)
			return 0;
		if (read_varint(f, &n) || skip - 1 > words - at || n > words - at - (skip - 1))
			return -1;
		at += skip - 1;
		if (fread(r->mem + at * 8, 8, n, f) != n)
			return -1;
		at += n;
	}
}

int golden_next(struct golden *g)
{
	uint64_t elapsed;

	if (g->snap == g->snaps)
		return getc(g->f) == EOF ? 0 : -1;
	if (read_varint(g->f, &elapsed) || read_varint(g->f, &g->done) ||
	    read_varint(g->f, &g->posted))
		return -1;
	for (uint32_t i = 0; i < g->rings; i++)
		if (apply(g->f, &g->ring[i]))
			return -1;
	g->elapsed_ns = (int64_t)elapsed;
	g->snap++;
	return 1;
}
