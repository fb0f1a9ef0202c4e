// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * load_mix: two mixes of requests for SIMULATED clusters, that look like known workloads. The page
 * resex-lab(1) says of each number where it is from; nearly all are assumed. load_options.c calls
 * it.
 */
#include <errno.h>
#include <string.h>

#include "src/lab/load.h"

#define US INT64_C(1000)

/*
 * The web site of the World Cup of 1998, as Arlitt and Jin describe its workload (2000): nearly
 * 19 % of the answers are "Not Modified", about 10 % are HTML.
 */
static const struct web_kind worldcup[] = {
	{ "not modified", 190, 100 * US, false },
	{ "html", 100, 2000 * US, false },
	{ "image", 610, 300 * US, false },
	{ "other", 100, 1000 * US, false },
};

/* The 26 interactions of RUBiS, an auction site; 15 % of the requests write: its bidding mix. */
static const struct web_kind rubis[] = {
	{ "Home", 30, 4000 * US, false },
	{ "Register", 15, 4000 * US, false },
	{ "RegisterUser", 15, 30000 * US, true },
	{ "Browse", 40, 4000 * US, false },
	{ "BrowseCategories", 45, 10000 * US, false },
	{ "SearchItemsInCategory", 140, 40000 * US, false },
	{ "BrowseRegions", 20, 10000 * US, false },
	{ "BrowseCategoriesInRegion", 20, 10000 * US, false },
	{ "SearchItemsInRegion", 40, 40000 * US, false },
	{ "ViewItem", 120, 15000 * US, false },
	{ "ViewUserInfo", 25, 15000 * US, false },
	{ "ViewBidHistory", 25, 25000 * US, false },
	{ "BuyNowAuth", 25, 4000 * US, false },
	{ "BuyNow", 25, 15000 * US, false },
	{ "StoreBuyNow", 25, 30000 * US, true },
	{ "PutBidAuth", 60, 4000 * US, false },
	{ "PutBid", 60, 15000 * US, false },
	{ "StoreBid", 60, 30000 * US, true },
	{ "PutCommentAuth", 25, 4000 * US, false },
	{ "PutComment", 25, 15000 * US, false },
	{ "StoreComment", 25, 30000 * US, true },
	{ "Sell", 20, 4000 * US, false },
	{ "SelectCategoryToSellItem", 25, 10000 * US, false },
	{ "SellItemForm", 25, 4000 * US, false },
	{ "RegisterItem", 25, 30000 * US, true },
	{ "AboutMe", 40, 50000 * US, false },
};

int load_plan_mix(struct load_plan *p, const char *name)
{
	if (!strcmp(name, "worldcup")) {
		p->web.kind = worldcup;
		p->web.kinds = sizeof(worldcup) / sizeof(worldcup[0]);
		return 0;
	}
	if (strcmp(name, "rubis") != 0)
		return -ENOENT;
	p->web.kind = rubis;
	p->web.kinds = sizeof(rubis) / sizeof(rubis[0]);
	p->web.clients = 4000;
	p->web.think_ns = 7 * NS_PER_S;
	return 0;
}
