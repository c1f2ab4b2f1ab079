/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (c) 2026, gpuhost.tuning contributors */
/*
 * Test hardware: PCI host bridges whose functions have their configuration space in memory.
 */
#ifndef TESTHW_PCI_H
#define TESTHW_PCI_H

#include <linux/pci.h>
#include <linux/version.h>
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

#define TESTHW_DOMAINS	2
#define TESTHW_FIRST_DOMAIN	1

/* Where the capabilities of every function lie. */
#define TESTHW_CAP_PM	0x40
#define TESTHW_CAP_MSI	0x48
#define TESTHW_CAP_EXP	0x60
#define TESTHW_DEVCTL	(TESTHW_CAP_EXP + PCI_EXP_DEVCTL)
#define TESTHW_LNKSTA	(TESTHW_CAP_EXP + PCI_EXP_LNKSTA)
#define TESTHW_ECAP_AER	0x100
#define TESTHW_ECAP_ACS	0x150
#define TESTHW_ECAP_REBAR	0x150

#define TESTHW_BAR1_SIZE	(16ULL << 30)

enum testhw_kind {
	TESTHW_ROOT_PORT,
	TESTHW_UPSTREAM,
	TESTHW_DOWNSTREAM,
	TESTHW_GPU,
	TESTHW_AUDIO,
	TESTHW_NIC,
};

enum testhw_event {
	TESTHW_NOTHING,
	TESTHW_GONE,		/* every register reads all ones */
	TESTHW_BACK,
	TESTHW_HARDWIRE,	/* Max_Read_Request_Size no longer takes writes */
	TESTHW_RESET,		/* Device Control returns to its value at power-on */
	TESTHW_NARROW,		/* the link runs at x8 */
	TESTHW_SLOW,		/* the link runs at 2.5 GT/s */
	TESTHW_FULL,		/* the link runs as fast and wide as it can */
	TESTHW_CORRECTABLE,	/* the kernel's AER counters of the function go up by one */
	TESTHW_NONFATAL,
	TESTHW_FATAL,
	TESTHW_EVENTS
};

/* One line of the topology: a function and, of a port, the buses below it. */
struct testhw_seat {
	enum testhw_kind kind;
	u8 bus, slot, func;
	u8 secondary, subordinate;
};

struct testhw_function {
	const struct testhw_seat *seat;
	struct testhw_function *above;		/* the port at the other end of the link */
	enum testhw_event on_write;		/* happens at the next write to Device Control */
	bool gone;
	u8 config[PCI_CFG_SPACE_EXP_SIZE];
	u8 writable[PCI_CFG_SPACE_EXP_SIZE];	/* bits that store what is written */
	u8 clears[PCI_CFG_SPACE_EXP_SIZE];	/* bits that a written one clears */
	u8 power_on[PCI_CFG_SPACE_EXP_SIZE];
};

extern const struct testhw_seat testhw_seats[];
extern const unsigned int testhw_seat_count;

void testhw_build_config(struct testhw_function *fn);
void testhw_set16(struct testhw_function *fn, int at, u16 value, u16 writable);
u16 testhw_get16(const struct testhw_function *fn, int at);

struct testhw_function *testhw_find(int domain, unsigned int bus, unsigned int devfn);

void testhw_happen(int domain, struct testhw_function *fn, enum testhw_event event);
int testhw_events_init(void);
void testhw_events_exit(void);

#endif
