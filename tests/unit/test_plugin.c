// SPDX-License-Identifier: GPL-2.0-or-later
/* plugin: shared objects of a directory, found, checked, loaded, or refused with the reason. */
#include "src/conf/plugin.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/conf/policy.h"
#include "tests/fakes/fake_rogue.h"
#include "tests/unit/examples.h"
#include "tests/unit/tmpdir.h"
#include "tests/unit/unit.h"

struct fixture {
	struct tmpdir dir;
	struct plugins *ps;
	const struct policy_ops *ops;
	char why[PLUGIN_WHY_MAX];
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	tmp_open(&f->dir);
	assert_int_equal(plugins_open(&f->ps, f->dir.path), 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	plugins_close(f->ps);
	tmp_close(&f->dir);
	free(f);
	return 0;
}

static void build(struct fixture *f, const char *file, const char *source, const char *flags)
{
	build_plugin(tmp_at(&f->dir, file), source, flags);
}

static void build_rogue(struct fixture *f, const char *flags)
{
	build(f, "rogue.so", "tests/fakes/fake_rogue.c", flags);
}

/* -errno, or 0; says must be in the reason. */
static int find(struct fixture *f, const char *name, const char *says)
{
	int rc = plugins_find(f->ps, name, &f->ops, f->why);

	assert_int_equal(!f->why[0], !rc || rc == -ENOENT);
	if (says && !strstr(f->why, says))
		fail_msg("%d: %s", rc, f->why);
	return rc;
}

/* --- loaded ------------------------------------------------------------------------------ */

RIG_TEST(example__is_loaded_by_its_name_and_takes_parameters)
{
	struct fixture *f = *state;
	struct policy_inst *pi = NULL;
	struct conf_error e = { 0 };

	build(f, "limit.so", "etc/examples/policy/limit.c", "-Wall");
	assert_int_equal(policy_load(&pi, f->ps, "limit", "", &e), 0);
	assert_string_equal(pi->ops->name, "limit");
	assert_non_null(pi->apart);
	policy_free(pi);
	tmp_write(&f->dir, "p.json", "{\"policy\": \"limit\", \"params\": {\"part\": \"100%\"}}");
	assert_int_equal(policy_load(&pi, f->ps, "limit", tmp_at(&f->dir, "p.json"), &e), -EINVAL);
	assert_non_null(strstr(e.text, "refuses its parameters: part is 100 %, which no guest"));
	assert_int_equal(e.exit, RESEX_BAD_CONFIG);
	tmp_write(&f->dir, "p.json", "{\"policy\": \"limit\", \"params\": {\"part\": \"20%\"}}");
	assert_int_equal(policy_load(&pi, f->ps, NULL, tmp_at(&f->dir, "p.json"), &e), 0);
	assert_int_equal(policy_param_get(pi, &pi->ops->params[0]), 200);
	policy_free(pi);
}

/* A file that is overwritten is another plug-in; what was loaded goes on as it was. */
RIG_TEST(file__found_again__is_loaded_once_until_it_changes)
{
	struct fixture *f = *state;
	const struct policy_ops *first;
	int fd;

	build_rogue(f, "");
	assert_int_equal(find(f, "rogue", NULL), 0);
	first = f->ops;
	for (int i = 0; i < 2 * PLUGINS_MAX; i++)
		assert_int_equal(find(f, "rogue", NULL), 0);
	assert_ptr_equal(f->ops, first);
	fd = open(tmp_at(&f->dir, "rogue.so"), O_WRONLY);
	assert_int_equal(pwrite(fd, "cut", 3, 0), 3);
	close(fd);
	assert_int_equal(find(f, "rogue", "is not in the format ELF"), -EINVAL);
	assert_string_equal(first->text, "Misbehaves, for tests.");
	build_rogue(f, "");
	assert_int_equal(find(f, "rogue", NULL), 0);
	assert_ptr_not_equal(f->ops, first);
	assert_string_equal(first->name, f->ops->name);
}

/* The name of a built-in policy is that policy's, whatever is in the directory. */
RIG_TEST(name_of_a_built_in_policy__is_no_plug_in)
{
	struct fixture *f = *state;
	struct policy_inst *pi = NULL;
	struct conf_error e = { 0 };

	build(f, "null.so", "tests/fakes/fake_rogue.c", "");
	assert_int_equal(policy_load(&pi, f->ps, "null", "", &e), 0);
	assert_ptr_equal(pi->ops, &policy_null);
	assert_null(pi->apart);
	policy_free(pi);
}

static void call_decide(void *arg)
{
	const struct policy_inst *pi = arg;

	pi->ops->decide(pi->apart->in, pi->params, pi->global, pi->guests, pi->apart->plan);
}

/* Built as flags say: decide() crashes by this signal, NULL: it returns. */
static void decide_as(struct fixture *f, enum rogue how, const char *flags, const char *signal)
{
	struct policy_inst *pi = NULL;
	struct conf_error e = { 0 };

	build_rogue(f, flags);
	assert_int_equal(find(f, "rogue", NULL), 0);
	assert_int_equal(policy_new(&pi, f->ops, true), 0);
	*(uint64_t *)pi->params = how;
	assert_int_equal(policy_start(pi, &e), 0);
	assert_int_equal(plugin_call(call_decide, pi, "decide()", f->why), signal ? -EFAULT : 0);
	if (signal && !strstr(f->why, signal))
		fail_msg("%s", f->why);
	policy_free(pi);
}

RIG_TEST(decide__writes_a_static_variable__is_a_crash)
{
	decide_as(*state, ROGUE_BEHAVES, "", NULL);
	decide_as(*state, ROGUE_WRITES_STATIC, "", "it crashed (SIGSEGV");
}

/* The compiler's own check of the stack calls abort(). */
RIG_TEST(decide__aborts__is_a_crash)
{
	decide_as(*state, ROGUE_SMASHES, "-fstack-protector-all", "it crashed (SIGABRT");
}

RIG_TEST(many_versions_of_a_file__are_bounded)
{
	struct fixture *f = *state;
	int rc = 0;

	build_rogue(f, "");
	for (int i = 0; !rc; i++) {
		struct timespec t[2] = { { 0, UTIME_OMIT }, { 1000 + i, 0 } };

		assert_true(i <= PLUGINS_MAX);
		assert_int_equal(utimensat(AT_FDCWD, tmp_at(&f->dir, "rogue.so"), t, 0), 0);
		rc = find(f, "rogue", NULL);
	}
	assert_int_equal(rc, -ENOSPC);
	assert_non_null(strstr(f->why, "restart resexd"));
}

RIG_TEST(names__are_those_of_shared_objects_in_order)
{
	struct fixture *f = *state;
	char name[4][FLOW_NAME_MAX];

	for (size_t i = 0; i < 6; i++)
		tmp_write(&f->dir,
			  (const char *[]){ "b.so", "a-2.so", ".so", "x.c", "Big.so", "c.so.1" }[i],
			  "");
	assert_int_equal(plugins_names(f->ps, name, 4), 2);
	assert_string_equal(name[0], "a-2");
	assert_string_equal(name[1], "b");
	assert_int_equal(plugins_names(f->ps, name, 1), 1);
}

/* --- refused: the file ------------------------------------------------------------------- */

RIG_TEST(no_file__no_directory__no_plug_ins__are_no_policy)
{
	struct fixture *f = *state;
	struct policy_inst *pi = NULL;
	struct conf_error e = { 0 };
	struct plugins *none;

	assert_int_equal(find(f, "rogue", NULL), -ENOENT);
	assert_int_equal(find(f, "../rogue", NULL), -ENOENT);
	assert_int_equal(policy_load(&pi, f->ps, "rogue", "", &e), -ENOENT);
	assert_int_equal(e.exit, RESEX_NO_POLICY);
	assert_non_null(strstr(e.text, "slo, or a plug-in in /tmp/"));
	assert_int_equal(plugins_open(&none, "/nonexistent/policies"), 0);
	assert_int_equal(plugins_find(none, "rogue", &f->ops, f->why), -ENOENT);
	assert_int_equal(plugins_names(none, NULL, 0), -ENOENT);
	plugins_close(none);
	assert_int_equal(plugins_find(NULL, "rogue", &f->ops, f->why), -ENOENT);
}

static void mode(struct fixture *f, const char *file, mode_t m)
{
	assert_int_equal(chmod(file ? tmp_at(&f->dir, file) : f->dir.path, m), 0);
}

RIG_TEST(writable_by_others__of_another_user__is_refused)
{
	struct fixture *f = *state;
	struct plugins *below;
	char from[160];

	build_rogue(f, "");
	mode(f, "rogue.so", 0664);
	assert_int_equal(find(f, "rogue", "can write it (mode 664): take that away"), -EACCES);
	mode(f, "rogue.so", 0646);
	assert_int_equal(find(f, "rogue", "can write it (mode 646)"), -EACCES);
	mode(f, "rogue.so", 0644);
	mode(f, NULL, 0777);
	assert_int_equal(find(f, "rogue", "can write the directory (mode 777)"), -EACCES);
	mode(f, NULL, 0755);
	assert_int_equal(find(f, "rogue", NULL), 0);
	/* A user who can write a directory above can put another one in its place. */
	assert_int_equal(mkdir(tmp_at(&f->dir, "below"), 0755), 0);
	assert_int_equal(plugins_open(&below, tmp_at(&f->dir, "below")), 0);
	snprintf(from, sizeof(from), "%s", tmp_at(&f->dir, "rogue.so"));
	assert_int_equal(link(from, tmp_at(&f->dir, "below/rogue.so")), 0);
	mode(f, NULL, 0775);
	assert_int_equal(plugins_find(below, "rogue", &f->ops, f->why), -EACCES);
	assert_non_null(strstr(f->why, "can write the directory /"));
	mode(f, NULL, 01777);
	assert_int_equal(plugins_find(below, "rogue", &f->ops, f->why), 0);
	plugins_close(below);
	mode(f, NULL, 0755);
	if (geteuid())
		return;
	assert_int_equal(chown(tmp_at(&f->dir, "rogue.so"), 65534, 0), 0);
	assert_int_equal(find(f, "rogue", "it is owned by the user 65534"), -EACCES);
	assert_int_equal(chown(tmp_at(&f->dir, "rogue.so"), 0, 0), 0);
	assert_int_equal(chown(f->dir.path, 65534, 0), 0);
	assert_int_equal(find(f, "rogue", "the directory is owned by the user 65534"), -EACCES);
}

RIG_TEST(no_regular_file__is_refused)
{
	struct fixture *f = *state;
	char from[160];

	assert_int_equal(mkdir(tmp_at(&f->dir, "a.so"), 0755), 0);
	assert_int_equal(find(f, "a", "not a regular file"), -EINVAL);
	assert_int_equal(mkfifo(tmp_at(&f->dir, "b.so"), 0644), 0);
	assert_int_equal(find(f, "b", "not a regular file"), -EINVAL);
	build_rogue(f, "");
	snprintf(from, sizeof(from), "%s", tmp_at(&f->dir, "rogue.so"));
	assert_int_equal(symlink(from, tmp_at(&f->dir, "c.so")), 0);
	assert_int_equal(find(f, "c", "a symbolic link"), -ELOOP);
	tmp_write(&f->dir, "d.so", "");
	assert_int_equal(find(f, "d", "it is empty"), -EINVAL);
	tmp_write(&f->dir, "e.so",
		  "no shared object, but long enough for the head of one, 64 bytes");
	assert_int_equal(find(f, "e", "is not in the format ELF"), -EINVAL);
	assert_int_equal(truncate(tmp_at(&f->dir, "e.so"), PLUGIN_BYTES_MAX + 1), 0);
	assert_int_equal(find(f, "e", "larger than 16 MiB"), -EFBIG);
}

/* --- refused: what it is made of ------------------------------------------------------------ */

static const struct {
	const char *flags, *says;
} wrong[] = {
	{ "-DROGUE_CALLS=malloc", "it needs malloc: a policy allocates" },
	{ "-DROGUE_CALLS=exit", "it needs exit: " },
	{ "-DROGUE_CALLS=abort", "it needs abort: " },
	{ "-DROGUE_CALLS=sigaction", "it needs sigaction: " },
	{ "-DROGUE_CALLS=pthread_create", "it needs pthread_create: " },
	{ "-DROGUE_CALLS=syscall", "it needs syscall: " },
	{ "-DROGUE_CHOOSES", "it chooses a function when it is loaded: leave out" },
	{ "-Wl,-z,execstack", "it makes the stacks of the program executable: link" },
	{ "-DROGUE_CONSTRUCTOR", "it runs code when it is loaded" },
	{ "-DROGUE_SYMBOL", "it exports no symbol resex_policy" },
	{ "-DROGUE_ABI=-1", "it was built for version 5 of resex/policy.h, and resexd has 6" },
	{ "-DROGUE_ABI=+1", "it was built for version 7 of resex/policy.h, and resexd has 6" },
	{ "-Wl,--no-as-needed -lm", "it needs the library libm.so.6" },
	{ "-Wl,--filter=libm.so.6", "it is a filter of another library" },
	{ "-DROGUE_POINTER", "its table has a pointer that leads nowhere: it crashed (SIGSEGV" },
};

RIG_TEST(built_wrongly__is_refused)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		build_rogue(f, wrong[i].flags);
		assert_true(find(f, "rogue", wrong[i].says) < 0);
	}
	build(f, "rogue.so", "tests/fakes/fake_rogue.c", "-c");
	assert_int_equal(find(f, "rogue", "it is an object or a program"), -EINVAL);
	build(f, "other.so", "tests/fakes/fake_rogue.c", "");
	assert_int_equal(find(f, "other", "call the file rogue.so"), -EINVAL);
}

/* Any file may be there: each cut, and each byte changed, is refused or right, and no more. */
RIG_TEST(bytes_of_a_file__cut_and_changed__are_read_within_it)
{
	struct fixture *f = *state;
	int right = 0, fd;
	uint8_t *file;
	off_t size;

	build_rogue(f, "-s");
	fd = open(tmp_at(&f->dir, "rogue.so"), O_RDONLY);
	size = lseek(fd, 0, SEEK_END);
	assert_true(size > 1000);
	file = malloc((size_t)size);
	assert_non_null(file);
	assert_int_equal(pread(fd, file, (size_t)size, 0), size);
	close(fd);
	assert_int_equal(plugin_elf_check(file, (size_t)size, &plugin_policy_kind, f->why), 0);
	for (off_t n = 0; n < size; n++) {
		/* Of exactly so many bytes: the address sanitizer sees one beyond. */
		uint8_t *cut = malloc((size_t)n + !n);

		assert_non_null(cut);
		memcpy(cut, file, (size_t)n);
		assert_int_equal(plugin_elf_check(cut, (size_t)n, &plugin_policy_kind, f->why),
				 -EINVAL);
		free(cut);
		n += n < 4096 ? 0 : 61;
	}
	for (off_t i = 0; i < size; i++)
		for (int bit = 0; bit < 8; bit += 7) {
			file[i] ^= (uint8_t)(1 << bit);
			right += !plugin_elf_check(file, (size_t)size, &plugin_policy_kind, f->why);
			file[i] ^= (uint8_t)(1 << bit);
		}
	assert_true(right > size); /* most of it is code and nothing */
	free(file);
}

/* What the section headers say is not all that the dynamic linker goes by. */
RIG_TEST(program_headers__beyond_the_file_or_of_another_section__are_refused)
{
	struct fixture *f = *state;
	static union {
		Elf64_Ehdr head;
		uint8_t at[1 << 18];
	} file;
	ssize_t size;
	int fd;

	build_rogue(f, "-s");
	fd = open(tmp_at(&f->dir, "rogue.so"), O_RDONLY);
	size = read(fd, file.at, sizeof(file.at));
	close(fd);
	assert_in_range(size, 1000, sizeof(file.at) - 1);
	for (int i = 0; i < file.head.e_phnum; i++) {
		Elf64_Phdr *h = (Elf64_Phdr *)(void *)(file.at + file.head.e_phoff) + i, was = *h;

		h->p_filesz = (uint64_t)size;
		h->p_offset = 1;
		assert_int_equal(
			plugin_elf_check(file.at, (size_t)size, &plugin_policy_kind, f->why),
			-EINVAL);
		assert_non_null(strstr(f->why, "a segment is cut off"));
		*h = was;
		h->p_offset ^= 8;
		if (h->p_type == PT_DYNAMIC) {
			assert_int_equal(plugin_elf_check(file.at, (size_t)size,
							  &plugin_policy_kind, f->why),
					 -EINVAL);
			assert_non_null(strstr(f->why, "is not the one that is loaded"));
		}
		*h = was;
	}
	assert_int_equal(plugin_elf_check(file.at, (size_t)size, &plugin_policy_kind, f->why), 0);
}

/* --- refused: its table ---------------------------------------------------------------------- */

struct table {
	struct policy_ops ops;
	struct policy_param param[POLICY_PARAMS_MAX + 2];
	const char *reason[POLICY_REASONS_MAX + 2];
	char text[POLICY_PARAMS_MAX + 1][4];
};

/* A member of the table that gets another value, a number or a pointer. */
struct change {
	size_t offset, size;
	uint64_t number;
	const void *pointer;
	const char *says;
};
#define AT(member) offsetof(struct table, member), sizeof(((struct table *)0)->member)
#define NUM(member, v, say)                                                                        \
	{                                                                                          \
		AT(member), v, NULL, say                                                           \
	}
#define PTR(member, p, say)                                                                        \
	{                                                                                          \
		AT(member), 0, p, say                                                              \
	}

static char long_text[POLICY_TEXT_MAX + 2];

static const struct change changes[] = {
	NUM(ops.abi, POLICY_ABI + 1, "built for version 7"),
	NUM(ops.size, 8, "size is 8"),
	PTR(ops.name, "Rogue", "name does not fit"),
	PTR(ops.name, "other", "call the file other.so"),
	PTR(ops.name, NULL, "name does not fit"),
	PTR(ops.text, "two\nlines", "text is missing"),
	PTR(ops.text, long_text, "text is missing"),
	PTR(ops.decide, NULL, "no decide()"),
	NUM(ops.needs_reports, 2, "needs_reports is 2"),
	NUM(ops.params_size, POLICY_PARAMS_SIZE + 8, "params_size is 4104"),
	NUM(ops.global_size, 12, "global_size is 12"),
	NUM(ops.guest_size, POLICY_GUEST_SIZE + 8, "guest_size is 16392"),
	NUM(ops.params_size, 0, "is at offset 0"),
	PTR(param[1].name, "how", "one name or one offset"),
	NUM(param[1].offset, 0, "one name or one offset"),
	NUM(param[1].offset, 16, "is at offset 16"),
	NUM(param[1].offset, 4, "is at offset 4"),
	PTR(param[1].unit, "furlongs", "no unit that is known"),
	PTR(param[1].unit, NULL, "no unit that is known"),
	PTR(param[1].text, "", "has no text"),
	NUM(param[1].def, 1000001, "min <= def <= max"),
	NUM(param[1].min, 1, "min <= def <= max"),
	NUM(param[1].max, 1ull << 63, "min <= def <= max"),
	PTR(param[1].name, "A", "no name that fits"),
	PTR(ops.reasons, NULL, "no reasons"),
	PTR(reason[0], NULL, "no reasons"),
	PTR(reason[0], "\t", "reason 0 is no line"),
};

static void fill(struct table *t)
{
	memset(t, 0, sizeof(*t));
	t->ops = resex_policy;
	t->ops.params = t->param;
	t->ops.reasons = t->reason;
	memcpy(t->param, resex_policy.params, 2 * sizeof(t->param[0]));
	t->reason[0] = resex_policy.reasons[0];
}

static void refused(const struct table *t, const char *says)
{
	char why[PLUGIN_WHY_MAX] = "";

	if (plugin_table_check(&t->ops, "rogue", why) != -EINVAL || !strstr(why, says))
		fail_msg("\"%s\", not \"%s\"", why, says);
}

TEST(table__each_thing_that_is_wrong_with_it__is_said)
{
	char why[PLUGIN_WHY_MAX];
	struct table t;

	memset(long_text, 'x', sizeof(long_text) - 1);
	fill(&t);
	assert_int_equal(plugin_table_check(&t.ops, "rogue", why), 0);
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		const struct change *c = &changes[i];

		fill(&t);
		memcpy((uint8_t *)&t + c->offset,
		       c->pointer ? (const void *)&c->pointer : &c->number, c->size);
		refused(&t, c->says);
	}
}

TEST(table__more_parameters_or_reasons_than_there_may_be__is_said)
{
	struct table t;

	fill(&t);
	for (int i = 0; i <= POLICY_REASONS_MAX; i++)
		t.reason[i] = "one more";
	refused(&t, "more than 64 reasons");
	fill(&t);
	t.ops.params_size = POLICY_PARAMS_SIZE;
	for (int i = 0; i <= POLICY_PARAMS_MAX; i++) {
		snprintf(t.text[i], sizeof(t.text[i]), "a%d", i);
		t.param[i] = t.param[0];
		t.param[i].name = t.text[i];
		t.param[i].offset = (size_t)i * 8;
	}
	refused(&t, "more than 64 parameters");
}

/* A value that no policy has is not read as one of another name. */
TEST(name__fits_or_not)
{
	assert_true(plugin_name_fits("a-2"));
	for (size_t i = 0; i < 6; i++)
		assert_false(
			plugin_name_fits((const char *[]){ "", "2a", "-a", "a/b", "a.b", "A" }[i]));
}
