// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * nodes_file: print and parse the file of node words, load and save it. See nodes_file.h.
 *
 * A host loads it before its region begins (keep_begin), and saves it when keep.c says so.
 */
#include "src/shared/nodes_file.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/shared/record.h"
#include "src/util/file.h"

static const char FIRST[] = "resex nodes 1\n";

/* "255 256 1073741823 16777215\n" is the longest line; the last one is "crc 01234567\n". */
static_assert(sizeof(FIRST) + 28 * REGION_NODES_MAX + 14 <= NODES_FILE_MAX, "a whole file fits");

/* Of the words alone: the text follows from them. */
static uint32_t crc_of(const uint64_t *node)
{
	struct {
		struct region_record head;
		uint64_t word[REGION_NODES_MAX];
	} r = { .head = { .kind = REGION_NODE_PAGE } };

	memcpy(r.word, node, sizeof(r.word));
	return record_crc(&r, sizeof(r));
}

size_t nodes_file_print(char text[static NODES_FILE_MAX], const uint64_t *node)
{
	char *to = text, *end = text + NODES_FILE_MAX;

	to += snprintf(to, (size_t)(end - to), "%s", FIRST);
	for (uint32_t i = 0; i < REGION_NODES_MAX; i++) {
		uint64_t seq = region_word_seq(node[i]);

		if (node[i])
			to += snprintf(to, (size_t)(end - to), "%u %u %u %u\n", i,
				       region_word_id(node[i]), region_seq_epoch(seq),
				       region_seq_count(seq));
	}
	to += snprintf(to, (size_t)(end - to), "crc %08x\n", crc_of(node));
	return (size_t)(to - text);
}

/* A number of at most most, and the character behind it. */
static bool take(const char **at, const char *end, uint32_t most, char behind, uint32_t *v)
{
	const char *from = *at;
	uint64_t n = 0;

	for (; *at < end && **at >= '0' && **at <= '9' && n <= most; ++*at)
		n = n * 10 + (uint64_t)(**at - '0');
	if (*at == from || *at == end || **at != behind || n > most)
		return false;
	++*at;
	*v = (uint32_t)n;
	return true;
}

static bool take_line(const char **at, const char *end, uint64_t *node)
{
	uint32_t i, service, epoch, count;

	if (!take(at, end, REGION_NODES_MAX - 1, ' ', &i) ||
	    !take(at, end, REGION_SERVICES_MAX, ' ', &service) ||
	    !take(at, end, REGION_EPOCH_MAX, ' ', &epoch) ||
	    !take(at, end, REGION_COUNT_MAX, '\n', &count) || count == 0)
		return false;
	node[i] = region_word((uint16_t)service, region_seq(epoch, count));
	return true;
}

/* The comparison refuses other text for the same words: spaces, another order, another crc. */
int nodes_file_parse(const char *text, size_t len, uint64_t *node)
{
	const char *at = text + sizeof(FIRST) - 1, *end = text + len;
	uint64_t read[REGION_NODES_MAX] = { 0 };
	char same[NODES_FILE_MAX];

	if (len < sizeof(FIRST) - 1 || len > sizeof(same))
		return -EINVAL;
	while (at < end && *at != 'c')
		if (!take_line(&at, end, read))
			return -EINVAL;
	if (nodes_file_print(same, read) != len || memcmp(same, text, len) != 0)
		return -EINVAL;
	memcpy(node, read, sizeof(read));
	return 0;
}

static int path_of(char file[static PATH_MAX], const char *state_dir, const char *name)
{
	return snprintf(file, PATH_MAX, "%s/%s", state_dir, name) >= PATH_MAX ? -ENAMETOOLONG : 0;
}

int nodes_file_load(const char *state_dir, const char *name, uint64_t *node)
{
	char file[PATH_MAX], *text;
	size_t len;
	int rc = path_of(file, state_dir, name);

	if (!rc)
		rc = file_load(file, NODES_FILE_MAX, &text, &len);
	if (rc)
		return rc == -EFBIG ? -EINVAL : rc;
	rc = nodes_file_parse(text, len, node);
	free(text);
	return rc;
}

int nodes_file_save(const char *state_dir, const char *name, const uint64_t *node)
{
	char file[PATH_MAX], text[NODES_FILE_MAX];
	int rc = path_of(file, state_dir, name);

	return rc ? rc : file_save(file, text, nodes_file_print(text, node));
}
