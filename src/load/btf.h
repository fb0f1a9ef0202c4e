/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * btf: where a member is in a structure of the running kernel, by the kernel's own description of
 * its types (BTF; /sys/kernel/btf/vmlinux). Pure.
 */
#ifndef RESEX_LOAD_BTF_H
#define RESEX_LOAD_BTF_H

#include <stddef.h>
#include <stdint.h>

/*
 * Find a member of a struct by their names. The member must be an integer of 4 bytes, and not a
 * bit-field. *offset is set to its place in the struct, in bytes. The data, len bytes, may be
 * hostile.
 *
 * 0; -ENOENT: there is no such member; -EEXIST: structs of this name have it at different places,
 * or there are more than 16 of them; -EPROTO: the data is not BTF of version 1, or has an unknown
 * kind of type, whose length is not known.
 */
int load_btf_offset(const void *data, size_t len, const char *type, const char *member,
		    uint32_t *offset);

#endif
