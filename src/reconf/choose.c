// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * choose: the pure part of a move: which donor, which node, and the text of a result.
 *
 * move_locks.c chooses the donor before it acquires the locks, by words of the last scan; move.c
 * chooses the node under both locks, by words that it has just read. It is the selection of "a
 * lightly loaded node serving a different web-site" in section 3.1.2 of Balaji et al., Exploiting
 * Remote Memory Operations to Design Efficient Reconfiguration (OSU-CISRC-7/04-TR44).
 */
#include <errno.h>

#include "src/reconf/move.h"

/* A service's live nodes, and their load. */
struct sum {
	uint32_t nodes;
	uint64_t load;
};

static struct sum sum_of(const struct move_view *in, const struct hostset *members, uint16_t id)
{
	struct sum s = { 0, 0 };

	for (uint32_t i = 0; i < in->nodes; i++) {
		const struct move_node *n = &in->node[i];

		/* Hosts that are no members cannot be swept: their nodes must not be counted on. */
		if (!n->alive || !hostset_has(members, n->host) || region_word_id(n->word) != id)
			continue;
		s.nodes++;
		s.load += n->load;
	}
	return s;
}

/*
 * Is a's mean load below b's? A service without nodes counts as the most loaded. Multiplied out: a
 * division would make small differences equal.
 */
static bool less_loaded(struct sum a, struct sum b)
{
	if (a.nodes == 0 || b.nodes == 0)
		return a.nodes != 0;
	return a.load * b.nodes < b.load * a.nodes;
}

bool move_spares(const struct move_view *in, const struct hostset *members, uint32_t donor)
{
	/* More than the minimum before the move: so at least the minimum after it. */
	return sum_of(in, members, in->service[donor].id).nodes > in->service[donor].minimum;
}

bool move_gives(const struct move_view *in, const struct hostset *members, uint32_t service,
		uint32_t donor)
{
	return donor != service && move_spares(in, members, donor) &&
	       less_loaded(sum_of(in, members, in->service[donor].id),
			   sum_of(in, members, in->service[service].id));
}

int move_donor(const struct move_view *in, const struct hostset *members, uint32_t service,
	       uint32_t *donor)
{
	struct sum best = sum_of(in, members, in->service[service].id);
	bool found = false;

	for (uint32_t d = 0; d < in->services; d++) {
		struct sum s = sum_of(in, members, in->service[d].id);

		if (d == service || s.nodes <= in->service[d].minimum || !less_loaded(s, best))
			continue;
		best = s;
		found = true;
		*donor = d;
	}
	return found ? 0 : -ENOENT;
}

/* Is it a node of the donor that may be moved? */
static bool is_donors(const struct move_view *in, const bool *ok, const uint64_t *word,
		      uint32_t donor, uint32_t node)
{
	return ok[node] && region_word_id(word[node]) == in->service[donor].id;
}

static uint32_t count_of(const struct move_view *in, const bool *ok, const uint64_t *word,
			 uint32_t service)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < in->nodes; i++)
		count += is_donors(in, ok, word, service, i);
	return count;
}

/* rule: the donor's nodes are counted against its minimum */
static bool has_to_spare(const struct move_view *in, const bool *ok, const uint64_t *word,
			 uint32_t donor)
{
	return count_of(in, ok, word, donor) > in->service[donor].minimum;
}

int move_choose(const struct move_view *in, const bool *ok, const uint64_t *word, uint32_t donor,
		uint32_t *node)
{
	uint32_t best = MOVE_NODES_MAX;

	if (!has_to_spare(in, ok, word, donor))
		return -ENOSPC;
	for (uint32_t i = 0; i < in->nodes; i++) {
		/* The paper's choice: "a lightly loaded server" (3.1.2). */
		if (is_donors(in, ok, word, donor, i) &&
		    (best == MOVE_NODES_MAX || in->node[i].load < in->node[best].load))
			best = i;
	}
	*node = best;
	return 0;
}

int move_choose_wished(const struct move_view *in, const bool *ok, const uint64_t *word,
		       uint32_t donor, uint32_t node)
{
	/* rule: a node that was wished for is the donor's by the words read under the locks */
	if (!is_donors(in, ok, word, donor, node))
		return -ESTALE;
	return has_to_spare(in, ok, word, donor) ? 0 : -ENOSPC;
}

/* Is the service below its minimum, even if all nodes that were not read are its own? */
static bool is_below_minimum(const struct move_view *in, const bool *read, const uint64_t *word,
			     uint32_t service)
{
	uint32_t most = count_of(in, read, word, service);

	for (uint32_t i = 0; i < in->nodes; i++)
		most += !read[i];
	return most < in->service[service].minimum;
}

int move_choose_adopted(const struct move_view *in, const bool *read, const bool *ok,
			const uint64_t *word, uint32_t service, uint32_t node)
{
	if (!read[node] || region_word_id(word[node]))
		return -ESTALE;
	if (is_below_minimum(in, read, word, service))
		return 0;
	/* rule: a node is not adopted while another service may need it */
	for (uint32_t s = 0; s < in->services; s++)
		if (s != service && count_of(in, ok, word, s) < in->service[s].minimum)
			return -ENOSPC;
	return 0;
}

const char *move_result_text(enum move_result r)
{
	static const char *const text[] = {
		[MOVE_NONE] = "no move ended yet",
		[MOVE_MOVED] = "a node was moved",
		[MOVE_COUNTER_AHEAD] =
			"another balancer has just moved a node: the load is measured again",
		[MOVE_CALM] = "the load is not high any more",
		[MOVE_NO_DONOR] = "no service has a node to spare and less load",
		[MOVE_NOT_WISHED] =
			"the node asked for no longer serves the donor, or could not be counted",
		[MOVE_BUSY] = "the services' locks were not acquired in time",
		[MOVE_LATE] = "the locks' lease ended before the move",
		[MOVE_NOT_NOTIFIED] = "another balancer could not be notified",
		[MOVE_OVERTAKEN] = "another host changed the nodes meanwhile",
		[MOVE_UNREACHED] = "a host's words could not be reached",
		[MOVE_UNDECIDED] = "whether the node was moved is not known yet",
		[MOVE_VIEW] = "the membership changed, or has no quorum",
		[MOVE_NOT_KEPT] = "a node's host has not saved its last move yet: try again",
		[MOVE_NEEDED] = "another service is below its minimum, and may need the node",
	};

	return (unsigned int)r < sizeof(text) / sizeof(text[0]) ? text[r] : "an unknown result";
}
