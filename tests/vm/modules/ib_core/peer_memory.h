/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (c) 2026, gpuhost.tuning contributors */
#ifndef TESTHW_PEER_MEMORY_H
#define TESTHW_PEER_MEMORY_H

struct testhw_peer_client {
	const char *name;
#ifdef TESTHW_REBUILT
	int abi;	/* another layout: the symbol gets another version (CRC) */
#endif
};

void *ib_register_peer_memory_client(const struct testhw_peer_client *client);
void ib_unregister_peer_memory_client(void *handle);

#endif
