// SPDX-License-Identifier: GPL-2.0-or-later
/* doctor_host: facts of a host whose sysfs the test writes, and of this process. */
#include <signal.h>
#include <sys/wait.h>

#include "src/cli/doctor_host.h"
#include "tests/unit/tmpdir.h"

static void make_folders(struct tmpdir *sys, const char *name)
{
	char dir[128];

	for (size_t i = 0; name[i]; i++) {
		snprintf(dir, sizeof(dir), "%.*s", (int)i, name);
		if (name[i] == '/')
			mkdir(tmp_at(sys, dir), 0755);
	}
}

/* A file below sys, with the folders on the way. */
static void put_file(struct tmpdir *sys, const char *name, const char *text)
{
	make_folders(sys, name);
	tmp_write(sys, name, text);
}

static void put_link(struct tmpdir *sys, const char *name, const char *target)
{
	make_folders(sys, name);
	assert_int_equal(symlink(target, tmp_at(sys, name)), 0);
}

static int setup(void **state)
{
	struct tmpdir *sys = test_calloc(1, sizeof(*sys));

	tmp_open(sys);
	*state = sys;
	return 0;
}

static int teardown(void **state)
{
	tmp_close(*state);
	test_free(*state);
	return 0;
}

static struct doctor_facts facts_of(struct tmpdir *sys)
{
	struct doctor_facts f = { 0 };

	doctor_host_read(&f, sys->path);
	assert_non_null(f.ports);
	return f;
}

RIG_TEST(xen__nothing_in_sysfs__does_not_run_here)
{
	struct doctor_facts f = facts_of(*state);

	assert_int_equal(f.xen, DOCTOR_NO_XEN);
	assert_string_equal(f.xen_version, "");
	assert_int_equal(json_array_size(f.ports), 0);
	json_decref(f.ports);
	put_file(*state, "hypervisor/type", "kvm\n");
	f = facts_of(*state);
	assert_int_equal(f.xen, DOCTOR_NO_XEN);
	json_decref(f.ports);
}

RIG_TEST(xen__features__tell_dom0_from_a_guest)
{
	struct doctor_facts f;

	put_file(*state, "hypervisor/type", "xen\n");
	put_file(*state, "hypervisor/properties/features", "00002705\n");
	f = facts_of(*state);
	assert_int_equal(f.xen, DOCTOR_XEN_GUEST);
	assert_string_equal(f.xen_version, "");
	json_decref(f.ports);
	put_file(*state, "hypervisor/properties/features", "00002f05\n");
	put_file(*state, "hypervisor/version/major", "4\n");
	put_file(*state, "hypervisor/version/minor", "17\n");
	put_file(*state, "hypervisor/version/extra", ".3-pre\n");
	f = facts_of(*state);
	assert_int_equal(f.xen, DOCTOR_XEN_DOM0);
	assert_string_equal(f.xen_version, "4.17.3-pre");
	json_decref(f.ports);
}

#define PORT "class/infiniband/mlx5_0/ports/2/"

RIG_TEST(ports__of_each_device__have_rate_layer_and_state)
{
	struct doctor_facts f;
	const json_t *p;

	put_file(*state, PORT "rate", "100 Gb/sec (4X EDR)\n");
	put_file(*state, PORT "link_layer", "InfiniBand\n");
	put_file(*state, PORT "state", "4: ACTIVE\n");
	f = facts_of(*state);
	assert_int_equal(json_array_size(f.ports), 1);
	p = json_array_get(f.ports, 0);
	assert_string_equal(json_string_value(json_object_get(p, "device")), "mlx5_0");
	assert_int_equal(json_integer_value(json_object_get(p, "port")), 2);
	assert_true(json_number_value(json_object_get(p, "rate_gbit")) == 100.0);
	assert_string_equal(json_string_value(json_object_get(p, "state")), "4: ACTIVE");
	assert_true(json_is_false(json_object_get(p, "ethernet")));
	assert_true(json_is_false(json_object_get(p, "soft")));
	assert_string_equal(json_string_value(json_object_get(p, "driver")), "");
	json_decref(f.ports);
	put_link(*state, "class/infiniband/mlx5_0/device/driver", "../../bus/drivers/mlx5_core");
	put_file(*state, PORT "link_layer", "Ethernet\n");
	put_file(*state, "class/infiniband/mlx5_0/parent", "eth0\n");
	f = facts_of(*state);
	p = json_array_get(f.ports, 0);
	assert_true(json_is_true(json_object_get(p, "ethernet")));
	assert_true(json_is_true(json_object_get(p, "soft")));
	assert_string_equal(json_string_value(json_object_get(p, "driver")), "mlx5_core");
	json_decref(f.ports);
}

TEST(process__this_one__is_known_with_its_user)
{
	struct doctor_process p;

	doctor_process_read(&p, (uint32_t)getpid());
	assert_true(p.known);
	assert_int_equal(p.pid, getpid());
	assert_int_equal(p.uid, getuid());
	assert_int_equal(p.state, 'R');
	assert_int_equal(p.priority, 0);
}

TEST(process__stopped__has_that_state)
{
	struct doctor_process p;
	pid_t child = fork();
	int status;

	if (!child) {
		for (;;)
			pause();
	}
	assert_true(child > 0);
	assert_int_equal(kill(child, SIGSTOP), 0);
	assert_int_equal(waitpid(child, &status, WUNTRACED), child);
	doctor_process_read(&p, (uint32_t)child);
	assert_true(p.known);
	assert_int_equal(p.state, 'T');
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	doctor_process_read(&p, (uint32_t)child);
	assert_false(p.known);
	doctor_process_read(&p, 0);
	assert_false(p.known);
}
