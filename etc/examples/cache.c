/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A page that is cached, and an update of it: cc cache.c $(pkg-config --cflags --libs resex-cache)
 * See resex_cache(3). Without resex-cached the page is served, and the update says why it is not
 * done.
 */
#include <resex/cache.h>
#include <stdio.h>

/* A request of Varnish had the header resex-page with this text. */
static void serve(struct resex_cache *c, const char *resex_page)
{
	const char *tags[] = { "item/5", "user/3" };
	char version[RESEX_CACHE_VERSION_SIZE];
	struct resex_cache_fill *fill = NULL;
	int rc = resex_cache_fill_begin(c, resex_page, &fill);

	/* Now begin the transaction, read, and make the page. It depends on the tags. */
	if (!rc)
		rc = resex_cache_fill_end(fill, tags, 2, NULL, version, sizeof(version));
	if (!rc)
		printf("resex-version: %s\n", version);
	else
		fprintf(stderr, "the page is not cached: %s\n", resex_cache_error(c));
	printf("\nthe page\n");
}

int main(void)
{
	const char *tags[] = { "item/5" };
	const char *values[] = { "5" };
	const struct resex_cache_statement bid = {
		"UPDATE items SET price = price + 1 WHERE id = $1", values, 1
	};
	struct resex_cache *c = NULL;
	int rc;

	if (resex_cache_open(&c, NULL))
		return 1;
	serve(c, "2.17");
	rc = resex_cache_update(c, tags, 1, &bid, 1, NULL);
	if (rc)
		fprintf(stderr, "the update failed: %s\n", resex_cache_error(c));
	resex_cache_close(c);
	return 0;
}
