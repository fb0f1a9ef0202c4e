// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * frames: frames as Xen numbers them (MFNs of a PV guest, GFNs of the
 * others): what they are, and mapping them. Called by mem.c and p2m.c.
 *
 * Types: a PV guest that has a device passed through may name the frames of
 * the device's registers, and Xen would map them for dom0; reading those has
 * side effects. So every frame is checked to be RAM of that very guest
 * before it is mapped. Ownership may change between the two calls, which
 * Xen checks again; whether an MFN is RAM never changes.
 *
 * Mapping is done by the kernel's own call (IOCTL_PRIVCMD_MMAPBATCH_V2) and
 * not by xenforeignmemory_map: that function, and map2 too, retries a frame
 * that is paged out every 100 us without end, and a guest under xenpaging would
 * hang the thread. The kernel's call returns ENOENT for that frame.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

/* xenctrl.h, in it, must come before any other header of Xen. */
#include "src/hv/xen/xen.h"

#include <xen/sys/privcmd.h>

/* The most frames of one XEN_DOMCTL_getpageframeinfo3. */
#define TYPES_BATCH 1024u

int hv_xen_frames_open(struct hv_xen_frames *f, struct hv_xen_quiet *q)
{
	struct hv_xen_frames n = { 0 };
	int ret = hv_xen_open(&n.xc, q);

	if (ret)
		return ret;
	ret = -ENOMEM;
	n.call = xencall_open(&q->logger, 0);
	if (!n.call)
		goto out;
	n.types = xencall_alloc_buffer(n.call, TYPES_BATCH * sizeof(*n.types));
	n.err = calloc(HV_XEN_FRAMES_MAX, sizeof(*n.err));
	if (!n.types || !n.err)
		goto out;
	*f = n;
	return 0;
out:
	hv_xen_frames_close(&n);
	return ret;
}

void hv_xen_frames_close(struct hv_xen_frames *f)
{
	free(f->err);
	if (f->types)
		xencall_free_buffer(f->call, f->types);
	if (f->call)
		xencall_close(f->call);
	xc_interface_close(f->xc);
}

/*
 * Xen reports XTAB for all that is not RAM of this guest: another guest's,
 * Xen's own, a device's, or no frame at all.
 */
static int type_error(uint64_t type, enum hv_xen_accept accept)
{
	switch (type & XEN_DOMCTL_PFINFO_LTAB_MASK) {
	case XEN_DOMCTL_PFINFO_NOTAB:
		return 0;
	case XEN_DOMCTL_PFINFO_XTAB:
		return -EPERM;
	case XEN_DOMCTL_PFINFO_XALLOC:
	case XEN_DOMCTL_PFINFO_BROKEN:
		return -EINVAL;
	default:
		return accept == HV_XEN_RAM ? 0 : -EINVAL;
	}
}

/* f->types becomes the types of n <= TYPES_BATCH frames. */
static int read_types(struct hv_xen_frames *f, uint32_t domid, size_t n, const xen_pfn_t *frames)
{
	struct xen_domctl op;

	for (size_t i = 0; i < n; i++)
		f->types[i] = frames[i];
	memset(&op, 0, sizeof(op));
	op.cmd = XEN_DOMCTL_getpageframeinfo3;
	op.domain = (domid_t)domid;
	op.u.getpageframeinfo3.num = n;
	set_xen_guest_handle_raw(op.u.getpageframeinfo3.array, (xen_pfn_t *)f->types);
	return xc_domctl(f->xc, &op) < 0 ? -errno : 0;
}

/* The first bad frame is reported: the caller names it to the operator. */
static int check_batch(struct hv_xen_frames *f, uint32_t domid, enum hv_xen_accept accept, size_t n,
		       const xen_pfn_t *frames, size_t *bad)
{
	int ret = read_types(f, domid, n, frames);

	for (size_t i = 0; !ret && i < n; i++) {
		ret = type_error(f->types[i], accept);
		if (ret)
			*bad = i;
	}
	return ret;
}

int hv_xen_frames_check(struct hv_xen_frames *f, uint32_t domid, enum hv_xen_accept accept,
			size_t n, const xen_pfn_t *frames, size_t *bad)
{
	for (size_t done = 0; done < n; done += TYPES_BATCH) {
		const size_t left = n - done;
		size_t at = 0;
		int ret = check_batch(f, domid, accept, left < TYPES_BATCH ? left : TYPES_BATCH,
				      frames + done, &at);

		if (ret) {
			*bad = done + at;
			return ret;
		}
	}
	return 0;
}

/* Errors of Xen and of the kernel as those of hv.h. */
static int map_error(int err)
{
	switch (err) {
	case -ENOENT:
		return -EAGAIN;
	case -EBUSY: /* Xen found another owner */
	case -EPERM:
	case -EACCES:
		return -EPERM;
	case -ESRCH:
	case -ENOMEM:
		return err;
	default:
		return -EINVAL;
	}
}

/* The call fails with ENOENT when a frame is paged out; err[] holds all then. */
static int map_batch(struct hv_xen_frames *f, uint32_t domid, size_t n, const xen_pfn_t *frames,
		     void *addr, size_t *bad)
{
	privcmd_mmapbatch_v2_t batch = {
		.num = (unsigned int)n,
		.dom = (domid_t)domid,
		.addr = (uintptr_t)addr,
		.arr = frames,
		.err = f->err,
	};

	memset(f->err, 0, n * sizeof(*f->err));
	if (ioctl(xencall_fd(f->call), IOCTL_PRIVCMD_MMAPBATCH_V2, &batch) < 0 && errno != ENOENT)
		return -errno;
	for (size_t i = 0; i < n; i++)
		if (f->err[i]) {
			*bad = i;
			return map_error(f->err[i]);
		}
	return 0;
}

/* All or nothing: addresses with holes would fault when they are read. */
int hv_xen_frames_map(struct hv_xen_frames *f, uint32_t domid, size_t n, const xen_pfn_t *frames,
		      void **addr, size_t *bad)
{
	void *p;
	int ret;

	if (n == 0 || n > HV_XEN_FRAMES_MAX)
		return -E2BIG;
	p = mmap(NULL, n * HV_PAGE, PROT_READ, MAP_SHARED, xencall_fd(f->call), 0);
	if (p == MAP_FAILED)
		return -errno;
	ret = map_batch(f, domid, n, frames, p, bad);
	if (ret) {
		munmap(p, n * HV_PAGE);
		return ret;
	}
	*addr = p;
	return 0;
}

void hv_xen_frames_unmap(void *addr, size_t n)
{
	munmap(addr, n * HV_PAGE);
}
