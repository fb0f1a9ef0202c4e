// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * profile: settings of attackers and of their victims.
 *
 * They follow the classes of the Husky suite (Kong and others, "Understanding RDMA
 * Microarchitecture Resources for Performance Isolation", NSDI 2023): bulk is the
 * attacker, client the victim of the same class. Sizes and numbers of queue pairs are
 * those of all Husky processes together, as far as one process can have them. Husky's
 * depth of 128 messages is not used: on the links of a test bed the posted messages
 * would take minutes to drain.
 */
#include <errno.h>
#include <string.h>

#include "src/benchex/parts.h"

/* Nothing is priced: computing of the server is not in the latency. */
static void victim(struct bx_conf *c, uint32_t size, uint32_t clients, uint32_t depth)
{
	c->size = (struct bx_range){ size, size };
	c->clients = clients;
	c->depth = depth;
	c->options = 0;
}

static void attacker(struct bx_conf *c, uint32_t size, uint32_t qps, uint32_t depth)
{
	c->size = (struct bx_range){ size, size };
	c->qps = qps;
	c->depth = depth;
	memset(c->weight, 0, sizeof(c->weight));
	c->weight[BX_WRITE] = 1;
}

static void bandwidth(struct bx_conf *c)
{
	if (c->role == BX_CLIENT)
		victim(c, 64 << 10, 1, 16);
	else
		attacker(c, 1 << 20, 16, 2);
}

static void small(struct bx_conf *c)
{
	if (c->role == BX_CLIENT)
		victim(c, 8, 16, 16);
	else
		attacker(c, 8, 64, 8);
}

static void many_qp(struct bx_conf *c)
{
	if (c->role == BX_CLIENT)
		victim(c, 512, 96, 1);
	else
		attacker(c, 512, 512, 1);
}

/* Bulk needs one queue pair; it sends 8 bytes a second. */
static void control(struct bx_conf *c)
{
	attacker(c, 8, 1, 1);
	c->rate = 1;
	c->control_per_s = 1000;
}

static const struct bx_profile profiles[] = {
	{ "bandwidth", "large messages: the link (victim: 64 KiB answers, 16 under way)",
	  bandwidth },
	{ "small", "8 bytes at a time: the adapter's processing units", small },
	{ "many-qp", "many connections, 512 bytes: the adapter's caches", many_qp },
	{ "control", "queue pairs and regions made and destroyed, no data (bulk only)", control },
};

enum { PROFILES = sizeof(profiles) / sizeof(profiles[0]) };

const struct bx_profile *bx_profile_at(size_t i)
{
	return i < PROFILES ? &profiles[i] : NULL;
}

const struct bx_profile *bx_profile_find(const char *name)
{
	for (size_t i = 0; i < PROFILES; i++)
		if (!strcmp(profiles[i].name, name))
			return &profiles[i];
	return NULL;
}

/*
 * The settings of a profile for a role. False: the role does not have the profile. The list
 * is made by applying each profile: it cannot differ from what --profile does.
 */
static bool settings_of(const struct bx_profile *p, enum bx_role role, struct bx_conf *c)
{
	*c = (struct bx_conf){ .role = role };
	p->apply(c);
	return role == BX_BULK || !c->control_per_s;
}

static void print_text(FILE *f, const struct bx_profile *p)
{
	struct bx_conf c;
	char size[24];

	fprintf(f, "%s: %s\n", p->name, p->text);
	if (settings_of(p, BX_BULK, &c)) {
		bx_size_show(c.size.max, size);
		fprintf(f, "  bulk    --size %s --qps %u --depth %u", size, c.qps, c.depth);
		if (c.control_per_s)
			fprintf(f, " --rate %llu --control %llu", (unsigned long long)c.rate,
				(unsigned long long)c.control_per_s);
		fputc('\n', f);
	}
	if (settings_of(p, BX_CLIENT, &c)) {
		bx_size_show(c.size.max, size);
		fprintf(f, "  client  --size %s --clients %u --depth %u --options %u\n", size,
			c.clients, c.depth, c.options);
	}
}

static json_t *profile_json(const struct bx_profile *p)
{
	json_t *o = json_pack("{s:s, s:s}", "name", p->name, "text", p->text);
	struct bx_conf c;

	if (o && settings_of(p, BX_BULK, &c))
		json_object_set_new(o, "bulk",
				    json_pack("{s:i, s:i, s:i, s:I, s:I}", "size", (int)c.size.max,
					      "qps", (int)c.qps, "depth", (int)c.depth, "rate",
					      (json_int_t)c.rate, "control",
					      (json_int_t)c.control_per_s));
	if (o && settings_of(p, BX_CLIENT, &c))
		json_object_set_new(o, "client",
				    json_pack("{s:i, s:i, s:i, s:i}", "size", (int)c.size.max,
					      "clients", (int)c.clients, "depth", (int)c.depth,
					      "options", (int)c.options));
	return o;
}

int bx_profiles_print(FILE *stream, bool json)
{
	json_t *all = json_array();
	int rc = 0;

	for (size_t i = 0; i < PROFILES; i++) {
		if (!json)
			print_text(stream, &profiles[i]);
		else if (json_array_append_new(all, profile_json(&profiles[i])))
			rc = -ENOMEM;
	}
	if (json && !rc && json_dumpf(all, stream, JSON_COMPACT))
		rc = -EIO;
	if (json && !rc)
		fputc('\n', stream);
	json_decref(all);
	return rc ? rc : bx_flush(stream);
}
