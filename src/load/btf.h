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
 * Where the member is, in bytes: an integer of 4 bytes that is no bit-field, of the struct of this
 * name. The data, len bytes, may be anything. 0 and *offset is written; -ENOENT: there is no such
 * member; -EEXIST: there are two, at different places, or too many structs; -EPROTO: it is not BTF
 * of version 1, or has a kind of type that is not known here, so that the types after it cannot be
 * found.
 */
int load_btf_offset(const void *data, size_t len, const char *type, const char *member,
		    uint32_t *offset);

#endif
