/* SPDX-License-Identifier: GPL-2.0-or-later */
/* xen: what the files of the Xen backend share. Not for callers of hv. */
#ifndef RESEX_HV_XEN_XEN_H
#define RESEX_HV_XEN_XEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <xencall.h>
#include <xenctrl.h>
#include <xentoollog.h>

#include "src/hv/hv.h"

extern const struct hv_mem_ops hv_xen_mem;
extern const struct hv_sched_ops hv_xen_sched;
extern const struct hv_watch_ops hv_xen_watch;

/* xenstore.c: calls that wait for xenstored, for the thread of src/hv/store.c alone. */
struct store_calls;
extern const struct store_calls hv_xen_store_calls;

/* A logger that drops all: the libraries would write to stderr otherwise. */
struct hv_xen_quiet {
	struct xentoollog_logger logger;
};

void hv_xen_quiet_init(struct hv_xen_quiet *q);

/* Is this dom0 of a Xen host? The errors are those of open in hv.h. */
int hv_xen_host(void);
/* hv_xen_host, then a handle that was proven to work with this hypervisor. */
int hv_xen_open(xc_interface **xc, struct hv_xen_quiet *q);
/* One domain. -ESRCH: no such domain. */
int hv_xen_dominfo(xc_interface *xc, uint32_t domid, xc_domaininfo_t *info);

/* swap.c */
struct hv_xen_swap {
	xencall_handle *call;
	struct hv_xen_swap_args *args;
};

int hv_xen_swap_open(struct hv_xen_swap *w, struct hv_xen_quiet *q);
void hv_xen_swap_close(struct hv_xen_swap *w);
/*
 * Set a cap in percent of one CPU, whatever is in force; keep the weight. *before has the cap that
 * was in force until then, and the weight. Errors are Xen's: -EINVAL: another scheduler; -ESRCH.
 */
int hv_xen_swap_cap(struct hv_xen_swap *w, uint32_t domid, uint32_t scheduler, uint16_t cap,
		    struct hv_sched_params *before);

/* Frames as Xen numbers them: their types, and mapping them. frames.c */
struct hv_xen_frames {
	xc_interface *xc;
	xencall_handle *call;
	uint64_t *types; /* one batch, in memory fit for hypercalls */
	int *err;	 /* one for each frame of the largest map call */
};

enum hv_xen_accept {
	HV_XEN_PLAIN, /* RAM that Xen does not use as a page table */
	HV_XEN_RAM,   /* page tables as well */
};

int hv_xen_frames_open(struct hv_xen_frames *f, struct hv_xen_quiet *q);
void hv_xen_frames_close(struct hv_xen_frames *f);
/*
 * 0 when all n are acceptable RAM of that domain; else *bad is one that is
 * not: -EPERM: not its RAM at all; -EINVAL: a page table, or broken.
 */
int hv_xen_frames_check(struct hv_xen_frames *f, uint32_t domid, enum hv_xen_accept accept,
			size_t n, const xen_pfn_t *frames, size_t *bad);
/*
 * Map n <= HV_XEN_FRAMES_MAX frames read-only, all or nothing; the caller
 * must have checked their types. -EAGAIN: one is paged out (Xen was asked to bring it).
 */
int hv_xen_frames_map(struct hv_xen_frames *f, uint32_t domid, size_t n, const xen_pfn_t *frames,
		      void **addr, size_t *bad);
void hv_xen_frames_unmap(void *addr, size_t n);

#define HV_XEN_FRAMES_MAX 4096u

/*
 * Translate a PV guest's frame numbers by its own table. -EINVAL: none there;
 * -EPERM: a frame of another domain that it mapped; -EAGAIN: the guest is
 * rebuilding the table; -EOPNOTSUPP: a 32-bit PV guest. p2m.c
 */
int hv_xen_p2m_translate(struct hv_xen_frames *f, const xc_domaininfo_t *info, size_t n,
			 const uint64_t *pfns, xen_pfn_t *mfns, size_t *bad);

#endif
