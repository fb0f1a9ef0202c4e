// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * plugin_elf: reads what a shared object would need and run, before it is loaded.
 *
 * The list of functions makes it sound to leave a plug-in's code at any instruction (guard.h):
 * none of them takes a lock, allocates, or waits. It also finds a plug-in that does more than it
 * may: one that allocates, prints, or reads a clock cannot even be loaded.
 *
 * The file's bytes are not trusted: each offset is checked before it is used. It finds what
 * compilers and linkers make of a plug-in's source. A file that is made by hand, so that
 * the dynamic linker sees other contents than this, is not found: its owner is root.
 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "src/util/plugin_file.h"

#if defined(__x86_64__)
#define MACHINE		   EM_X86_64
#define CALLED_WHEN_LOADED R_X86_64_IRELATIVE
#elif defined(__aarch64__)
#define MACHINE		   EM_AARCH64
#define CALLED_WHEN_LOADED R_AARCH64_IRELATIVE
#else
#error "add the machine's numbers of elf.h"
#endif

/* What plug-ins may call; and what compilers and linkers put into each shared object. */
static const char *const may_need[] = {
	"memcpy",
	"memmove",
	"memset",
	"memcmp",
	"memchr",
	"bcmp",
	"strlen",
	"strnlen",
	"strcmp",
	"strncmp",
	"strchr",
	"strrchr",
	"__memcpy_chk",
	"__memmove_chk",
	"__memset_chk",
	"__stack_chk_fail",
	"__cxa_finalize",
	"__gmon_start__",
	"_ITM_deregisterTMCloneTable",
	"_ITM_registerTMCloneTable",
};

static const char *const may_link[] = { "libc.so.6", "libgcc_s.so.1" };

struct elf {
	const uint8_t *at;
	size_t size;
	const struct plugin_kind *kind;
	Elf64_Ehdr head;
	char *why;
};

static int refuse(const struct elf *e, const char *what, const char *name, const char *remedy)
{
	snprintf(e->why, PLUGIN_WHY_MAX, "%s%.64s: %s", what, name, remedy);
	return -EINVAL;
}

static int refuse_form(const struct elf *e, const char *what)
{
	return refuse(e, "it is no shared object that can be read: ", what,
		      "build it with cc -shared -fPIC, and do not remove its section headers");
}

/* Copy n bytes at off. False: the file ends before. */
static bool get(const struct elf *e, uint64_t off, void *to, size_t n)
{
	if (off > e->size || n > e->size - off)
		return false;
	memcpy(to, e->at + off, n);
	return true;
}

static bool get_section(const struct elf *e, uint32_t i, Elf64_Shdr *s)
{
	return i < e->head.e_shnum &&
	       get(e, e->head.e_shoff + (uint64_t)i * sizeof(*s), s, sizeof(*s));
}

/* The first section of a type. */
static bool find_section(const struct elf *e, uint32_t type, Elf64_Shdr *s)
{
	for (uint32_t i = 0; get_section(e, i, s); i++)
		if (s->sh_type == type)
			return true;
	return false;
}

/* A string of a table; NULL: it is not in the file, or has no end there. */
static const char *get_string(const struct elf *e, const Elf64_Shdr *strings, uint64_t off)
{
	uint64_t begin = strings->sh_offset;

	if (off >= strings->sh_size || begin > e->size || strings->sh_size > e->size - begin)
		return NULL;
	if (!memchr(e->at + begin + off, 0, strings->sh_size - off))
		return NULL;
	return (const char *)(e->at + begin + off);
}

static bool is_one_of(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(name, list[i]))
			return true;
	return false;
}

static int check_head(struct elf *e)
{
	const Elf64_Ehdr *h = &e->head;

	if (!get(e, 0, &e->head, sizeof(e->head)) || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0)
		return refuse_form(e, "it is not in the format ELF");
	if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB ||
	    h->e_machine != MACHINE)
		return refuse_form(e, "it is for another kind of machine");
	if (h->e_type != ET_DYN)
		return refuse_form(e, "it is an object or a program");
	if (h->e_shentsize != sizeof(Elf64_Shdr) || !h->e_shnum)
		return refuse_form(e, "it has no section headers");
	if (h->e_shoff > e->size || (e->size - h->e_shoff) / sizeof(Elf64_Shdr) < h->e_shnum)
		return refuse_form(e, "it is cut off");
	return 0;
}

static int check_symbol(const struct elf *e, const Elf64_Sym *sym, const char *name, bool *exports)
{
	if (sym->st_shndx == SHN_UNDEF) {
		if (is_one_of(name, may_need, sizeof(may_need) / sizeof(may_need[0])))
			return 0;
		return refuse(e, "it needs ", name, e->kind->may_call);
	}
	if (!strcmp(name, e->kind->symbol) && ELF64_ST_TYPE(sym->st_info) == STT_OBJECT &&
	    sym->st_size >= sizeof(uint64_t))
		*exports = true;
	return 0;
}

static int check_symbols(const struct elf *e)
{
	Elf64_Shdr syms, strings;
	bool exports = false;
	Elf64_Sym sym;
	int rc = 0;

	if (!find_section(e, SHT_DYNSYM, &syms) || !get_section(e, syms.sh_link, &strings))
		return refuse_form(e, "it has no table of dynamic symbols");
	for (uint64_t i = 1; !rc && i < syms.sh_size / sizeof(sym); i++) {
		const char *name;

		if (!get(e, syms.sh_offset + i * sizeof(sym), &sym, sizeof(sym)))
			return refuse_form(e, "its table of symbols is cut off");
		name = get_string(e, &strings, sym.st_name);
		if (!name)
			return refuse_form(e, "a symbol has no name");
		rc = check_symbol(e, &sym, name, &exports);
	}
	if (!rc && !exports)
		rc = refuse(e, "it exports no symbol ", e->kind->symbol, e->kind->define);
	return rc;
}

/*
 * One function of each kind is the compiler's own: frame_dummy, and its counterpart at the end,
 * which do nothing here.
 */
static int check_entry(const struct elf *e, const Elf64_Dyn *d, const Elf64_Shdr *strings)
{
	const char *name;

	switch (d->d_tag) {
	case DT_NEEDED:
		name = get_string(e, strings, d->d_un.d_val);
		if (!name)
			return refuse_form(e, "a library has no name");
		if (!is_one_of(name, may_link, sizeof(may_link) / sizeof(may_link[0])))
			return refuse(e, "it needs the library ", name,
				      "link it with libc alone (no -l)");
		return 0;
	case DT_INIT_ARRAYSZ:
	case DT_FINI_ARRAYSZ:
		if (d->d_un.d_val <= sizeof(uint64_t))
			return 0;
		/* fall through */
	case DT_PREINIT_ARRAY:
		return refuse(e, "it runs code when it is loaded or unloaded: ", "a constructor",
			      e->kind->once);
	case DT_AUXILIARY:
	case DT_FILTER:
		return refuse(e, "it is a filter of another library", "",
			      "link it without -f and -F");
	default:
		return 0;
	}
}

/* A relocation of this kind calls a function of the object, also a static one. */
static int check_relocations(const struct elf *e)
{
	Elf64_Shdr s;
	Elf64_Rela r;

	for (uint32_t i = 0; get_section(e, i, &s); i++) {
		if (s.sh_type != SHT_RELA)
			continue;
		for (uint64_t n = 0; n < s.sh_size / sizeof(r); n++) {
			if (!get(e, s.sh_offset + n * sizeof(r), &r, sizeof(r)))
				return refuse_form(e, "its relocations are cut off");
			if (ELF64_R_TYPE(r.r_info) == CALLED_WHEN_LOADED)
				return refuse(e, "it chooses a function when it is loaded", "",
					      "leave out __attribute__((ifunc)) and target_clones");
		}
	}
	return 0;
}

/* What the dynamic linker maps: each segment is in the file, and the stack stays without code. */
static int check_segments(const struct elf *e, const Elf64_Shdr *dyn)
{
	bool stack = false, dynamic = false;
	Elf64_Phdr p;

	if (e->head.e_phentsize != sizeof(p))
		return refuse_form(e, "it has no program headers");
	for (uint32_t i = 0; i < e->head.e_phnum; i++) {
		if (!get(e, e->head.e_phoff + (uint64_t)i * sizeof(p), &p, sizeof(p)))
			return refuse_form(e, "its program headers are cut off");
		if (p.p_offset > e->size || p.p_filesz > e->size - p.p_offset)
			return refuse_form(e, "a segment is cut off");
		stack |= p.p_type == PT_GNU_STACK && !(p.p_flags & PF_X);
		dynamic |= p.p_type == PT_DYNAMIC && p.p_offset == dyn->sh_offset &&
			   p.p_vaddr == dyn->sh_addr;
	}
	if (!dynamic)
		return refuse_form(e, "its dynamic section is not the one that is loaded");
	if (!stack)
		return refuse(e, "it makes the stacks of the program executable", "",
			      "link it with -z noexecstack");
	return 0;
}

static int check_dynamic(const struct elf *e)
{
	Elf64_Shdr dyn, strings;
	Elf64_Dyn d;
	int rc = 0;

	if (!find_section(e, SHT_DYNAMIC, &dyn) || !get_section(e, dyn.sh_link, &strings))
		return refuse_form(e, "it is not linked");
	for (uint64_t i = 0; !rc && i < dyn.sh_size / sizeof(d); i++) {
		if (!get(e, dyn.sh_offset + i * sizeof(d), &d, sizeof(d)))
			return refuse_form(e, "its dynamic section is cut off");
		if (d.d_tag == DT_NULL)
			break;
		rc = check_entry(e, &d, &strings);
	}
	return rc ? rc : check_segments(e, &dyn);
}

int plugin_elf_check(const uint8_t *file, size_t size, const struct plugin_kind *k,
		     char why[static PLUGIN_WHY_MAX])
{
	struct elf e = { .at = file, .size = size, .kind = k, .why = why };
	int rc = check_head(&e);

	if (!rc)
		rc = check_dynamic(&e);
	if (!rc)
		rc = check_symbols(&e);
	if (!rc)
		rc = check_relocations(&e);
	return rc;
}
