// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * direct: files of the server -> mapped memory -> READs of words. See direct.h.
 *
 * All that is read of shared memory is read once. Rules R7 j and l of src/cache/cache.h are kept by
 * fresh_holds, as in resex-cached.
 */
#include "config.h"

#include "src/ring/direct.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "resex/life_abi.h"
#include "src/cache/fresh.h"
#include "src/cache/place.h"

static_assert(sizeof(struct hostset) == sizeof(((struct cache_ring_view *)0)->homes), "homes");

/* --- files ---------------------------------------------------------------------- */

/*
 * All of a file that has at least so many bytes. NULL: *rc is why, -errno. If somebody could shrink
 * the file, a READ would be the end of the process.
 */
static const void *map_to_read(int fd, size_t least, size_t *bytes, int *rc)
{
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);
	void *mem;

	*rc = -EPROTO;
	if (seals < 0 || !(seals & F_SEAL_SHRINK))
		return NULL;
	if (fstat(fd, &st)) {
		*rc = -errno;
		return NULL;
	}
	if (st.st_size < (off_t)least)
		return NULL;
	mem = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (mem == MAP_FAILED) {
		*rc = -errno;
		return NULL;
	}
	*bytes = (size_t)st.st_size;
	return mem;
}

static void unmap(const void *at, size_t bytes)
{
	munmap((void *)(uintptr_t)at, bytes);
}

static size_t file_bytes(const struct direct *d)
{
	return REGION_CACHE_WORDS + 8 * (size_t)d->words + LIFE_BYTES;
}

/* CLOCK_BOOTTIME of another time namespace is another clock. */
static bool is_same_clock(const uint64_t clock[static 2])
{
	struct stat st;

	return !stat("/proc/self/ns/time", &st) && clock[0] == st.st_dev && clock[1] == st.st_ino;
}

static int take_view(struct direct *d, int fd)
{
	const struct cache_ring_view *v;
	uint32_t words;
	size_t bytes;
	int rc;

	if (d->view)
		return -EPROTO;
	v = map_to_read(fd, sizeof(*v), &bytes, &rc);
	if (!v)
		return rc;
	words = v->words;
	if (v->magic != CACHE_RING_VIEW_MAGIC || v->version != CACHE_RING_VERSION || !words ||
	    words > REGION_CACHE_WORDS_MAX) {
		unmap(v, bytes);
		return -EPROTO;
	}
	d->words = words;
	d->view_bytes = bytes;
	if (is_same_clock(v->clock)) /* else nothing is verified here */
		memcpy(d->homes.word, v->homes, sizeof(v->homes));
	__atomic_store_n(&d->view, v, __ATOMIC_SEQ_CST);
	return 0;
}

/* Nobody is in this memory when it goes. */
static void close_home(struct direct_home *h)
{
	const char *part = h->part;

	if (!part)
		return;
	__atomic_store_n(&h->part, NULL, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&h->users, __ATOMIC_SEQ_CST))
		poll(NULL, 0, 1);
	unmap(part, h->bytes);
}

static int take_home(struct direct *d, const struct cache_ring_file *f, int fd)
{
	struct direct_home *h;
	const char *at;
	size_t bytes;
	int rc;

	if (!d->view || f->host > REGION_HOSTS_MAX || !f->link)
		return -EPROTO;
	h = &d->home[f->host];
	close_home(h);
	at = map_to_read(fd, file_bytes(d), &bytes, &rc);
	if (!at)
		return rc == -EPROTO ? rc : 0; /* no room for it: it is asked by slots */
	if (bytes % LIFE_BYTES) { /* not in whole pages: where it ends is not where the life is */
		unmap(at, bytes);
		return -EPROTO;
	}
	h->life = (const uint32_t *)(const void *)(at + bytes - LIFE_BYTES);
	h->bytes = bytes;
	h->link = f->link;
	__atomic_store_n(&h->part, at, __ATOMIC_SEQ_CST);
	return 0;
}

int direct_take(struct direct *d, const struct cache_ring_file *f, int fd)
{
	int rc = -EPROTO;

	if (f->magic == CACHE_RING_FILE_MAGIC)
		rc = f->host ? take_home(d, f, fd) : take_view(d, fd);
	close(fd); /* the mapping keeps the memory */
	return rc;
}

void direct_close(struct direct *d)
{
	for (uint32_t h = 1; h <= REGION_HOSTS_MAX; h++)
		close_home(&d->home[h]);
	if (d->view)
		unmap(d->view, d->view_bytes);
	d->view = NULL;
}

/* --- READs ------------------------------------------------------------------------ */

static struct mono until_of(const struct cache_ring_view *v, uint16_t home)
{
	return (struct mono){ __atomic_load_n(&v->home[home].until_ns, __ATOMIC_SEQ_CST) };
}

static uint32_t link_of(const struct cache_ring_view *v, uint16_t home)
{
	return __atomic_load_n(&v->home[home].link, __ATOMIC_SEQ_CST);
}

static struct hostset usable(const struct direct *d, const struct cache_ring_view *v,
			     struct mono now)
{
	struct hostset s = { { 0 } };

	for (uint16_t h = hostset_next(&d->homes, 0); h; h = hostset_next(&d->homes, h))
		if (link_of(v, h) && now.ns < until_of(v, h).ns)
			hostset_set(&s, h, true);
	return s;
}

static uint64_t load(const char *part, uint32_t offset)
{
	return __atomic_load_n((const uint64_t *)(const void *)(part + offset), __ATOMIC_SEQ_CST);
}

/* The order of the loads is that of cache_ring.h. 0: it is not verified. */
static uint64_t verified(const struct direct_home *h, const char *part,
			 const struct cache_ring_view *v, const struct place *at,
			 struct clock *clock)
{
	uint64_t version = load(part, region_cache_word_offset(at->word));
	bool lives = life_lives(__atomic_load_n(h->life, __ATOMIC_SEQ_CST));
	struct mono completed = clock->now(clock);
	struct mono until = until_of(v, at->home);

	return lives && fresh_holds(link_of(v, at->home), until, h->link, completed) ? version : 0;
}

static uint64_t read_home(struct direct_home *h, const struct cache_ring_view *v,
			  const struct place *at, struct clock *clock)
{
	const char *part;
	uint64_t version = 0;

	if (!__atomic_load_n(&h->part, __ATOMIC_RELAXED))
		return 0;
	__atomic_add_fetch(&h->users, 1, __ATOMIC_SEQ_CST);
	part = __atomic_load_n(&h->part, __ATOMIC_SEQ_CST);
	if (part)
		version = verified(h, part, v, at, clock);
	__atomic_sub_fetch(&h->users, 1, __ATOMIC_SEQ_CST);
	return version;
}

bool direct_ask(struct direct *d, struct clock *clock, uint64_t key, bool all,
		struct direct_answer *a)
{
	const struct cache_ring_view *v = __atomic_load_n(&d->view, __ATOMIC_SEQ_CST);
	struct hostset homes;
	uint64_t version;
	struct place at;

	if (!v)
		return false;
	homes = usable(d, v, clock->now(clock));
	if (!place_find(&homes, key, all, d->words, &at))
		return false;
	version = read_home(&d->home[at.home], v, &at, clock);
	if (!version)
		return false;
	*a = (struct direct_answer){ .home = at.home, .word = at.word, .version = version };
	return true;
}
