// SPDX-License-Identifier: GPL-2.0-or-later
// Copyright (c) 2026, gpuhost.tuning contributors
/*
 * What every domain of the test hardware holds: four GPUs, two of them behind one switch, and a network card.
 *
 *	00:01.0 root port ------------------------------------------------- 01:00.0 GPU
 *	00:02.0 root port -- 02:00.0 switch --+-- 03:00.0 downstream port -- 04:00.0 GPU
 *	                                      +-- 03:01.0 downstream port -- 05:00.0 GPU
 *	00:03.0 root port ------------------------------------------------- 06:00.0 GPU, 06:00.1 its audio function
 *	00:04.0 root port ------------------------------------------------- 07:00.0 network card
 */
#include "testhw_pci.h"

const struct testhw_seat testhw_seats[] = {
	{ TESTHW_ROOT_PORT, 0, 1, 0, 1, 1 },
	{ TESTHW_ROOT_PORT, 0, 2, 0, 2, 5 },
	{ TESTHW_ROOT_PORT, 0, 3, 0, 6, 6 },
	{ TESTHW_ROOT_PORT, 0, 4, 0, 7, 7 },
	{ TESTHW_GPU, 1, 0, 0 },
	{ TESTHW_UPSTREAM, 2, 0, 0, 3, 5 },
	{ TESTHW_DOWNSTREAM, 3, 0, 0, 4, 4 },
	{ TESTHW_DOWNSTREAM, 3, 1, 0, 5, 5 },
	{ TESTHW_GPU, 4, 0, 0 },
	{ TESTHW_GPU, 5, 0, 0 },
	{ TESTHW_GPU, 6, 0, 0 },
	{ TESTHW_AUDIO, 6, 0, 1 },
	{ TESTHW_NIC, 7, 0, 0 },
};

const unsigned int testhw_seat_count = ARRAY_SIZE(testhw_seats);
