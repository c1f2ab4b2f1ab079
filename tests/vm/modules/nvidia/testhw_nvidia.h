/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (c) 2026, gpuhost.tuning contributors */
#ifndef TESTHW_NVIDIA_H
#define TESTHW_NVIDIA_H

#define TESTHW_NVIDIA_VERSION	"580.95.05"
#define TESTHW_NVIDIA_MAJOR	195
#define TESTHW_NVIDIA_GPUS	32

struct testhw_gpu {
	struct pci_dev *dev;	/* NULL: this minor is free */
	int irq;
};

extern struct testhw_gpu testhw_gpus[TESTHW_NVIDIA_GPUS];

int testhw_proc_init(void);
void testhw_proc_exit(void);
void testhw_proc_add(int minor);
void testhw_proc_remove(int minor);

/* Exported by nvidia.ko for the modules that need it loaded. */
int testhw_nvidia_users(void);

#endif
