/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nodes_file: the words of a host's nodes on disk, so that a restart does not change which service
 * a node serves (src/reconf/move.h, "Kept words").
 *
 * The file "nodes" in the state directory is text, and replaced whole: a first line, a line of
 * node, service, epoch and count for each node, and a CRC32C of the words. A file that is not
 * exactly what nodes_file_print would write is refused: part of it must not be taken for all nodes.
 */
#ifndef RESEX_SHARED_NODES_FILE_H
#define RESEX_SHARED_NODES_FILE_H

#include <stddef.h>
#include <stdint.h>

enum { NODES_FILE_MAX = 8192 }; /* bytes */

/*
 * node has REGION_NODES_MAX words. A word of 0 is not written: the node is not in the file. Returns
 * the length of text. text has no NUL at its end.
 */
size_t nodes_file_print(char text[static NODES_FILE_MAX], const uint64_t *node);
/* text may be hostile. 0, or -EINVAL: it is not a whole file of node words. */
int nodes_file_parse(const char *text, size_t len, uint64_t *node);

#define NODES_FILE_WORDS "nodes"
/* Of nodes of kind "switch": the service of each, as id of its word (src/cluster/roles.c). */
#define NODES_FILE_ROLES "roles"

/*
 * Read the file of this name in this directory. Returns 0; -ENOENT: no such file; -EINVAL: the file
 * is damaged, or no file of node words; another -errno: the file could not be read.
 */
int nodes_file_load(const char *state_dir, const char *name, uint64_t *node);
/*
 * Replace the file. It may wait for the disk. Returns 0: the new words are on disk; or -errno: the
 * file has the words of before, or the new ones.
 */
int nodes_file_save(const char *state_dir, const char *name, const uint64_t *node);

#endif
