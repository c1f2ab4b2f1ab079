// SPDX-License-Identifier: GPL-2.0-or-later
// Copyright (c) 2026, gpuhost.tuning contributors
/*
 * Test hardware: a stand-in for nvidia_peermem.ko in two builds.
 *	stub	built without peer memory in the RDMA stack: its init returns -EINVAL and logs nothing, as NVIDIA's does
 *	ofed	built with it: it registers, and fails to load where the symbols are missing or of another version
 */
#include <linux/module.h>
#include "testhw_nvidia.h"

#ifdef TESTHW_PEER_MEMORY
#include "peer_memory.h"

static void *handle;
static const struct testhw_peer_client client = { .name = "nv_mem" };

static int __init peermem_init(void)
{
	if (testhw_nvidia_users() < 0)
		return -ENODEV;
	handle = ib_register_peer_memory_client(&client);
	return handle ? 0 : -EINVAL;
}

static void __exit peermem_exit(void)
{
	ib_unregister_peer_memory_client(handle);
}
#else
static int __init peermem_init(void)
{
	return -EINVAL;
}

static void __exit peermem_exit(void)
{
}
#endif

module_init(peermem_init);
module_exit(peermem_exit);
MODULE_LICENSE("GPL");
MODULE_VERSION(TESTHW_NVIDIA_VERSION);
MODULE_DESCRIPTION("Test hardware: a stand-in for NVIDIA's peer memory module");
