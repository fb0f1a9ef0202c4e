// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The errors of the backend "verbs" without an RDMA device. Everything else needs a device:
 * tests/system runs tests/transport in virtual machines that have one.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "src/transport/transport.h"
#include "tests/unit/unit.h"

static const uint8_t key[32] = "thirty-two bytes of a shared key";

static struct transport_conf conf_at(const char *address)
{
	struct transport_conf c = {
		.host = 1,
		.generation = 1,
		.cluster = "test",
		.key = key,
		.key_len = sizeof(key),
		.port = 7471,
		.bytes = { 4096, 4096 },
	};

	strcpy(c.address, address);
	return c;
}

static int try_open(const struct transport_conf *c, char text[static 256])
{
	struct transport *t = NULL;
	int rc;

	memset(text, 0, 256);
	rc = transport_find("verbs")->open(&t, c, (struct mono){ 1 }, text);
	assert_null(t); /* written only on success, and there must be none */
	return rc;
}

/* An address reserved for documentation: no device has it. */
TEST(open__no_device_with_the_address__is_enodev_and_says_so)
{
	struct transport_conf c = conf_at("192.0.2.77");
	char text[256];
	int rc = try_open(&c, text);

	assert_int_equal(rc, -ENODEV);
	assert_true(strstr(text, "rdma_ucm") || strstr(text, "192.0.2.77"));
	assert_true(strlen(text) < 250);
}

TEST(open__no_ip_address__is_einval_and_names_it)
{
	static const char *const wrong[] = { "here",	   "10.1",	 "0.0.0.0",
					     "10.1.2.3.4", "10.1.2.256", "::g" };
	char text[256];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct transport_conf c = conf_at(wrong[i]);

		assert_int_equal(try_open(&c, text), -EINVAL);
		assert_non_null(strstr(text, wrong[i]));
	}
}

TEST(open__conf_out_of_range__is_einval_before_any_device)
{
	struct transport_conf c = conf_at("192.0.2.77");
	char text[256];

	c.bytes[TRANSPORT_TABLE] = 100;
	assert_int_equal(try_open(&c, text), -EINVAL);
	assert_non_null(strstr(text, "100 bytes"));
}

/* A failed open releases its descriptors and memory. */
TEST(open__failed_often__leaves_no_descriptor)
{
	struct transport_conf c = conf_at("192.0.2.77");
	char text[256];
	int before, after;

	before = dup(0);
	close(before);
	for (int i = 0; i < 20; i++)
		assert_int_equal(try_open(&c, text), -ENODEV);
	after = dup(0);
	close(after);
	assert_int_equal(before, after);
}
