// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * guests: the caps guests had before we came, and those that others set
 * meanwhile: on disk before anything is changed, and back at the end.
 */
#include <sys/inotify.h>
#include "tests/unit/guests_rig.h"
#include "tests/unit/unit.h"

static const struct saved_cap *on_disk(struct guests_rig *g, uint32_t domid, uint8_t uuid)
{
	static struct restore r;
	struct conf_error e;
	uint8_t u[16];

	memset(u, uuid, sizeof(u));
	assert_int_equal(restore_load(&r, g->dir.path, "fake", &e), 0);
	return restore_find(&r, domid, u);
}

static uint32_t percent_of(struct guests_rig *g, uint32_t domid)
{
	return cap_to_percent(fake_dom(&g->host, domid)->params.cap);
}

/* As if the sampler had wanted it and the actor had set it. */
static void our_cap(struct guests_rig *g, uint32_t domid, uint16_t percent)
{
	struct mailbox *mb = &g->ho.mail[rig_in_set(g, domid)->slot];
	uint32_t serial = mail_serial(atomic_load(&mb->want)) + 1;

	written_note(&g->ho.written[rig_in_set(g, domid)->slot], domid, percent_of(g, domid),
		     percent);
	atomic_store(&mb->want, mail_pack(serial, (uint16_t)domid, percent));
	fake_dom(&g->host, domid)->params.cap = cap_from_percent(percent);
	atomic_store(&mb->answer, mail_pack(serial, 0, percent));
}

/* --- the caps they had -------------------------------------------------------------- */

WITH_RIG(old_cap__is_on_disk_before_the_guest_may_be_capped)
{
	struct guests_rig *g = *state;

	rig_create(g, 4, 4)->params.cap = CAP_PERCENT(30);
	rig_work(g, MS); /* published, not taken yet */
	assert_int_equal(on_disk(g, 4, 4)->params.cap.mpct, 30000);
	assert_int_equal(on_disk(g, 4, 4)->params.weight, 256);
	rig_ack(g);
	assert_int_equal(rig_in_set(g, 4)->flags, POLICY_CAPPABLE);
	assert_int_equal(rig_in_set(g, 4)->bounds.ceiling.mpct, 30000);
}

WITH_RIG(old_cap__cannot_be_saved__guest_is_watched_and_not_capped_until_it_can)
{
	struct guests_rig *g = *state;

	assert_int_equal(mkdir(tmp_at(&g->dir, "caps.json.new"), 0700), 0);
	rig_create(g, 4, 4);
	rig_settle(g);
	assert_int_equal(rig_in_set(g, 4)->flags, 0);
	assert_non_null(strstr(rig_guest(g, "4")->cap_note, "could not be saved"));
	assert_non_null(strstr(rig_guest(g, "4")->cap_note, "caps.json"));
	for (int i = 0; i < 3; i++) { /* nor later, as long as it is not on disk */
		rig_second(g);
		rig_ack(g);
		assert_int_equal(rig_in_set(g, 4)->flags, 0);
	}
	assert_int_equal(rmdir(tmp_at(&g->dir, "caps.json.new")), 0);
	rig_second(g);
	rig_ack(g);
	assert_int_equal(rig_in_set(g, 4)->flags, POLICY_CAPPABLE);
	assert_string_equal(rig_guest(g, "4")->cap_note, "");
	assert_non_null(on_disk(g, 4, 4));
}

/* libxl lists a domain before it sets the cap of its configuration, and runs it after that. */
WITH_RIG(own_cap__of_a_domain_that_has_not_run__is_learned_when_it_runs)
{
	struct guests_rig *g = *state;
	struct fake_dom *d = rig_create(g, 4, 4);

	d->dom.flags = HV_DOM_UNRUN | HV_DOM_PAUSED;
	rig_settle(g);
	rig_second(g);
	rig_ack(g);
	assert_int_equal(rig_in_set(g, 4)->flags, 0);
	assert_string_equal(rig_guest(g, "4")->cap_note, "its domain has not run yet");
	assert_non_null(strstr(rig_event(g, "guest-new")->text, "has not run yet"));
	assert_null(on_disk(g, 4, 4));
	d->params.cap = CAP_PERCENT(60);
	rig_second(g);
	d->dom.flags = 0;
	rig_second(g);
	rig_ack(g);
	assert_int_equal(rig_in_set(g, 4)->flags, POLICY_CAPPABLE);
	assert_int_equal(rig_in_set(g, 4)->bounds.ceiling.mpct, 60000);
	assert_int_equal(on_disk(g, 4, 4)->params.cap.mpct, 60000);
	assert_non_null(strstr(rig_event(g, "own-cap")->text, "60"));
	assert_null(rig_event(g, "operator-cap"));
	rig_second(g);
	assert_int_equal(rig_events(g, "own-cap"), 1);
}

/* Each write waits for the disk twice: a host that boots must not wait for each guest. */
WITH_RIG(old_caps__of_many_that_come_together__are_written_once)
{
	struct guests_rig *g = *state;
	int fd = inotify_init1(IN_NONBLOCK);
	_Alignas(struct inotify_event) char buf[4096];
	int times = 0;
	ssize_t n;

	assert_true(inotify_add_watch(fd, g->conf.state_dir, IN_MOVED_TO) >= 0);
	for (uint8_t i = 1; i <= 100; i++)
		rig_create(g, i, i);
	rig_settle(g);
	for (uint8_t i = 1; i <= 100; i++) {
		assert_int_equal(rig_in_set(g, i)->flags, POLICY_CAPPABLE);
		assert_non_null(on_disk(g, i, i));
	}
	n = read(fd, buf, sizeof(buf));
	for (const char *p = buf; p < buf + n;) {
		const struct inotify_event *ev = (const void *)p;

		times += !strcmp(ev->name, "caps.json");
		p += sizeof(*ev) + ev->len;
	}
	assert_int_equal(times, 1);
	close(fd);
}

WITH_RIG(old_cap__cannot_be_read__guest_is_watched_and_not_capped_until_it_can)
{
	struct guests_rig *g = *state;

	rig_create(g, 4, 4)->get_rc = -EOPNOTSUPP;
	rig_settle(g);
	assert_int_equal(rig_in_set(g, 4)->flags, 0);
	assert_non_null(strstr(rig_guest(g, "4")->cap_note, "its scheduler has no caps"));
	assert_null(on_disk(g, 4, 4));
	fake_dom(&g->host, 4)->get_rc = -EIO;
	rig_second(g);
	assert_non_null(strstr(rig_guest(g, "4")->cap_note, strerror(EIO)));
	fake_dom(&g->host, 4)->get_rc = 0;
	fake_dom(&g->host, 4)->params.cap = CAP_PERCENT(70);
	rig_second(g);
	rig_ack(g);
	assert_int_equal(rig_in_set(g, 4)->flags, POLICY_CAPPABLE);
	assert_int_equal(rig_in_set(g, 4)->bounds.ceiling.mpct, 70000);
}

/* After a crash without restoring: what the scheduler says now is our own cap. */
WITH_RIG(old_cap__saved_by_an_earlier_run__counts_and_not_what_is_set_now)
{
	struct guests_rig *g = *state;
	struct saved_cap was = { .domid = 4, .params = { CAP_PERCENT(50), 256 } };

	memset(was.uuid, 4, sizeof(was.uuid));
	assert_int_equal(restore_add(&g->gs->restore, &was), 0);
	assert_int_equal(restore_save(&g->gs->restore), 0);
	rig_create(g, 4, 4)->params.cap = CAP_PERCENT(1);
	rig_settle(g);
	assert_int_equal(rig_in_set(g, 4)->bounds.ceiling.mpct, 50000);
	assert_int_equal(on_disk(g, 4, 4)->params.cap.mpct, 50000);
	assert_int_equal(fake_last_call(&g->host, 4)->percent, 50); /* and is set again */
}

WITH_RIG(old_cap__saved_but_cannot_be_set_again__guest_is_not_capped_until_it_can)
{
	struct guests_rig *g = *state;
	struct saved_cap was = { .domid = 4, .params = { CAP_PERCENT(50), 256 } };

	memset(was.uuid, 4, sizeof(was.uuid));
	assert_int_equal(restore_add(&g->gs->restore, &was), 0);
	assert_int_equal(restore_save(&g->gs->restore), 0);
	rig_create(g, 4, 4)->params.cap = CAP_PERCENT(1);
	fake_dom(&g->host, 4)->set_rc = -EIO;
	rig_settle(g);
	assert_int_equal(rig_in_set(g, 4)->flags, 0);
	assert_non_null(strstr(rig_guest(g, "4")->cap_note, "could not be given back"));
	fake_dom(&g->host, 4)->set_rc = 0;
	rig_second(g);
	rig_ack(g);
	assert_int_equal(rig_in_set(g, 4)->flags, POLICY_CAPPABLE);
	assert_int_equal(rig_in_set(g, 4)->bounds.ceiling.mpct, 50000);
}

WITH_RIG(observing_only__saves_nothing_and_restores_nothing)
{
	struct guests_rig *g = *state;

	g->gs->observe = true;
	rig_create(g, 4, 4)->params.cap = CAP_PERCENT(30);
	rig_settle(g);
	rig_second(g);
	assert_int_equal(rig_in_set(g, 4)->bounds.ceiling.mpct, 30000);
	assert_false(tmp_exists(&g->dir, "caps.json"));
	assert_int_equal(guests_restore(g->gs), 0);
	assert_int_equal(g->host.calls, 0);
	rig_destroy(g, 4);
	rig_settle(g);
	assert_false(tmp_exists(&g->dir, "caps.json"));
}

WITH_RIG(stop__each_guest_gets_its_own_cap_back)
{
	struct guests_rig *g = *state;

	rig_create(g, 4, 4)->params.cap = CAP_PERCENT(30);
	rig_create(g, 5, 5);
	rig_settle(g);
	our_cap(g, 4, 2);
	our_cap(g, 5, 3);
	assert_int_equal(guests_restore(g->gs), 0);
	assert_int_equal(percent_of(g, 4), 30);
	assert_int_equal(percent_of(g, 5), 0);
	assert_null(on_disk(g, 4, 4));
	assert_null(on_disk(g, 5, 5));
	assert_false(tmp_exists(&g->dir, "caps.written"));
}

WITH_RIG(stop__one_refuses__is_counted_and_stays_on_disk)
{
	struct guests_rig *g = *state;

	rig_create(g, 4, 4);
	rig_create(g, 5, 5);
	rig_settle(g);
	fake_dom(&g->host, 4)->set_rc = -EBUSY;
	assert_int_equal(guests_restore(g->gs), 1);
	assert_non_null(on_disk(g, 4, 4));
	assert_null(on_disk(g, 5, 5));
}

/* --- caps others set ------------------------------------------------------------------ */

/* A checkpoint: Xen shows a suspended domain as shut down, and then it runs on. */
WITH_RIG(guest__suspended_while_capped_and_resumed__has_its_own_cap)
{
	struct guests_rig *g = *state;
	struct fake_dom *d = rig_create(g, 4, 4);

	d->params.cap = CAP_PERCENT(60);
	rig_settle(g);
	our_cap(g, 4, 10);
	d->dom.flags = HV_DOM_SHUTDOWN;
	rig_second(g);
	rig_settle(g);
	assert_null(rig_in_set(g, 4));
	d->dom.flags = 0;
	rig_second(g);
	rig_settle(g);
	assert_int_equal(rig_in_set(g, 4)->bounds.ceiling.mpct, 60000);
	assert_int_equal(on_disk(g, 4, 4)->params.cap.mpct, 60000);
	assert_int_equal(cap_to_percent(d->params.cap), 60);
	assert_int_equal(rig_events(g, "operator-cap"), 0);
}

WITH_RIG(foreign_cap__none_set__nothing_happens)
{
	struct guests_rig *g = *state;

	rig_create(g, 4, 4)->params.cap = CAP_PERCENT(30);
	rig_settle(g);
	rig_second(g);
	our_cap(g, 4, 12);
	rig_second(g);
	our_cap(g, 4, 30);
	rig_second(g);
	assert_null(rig_event(g, "operator-cap"));
	assert_int_equal(on_disk(g, 4, 4)->params.cap.mpct, 30000);
	assert_false(rig_ack(g));
}

WITH_RIG(foreign_cap__set_before_ours__is_the_guests_own_from_then_on)
{
	struct guests_rig *g = *state;

	rig_create(g, 4, 4);
	rig_settle(g);
	fake_dom(&g->host, 4)->params.cap = CAP_PERCENT(40); /* xl sched-credit2 */
	rig_second(g);
	rig_ack(g);
	assert_int_equal(rig_in_set(g, 4)->bounds.ceiling.mpct, 40000);
	assert_int_equal(on_disk(g, 4, 4)->params.cap.mpct, 40000);
	assert_non_null(strstr(rig_event(g, "operator-cap")->text, "40"));
	assert_string_equal(rig_event(g, "operator-cap")->guest, "guest-4");
	rig_second(g);
	assert_int_equal(rig_events(g, "operator-cap"), 1);
}

WITH_RIG(foreign_cap__set_over_ours__is_the_guests_own_from_then_on)
{
	struct guests_rig *g = *state;

	rig_create(g, 4, 4);
	rig_settle(g);
	our_cap(g, 4, 25);
	fake_dom(&g->host, 4)->params.cap = CAP_PERCENT(60);
	rig_second(g);
	rig_ack(g);
	assert_int_equal(rig_in_set(g, 4)->bounds.ceiling.mpct, 60000);
	our_cap(g, 4, 25); /* the sampler sends its own again */
	rig_second(g);
	assert_int_equal(rig_events(g, "operator-cap"), 1);
	assert_int_equal(guests_restore(g->gs), 0);
	assert_int_equal(percent_of(g, 4), 60);
}

WITH_RIG(foreign_cap__lifted_by_the_operator__is_no_ceiling_any_more)
{
	struct guests_rig *g = *state;

	rig_create(g, 4, 4)->params.cap = CAP_PERCENT(30);
	rig_settle(g);
	fake_dom(&g->host, 4)->params.cap = CAP_NONE;
	rig_second(g);
	rig_ack(g);
	assert_false(rig_in_set(g, 4)->bounds.ceiling.limited);
	assert_false(on_disk(g, 4, 4)->params.cap.limited);
}

WITH_RIG(foreign_cap__ours_is_on_its_way_or_was_refused__is_not_judged)
{
	struct guests_rig *g = *state;
	struct mailbox *mb;

	rig_create(g, 4, 4);
	rig_settle(g);
	mb = &g->ho.mail[rig_in_set(g, 4)->slot];
	fake_dom(&g->host, 4)->params.cap = CAP_PERCENT(10); /* of the mail before */
	atomic_store(&mb->want, mail_pack(1, 4, 25));	     /* not answered */
	rig_second(g);
	atomic_store(&mb->answer, mail_pack(1, EBUSY, 25));
	rig_second(g);
	assert_null(rig_event(g, "operator-cap"));
}

WITH_RIG(foreign_cap__mail_was_to_the_slots_former_guest__is_not_taken_for_ours)
{
	struct guests_rig *g = *state;

	rig_create(g, 4, 4);
	rig_settle(g);
	our_cap(g, 4, 25);
	rig_destroy(g, 4);
	rig_settle(g);
	rig_create(g, 9, 9);
	rig_settle(g);
	rig_second(g);
	assert_null(rig_event(g, "operator-cap"));
	fake_dom(&g->host, 9)->params.cap = CAP_PERCENT(25);
	rig_second(g);
	assert_non_null(rig_event(g, "operator-cap"));
}

WITH_RIG(foreign_cap__cannot_be_saved__is_tried_again)
{
	struct guests_rig *g = *state;

	rig_create(g, 4, 4);
	rig_settle(g);
	fake_dom(&g->host, 4)->params.cap = CAP_PERCENT(40);
	assert_int_equal(mkdir(tmp_at(&g->dir, "caps.json.new"), 0700), 0);
	rig_second(g);
	rig_ack(g); /* known all the same, or else it would be overwritten */
	assert_int_equal(rig_in_set(g, 4)->bounds.ceiling.mpct, 40000);
	assert_false(on_disk(g, 4, 4)->params.cap.limited);
	assert_int_equal(rmdir(tmp_at(&g->dir, "caps.json.new")), 0);
	rig_second(g);
	assert_int_equal(on_disk(g, 4, 4)->params.cap.mpct, 40000);
	assert_int_equal(rig_events(g, "operator-cap"), 1);
}

WITH_RIG(foreign_cap__observing_only__is_shown_and_decided_on_and_not_saved)
{
	struct guests_rig *g = *state;

	g->gs->observe = true;
	rig_create(g, 4, 4);
	rig_settle(g);
	fake_dom(&g->host, 4)->params.cap = CAP_PERCENT(40);
	rig_second(g);
	rig_ack(g);
	assert_int_equal(rig_in_set(g, 4)->bounds.ceiling.mpct, 40000);
	assert_non_null(rig_event(g, "operator-cap"));
	assert_false(tmp_exists(&g->dir, "caps.json"));
}

/* As the sampler says it when the actor found another cap in force. */
static void actor_finds(struct guests_rig *g, uint32_t domid, uint32_t percent, uint32_t generation)
{
	const struct set_guest *e = rig_in_set(g, domid);
	const struct event ev = { .type = EVENT_CAP_FOREIGN,
				  .slot = e->slot,
				  .created = e->key.created,
				  .a = percent,
				  .c = generation };

	assert_true(event_put(&g->ho, &ev));
	rig_work(g, MS);
}

WITH_RIG(foreign_cap__found_by_the_actor__is_its_own_at_once)
{
	struct guests_rig *g = *state;

	rig_create(g, 4, 4)->params = (struct hv_sched_params){ CAP_PERCENT(20), 300 };
	rig_settle(g);
	assert_int_equal(rig_in_set(g, 4)->own_generation, 0);
	actor_finds(g, 4, 40, 7);
	assert_true(rig_ack(g));
	assert_int_equal(rig_in_set(g, 4)->own.mpct, 40000);
	assert_int_equal(rig_in_set(g, 4)->own_generation, 7);
	assert_int_equal(on_disk(g, 4, 4)->params.cap.mpct, 40000);
	assert_int_equal(on_disk(g, 4, 4)->params.weight, 300);
	assert_non_null(strstr(rig_event(g, "operator-cap")->text, "cap to 40:"));
	actor_finds(g, 4, 40, 8); /* set again, over one of ours */
	assert_true(rig_ack(g));
	assert_int_equal(rig_in_set(g, 4)->own_generation, 8);
	assert_int_equal(rig_events(g, "operator-cap"), 2);
}

WITH_RIG(foreign_cap__found_by_control_and_then_by_the_actor__is_told_once)
{
	struct guests_rig *g = *state;

	rig_create(g, 4, 4);
	rig_settle(g);
	fake_dom(&g->host, 4)->params.cap = CAP_PERCENT(40);
	rig_second(g);
	rig_ack(g);
	actor_finds(g, 4, 40, 7);
	assert_true(rig_ack(g));
	assert_int_equal(rig_in_set(g, 4)->own_generation, 7);
	assert_int_equal(rig_events(g, "operator-cap"), 1);
	actor_finds(g, 4, 40, 8);
	assert_int_equal(rig_events(g, "operator-cap"), 2);
}

/* The next one is not found by the actor, when no policy wants another cap meanwhile. */
WITH_RIG(foreign_cap__set_after_one_that_the_actor_found__is_found_as_well)
{
	struct guests_rig *g = *state;
	struct mailbox *mb;

	rig_create(g, 4, 4);
	rig_settle(g);
	mb = &g->ho.mail[rig_in_set(g, 4)->slot];
	atomic_store(&mb->want, mail_pack(1, 4, 25));
	atomic_store(&mb->answer, mail_pack(1, ECANCELED, 40));
	fake_dom(&g->host, 4)->params.cap = CAP_PERCENT(40);
	actor_finds(g, 4, 40, 7);
	rig_second(g);
	assert_int_equal(rig_events(g, "operator-cap"), 1);
	fake_dom(&g->host, 4)->params.cap = CAP_PERCENT(60);
	rig_second(g);
	rig_ack(g);
	assert_int_equal(rig_events(g, "operator-cap"), 2);
	assert_int_equal(rig_in_set(g, 4)->own.mpct, 60000);
}

/* Also while the actor sets caps all the time. */
WITH_RIG(weight__set_by_the_operator__is_known_and_saved)
{
	struct guests_rig *g = *state;

	rig_create(g, 4, 4)->params.cap = CAP_PERCENT(30);
	rig_settle(g);
	atomic_store(&g->ho.mail[rig_in_set(g, 4)->slot].want, mail_pack(1, 4, 25));
	fake_dom(&g->host, 4)->params.weight = 999;
	rig_second(g);
	assert_int_equal(on_disk(g, 4, 4)->params.weight, 999);
	assert_int_equal(on_disk(g, 4, 4)->params.cap.mpct, 30000);
	assert_non_null(strstr(rig_event(g, "operator-weight")->text, "999"));
	rig_second(g);
	assert_int_equal(rig_events(g, "operator-weight"), 1);
	assert_int_equal(g->host.calls, 0);
}

/* xl read cap 30. The actor replaced it by 25, and xl wrote weight 999 and cap 30. */
WITH_RIG(weight__set_with_a_cap_that_the_actor_replaced__is_the_weight_alone)
{
	struct guests_rig *g = *state;
	struct mailbox *mb;

	rig_create(g, 4, 4)->params.cap = CAP_PERCENT(80);
	rig_settle(g);
	mb = &g->ho.mail[rig_in_set(g, 4)->slot];
	atomic_store(&mb->want, mail_pack(2, 4, 25));
	atomic_store(&mb->answer, mail_pack(2, 0, 25));
	fake_dom(&g->host, 4)->params = (struct hv_sched_params){ CAP_PERCENT(30), 999 };
	assert_int_equal(g->ho.send_again[rig_in_set(g, 4)->slot / 64], 0);
	rig_second(g);
	assert_int_equal(rig_events(g, "operator-cap"), 0);
	assert_int_equal(g->ho.send_again[rig_in_set(g, 4)->slot / 64],
			 1ull << (rig_in_set(g, 4)->slot % 64));
	atomic_store(&mb->want, mail_pack(3, 4, 20)); /* the actor sets one over it */
	atomic_store(&mb->answer, mail_pack(3, 0, 20));
	fake_dom(&g->host, 4)->params.cap = CAP_PERCENT(20);
	rig_second(g);
	assert_int_equal(rig_events(g, "operator-cap"), 0);
	assert_int_equal(rig_events(g, "operator-weight"), 1);
	assert_int_equal(on_disk(g, 4, 4)->params.cap.mpct, 80000);
	assert_int_equal(on_disk(g, 4, 4)->params.weight, 999);
}

WITH_RIG(weight__set_with_a_cap_that_stays__is_the_operators_cap_as_well)
{
	struct guests_rig *g = *state;

	rig_create(g, 4, 4)->params.cap = CAP_PERCENT(80);
	rig_settle(g);
	fake_dom(&g->host, 4)->params = (struct hv_sched_params){ CAP_PERCENT(30), 999 };
	rig_second(g);
	rig_second(g);
	assert_int_equal(rig_events(g, "operator-cap"), 1);
	assert_int_equal(rig_events(g, "operator-weight"), 1);
	assert_int_equal(on_disk(g, 4, 4)->params.cap.mpct, 30000);
	fake_dom(&g->host, 4)->params = (struct hv_sched_params){ CAP_PERCENT(40), 998 };
	rig_second(g);
	assert_int_equal(rig_events(g, "operator-cap"), 1);
	rig_second(g);
	assert_int_equal(rig_events(g, "operator-cap"), 2);
}

/* --- cpupools ------------------------------------------------------------------------- */

WITH_RIG(pool__another_one__its_cap_there_is_its_own_and_no_operator_set_it)
{
	struct guests_rig *g = *state;
	struct fake_dom *d = rig_create(g, 4, 4);

	d->params.cap = CAP_PERCENT(30);
	rig_settle(g);
	d->dom.pool = 1;
	d->params.cap = CAP_NONE;
	actor_finds(g, 4, 0, 7);
	rig_ack(g);
	assert_false(rig_in_set(g, 4)->own.limited);
	assert_non_null(strstr(rig_event(g, "operator-pool")->text, "fake"));
	assert_null(rig_event(g, "operator-cap"));
	actor_finds(g, 4, 50, 8);
	assert_int_equal(rig_events(g, "operator-pool"), 1);
	assert_int_equal(rig_events(g, "operator-cap"), 1);
}

/* The same pool with another scheduler is another one, too. */
static void loses_caps(struct guests_rig *g, bool told_by_actor)
{
	struct fake_dom *d = rig_create(g, 4, 4);
	struct event ev = { .type = EVENT_CAP_FAILED, .a = 20, .b = EOPNOTSUPP };

	d->params.cap = CAP_PERCENT(30);
	rig_settle(g);
	d->get_rc = -EOPNOTSUPP;
	d->scheduler = "rtds";
	ev.slot = rig_in_set(g, 4)->slot;
	ev.created = rig_in_set(g, 4)->key.created;
	if (told_by_actor) {
		assert_true(event_put(&g->ho, &ev));
		rig_work(g, MS);
	} else {
		rig_second(g);
	}
	rig_ack(g);
	assert_int_equal(rig_in_set(g, 4)->flags, 0);
	assert_non_null(strstr(rig_event(g, "operator-pool")->text, "rtds"));
	assert_non_null(strstr(rig_guest(g, "4")->cap_note, "no caps"));
	rig_second(g);
	rig_second(g);
	assert_int_equal(rig_events(g, "operator-pool"), 1);
	d->get_rc = 0;
	d->scheduler = NULL;
	d->params.cap = CAP_NONE;
	rig_second(g);
	rig_settle(g);
	assert_int_equal(rig_in_set(g, 4)->flags, POLICY_CAPPABLE);
	assert_false(rig_in_set(g, 4)->own.limited);
	assert_int_equal(rig_events(g, "operator-pool"), 2);
	assert_int_equal(g->host.calls, 0); /* the cap of the former pool is not given back */
	rig_second(g);
	assert_int_equal(rig_events(g, "operator-pool"), 2);
}

WITH_RIG(pool__scheduler_without_caps__is_not_cappable_until_it_moves_back)
{
	loses_caps(*state, false);
}

WITH_RIG(pool__actor_finds_a_scheduler_without_caps__is_not_cappable_at_once)
{
	loses_caps(*state, true);
}

/* --- the highest they may have -------------------------------------------------------- */

WITH_RIG(max_cap__the_lower_of_it_and_its_own_is_the_ceiling)
{
	struct guests_rig *g = *state;

	rig_settings(g, "\"default\": {\"max_cap\": 40, \"sla\": {\"tolerance\": 7}}");
	rig_create(g, 4, 4);
	rig_create(g, 5, 5)->params.cap = CAP_PERCENT(30);
	rig_create(g, 6, 6)->params.cap = CAP_PERCENT(50);
	rig_settle(g);
	assert_int_equal(rig_in_set(g, 4)->bounds.ceiling.mpct, 40000);
	assert_false(rig_in_set(g, 4)->own.limited);
	assert_int_equal(rig_in_set(g, 5)->bounds.ceiling.mpct, 30000);
	assert_int_equal(rig_in_set(g, 6)->bounds.ceiling.mpct, 40000);
	assert_int_equal(rig_in_set(g, 6)->own.mpct, 50000);
	assert_int_equal(rig_in_set(g, 6)->sla.tolerance, 7);
	guests_release(g->gs, rig_guest(g, "6"), true, WALL);
	rig_settle(g);
	assert_int_equal(rig_in_set(g, 6)->bounds.ceiling.mpct, 50000);
}
