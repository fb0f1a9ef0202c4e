// SPDX-License-Identifier: GPL-2.0-or-later
/* restore: caps on disk before they are changed, and back from there. */
#include "src/guests/restore.h"

#include <signal.h>
#include <sys/resource.h>

#include "src/core/caps.h"
#include "tests/fakes/fake_host.h"
#include "tests/unit/tmpdir.h"
#include "tests/unit/unit.h"

enum { TEXT_MAX = 1 << 16 };

struct fixture {
	struct tmpdir dir;
	struct restore r;
	struct fake_host host;
	char text[TEXT_MAX];
	int save_rc; /* of all() */
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct conf_error e;

	if (!f)
		return -1;
	tmp_open(&f->dir);
	fake_host_open(&f->host);
	*state = f;
	return restore_load(&f->r, f->dir.path, "xen", &e);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	tmp_close(&f->dir);
	free(f);
	return 0;
}

static struct saved_cap saved(uint32_t domid, uint8_t uuid, uint32_t percent)
{
	struct saved_cap c = { .domid = domid,
			       .params = { cap_from_percent(percent), 256 + domid % 1000 } };

	memset(c.uuid, uuid, sizeof(c.uuid));
	return c;
}

static int add_and_save(struct restore *r, const struct saved_cap *c)
{
	int rc = restore_add(r, c);

	return rc ? rc : restore_save(r);
}

static void put(struct fixture *f, uint32_t domid, uint8_t uuid, uint32_t percent)
{
	const struct saved_cap c = saved(domid, uuid, percent);

	assert_int_equal(add_and_save(&f->r, &c), 0);
}

static void assert_found(struct restore *r, uint32_t domid, uint8_t uuid, uint32_t percent)
{
	const struct saved_cap want = saved(domid, uuid, percent);
	const struct saved_cap *c = restore_find(r, domid, want.uuid);

	assert_non_null(c);
	assert_int_equal(c->domid, domid);
	assert_memory_equal(c->uuid, want.uuid, 16);
	assert_true(cap_equal(c->params.cap, want.params.cap));
	assert_int_equal(c->params.weight, want.params.weight);
}

/* What another process would find on disk now. */
static struct restore *on_disk(struct fixture *f)
{
	static struct restore r;
	struct conf_error e = { 0 };

	memset(&r, 0x5a, sizeof(r));
	assert_int_equal(restore_load(&r, f->dir.path, "xen", &e), 0);
	return &r;
}

/* --- to disk and back --------------------------------------------------------- */

RIG_TEST(load__no_file__is_empty)
{
	struct fixture *f = *state;

	assert_int_equal(f->r.entries, 0);
	assert_non_null(strstr(f->r.file, "/caps.json"));
}

RIG_TEST(put__then_load__the_same_comes_back)
{
	struct fixture *f = *state;
	struct restore *r;

	put(f, 1, 0xab, 0);
	put(f, 65535, 0x01, 65535);
	put(f, 7, 0xff, 42);
	r = on_disk(f);
	assert_int_equal(r->entries, 3);
	assert_found(r, 1, 0xab, 0);
	assert_found(r, 65535, 0x01, 65535);
	assert_found(r, 7, 0xff, 42);
}

RIG_TEST(put__same_guest_again__changes_its_entry)
{
	struct fixture *f = *state;

	put(f, 7, 1, 42);
	put(f, 7, 1, 17);
	assert_int_equal(on_disk(f)->entries, 1);
	assert_found(on_disk(f), 7, 1, 17);
}

RIG_TEST(put__same_domain_id_of_another_guest__is_an_entry_of_its_own)
{
	struct fixture *f = *state;

	put(f, 7, 1, 42);
	put(f, 7, 2, 17);
	assert_int_equal(on_disk(f)->entries, 2);
	assert_found(on_disk(f), 7, 1, 42);
	assert_found(on_disk(f), 7, 2, 17);
}

RIG_TEST(find__other_id_or_other_uuid__is_not_it)
{
	struct fixture *f = *state;
	struct saved_cap c = saved(7, 1, 0);

	put(f, 7, 1, 42);
	assert_null(restore_find(&f->r, 8, c.uuid));
	c.uuid[15] ^= 1;
	assert_null(restore_find(&f->r, 7, c.uuid));
}

RIG_TEST(put__file__only_its_owner_may_read_it)
{
	struct fixture *f = *state;
	struct stat st;

	put(f, 7, 1, 42);
	assert_int_equal(stat(f->r.file, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

RIG_TEST(put__256_guests__are_kept_and_one_more_is_refused)
{
	struct fixture *f = *state;
	const struct saved_cap more = saved(999, 9, 9);

	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++)
		put(f, i + 1, (uint8_t)i, i);
	assert_int_equal(add_and_save(&f->r, &more), -ENOSPC);
	assert_int_equal(f->r.entries, FLOW_GUESTS_MAX);
	assert_null(restore_find(&f->r, 999, more.uuid));
	put(f, 3, 2, 77); /* one of the 256 may still change */
	assert_int_equal(on_disk(f)->entries, FLOW_GUESTS_MAX);
	assert_found(on_disk(f), 3, 2, 77);
}

RIG_TEST(save__on_one_hypervisor__is_refused_on_another_and_stays)
{
	struct fixture *f = *state;
	struct conf_error e = { 0 };

	assert_int_equal(restore_load(&f->r, f->dir.path, "sim", &e), 0);
	put(f, 7, 1, 42);
	assert_int_equal(restore_load(&f->r, f->dir.path, "xen", &e), -EINVAL);
	assert_non_null(strstr(e.text, "on sim, and this is xen"));
	assert_int_equal(restore_load(&f->r, f->dir.path, "sim", &e), 0);
	assert_found(&f->r, 7, 1, 42);
}

RIG_TEST(drop__one_of_two__the_other_stays)
{
	struct fixture *f = *state;
	const struct saved_cap c = saved(7, 1, 0);

	put(f, 7, 1, 42);
	put(f, 8, 2, 43);
	restore_drop(&f->r, 7, c.uuid);
	assert_int_equal(restore_save(&f->r), 0);
	assert_int_equal(on_disk(f)->entries, 1);
	assert_found(on_disk(f), 8, 2, 43);
}

RIG_TEST(drop__the_last__removes_the_file)
{
	struct fixture *f = *state;
	const struct saved_cap c = saved(7, 1, 0);

	put(f, 7, 1, 42);
	assert_true(tmp_exists(&f->dir, "caps.json"));
	restore_drop(&f->r, 7, c.uuid);
	assert_int_equal(restore_save(&f->r), 0);
	assert_false(tmp_exists(&f->dir, "caps.json"));
	assert_int_equal(on_disk(f)->entries, 0);
}

RIG_TEST(drop__none_such__changes_nothing)
{
	struct fixture *f = *state;
	const struct saved_cap c = saved(7, 2, 0);

	put(f, 7, 1, 42);
	restore_drop(&f->r, 7, c.uuid);
	assert_int_equal(restore_save(&f->r), 0);
	assert_int_equal(on_disk(f)->entries, 1);
}

/* --- crashes and full disks ------------------------------------------------------- */

RIG_TEST(load__killed_before_the_rename__the_old_file_counts)
{
	struct fixture *f = *state;

	put(f, 7, 1, 42);
	tmp_write(&f->dir, "caps.json.new", "{\"guests\": [{\"domid\": 9, \"uu");
	assert_int_equal(on_disk(f)->entries, 1);
	assert_found(on_disk(f), 7, 1, 42);
	put(f, 8, 2, 43); /* and the half-written file disturbs no later save */
	assert_int_equal(on_disk(f)->entries, 2);
	assert_false(tmp_exists(&f->dir, "caps.json.new"));
}

RIG_TEST(load__killed_before_the_first_rename__is_empty)
{
	struct fixture *f = *state;

	tmp_write(&f->dir, "caps.json.new", "{");
	assert_int_equal(on_disk(f)->entries, 0);
}

static void assert_put_fails(struct fixture *f, int rc)
{
	const struct saved_cap fresh = saved(9, 9, 9), change = saved(7, 1, 99);

	assert_int_equal(add_and_save(&f->r, &fresh), rc);
	restore_drop(&f->r, 9, fresh.uuid); /* what is not on disk is not known */
	assert_int_equal(f->r.entries, 1);
	assert_null(restore_find(&f->r, 9, fresh.uuid));
	assert_found(&f->r, 7, 1, 42);
	assert_int_equal(add_and_save(&f->r, &change), rc);
	assert_int_equal(f->r.entries, 1);
}

RIG_TEST(put__directory_replaced_by_a_file__fails_and_changes_nothing)
{
	struct fixture *f = *state;

	put(f, 7, 1, 42);
	tmp_empty(f->dir.path);
	assert_int_equal(rmdir(f->dir.path), 0);
	fclose(fopen(f->dir.path, "w"));
	assert_put_fails(f, -ENOTDIR);
	unlink(f->dir.path);
	assert_int_equal(mkdir(f->dir.path, 0700), 0);
}

RIG_TEST(put__directory_gone__fails_and_changes_nothing)
{
	struct fixture *f = *state;

	put(f, 7, 1, 42);
	tmp_empty(f->dir.path);
	assert_int_equal(rmdir(f->dir.path), 0);
	assert_put_fails(f, -ENOENT);
	assert_int_equal(mkdir(f->dir.path, 0700), 0);
}

RIG_TEST(put__new_file_is_a_link_somebody_left__is_not_followed)
{
	struct fixture *f = *state;

	put(f, 7, 1, 42);
	tmp_write(&f->dir, "victim", "mine");
	assert_int_equal(symlink("victim", tmp_at(&f->dir, "caps.json.new")), 0);
	assert_put_fails(f, -ELOOP);
	assert_string_equal(tmp_read(&f->dir, "victim", f->text, sizeof(f->text)), "mine");
}

RIG_TEST(put__disk_full__old_file_is_untouched_and_nothing_is_left_behind)
{
	struct fixture *f = *state;
	struct rlimit was, tiny;
	char before[256];

	put(f, 7, 1, 42);
	tmp_read(&f->dir, "caps.json", before, sizeof(before));
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	tiny = was;
	tiny.rlim_cur = 20;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &tiny), 0);
	assert_put_fails(f, -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	assert_string_equal(tmp_read(&f->dir, "caps.json", f->text, sizeof(f->text)), before);
	assert_false(tmp_exists(&f->dir, "caps.json.new"));
}

/* --- long files ---------------------------------------------------------------------- */

/* Each second percent: nothing is longer in the file. */
static void scatter(struct saved_cap *c, uint32_t percents)
{
	for (uint32_t i = 0; i < percents; i++)
		c->written.bit[2 * i / 64] |= 1ull << (2 * i % 64);
}

static void add_gone(struct restore *r, uint32_t number, uint32_t percents)
{
	struct saved_cap c = saved(1, 0, 60);

	memcpy(c.uuid, &number, sizeof(number));
	scatter(&c, percents);
	assert_int_equal(restore_add(r, &c), 0);
	restore_gone(r, 1, c.uuid, RESTORE_GONE_S);
}

RIG_TEST(save__1024_gone_guests_of_many_caps__all_are_read_again)
{
	struct fixture *f = *state;

	for (uint32_t i = 1; i <= RESTORE_GONE_MAX; i++)
		add_gone(&f->r, i, 60);
	put(f, 7, 1, 42);
	assert_int_equal(f->r.gones, RESTORE_GONE_MAX);
	assert_int_equal(on_disk(f)->gones, RESTORE_GONE_MAX);
	assert_found(on_disk(f), 7, 1, 42);
}

RIG_TEST(save__gone_guests_of_too_many_caps__drops_the_oldest)
{
	struct fixture *f = *state;
	const uint32_t newest = RESTORE_GONE_MAX;
	struct restore *r;

	for (uint32_t i = 1; i <= newest; i++)
		add_gone(&f->r, i, 200);
	put(f, 7, 1, 42);
	r = on_disk(f);
	assert_in_range(r->gones, RESTORE_GONE_MAX / 4, RESTORE_GONE_MAX - 1);
	assert_memory_equal(r->gone[r->gones - 1].uuid, &newest, sizeof(newest));
	assert_found(r, 7, 1, 42);
}

RIG_TEST(save__guests_of_too_many_caps__is_refused_and_the_old_file_stays)
{
	struct fixture *f = *state;

	put(f, 7, 1, 42);
	for (uint32_t i = 0; i < 100; i++) {
		struct saved_cap c = saved(100 + i, 3, 60);

		scatter(&c, WRITTEN_PERCENTS / 2);
		assert_int_equal(restore_add(&f->r, &c), 0);
	}
	assert_int_equal(restore_save(&f->r), -EFBIG);
	assert_int_equal(on_disk(f)->entries, 1);
	assert_found(on_disk(f), 7, 1, 42);
}

/* --- damaged files ------------------------------------------------------------------- */

#define UUID  "01010101-0101-0101-0101-010101010101"
#define PART  "{\"domid\": 7, \"uuid\": \"" UUID "\", \"cap\": 42, \"weight\": 256"
#define ENTRY PART "}"

static const struct damage {
	const char *text, *place, *names;
} damages[] = {
	{ "", "", "caps.json" },
	{ "{", "caps.json:1:", "" },
	{ "\n\n  garbage", "caps.json:3:", "" },
	{ "[]", "caps.json:1:1: ", "array" },
	{ "{\"hv\": \"sim\", \"guests\": []}", "caps.json:1:8: ", "on sim, and this is xen" },
	{ "{}", "caps.json:1:1: ", "guests" },
	{ "{\"guests\": 5}", "caps.json:1:1", "guests" },
	{ "{\"guests\": [\n" ENTRY ",\n {}\n]}", "caps.json:3:2: ", "domid" },
	{ "{\"guests\": [\n" ENTRY ",\n 5\n]}", "caps.json:3:2: ", "5" },
	{ "{\"guests\": [{\"domid\": 0, \"uuid\": \"" UUID "\", \"cap\": 1, \"weight\": 1}]}",
	  "caps.json:1:23: ", "domid" },
	{ "{\"guests\": [{\"domid\": 65536, \"uuid\": \"" UUID "\", \"cap\": 1, \"weight\": 1}]}",
	  "caps.json:1:23: ", "65536" },
	{ "{\"guests\": [{\"domid\": 7, \"uuid\": \"" UUID "\", \"cap\": -1, \"weight\": 1}]}",
	  "caps.json:1:81: ", "-1" },
	{ "{\"guests\": [{\"domid\": 7, \"uuid\": \"" UUID "\", \"cap\": 65536, \"weight\": 1}]}",
	  "caps.json:1:81: ", "65536" },
	{ "{\"guests\": [{\"domid\": 7, \"uuid\": \"" UUID "\", \"cap\": 1, \"weight\": 65536}]}",
	  "caps.json:1:94: ", "65536" },
	{ "{\"guests\": [{\"domid\": 7, \"uuid\": \"" UUID "\", \"cap\": 1}]}",
	  "caps.json:1:", "weight" },
	{ "{\"guests\": [{\"domid\": 7, \"uuid\": \"01010101-0101-0101-0101-01010101010g\", "
	  "\"cap\": 1, \"weight\": 1}]}",
	  "caps.json:1:34: ", "01010101010g" },
	{ "{\"guests\": [{\"domid\": 7, \"uuid\": \"0101010100101-0101-0101-01010101010\", "
	  "\"cap\": 1, \"weight\": 1}]}",
	  "caps.json:1:34: ", "uuid" },
	{ "{\"guests\": [" ENTRY "], \"guests\": []}", "caps.json:1:", "guests" },
	{ "{\"boot\": 5, \"guests\": []}", "caps.json:1:10: ", "boot" },
	{ "{\"guests\": [], \"gone\": 5}", "caps.json:1:", "gone" },
	{ "{\"guests\": [], \"gone\": [" ENTRY "]}", "caps.json:1:", "until" },
	{ "{\"guests\": [" PART ", \"written\": [[5, 4]]}]}", "caps.json:1:", "first and last" },
	{ "{\"guests\": [" PART ", \"written\": [[4, 8192]]}]}", "caps.json:1:", "8192" },
	{ "{\"guests\": [" PART ", \"written\": [4]}]}", "caps.json:1:", "first and last" },
	{ "{\"guests\": [" PART ", \"written\": 4}]}", "caps.json:1:", "first and last" },
	{ "{\"guests\": [" PART ", \"last\": [4]}]}", "caps.json:1:", "two percents" },
	{ "{\"guests\": [" PART ", \"last\": [4, 65536]}]}", "caps.json:1:", "two percents" },
	{ "{\"guests\": [{\"domid\": 7, \"uuid\": \"" UUID "\", \"cap\": 1, \"weight\": 1, "
	  "\"extra\": 1}]}",
	  "caps.json:1:", "extra" },
};

RIG_TEST(load__damaged__says_where_and_leaves_file_and_entries_alone)
{
	struct fixture *f = *state;
	struct conf_error e;

	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		const struct damage *d = &damages[i];

		memset(&e, 0, sizeof(e));
		tmp_write(&f->dir, "caps.json", d->text);
		assert_true(restore_load(&f->r, f->dir.path, "xen", &e) < 0);
		print_message("%s\n", e.text);
		assert_non_null(strstr(e.text, d->place));
		assert_non_null(strstr(e.text, d->names));
		assert_null(strchr(e.text, '\n'));
		assert_int_equal(f->r.entries, 0); /* so that nothing is written back */
		assert_string_equal(tmp_read(&f->dir, "caps.json", f->text, sizeof(f->text)),
				    d->text);
	}
}

RIG_TEST(load__more_guests_than_there_can_be__is_refused)
{
	struct fixture *f = *state;
	struct conf_error e = { 0 };
	size_t n = 0;

	n += (size_t)snprintf(f->text, sizeof(f->text), "{\"guests\": [");
	for (int i = 0; i <= FLOW_GUESTS_MAX; i++)
		n += (size_t)snprintf(f->text + n, sizeof(f->text) - n, "%s" ENTRY, i ? "," : "");
	snprintf(f->text + n, sizeof(f->text) - n, "]}");
	tmp_write(&f->dir, "caps.json", f->text);
	assert_int_equal(restore_load(&f->r, f->dir.path, "xen", &e), -EINVAL);
	assert_non_null(strstr(e.text, "256"));
	assert_int_equal(f->r.entries, 0);
}

RIG_TEST(load__directory_in_place_of_the_file__is_an_error)
{
	struct fixture *f = *state;
	struct conf_error e = { 0 };

	assert_int_equal(mkdir(tmp_at(&f->dir, "caps.json"), 0700), 0);
	assert_true(restore_load(&f->r, f->dir.path, "xen", &e) < 0);
	assert_non_null(strstr(e.text, "caps.json: "));
}

RIG_TEST(load__state_directory_is_a_file__is_an_error)
{
	struct fixture *f = *state;
	struct conf_error e = { 0 };
	char dir[sizeof(f->dir.at)];

	tmp_write(&f->dir, "file", "");
	snprintf(dir, sizeof(dir), "%s", tmp_at(&f->dir, "file"));
	assert_int_equal(restore_load(&f->r, dir, "xen", &e), -ENOTDIR);
	assert_non_null(strstr(e.text, "file/caps.json: "));
}

/* --- restoring ------------------------------------------------------------------------------ */

/* A domain that resexd has capped at 5 %. */
static struct fake_dom *capped(struct fixture *f, uint32_t domid, uint8_t uuid)
{
	struct fake_dom *d = fake_dom_add(&f->host, domid, uuid);

	d->params.cap = CAP_PERCENT(5);
	return d;
}

static uint32_t percent_of(struct fixture *f, uint32_t domid)
{
	return cap_to_percent(fake_dom(&f->host, domid)->params.cap);
}

static int all(struct fixture *f, uint32_t *restored)
{
	struct restored done;
	int rc = restore_all(&f->r, &fake_sched_ops, &f->host.sched, true, &done);

	*restored = done.caps;
	f->save_rc = done.save_rc;
	return rc;
}

RIG_TEST(all__guests_live__get_their_caps_and_the_file_goes)
{
	struct fixture *f = *state;
	uint32_t n;

	capped(f, 7, 1);
	capped(f, 8, 2);
	put(f, 7, 1, 42);
	put(f, 8, 2, 0);
	assert_int_equal(all(f, &n), 0);
	assert_int_equal(n, 2);
	assert_int_equal(percent_of(f, 7), 42);
	assert_int_equal(percent_of(f, 8), 0);
	assert_int_equal(f->r.entries, 0);
	assert_false(tmp_exists(&f->dir, "caps.json"));
}

RIG_TEST(all__domain_gone_dying_or_replaced__is_dropped_untouched)
{
	struct fixture *f = *state;
	uint32_t n;

	capped(f, 8, 2)->dom.flags = HV_DOM_DYING;
	capped(f, 9, 0x33); /* not the one that was saved */
	put(f, 7, 1, 42);
	put(f, 8, 2, 43);
	put(f, 9, 3, 44);
	assert_int_equal(all(f, &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(f->host.calls, 0);
	assert_int_equal(f->r.entries, 0);
	assert_false(tmp_exists(&f->dir, "caps.json"));
}

RIG_TEST(all__one_refuses__it_stays_in_the_file_for_another_try)
{
	struct fixture *f = *state;
	uint32_t n;

	capped(f, 7, 1);
	capped(f, 8, 2)->set_rc = -EBUSY;
	capped(f, 9, 3);
	put(f, 7, 1, 42);
	put(f, 8, 2, 43);
	put(f, 9, 3, 44);
	assert_int_equal(all(f, &n), 1);
	assert_int_equal(n, 2);
	assert_int_equal(on_disk(f)->entries, 1);
	assert_found(on_disk(f), 8, 2, 43);
	fake_dom(&f->host, 8)->set_rc = 0;
	assert_int_equal(all(f, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(percent_of(f, 8), 43);
	assert_false(tmp_exists(&f->dir, "caps.json"));
}

RIG_TEST(all__vanishes_while_its_cap_is_set__is_dropped)
{
	struct fixture *f = *state;
	uint32_t n;

	capped(f, 7, 1)->set_rc = -ESRCH;
	put(f, 7, 1, 42);
	assert_int_equal(all(f, &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(f->r.entries, 0);
}

RIG_TEST(all__list_of_domains_fails__nothing_is_dropped)
{
	struct fixture *f = *state;
	uint32_t n = 99;

	capped(f, 7, 1);
	put(f, 7, 1, 42);
	f->host.list_rc = -EIO;
	assert_int_equal(all(f, &n), -EIO);
	assert_int_equal(n, 0);
	assert_int_equal(on_disk(f)->entries, 1);
	assert_int_equal(f->host.calls, 0);
}

RIG_TEST(all__file_cannot_be_written__caps_are_given_back_all_the_same)
{
	struct fixture *f = *state;
	uint32_t n;

	capped(f, 7, 1);
	capped(f, 8, 2)->set_rc = -EBUSY;
	put(f, 7, 1, 42);
	put(f, 8, 2, 43);
	assert_int_equal(symlink("x", tmp_at(&f->dir, "caps.json.new")), 0);
	assert_int_equal(all(f, &n), 1);
	assert_int_equal(f->save_rc, -ELOOP);
	assert_int_equal(n, 1);
	assert_int_equal(percent_of(f, 7), 42);
	assert_int_equal(on_disk(f)->entries, 2); /* given back twice does no harm */
}

/* xl sets 60 just after our 5 was read. */
static int get_before_xl(struct hv_sched *s, uint32_t domid, struct hv_sched_params *p)
{
	int rc = fake_sched_ops.get(s, domid, p);

	fake_dom(s->host, domid)->params.cap = CAP_PERCENT(60);
	return rc;
}

RIG_TEST(all__operator_sets_a_cap_meanwhile__it_is_left)
{
	struct fixture *f = *state;
	struct hv_sched_ops ops = fake_sched_ops;
	struct saved_cap c = saved(7, 1, 42);
	struct restored done;

	ops.get = get_before_xl;
	capped(f, 7, 1);
	c.last = (struct written_last){ .known = true, .any = true, .from = 6, .to = 5 };
	assert_int_equal(restore_add(&f->r, &c), 0);
	assert_int_equal(restore_all(&f->r, &ops, &f->host.sched, true, &done), 0);
	assert_int_equal(percent_of(f, 7), 60);
	assert_int_equal(done.caps, 0);
	assert_int_equal(done.operators, 1);
	assert_int_equal(done.operator[0].percent, 60);
	assert_int_equal(done.operator[0].own, 42);
}

RIG_TEST(all__nothing_saved__is_fine)
{
	struct fixture *f = *state;
	uint32_t n = 99;

	assert_int_equal(all(f, &n), 0);
	assert_int_equal(n, 0);
}
