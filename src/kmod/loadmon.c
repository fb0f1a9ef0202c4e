// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * loadmon: kernel-level load (KLM of section 3.3 of the paper on load awareness). Fills a load
 * record in the memory of resexd from a timer, so that other hosts READ fresh figures also while no
 * process gets a CPU. resexd registers that memory: this module knows nothing of RDMA.
 *
 *	ioctl LOADMON_FILL -> pinned page -> hard hrtimer -> struct load_record (resex/load_abi.h)
 *
 * The record is written as src/shared/record.c writes it. Only exported symbols are used.
 */
#include <linux/cpumask.h>
#include <linux/crc32.h>
#include <linux/fs.h>
#include <linux/hash.h>
#include <linux/highmem.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/kernel_stat.h>
#include <linux/log2.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched/loadavg.h>
#include <linux/slab.h>
#include <linux/tick.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>
#include <trace/events/sched.h>

#include "resex/loadmon_abi.h"

static_assert(IS_ENABLED(CONFIG_64BIT), "pages have an address, and words are stored whole");

/* The run queues that were seen: a hash table, since each task switch looks one up. */
struct queues {
	uint32_t offset; /* of nr_running; LOADMON_NO_OFFSET: none are looked for */
	uint32_t bits;
	bool traced;
	void *slot[]; /* 1 << bits */
};

/* What a CPU did since it was first sampled, or sampled again after it was offline. */
struct cpu_times {
	u64 sample;   /* the newest one that has this CPU; 0: none */
	u64 at_ns;    /* at the first: the time, */
	u64 idle_us;  /* how long it was idle, */
	u64 taken_ns; /* how long it was in interrupts or taken by the hypervisor, */
	u64 busy_ns;  /* and what the kernel had counted as busy */
	u64 told_ns;  /* busy, in the newest record */
};

/* Of the one process that has the file open. */
struct filler {
	struct hrtimer timer;
	struct page *page; /* NULL: it fills nothing yet */
	struct load_record *to;
	struct load_record sample; /* what is written next */
	struct queues *queues;
	struct cpu_times *cpu; /* [nr_cpu_ids] */
};

/*
 * A module has one device. The lock is held by what opens, closes and asks; the timer takes no
 * lock: it runs only between the end of LOADMON_FILL and hrtimer_cancel().
 */
static DEFINE_MUTEX(lock);
static bool is_open;

/* So that an operator can take the module from a resexd that uses it, and put it back. */
static bool hold;
module_param(hold, bool, 0600);
MODULE_PARM_DESC(hold, "fill no record, and begin with none: resexd then lets the device go");

/* --- run queues ------------------------------------------------------------------ */

/*
 * A struct rq is the scheduler's own, and no symbol of it is exported. This tracepoint shows the
 * queue of a CPU when its number of tasks changes. Queues are per-CPU data that is never freed.
 */
static void see_queue(void *data, struct rq *rq, int change)
{
	struct queues *q = data;
	u32 mask = (1u << q->bits) - 1, i = hash_ptr(rq, q->bits);

	/* Half of the slots at least stay empty: there are as many queues as CPUs. */
	for (u32 n = 0; n <= mask; n++, i = (i + 1) & mask) {
		void *there = READ_ONCE(q->slot[i]);

		if (!there)
			there = cmpxchg(&q->slot[i], NULL, rq);
		if (!there || there == rq)
			return;
	}
}

static u32 count_running(const struct queues *q, u32 *seen)
{
	u32 running = 0;

	*seen = 0;
	for (u32 i = 0; i < 1u << q->bits; i++) {
		const char *rq = READ_ONCE(q->slot[i]);

		if (!rq)
			continue;
		running += READ_ONCE(*(const u32 *)(rq + q->offset));
		++*seen;
	}
	return running;
}

/* That this runs on a CPU changes the number of its tasks. */
static long do_nothing(void *arg)
{
	return 0;
}

static struct queues *watch_queues(u32 offset)
{
	u32 bits = ilog2(roundup_pow_of_two(2 * nr_cpu_ids));
	struct queues *q = kzalloc(struct_size(q, slot, 1u << bits), GFP_KERNEL);
	int cpu;

	if (!q)
		return NULL;
	q->offset = offset;
	q->bits = bits;
	if (offset == LOADMON_NO_OFFSET)
		return q;
	/* Without it no queue is seen, and the records say so. */
	q->traced = !register_trace_sched_update_nr_running_tp(see_queue, q);
	for_each_online_cpu(cpu) if (q->traced) work_on_cpu_safe(cpu, do_nothing, NULL);
	return q;
}

static void end_queues(struct queues *q)
{
	if (q && q->traced) {
		unregister_trace_sched_update_nr_running_tp(see_queue, q);
		tracepoint_synchronize_unregister();
	}
	kfree(q);
}

/* --- a sample -------------------------------------------------------------------- */

/*
 * The kernel counts busy times by its ticks: of an interval of 10 ms it knows two or three. When a
 * CPU is idle it notes exactly. So a CPU was busy when it was not idle, and not in what the ticks
 * count apart. Never less than it was told before: a time read while its CPU changes it can be
 * wrong by some microseconds.
 */
static u64 exact_busy(struct cpu_times *c, u64 now_ns, u64 idle_us, u64 taken_ns)
{
	u64 not_busy = (idle_us - c->idle_us) * NSEC_PER_USEC + (taken_ns - c->taken_ns);
	u64 passed = now_ns - c->at_ns;

	if (passed > not_busy && c->busy_ns + passed - not_busy > c->told_ns)
		c->told_ns = c->busy_ns + passed - not_busy;
	return c->told_ns;
}

/* The first sample of a CPU that is new, or was offline: from then on its time passes. */
static void begin_cpu(struct cpu_times *c, u64 now_ns, u64 idle_us, u64 taken_ns, u64 busy_ns)
{
	c->at_ns = now_ns;
	c->idle_us = idle_us;
	c->taken_ns = taken_ns;
	c->busy_ns = max(busy_ns, c->told_ns);
	c->told_ns = c->busy_ns;
}

/*
 * False: this kernel keeps no idle times of the CPU; then busy times are those of the ticks, and
 * iowait is unchanged while the CPU sleeps.
 */
static bool add_figures(struct load_record *r, int cpu, struct cpu_times *c, u64 now)
{
	const u64 *stat = kcpustat_cpu(cpu).cpustat;
	u64 iowait_us = get_cpu_iowait_time_us(cpu, NULL);
	u64 idle_us = get_cpu_idle_time_us(cpu, NULL);
	u64 irq = READ_ONCE(stat[CPUTIME_IRQ]), softirq = READ_ONCE(stat[CPUTIME_SOFTIRQ]);
	u64 steal = READ_ONCE(stat[CPUTIME_STEAL]), taken = irq + softirq + steal;
	u64 busy = READ_ONCE(stat[CPUTIME_USER]) + READ_ONCE(stat[CPUTIME_NICE]) +
		   READ_ONCE(stat[CPUTIME_SYSTEM]);
	bool repaired = iowait_us != U64_MAX && idle_us != U64_MAX;

	if (repaired) {
		idle_us += iowait_us;
		if (!c->sample || c->sample + 1 != r->beat)
			begin_cpu(c, now, idle_us, taken, busy);
		busy = exact_busy(c, now, idle_us, taken);
		c->sample = r->beat;
	}
	r->cpus++;
	r->busy_ns += busy;
	r->irq_ns += irq;
	r->softirq_ns += softirq;
	r->iowait_ns += repaired ? iowait_us * NSEC_PER_USEC : READ_ONCE(stat[CPUTIME_IOWAIT]);
	r->steal_ns += steal;
	r->softirq_pending += READ_ONCE(per_cpu(local_softirq_pending_ref, cpu)) != 0;
	return repaired;
}

static u32 per_mille(unsigned long average)
{
	return (u32)((u64)average * 1000 >> FSHIFT);
}

/* All but node, period and the head, which stay. */
static void take_sample(struct filler *f, bool late)
{
	struct load_record *r = &f->sample;
	struct load_record new = {
		.node = r->node, .source = LOAD_KLM, .beat = r->beat + 1, .period_ns = r->period_ns
	};
	u64 now = ktime_get_ns();
	bool repaired = true;
	u32 seen = 0;
	int cpu;

	new.sampled_ns = (s64)ktime_get_boottime_ns();
	for_each_online_cpu(cpu) repaired &= add_figures(&new, cpu, &f->cpu[cpu], now);
	if (f->queues->offset != LOADMON_NO_OFFSET)
		new.running = count_running(f->queues, &seen);
	if (seen < new.cpus) { /* some queue is not known: a part of the sum is no figure */
		new.running = 0;
		new.flags |= LOAD_NO_RUNNING;
	}
	for (int i = 0; i < 3; i++)
		new.load_avg[i] = per_mille(avenrun[i]);
	new.flags |= LOAD_NO_WAIT | (repaired ? LOAD_IDLE_REPAIRED : 0) | (late ? LOAD_OVERRUN : 0);
	*r = new;
}

/* --- the record: src/shared/record.c has the reasons --------------------------------- */

static u64 second_word(u32 kind, u32 crc)
{
	return (u64)crc << 32 | kind;
}

/* from->head.seq is filled in. */
static void write_record(struct load_record *to, struct load_record *from)
{
	struct region_record *head = &from->head;
	u64 *word = (u64 *)to, *new = (u64 *)from;
	struct region_record old = to->head;
	u32 wrong;

	head->seq = old.seq == U32_MAX ? 1 : old.seq + 1;
	head->bytes = sizeof(*from) - sizeof(*head);
	head->kind = REGION_LOAD;
	head->crc = 0;
	head->crc = ~__crc32c_le(U32_MAX, (u8 *)from, sizeof(*from));
	wrong = ~head->crc;
	if (wrong == old.crc)
		wrong ^= 1;
	smp_store_release(&word[1], second_word(head->kind, wrong));
	for (u32 i = 2; i < sizeof(*from) / 8; i++)
		smp_store_release(&word[i], new[i]);
	smp_store_release(&word[0], new[0]);
	smp_store_release(&word[1], second_word(head->kind, head->crc));
}

static void fill(struct filler *f, bool late)
{
	take_sample(f, late);
	write_record(f->to, &f->sample);
}

static enum hrtimer_restart tick(struct hrtimer *timer)
{
	struct filler *f = container_of(timer, struct filler, timer);
	u64 periods = hrtimer_forward_now(timer, ns_to_ktime((s64)f->sample.period_ns));

	if (!READ_ONCE(hold))
		fill(f, periods > 1);
	return HRTIMER_RESTART;
}

/* --- the device -------------------------------------------------------------------- */

static bool is_valid(const struct loadmon_fill *a)
{
	return a->record % LOADMON_ALIGN == 0 &&
	       offset_in_page(a->record) <= PAGE_SIZE - sizeof(struct load_record) &&
	       a->node < REGION_NODES_MAX && !a->reserved[0] && !a->reserved[1] &&
	       a->period_ns >= LOADMON_PERIOD_MIN_NS && a->period_ns <= LOADMON_PERIOD_MAX_NS &&
	       (a->running_offset == LOADMON_NO_OFFSET ||
		(a->running_offset % 4 == 0 && a->running_offset < LOADMON_OFFSET_MAX));
}

/* The record is in one page: is_valid(). */
static int pin(struct filler *f, u64 address)
{
	struct page *page;
	int n = pin_user_pages_fast(address, 1, FOLL_WRITE | FOLL_LONGTERM, &page);

	if (n != 1)
		return n < 0 ? n : -EFAULT;
	f->page = page;
	f->to = page_address(page) + offset_in_page(address);
	return 0;
}

static int begin(struct filler *f, const struct loadmon_fill *a)
{
	int rc;

	if (f->page || READ_ONCE(hold))
		return -EBUSY;
	f->queues = watch_queues(a->running_offset);
	if (!f->queues)
		return -ENOMEM;
	rc = pin(f, a->record);
	if (rc) {
		end_queues(f->queues);
		f->queues = NULL;
		return rc;
	}
	/* Readers see one series of beats, whoever wrote those before. */
	f->sample = (struct load_record){ .node = a->node,
					  .period_ns = a->period_ns,
					  .beat = READ_ONCE(f->to->beat) };
	fill(f, false);
	hrtimer_start(&f->timer, ns_to_ktime((s64)a->period_ns), HRTIMER_MODE_REL_HARD);
	return 0;
}

static long loadmon_ioctl(struct file *file, unsigned int command, unsigned long arg)
{
	struct loadmon_fill a;
	int rc;

	if (command != LOADMON_FILL)
		return -ENOTTY;
	if (copy_from_user(&a, (const void __user *)arg, sizeof(a)))
		return -EFAULT;
	if (!a.period_ns)
		a.period_ns = LOADMON_PERIOD_NS;
	if (!is_valid(&a))
		return -EINVAL;
	mutex_lock(&lock);
	rc = begin(file->private_data, &a);
	mutex_unlock(&lock);
	return rc;
}

static int loadmon_open(struct inode *inode, struct file *file)
{
	struct filler *f = kzalloc(sizeof(*f), GFP_KERNEL);
	struct cpu_times *cpu = kcalloc(nr_cpu_ids, sizeof(*cpu), GFP_KERNEL);
	int rc = f && cpu ? 0 : -ENOMEM;

	mutex_lock(&lock);
	if (!rc && (is_open || READ_ONCE(hold)))
		rc = -EBUSY;
	if (!rc)
		is_open = true;
	mutex_unlock(&lock);
	if (rc) {
		kfree(cpu);
		kfree(f);
		return rc;
	}
	f->cpu = cpu;
	hrtimer_init(&f->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	f->timer.function = tick;
	file->private_data = f;
	return nonseekable_open(inode, file);
}

/* Also when the process dies. Until then the module cannot be unloaded (loadmon_fops.owner). */
static int loadmon_release(struct inode *inode, struct file *file)
{
	struct filler *f = file->private_data;

	mutex_lock(&lock);
	hrtimer_cancel(&f->timer);
	end_queues(f->queues);
	if (f->page)
		unpin_user_pages_dirty_lock(&f->page, 1, true);
	kfree(f->cpu);
	kfree(f);
	is_open = false;
	mutex_unlock(&lock);
	return 0;
}

static const struct file_operations loadmon_fops = {
	.owner = THIS_MODULE,
	.open = loadmon_open,
	.release = loadmon_release,
	.unlocked_ioctl = loadmon_ioctl,
};

static struct miscdevice loadmon_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "resex-load",
	.mode = 0600,
	.fops = &loadmon_fops,
};

module_misc_device(loadmon_device);
MODULE_DESCRIPTION("ResEx: fills the load record that other hosts read by RDMA");
MODULE_LICENSE("GPL");
