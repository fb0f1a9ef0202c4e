// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * member: the static backend: always all configured hosts, and always quorate. It does not
 * notice a partition: only the locks and their fences keep the two sides apart.
 */
#include "src/shared/member.h"

#include <errno.h>
#include <stdlib.h>

struct member {
	struct member_view view;
	bool was_returned;
};

static int static_open(struct member **m, const struct member_conf *c, struct mono now)
{
	struct member *s;

	(void)now;
	if (!hostset_has(&c->hosts, c->self))
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->view = (struct member_view){ .view = 0, .members = c->hosts, .quorate = true };
	*m = s;
	return 0;
}

static int static_set_hosts(struct member *m, const struct member_conf *c)
{
	if (!hostset_has(&c->hosts, c->self))
		return -EINVAL;
	m->was_returned = m->was_returned && hostset_equal(&m->view.members, &c->hosts);
	m->view.members = c->hosts;
	return 0;
}

static void static_close(struct member *m)
{
	free(m);
}

static int static_update(struct member *m, struct mono now, struct member_view *v)
{
	/* It changes by set_hosts alone. */
	bool first = !m->was_returned;

	(void)now;
	m->was_returned = true;
	*v = m->view;
	return first;
}

static int static_fd(const struct member *m)
{
	(void)m;
	return -1;
}

static struct mono static_due(const struct member *m)
{
	(void)m;
	return (struct mono){ INT64_MAX };
}

static const char *static_note(const struct member *m)
{
	(void)m;
	return "";
}

const struct member_ops member_static = {
	.name = "static",
	.open = static_open,
	.close = static_close,
	.set_hosts = static_set_hosts,
	.update = static_update,
	.fd = static_fd,
	.due = static_due,
	.note = static_note,
};
