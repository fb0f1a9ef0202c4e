// SPDX-License-Identifier: GPL-2.0-or-later
/* agent/load_page: files like those of /proc, by the agent's book, to what dom0 takes. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "ibmon/agent/load_page.h"
#include "ibmon/registry.h"
#include "src/load/claim.h"
#include "src/shared/record.h"
#include "tests/unit/tmpdir.h"
#include "tests/unit/unit.h"

#define MS NS_PER_MS

struct rig {
	struct tmpdir proc, dir;
	struct pages *pages;
	struct book *book;
	struct load_page *load;
	struct log log;
	const volatile uint8_t *file; /* as dom0 maps it */
	struct load_claim claim;
	struct mono now;
};

/* The kernel module, or its absence. */
static struct {
	int rc; /* what it answers */
	int begun, ended;
	struct loadmon_fill asked;
} kernel;

static int module_begin(const struct loadmon_fill *f)
{
	kernel.asked = *f;
	kernel.begun++;
	return kernel.rc;
}

static void module_end(int handle)
{
	assert_int_equal(handle, kernel.rc);
	kernel.ended++;
}

static const struct load_filler module = { module_begin, module_end };

static void write_stat(struct rig *r, const char *text)
{
	tmp_write(&r->proc, "stat", text);
}

static int rig_open(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));
	char file[160];
	FILE *f;

	assert_non_null(r);
	memset(&kernel, 0, sizeof(kernel));
	kernel.rc = -ENOENT;
	tmp_open(&r->proc);
	tmp_open(&r->dir);
	strcpy(file, tmp_at(&r->dir, "pages"));
	write_stat(r, "cpu  10 20 30 40 50 60 70 80\ncpu0 1\ncpu1 1\n");
	tmp_write(&r->proc, "loadavg", "0.50 0.00 0.00 4/9 9\n");
	log_init(&r->log, "test", LOG_LVL_ERROR);
	assert_int_equal(pages_file.open(&r->pages, file), 0);
	assert_int_equal(book_open(&r->book, &pages_file, r->pages, 1), 0);
	f = fopen(file, "r");
	assert_non_null(f);
	r->file = mmap(NULL, BOOK_PAGES_MAX * GUEST_PAGE, PROT_READ, MAP_SHARED, fileno(f), 0);
	assert_ptr_not_equal(r->file, MAP_FAILED);
	fclose(f);
	r->now.ns = 1000 * MS;
	*state = r;
	return 0;
}

static int rig_close(void **state)
{
	struct rig *r = *state;

	load_page_close(r->load);
	book_close(r->book);
	munmap((void *)(uintptr_t)r->file, BOOK_PAGES_MAX * GUEST_PAGE);
	pages_file.close(r->pages);
	tmp_close(&r->dir);
	tmp_close(&r->proc);
	free(r);
	return 0;
}

static int no_page(void *ctx, const struct guest_ref *ref, const volatile void **page)
{
	(void)ctx;
	(void)ref;
	(void)page;
	return -EINVAL;
}

/* The reference of the load page, as dom0 finds it. */
static struct guest_ref load_ref(const struct rig *r)
{
	const struct registry_limits lim = { .rings = GUEST_RINGS_MAX, .pages = 1000 };
	struct registry *reg = calloc(1, sizeof(*reg));
	struct guest_ref ref;

	assert_non_null(reg);
	assert_int_equal(registry_walk(r->file, &lim, no_page, NULL, reg), 0);
	ref = reg->load;
	free(reg);
	return ref;
}

static int take(struct rig *r)
{
	struct guest_load_page copy;

	guest_copy(&copy, r->file + load_ref(r).ref * GUEST_PAGE, sizeof(copy));
	r->now.ns += 10 * MS;
	return load_claim_take(&r->claim, &copy, 2, r->now);
}

static void open_load(struct rig *r)
{
	assert_int_equal(load_page_open(&r->load, r->book, r->proc.path, 10 * MS, &module, &r->log),
			 0);
}

TEST_WITH(load_page__sampled__is_what_dom0_takes, rig_open, rig_close)
{
	const uint64_t tick = (uint64_t)(NS_PER_S / sysconf(_SC_CLK_TCK));
	struct rig *r = *state;

	assert_int_equal(load_ref(r).type, GUEST_REF_NONE);
	open_load(r);
	assert_int_equal(load_ref(r).type, GUEST_REF_FRAME);
	assert_int_equal(take(r), -ENOMSG);
	load_page_sample(r->load, r->now);
	assert_int_equal(take(r), 1);
	assert_int_equal(r->claim.record.source, LOAD_ULM);
	assert_int_equal(r->claim.record.cpus, 2);
	assert_int_equal(r->claim.record.busy_ns, 60 * tick);
	assert_int_equal(r->claim.record.steal_ns, 80 * tick);
	assert_int_equal(r->claim.record.running, 3);
	assert_int_equal(r->claim.record.period_ns, 10 * MS);
	assert_int_equal(r->claim.record.flags, LOAD_IDLE_REPAIRED | LOAD_NO_WAIT);
	assert_int_equal(take(r), 0);
	write_stat(r, "cpu  10 20 31 40 50 60 70 80\ncpu0 1\ncpu1 1\n");
	load_page_sample(r->load, r->now);
	assert_int_equal(take(r), 1);
	assert_int_equal(r->claim.record.busy_ns, 61 * tick);
	assert_int_equal(r->claim.record.beat, 2);
}

TEST_WITH(load_page__sampled_late__says_so, rig_open, rig_close)
{
	static const struct {
		int64_t late_ms;
		bool overrun;
	} row[] = { { 10, false }, { 19, false }, { 20, true }, { 500, true }, { 10, false } };
	struct rig *r = *state;

	open_load(r);
	load_page_sample(r->load, r->now);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct mono before = r->now;

		assert_int_equal(take(r), 1);
		r->now = mono_add(before, row[i].late_ms * MS);
		load_page_sample(r->load, r->now);
		assert_int_equal(take(r), 1);
		assert_int_equal(!!(r->claim.record.flags & LOAD_OVERRUN), row[i].overrun);
		r->now = mono_add(before, row[i].late_ms * MS);
		load_claim_forget(&r->claim);
	}
}

TEST_WITH(load_page__sample_that_fails__leaves_the_record, rig_open, rig_close)
{
	struct rig *r = *state;

	open_load(r);
	load_page_sample(r->load, r->now);
	assert_int_equal(take(r), 1);
	write_stat(r, "rubbish");
	load_page_sample(r->load, mono_add(r->now, 10 * MS));
	assert_int_equal(take(r), 0);
	write_stat(r, "cpu  10 20 31 40 50 60 70 80\ncpu0 1\n");
	load_page_sample(r->load, mono_add(r->now, 10 * MS));
	assert_int_equal(take(r), 1);
	assert_int_equal(r->claim.record.beat, 2);
	assert_int_equal(r->claim.record.cpus, 1);
}

static void kernel_fills(void)
{
	struct load_record *to = (struct load_record *)(uintptr_t)kernel.asked.record, r = *to;

	r.source = LOAD_KLM;
	r.cpus = 1;
	r.beat++;
	r.sampled_ns += 10 * MS;
	r.period_ns = 10 * MS;
	record_write(to, &r.head, REGION_LOAD, sizeof(r));
}

TEST_WITH(load_page__filled_by_the_module__is_not_sampled_and_then_again, rig_open, rig_close)
{
	struct rig *r = *state;
	uint64_t beat;

	kernel.rc = 5;
	open_load(r);
	load_page_sample(r->load, r->now);
	assert_int_equal(kernel.begun, 1);
	assert_int_equal(kernel.asked.record % LOADMON_ALIGN, 0);
	assert_true(kernel.asked.record % GUEST_PAGE <= GUEST_PAGE - sizeof(struct load_record));
	assert_int_equal(kernel.asked.period_ns, 10 * MS);
	assert_int_equal(take(r), -ENOMSG);
	for (int i = 0; i < 500; i++) {
		kernel_fills();
		load_page_sample(r->load, r->now);
		assert_int_equal(take(r), 1);
		assert_int_equal(r->claim.record.source, LOAD_KLM);
	}
	beat = r->claim.record.beat;
	/* It hangs: it is let go, and /proc is read. */
	for (int i = 0; i < 99; i++) {
		load_page_sample(r->load, r->now);
		assert_int_equal(take(r), 0);
	}
	r->now.ns += 10 * MS;
	load_page_sample(r->load, r->now);
	assert_true(kernel.begun == 1 && kernel.ended == 1);
	assert_int_equal(take(r), 1);
	assert_int_equal(r->claim.record.source, LOAD_ULM);
	assert_int_equal(r->claim.record.beat, beat + 1);
	assert_false(r->claim.record.flags & LOAD_OVERRUN);
	/* It is asked again, and let go at the end. */
	for (int i = 0; i < 110; i++) {
		load_page_sample(r->load, r->now);
		r->now.ns += 10 * MS;
	}
	assert_int_equal(kernel.begun, 2);
	load_page_close(r->load);
	r->load = NULL;
	assert_int_equal(kernel.ended, 2);
}

TEST_WITH(load_page__let_go_by_a_module_that_hangs__is_let_go_once, rig_open, rig_close)
{
	struct rig *r = *state;

	kernel.rc = 5;
	open_load(r);
	load_page_sample(r->load, r->now);
	r->now.ns += NS_PER_S;
	load_page_sample(r->load, r->now);
	load_page_close(r->load);
	r->load = NULL;
	assert_true(kernel.begun == 1 && kernel.ended == 1);
}

TEST_WITH(load_page__without_proc_or_pages__is_none_and_the_book_goes_on, rig_open, rig_close)
{
	struct rig *r = *state;
	struct guest_ref ref;
	void *mem;

	assert_int_equal(load_page_open(&r->load, r->book, "/none", 10 * MS, NULL, &r->log),
			 -ENOENT);
	assert_int_equal(load_ref(r).type, GUEST_REF_NONE);
	while (!pages_file.get(r->pages, &mem, &ref))
		;
	assert_int_equal(load_page_open(&r->load, r->book, r->proc.path, 10 * MS, &module, &r->log),
			 -ENOSPC);
	assert_int_equal(load_ref(r).type, GUEST_REF_NONE);
	assert_int_equal(book_beat(r->book), 0);
}

TEST_WITH(load_page__book_closed__is_withdrawn, rig_open, rig_close)
{
	struct rig *r = *state;

	open_load(r);
	book_close(r->book);
	assert_int_equal(load_ref(r).type, GUEST_REF_NONE);
	r->book = NULL;
}
