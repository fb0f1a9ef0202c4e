// SPDX-License-Identifier: GPL-2.0-or-later
// SIMULATOR: a node of the web cluster: processes that want CPUs, and the load record it shows.
#include <assert.h>

#include "src/sim/web_priv.h"

void web_node_advance(struct web *w, struct web_node *n)
{
	int64_t ns = w->now - n->changed_ns;

	n->busy_ns += (uint64_t)ns * n->on_cpu;
	n->wait_ns += n->queued ? (uint64_t)ns : 0;
	n->changed_ns = w->now;
}

static void begin_slice(struct web *w, uint32_t node, uint32_t cpu)
{
	struct web_node *n = &w->node[node];
	int64_t ns = w->job[n->running[cpu]].left_ns;

	if (w->c.slice_ns && ns > w->c.slice_ns)
		ns = w->c.slice_ns;
	n->since[cpu] = w->now;
	web_at(w, w->now + ns, WEB_SLICE, node, cpu);
}

static void put_on_cpu(struct web *w, uint32_t node, uint32_t cpu, uint32_t job)
{
	w->node[node].running[cpu] = job;
	w->node[node].on_cpu++;
	begin_slice(w, node, cpu);
}

static void queue_push(struct web *w, struct web_node *n, uint32_t job)
{
	w->job[job].next = WEB_NOBODY;
	if (n->queued++)
		w->job[n->tail].next = job;
	else
		n->head = job;
	n->tail = job;
}

static void queue_push_first(struct web *w, struct web_node *n, uint32_t job)
{
	w->job[job].next = n->head;
	if (!n->queued++)
		n->tail = job;
	n->head = job;
}

void web_node_add(struct web *w, uint32_t job)
{
	uint32_t node = w->job[job].node;
	struct web_node *n = &w->node[node];

	web_node_advance(w, n);
	for (uint32_t cpu = 0; cpu < web_cpus(&w->c, node); cpu++)
		if (n->running[cpu] == WEB_NOBODY) {
			put_on_cpu(w, node, cpu, job);
			return;
		}
	if (w->c.wake_first && w->job[job].kind != WEB_REQUEST)
		queue_push_first(w, n, job);
	else
		queue_push(w, n, job);
}

/* The process of a job has had all its CPU time. */
static void job_over(struct web *w, uint32_t job)
{
	struct web_job *j = &w->job[job];

	if (j->kind == WEB_REQUEST)
		web_at(w, w->now + w->c.network_ns, WEB_ANSWER, job, 0);
	else if (j->kind == WEB_BURNER)
		web_at(w, w->now + w->c.sleep_ns, WEB_WAKE, job, 0);
	else
		j->busy = false;
}

void web_node_slice(struct web *w, uint32_t node, uint32_t cpu)
{
	struct web_node *n = &w->node[node];
	uint32_t job = n->running[cpu], next;

	web_node_advance(w, n);
	w->job[job].left_ns -= w->now - n->since[cpu];
	if (w->job[job].left_ns && !n->queued) {
		begin_slice(w, node, cpu);
		return;
	}
	if (!w->job[job].left_ns) {
		if (w->job[job].kind == WEB_SAMPLER)
			web_publish(w, node, LOAD_ULM);
		n->served += w->job[job].kind == WEB_REQUEST;
	} else {
		queue_push(w, n, job);
	}
	n->running[cpu] = WEB_NOBODY;
	n->on_cpu--;
	if (n->queued) {
		next = n->head;
		n->head = w->job[next].next;
		n->queued--;
		put_on_cpu(w, node, cpu, next);
	}
	if (!w->job[job].left_ns)
		job_over(w, job);
}

/* --- loads ------------------------------------------------------------------------ */

/* What the source can see: dom0 does not see which processes of a guest wait. */
void web_publish(struct web *w, uint32_t node, enum load_source source)
{
	struct web_node *n = &w->node[node];
	struct load_record *r = &n->page[source];

	web_node_advance(w, n);
	r->beat++;
	r->sampled_ns = w->now;
	r->busy_ns = n->busy_ns;
	if (source != LOAD_HV) {
		r->wait_ns = n->wait_ns;
		/* The process of ULM is on a CPU, and leaves itself out, as load_proc does. */
		r->running = n->on_cpu + n->queued - (source == LOAD_ULM);
		r->served = n->served;
	}
	if (w->ops->sampled)
		w->ops->sampled(w->ops->arg, node, r);
}

/* ULM: wake the process. One that still waits for a CPU misses this sample. */
static void wake_sampler(struct web *w, uint32_t node)
{
	struct web_job *j = &w->job[w->node[node].sampler];
	uint32_t *flags = &w->node[node].page[LOAD_ULM].flags;

	if (j->busy) {
		*flags |= LOAD_OVERRUN;
		return;
	}
	*flags &= ~(uint32_t)LOAD_OVERRUN;
	j->busy = true;
	j->left_ns = w->c.sample_cpu_ns;
	web_node_add(w, w->node[node].sampler);
}

void web_sample_all(struct web *w, enum load_source source)
{
	for (uint32_t i = 0; i < w->c.nodes; i++) {
		if (source == LOAD_ULM)
			wake_sampler(w, i);
		else
			web_publish(w, i, source);
	}
	web_at(w, w->now + w->c.sample_ns[source], WEB_SAMPLE, source, 0);
}

static void start_burners(struct web *w, uint32_t node)
{
	for (uint32_t i = 0; i < w->c.burners; i++) {
		uint32_t job = web_job_new(w, WEB_BURNER, node);
		uint64_t cycle = (uint64_t)(w->c.run_ns + w->c.sleep_ns);

		web_at(w, (int64_t)sim_rand_below(&w->rand, cycle), WEB_WAKE, job, 0);
	}
}

void web_nodes_start(struct web *w)
{
	for (uint32_t i = 0; i < w->c.nodes; i++) {
		struct web_node *n = &w->node[i];

		for (uint32_t cpu = 0; cpu < web_cpus(&w->c, i); cpu++)
			n->running[cpu] = WEB_NOBODY;
		for (uint32_t k = 0; k < LOAD_SOURCES; k++)
			n->page[k] = (struct load_record){
				.node = i,
				.source = k,
				.cpus = web_cpus(&w->c, i),
				.flags = LOAD_SIMULATED | (k == LOAD_HV ? LOAD_NO_WAIT : 0),
				.period_ns = (uint64_t)w->c.sample_ns[k],
			};
		if (w->c.sample_ns[LOAD_ULM])
			n->sampler = web_job_new(w, WEB_SAMPLER, i);
		if (i < w->c.loaded_nodes)
			start_burners(w, i);
	}
}

/* --- figure 8 --------------------------------------------------------------------- */

void web_measure(struct web *w)
{
	uint64_t part[WEB_NODES_MAX], sum = 0, squares = 0, mean;

	for (uint32_t i = 0; i < w->c.nodes; i++) {
		uint64_t capacity = (uint64_t)w->c.interval_ns * web_cpus(&w->c, i);
		struct web_node *n = &w->node[i];

		web_node_advance(w, n);
		part[i] = (n->busy_ns - n->measured_ns) * 1000 / capacity;
		w->busy_ns += n->busy_ns - n->measured_ns;
		n->measured_ns = n->busy_ns;
		sum += part[i];
	}
	if (w->ops->interval)
		w->ops->interval(w->ops->arg, part, w->now);
	assert(w->c.nodes); /* valid() */
	mean = sum / w->c.nodes;
	for (uint32_t i = 0; i < w->c.nodes; i++) {
		uint64_t off = part[i] > mean ? part[i] - mean : mean - part[i];

		squares += off * off;
	}
	if (w->res->intervals < WEB_SERIES_MAX)
		w->res->series[w->res->intervals] = (uint32_t)(squares / w->c.nodes);
	w->res->intervals++;
	w->variance += squares / w->c.nodes;
}
