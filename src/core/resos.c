// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * resos: issue, charge, drop. In the flow it is between usage and the policies: src/tick
 * charges each guest's usage in each interval, and issues new balances in each epoch.
 *
 * Fractions: a price is price_num / price_den milli-Resos a MTU and a rate is
 * in 1/65536, so that a charge for I/O is a multiple of
 * 1 / (price_den x 65536) of a milli-Reso; account.rem_io carries the part of it
 * below one milli-Reso, account.rem_cpu the same in 1 / (10 x 65536).
 * Intermediate values take 128 bits. A guest can make its MTU counts any number,
 * so every step either fits or saturates.
 */
#include "src/core/resos.h"

#include <errno.h>
#include <string.h>

typedef unsigned __int128 wide;

/* For what few charges need: the others do not save its registers. */
#define NOINLINE __attribute__((noinline))

#define EPOCH_MIN_NS	 (100 * NS_PER_US)
#define EPOCH_MAX_NS	 (3600 * NS_PER_S)
#define LINK_BYTES_S_MAX (1ull << 40) /* 8.8 Tbit/s; price() relies on it */
#define POOL_SCALED_S	 1048576ull   /* Resos a second, the paper's 2^30 B/s in 1 KiB MTUs */
#define RATE_SCALE	 65536u

/* A weight is a share, as Xen's weight of a domain is, and has the same range. */
enum { VCPUS_MAX = 4096, WEIGHT_MAX = 65535 };

static uint64_t gcd64(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t r = a % b;

		a = b;
		b = r;
	}
	return a;
}

static bool mtu_valid(uint32_t mtu)
{
	return mtu >= 256 && mtu <= 4096 && !(mtu & (mtu - 1));
}

static int link_init(struct resos_link *k, int64_t epoch_ns, const struct link_conf *c)
{
	wide num, den;
	uint64_t g;

	if (c->bytes_s < 1 || c->bytes_s > LINK_BYTES_S_MAX || !mtu_valid(c->mtu))
		return -EINVAL;

	switch (c->profile) {
	/*
	 * The pool of a second divided by the MTUs that the link can move in it: a guest that
	 * uses the whole link spends the whole pool, whatever the link.
	 */
	case PRICE_SCALED:
		k->price_num = POOL_SCALED_S * RESO_MILLI * c->mtu;
		k->price_den = c->bytes_s;
		num = POOL_SCALED_S;
		den = 1;
		break;
	/* One Reso a MTU; so the pool is the number of MTUs that the link can move (paper VI-A). */
	case PRICE_PAPER_2011:
		k->price_num = RESO_MILLI;
		k->price_den = 1;
		num = c->bytes_s;
		den = c->mtu;
		break;
	default:
		return -EINVAL;
	}

	g = gcd64(k->price_num, k->price_den);
	k->price_num /= g;
	k->price_den /= g;
	k->pool.m = (int64_t)(num * (uint64_t)epoch_ns * 1000u / (den * 1000000000u));
	k->active = 1;
	return 0;
}

int resos_init(struct ledger *l, int64_t epoch_ns, const struct link_conf *links, uint32_t n)
{
	struct resos_link link[FLOW_LINKS_MAX];

	if (epoch_ns < EPOCH_MIN_NS || epoch_ns > EPOCH_MAX_NS || n < 1 || n > FLOW_LINKS_MAX)
		return -EINVAL;
	memset(link, 0, sizeof(link));
	for (uint32_t i = 0; i < n; i++) {
		int ret = link_init(&link[i], epoch_ns, &links[i]);

		if (ret)
			return ret;
	}

	/* All links were valid: only now the caller's ledger is written. */
	memset(l, 0, sizeof(*l));
	l->epoch_ns = epoch_ns;
	memcpy(l->link, link, sizeof(link));
	return 0;
}

static struct account *active_account(struct ledger *l, uint32_t slot)
{
	if (slot >= FLOW_GUESTS_MAX || !(l->acc[slot].flags & ACCOUNT_ACTIVE))
		return NULL;
	return &l->acc[slot];
}

static bool share_valid(uint32_t vcpus, uint32_t weight)
{
	return vcpus >= 1 && vcpus <= VCPUS_MAX && weight >= 1 && weight <= WEIGHT_MAX;
}

/* Sum of the weights of the active guests of a link. */
static uint64_t link_weight(const struct ledger *l, uint32_t link)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++)
		if ((l->acc[i].flags & ACCOUNT_ACTIVE) && l->acc[i].link == link)
			sum += l->acc[i].weight;
	return sum;
}

/* The Resos that a guest gets for CPU in a whole epoch. */
static int64_t cpu_share(const struct ledger *l, const struct account *a)
{
	return (int64_t)a->vcpus * (l->epoch_ns / CPU_NS_PER_MILLI);
}

/* The share of a guest that joins now in the rest of the epoch, each part rounded down. */
static int64_t late_share(const struct ledger *l, const struct account *a, int64_t remaining_ns)
{
	wide epoch = (wide)l->epoch_ns, left = (wide)remaining_ns;
	wide weights = link_weight(l, a->link);
	wide cpu = (wide)cpu_share(l, a) * left / epoch;
	wide io = (wide)l->link[a->link].pool.m * a->weight * left / (weights * epoch);

	return (int64_t)(cpu + io);
}

int resos_join(struct ledger *l, uint32_t slot, uint32_t link, uint32_t vcpus, uint32_t weight)
{
	struct account *a;

	if (slot >= FLOW_GUESTS_MAX || link >= FLOW_LINKS_MAX || !l->link[link].active)
		return -EINVAL;
	if (!share_valid(vcpus, weight))
		return -EINVAL;
	a = &l->acc[slot];
	if (a->flags & ACCOUNT_ACTIVE)
		return -EEXIST;

	memset(a, 0, sizeof(*a));
	a->flags = ACCOUNT_ACTIVE | ACCOUNT_LATE | ACCOUNT_UNISSUED;
	a->link = link;
	a->vcpus = vcpus;
	a->weight = weight;
	a->rate = RATE_ONE;
	return 0;
}

void resos_issue(struct ledger *l, uint32_t slot, int64_t remaining_ns)
{
	struct account *a = active_account(l, slot);
	int64_t share, room;

	if (!a || !(a->flags & ACCOUNT_UNISSUED))
		return;
	a->flags &= ~(uint32_t)ACCOUNT_UNISSUED;
	if (remaining_ns < 0)
		remaining_ns = 0;
	if (remaining_ns > l->epoch_ns)
		remaining_ns = l->epoch_ns;

	/* Guests that join and leave all epoch long must not overflow the sums. */
	room = INT64_MAX - l->supply.m - l->overcommit.m;
	share = late_share(l, a, remaining_ns);
	if (share > room)
		share = room;
	a->allocated.m = share;
	a->balance.m = share;
	l->overcommit.m += share;
}

void resos_leave(struct ledger *l, uint32_t slot)
{
	struct account *a = active_account(l, slot);

	if (!a)
		return;
	/*
	 * What it got stays in the sum of the epoch: issued Resos do not vanish with their guest.
	 */
	l->retired.m += a->allocated.m;
	memset(a, 0, sizeof(*a));
}

int resos_set_share(struct ledger *l, uint32_t slot, uint32_t vcpus, uint32_t weight)
{
	struct account *a = active_account(l, slot);

	if (!a)
		return -ENOENT;
	if (!share_valid(vcpus, weight))
		return -EINVAL;
	a->vcpus = vcpus;
	a->weight = weight;
	return 0;
}

/*
 * units x num / den x rate, in milli-Resos; the fraction is carried in *rem.
 * units < 2^65, num < 2^42, den <= 2^40: the product takes 107 bits, so the
 * rate's 32 bits are multiplied with quotient and remainder separately.
 */
static NOINLINE int64_t price(wide units, uint64_t num, uint64_t den, struct rate rate,
			      uint64_t *rem)
{
	wide whole = units * num / den, part = units * num % den, rated, carry;

	if (whole > INT64_MAX) /* a rate is never below one */
		return INT64_MAX;

	rated = whole * rate.q16;
	carry = (rated % RATE_SCALE) * den + part * rate.q16 + *rem;
	rated = rated / RATE_SCALE + carry / ((wide)den * RATE_SCALE);
	*rem = (uint64_t)(carry % ((wide)den * RATE_SCALE));
	return rated > INT64_MAX ? INT64_MAX : (int64_t)rated;
}

/*
 * The same at rate one, in 64 bits while the product fits: almost all charges. part x 65536 is
 * below den x 2^16 <= 2^56, as is the remainder carried.
 */
static inline int64_t price_at(wide units, uint64_t num, uint64_t den, struct rate rate,
			       uint64_t *rem)
{
	uint64_t product, whole, carry, scale = den * RATE_SCALE;

	if (rate.q16 != RATE_SCALE || units > UINT64_MAX ||
	    __builtin_mul_overflow((uint64_t)units, num, &product) || product / den > INT64_MAX / 2)
		return price(units, num, den, rate, rem);
	whole = product / den;
	carry = product % den * RATE_SCALE + *rem;
	if (carry >= scale) { /* it is below twice the scale: both parts are below once */
		whole++;
		carry -= scale;
	}
	*rem = carry;
	return (int64_t)whole;
}

/* Add a charge to kind; at most what the account's figures can hold. */
static void book_charge(struct account *a, struct resos *kind, int64_t charge)
{
	int64_t room = INT64_MAX - a->charged_io.m - a->charged_cpu.m, paid;

	if (charge > room)
		charge = room;
	paid = charge < a->balance.m ? charge : a->balance.m;
	kind->m += charge;
	a->balance.m -= paid;
	a->spent.m += paid;
	a->overdraft.m += charge - paid;
}

static inline void charge_cpu(struct account *a, const struct usage *u)
{
	book_charge(a, &a->charged_cpu,
		    price_at(u->cpu_ns, 1, CPU_NS_PER_MILLI, a->rate, &a->rem_cpu));
}

static NOINLINE int charge_all(const struct ledger *l, struct account *a, const struct usage *u)
{
	const struct resos_link *k = &l->link[a->link];
	wide mtus = (wide)u->mtus_sent + u->mtus_recv;

	book_charge(a, &a->charged_io,
		    price_at(mtus, k->price_num, k->price_den, a->rate, &a->rem_io));
	charge_cpu(a, u);
	return 0;
}

int resos_charge(struct ledger *l, uint32_t slot, const struct usage *u)
{
	struct account *a = active_account(l, slot);

	if (!a)
		return -ENOENT;
	if (u->mtus_sent | u->mtus_recv)
		return charge_all(l, a, u);
	charge_cpu(a, u);
	return 0;
}

void resos_set_rate(struct ledger *l, uint32_t slot, struct rate rate)
{
	struct account *a = active_account(l, slot);

	if (a)
		a->rate = rate.q16 < RATE_SCALE ? RATE_ONE : rate;
}

/* Begin a new epoch for one account, with share issued to it. */
static void account_renew(struct account *a, int64_t share)
{
	a->flags &= ~(uint32_t)(ACCOUNT_LATE | ACCOUNT_UNISSUED);
	a->allocated.m = share;
	a->balance.m = share;
	a->spent.m = 0;
	a->overdraft.m = 0;
	a->charged_io.m = 0;
	a->charged_cpu.m = 0;
}

void resos_replenish(struct ledger *l, uint64_t epoch)
{
	wide before[FLOW_LINKS_MAX] = { 0 }, total[FLOW_LINKS_MAX];

	/* Weights of the guests that are here now: each share depends on all of them. */
	for (uint32_t k = 0; k < FLOW_LINKS_MAX; k++)
		total[k] = link_weight(l, k);

	l->supply.m = 0;
	l->overcommit.m = 0;
	l->retired.m = 0;
	l->dropped.m = 0;
	l->epoch = epoch;
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++) {
		struct account *a = active_account(l, i);
		wide pool, w;
		int64_t share;

		if (!a)
			continue;
		/* Differences of rounded sums: the shares add up to the pool exactly. */
		pool = (wide)l->link[a->link].pool.m;
		w = before[a->link];
		share = (int64_t)(pool * (w + a->weight) / total[a->link] -
				  pool * w / total[a->link]);
		before[a->link] += a->weight;

		share += cpu_share(l, a);
		l->dropped.m += a->balance.m;
		l->supply.m += share;
		account_renew(a, share);
	}
}

/* Sums of four figures below 2^63 are made in 128 bits, so that the check itself cannot wrap. */
static bool account_adds_up(const struct account *a)
{
	if (a->allocated.m < 0 || a->balance.m < 0 || a->spent.m < 0 || a->overdraft.m < 0)
		return false;
	if (a->charged_io.m < 0 || a->charged_cpu.m < 0)
		return false;
	if ((wide)a->allocated.m != (wide)a->balance.m + (wide)a->spent.m)
		return false;
	return (wide)a->charged_io.m + (wide)a->charged_cpu.m ==
	       (wide)a->spent.m + (wide)a->overdraft.m;
}

int resos_check(const struct ledger *l)
{
	wide issued;

	if (l->supply.m < 0 || l->overcommit.m < 0 || l->retired.m < 0)
		return -EBADMSG;
	issued = (wide)l->retired.m;
	for (uint32_t i = 0; i < FLOW_GUESTS_MAX; i++) {
		if (!account_adds_up(&l->acc[i]))
			return -EBADMSG;
		issued += (uint64_t)l->acc[i].allocated.m;
	}
	return issued == (wide)l->supply.m + (wide)l->overcommit.m ? 0 : -EBADMSG;
}
