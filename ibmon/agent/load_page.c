// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * load_page: /proc, or the kernel module -> load record -> the book's load page. agent.c calls it
 * once a period. See load_page.h.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ibmon/agent/load_page.h"
#include "src/load/kmod.h"
#include "src/load/load.h"

struct load_page {
	struct book *book;
	struct load *load;
	int64_t period_ns;
	const struct log *log;
	struct load_series series;
	bool failed;	       /* the newest sample */
	struct load_fill fill; /* by the module; while it fills, nothing is sampled here */
};

int load_page_open(struct load_page **out, struct book *b, const char *proc, int64_t period_ns,
		   const struct load_filler *filler, const struct log *log)
{
	struct load_page *l = calloc(1, sizeof(*l));
	char why[128] = "";
	int rc = l ? load_proc.open(&l->load, proc, why) : -ENOMEM;

	if (rc == 0) {
		rc = book_load_open(b);
		if (rc)
			load_proc.close(l->load);
	}
	if (rc) {
		log_msg(log, LOG_LVL_WARNING,
			"the load of this guest is not published: %s; the host goes by the CPU "
			"time of its domain",
			why[0] ? why : strerror(-rc));
		free(l);
		return rc;
	}
	l->book = b;
	l->period_ns = period_ns;
	l->log = log;
	l->fill = (struct load_fill){ .filler = filler,
				      .what = { .record = (uint64_t)(uintptr_t)book_load_record(b),
						.period_ns = (uint64_t)period_ns,
						.running_offset = LOADMON_NO_OFFSET },
				      .handle = -1 };
	*out = l;
	return 0;
}

void load_page_close(struct load_page *l)
{
	if (!l)
		return;
	load_fill_end(&l->fill);
	load_proc.close(l->load);
	free(l);
}

/* Where in struct rq the kernel counts tasks: found in some ms, and only for the module. */
static void find_running(struct load_page *l)
{
	if (l->fill.what.running_offset == LOADMON_NO_OFFSET && !access(LOADMON_PATH, F_OK))
		l->fill.what.running_offset = load_running_offset("/sys/kernel/btf/vmlinux");
}

/* Does the module fill the record? If it no longer does, the record is ours again. */
static bool is_filled(struct load_page *l, struct mono now)
{
	uint64_t beat = book_load_record(l->book)->beat;

	if (load_fill_lost(&l->fill, beat, now)) {
		l->series.beat = beat;
		l->series.sampled = now;
		log_msg(l->log, LOG_LVL_WARNING,
			"the kernel module no longer fills the load page, since its beat is "
			"unchanged: /proc is read");
	}
	if (l->fill.filler && load_choice_asks(&l->fill.choice, now))
		find_running(l);
	load_fill_ask(&l->fill, beat, now);
	return l->fill.choice.filling;
}

static void sample(struct load_page *l, struct mono now)
{
	struct load_record r;
	int rc = load_sample(&l->series, &load_proc, l->load, l->period_ns, now, &r);

	if (rc && !l->failed)
		log_msg(l->log, LOG_LVL_WARNING, "the load of this guest cannot be sampled: %s",
			strerror(-rc));
	l->failed = rc != 0;
	if (!rc)
		book_load_put(l->book, &r);
}

void load_page_sample(struct load_page *l, struct mono now)
{
	if (!is_filled(l, now))
		sample(l, now);
}
