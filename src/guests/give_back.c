// SPDX-License-Identifier: GPL-2.0-or-later
/* give_back: the own caps of guests, set again from the entries of caps.json. See restore.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/core/caps.h"
#include "src/guests/restore.h"

static const struct hv_dom *alive(const struct saved_cap *c, const struct hv_dom *dom, int n)
{
	for (int i = 0; i < n; i++)
		if (dom[i].domid == c->domid && !memcmp(dom[i].uuid, c->uuid, 16))
			return dom[i].flags & HV_DOM_DYING ? NULL : &dom[i];
	return NULL;
}

static void leave_to_operator(struct saved_cap *c, const struct hv_sched_params *now,
			      struct restored *out)
{
	if (out->operators < FLOW_GUESTS_MAX) {
		out->operator[out->operators].domid = c->domid;
		out->operator[out->operators].own = cap_to_percent(c->params.cap);
		out->operator[out->operators++].percent = cap_to_percent(now->cap);
	}
	percents_drop(&c->written, cap_to_percent(c->params.cap));
	c->params = *now;
}

/*
 * 0 or -errno; -ESRCH: the domain is gone. A cap that cannot be read is taken for one of ours.
 * -ECANCELED: another program set one just now, which is judged anew.
 */
static int give_back(struct saved_cap *c, const struct hv_dom *d, const struct hv_sched_ops *ops,
		     struct hv_sched *s, struct restored *out)
{
	struct hv_sched_params now = c->params, found = { 0 };
	bool judge = !ops->get(s, d->domid, &now);
	int rc = -ECANCELED;

	for (int i = 0; i < 3 && rc == -ECANCELED; i++) {
		if (judge &&
		    own_judge(c, true, cap_to_percent(now.cap), d->flags) == OWN_OPERATOR) {
			leave_to_operator(c, &now, out);
			return 0;
		}
		rc = ops->set_cap(s, c->domid, now.cap, c->params.cap, &found);
		now = found;
		judge = true;
	}
	if (rc)
		return rc;
	c->last.any = false;
	out->caps++;
	return 0;
}

/* A guest that came back with a cap of ours, and has no entry of its own. */
static int give_back_to_successor(struct restore *r, const struct hv_dom *d,
				  const struct hv_sched_ops *ops, struct hv_sched *s,
				  struct restored *out)
{
	struct hv_sched_params now;
	struct saved_cap *c;
	int rc;

	if (d->flags & (HV_DOM_PRIVILEGED | HV_DOM_DYING) || restore_find(r, d->domid, d->uuid))
		return 0;
	c = restore_before(r, d->domid, d->uuid);
	if (!c || ops->get(s, d->domid, &now) ||
	    own_judge(c, false, cap_to_percent(now.cap), d->flags) != OWN_OURS)
		return 0;
	rc = hv_put_cap(ops, s, d->domid, c->params.cap);
	out->caps += !rc;
	return rc == -ESRCH ? 0 : rc;
}

int restore_all(struct restore *r, const struct hv_sched_ops *ops, struct hv_sched *s, bool end,
		struct restored *out)
{
	struct hv_dom *dom = calloc(2 * FLOW_GUESTS_MAX, sizeof(*dom));
	int n, rc, failed = 0;

	*out = (struct restored){ 0 };
	if (!dom)
		return -ENOMEM;
	n = ops->list(s, dom, 2 * FLOW_GUESTS_MAX);
	if (n < 0) {
		free(dom);
		return n;
	}
	for (int i = 0; i < n; i++)
		failed += give_back_to_successor(r, &dom[i], ops, s, out) != 0;
	for (uint32_t i = r->entries; i-- > 0;) {
		struct saved_cap *c = &r->entry[i];
		const struct hv_dom *d = alive(c, dom, n);

		/*
		 * A domain that is gone needs no cap. After any other error the entry stays as
		 * it is, so that the next start or --restore-caps tries again.
		 */
		rc = d ? give_back(c, d, ops, s, out) : -ESRCH;
		if (rc == -ESRCH)
			restore_gone(r, c->domid, c->uuid, RESTORE_GONE_S);
		else if (rc)
			failed++;
		else if (end)
			restore_gone(r, c->domid, c->uuid, RESTORE_ENDED_S);
	}
	free(dom);
	out->save_rc = restore_save(r);
	return failed;
}
