// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * load_page: /proc -> load record -> the book's load page. agent.c calls it once a period. See
 * load_page.h.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ibmon/agent/load_page.h"
#include "src/load/load.h"

struct load_page {
	struct book *book;
	struct load *load;
	int64_t period_ns;
	const struct log *log;
	struct load_series series;
	bool failed; /* the newest sample */
};

int load_page_open(struct load_page **out, struct book *b, const char *proc, int64_t period_ns,
		   const struct log *log)
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
	*out = l;
	return 0;
}

void load_page_close(struct load_page *l)
{
	if (!l)
		return;
	load_proc.close(l->load);
	free(l);
}

void load_page_sample(struct load_page *l, struct mono now)
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
