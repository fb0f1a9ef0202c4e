// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * worker_words: the words of this host's nodes, which say which service each serves, outlive
 * resexd. At the start they are those of the file "nodes" (src/shared/nodes_file.h). Later
 * src/reconf/keep.h finds, by the link of this host to itself, what other hosts have made of them;
 * the control thread saves that, since a disk may be slow; and the kept words say that it is saved.
 *
 * Without "reconf" in cluster.json no host moves a node: each node is in its configured service.
 * All hosts agree on that, or decide on no move (cluster_nodes_digest).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "src/cluster/cluster_priv.h"
#include "src/reconf/runner.h"
#include "src/shared/nodes_file.h"

/* The tags of its operations begin with this. */
#define KEEP_PREFIX ((uint32_t)CLUSTER_TAG_KEEP << (CLUSTER_TAG_SHIFT - 32))

/* Of this host's nodes: the configured service, and the number of words up to the last node. */
static uint32_t configured(const struct cluster_conf *c, uint16_t service[static REGION_NODES_MAX])
{
	const struct cluster_node *n = NULL;
	uint32_t words = 0;

	memset(service, 0, REGION_NODES_MAX * sizeof(service[0]));
	while ((n = cluster_next_own(c, n)) != NULL) {
		service[n->number] = (uint16_t)n->service;
		if (n->number >= words)
			words = (uint32_t)n->number + 1;
	}
	return words;
}

/* Zero the words that are of no node of this host: the file does not name these. Were there any? */
static bool leave_out_others(const struct cluster_conf *c, uint64_t *node)
{
	bool own[REGION_NODES_MAX] = { false }, any = false;
	const struct cluster_node *n = NULL;

	while ((n = cluster_next_own(c, n)) != NULL)
		own[n->number] = true;
	for (uint32_t i = 0; i < REGION_NODES_MAX; i++) {
		if (own[i])
			continue;
		any = any || node[i];
		node[i] = 0;
	}
	return any;
}

/* 0: *whole says whether there is a file that counts; or -errno and e. */
static int load_file(struct worker *w, const char *state_dir, uint64_t *node, bool *whole,
		     bool *first, struct conf_error *e)
{
	int rc = w->conf->reconf.given ? nodes_file_load(state_dir, NODES_FILE_WORDS, node)
				       : -ENOENT;

	*whole = !rc;
	*first = rc == -ENOENT;
	w->words.damaged = rc == -EINVAL;
	if (!rc || rc == -ENOENT || rc == -EINVAL)
		return 0;
	conf_error_set(e, conf_exit(rc), "cluster: %s/nodes cannot be read: %s", state_dir,
		       strerror(-rc));
	return rc;
}

int worker_begin_words(struct worker *w, const char *state_dir,
		       uint64_t node[static REGION_NODES_MAX], struct conf_error *e)
{
	uint16_t service[REGION_NODES_MAX];
	uint64_t file[REGION_NODES_MAX];
	bool whole, first, others;
	int rc;

	w->words.nodes = configured(w->conf, service);
	if (!w->words.nodes)
		return 0;
	rc = load_file(w, state_dir, file, &whole, &first, e);
	if (rc)
		return rc;
	others = whole && leave_out_others(w->conf, file);
	w->words.unsaved = keep_begin(node, whole ? file : NULL, service, first) || others;
	return 0;
}

int worker_save_words(struct worker *w, const char *state_dir, const uint64_t *node,
		      struct conf_error *e)
{
	uint64_t file[REGION_NODES_MAX];
	int rc;

	if (!w->words.unsaved)
		return 0;
	memcpy(file, node, sizeof(file));
	leave_out_others(w->conf, file);
	rc = nodes_file_save(state_dir, NODES_FILE_WORDS, file);
	if (rc)
		conf_error_set(e, conf_exit(rc),
			       "cluster: %s/nodes cannot be written: %s: the services of this "
			       "host's nodes must be there before other hosts count them",
			       state_dir, strerror(-rc));
	return rc;
}

int worker_open_words(struct worker *w, const uint64_t *node)
{
	const struct keep_conf c = {
		.self = (uint16_t)w->conf->host[w->conf->self].number,
		.nodes = w->words.nodes,
		.check_ns = cluster_scan_ns(w->conf),
	};
	struct runner_user u;
	int rc;

	if (!w->words.nodes)
		return 0;
	rc = runner_open(&w->words.runner, w->t, w->conf->timeout_ns, KEEP_PREFIX);
	if (rc)
		return rc;
	keep_init(&w->words.keep, &c, node);
	u = runner_keep(&w->words.keep);
	return runner_add(w->words.runner, &u);
}

void worker_close_words(struct worker *w)
{
	runner_close(w->words.runner);
}

void worker_words_event(struct worker *w, const struct transport_event *ev, struct mono now)
{
	if (w->words.runner)
		runner_event(w->words.runner, ev, now);
}

struct mono worker_words_due(const struct worker *w)
{
	return w->words.runner ? runner_due_at(w->words.runner) : (struct mono){ INT64_MAX };
}

/* The words are control's to save; its answer is KEEP_SAVED or KEEP_FAILED. */
static void ask_control(struct worker *w, const uint64_t *wants)
{
	struct keep_copies *k = &w->x->keep;
	struct keep_copy *to = &k->copy[k->at.back];

	memset(to->word, 0, sizeof(to->word));
	memcpy(to->word, wants, w->words.nodes * sizeof(to->word[0]));
	leave_out_others(w->conf, to->word);
	to->number = ++w->words.asked;
	spsc_latest_put(&k->at);
	exchange_wake(w->x->control_fd);
}

/* True: the newest request has its answer, which is passed on. */
static bool take_answer(struct worker *w, struct mono now)
{
	const struct keep_copies *k = &w->x->keep;
	bool saved = atomic_load_explicit(&k->saved, memory_order_acquire) == w->words.asked;

	if (!saved && atomic_load_explicit(&k->failed, memory_order_acquire) != w->words.asked)
		return false;
	w->words.answered = w->words.asked;
	runner_ask(w->words.runner, &w->words.keep, saved ? KEEP_SAVED : KEEP_FAILED, NULL, now);
	return true;
}

void worker_words(struct worker *w, struct mono now)
{
	const uint64_t *wants;

	if (!w->words.runner)
		return;
	runner_tick(w->words.runner, now);
	if (w->words.asked != w->words.answered && !take_answer(w, now))
		return;
	wants = keep_wants(&w->words.keep);
	if (wants)
		ask_control(w, wants);
}
