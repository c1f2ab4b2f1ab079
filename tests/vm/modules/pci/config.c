// SPDX-License-Identifier: GPL-2.0-or-later
// Copyright (c) 2026, gpuhost.tuning contributors
/*
 * The registers of one function at power-on, and which of their bits take writes.
 * Offsets and bits: include/uapi/linux/pci_regs.h. Firmware would have set MaxPayload to 256 and bus numbers.
 */
#include <linux/log2.h>
#include "testhw_pci.h"

#define SPEED_GEN5	5
#define WIDTH_X16	16

struct identity {
	u16 vendor, device;
	u32 class;		/* class, subclass, programming interface */
	u8 revision;
	u16 subsystem_vendor, subsystem;
	u8 type;		/* Device/Port Type of the PCI Express capability */
	u8 payload;		/* largest MaxPayload, as the register's code: 128 << code bytes */
	u8 read_request;	/* MaxReadReq at power-on, as the register's code */
	bool read_request_fixed;
};

/* The ids are those of a host with AMD EPYC, a Broadcom switch and RTX PRO 6000 Server GPUs. */
static const struct identity identities[] = {
	[TESTHW_ROOT_PORT] = { 0x1022, 0x14ab, 0x060400, 0x01, 0x1022, 0x1453, PCI_EXP_TYPE_ROOT_PORT, 2, 2 },
	[TESTHW_UPSTREAM] = { 0x1000, 0xc030, 0x060400, 0xb0, 0x1000, 0x0144, PCI_EXP_TYPE_UPSTREAM, 2, 0, true },
	[TESTHW_DOWNSTREAM] = { 0x1000, 0xc030, 0x060400, 0xb0, 0x1000, 0x0144, PCI_EXP_TYPE_DOWNSTREAM, 2, 0, true },
	[TESTHW_GPU] = { 0x10de, 0x2bb5, 0x030200, 0xa1, 0x10de, 0x204e, PCI_EXP_TYPE_ENDPOINT, 1, 2 },
	[TESTHW_AUDIO] = { 0x10de, 0x22e8, 0x040300, 0xa1, 0x10de, 0x0000, PCI_EXP_TYPE_ENDPOINT, 1, 2 },
	[TESTHW_NIC] = { 0x15b3, 0x1021, 0x020000, 0x00, 0x15b3, 0x0023, PCI_EXP_TYPE_ENDPOINT, 2, 2 },
};

void testhw_set16(struct testhw_function *fn, int at, u16 value, u16 writable)
{
	put_unaligned_le16(value, fn->config + at);
	put_unaligned_le16(writable, fn->writable + at);
}

static void set32(struct testhw_function *fn, int at, u32 value, u32 writable)
{
	put_unaligned_le32(value, fn->config + at);
	put_unaligned_le32(writable, fn->writable + at);
}

u16 testhw_get16(const struct testhw_function *fn, int at)
{
	return get_unaligned_le16(fn->config + at);
}

static bool is_port(const struct testhw_function *fn)
{
	return fn->seat->kind <= TESTHW_DOWNSTREAM;
}

static void bar(struct testhw_function *fn, int index, u64 size, u32 flags)
{
	int at = PCI_BASE_ADDRESS_0 + 4 * index;

	set32(fn, at, flags, lower_32_bits(~(size - 1)));
	if (flags & PCI_BASE_ADDRESS_MEM_TYPE_64)
		set32(fn, at + 4, 0, upper_32_bits(~(size - 1)));
}

static void header(struct testhw_function *fn, const struct identity *id)
{
	testhw_set16(fn, PCI_VENDOR_ID, id->vendor, 0);
	testhw_set16(fn, PCI_DEVICE_ID, id->device, 0);
	testhw_set16(fn, PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 0x0547);
	testhw_set16(fn, PCI_STATUS, PCI_STATUS_CAP_LIST, 0);
	put_unaligned_le16(0xf900, fn->clears + PCI_STATUS);
	set32(fn, PCI_CLASS_REVISION, id->class << 8 | id->revision, 0);
	fn->config[PCI_CAPABILITY_LIST] = TESTHW_CAP_PM;
}

static void bridge_header(struct testhw_function *fn)
{
	fn->config[PCI_HEADER_TYPE] = PCI_HEADER_TYPE_BRIDGE;
	set32(fn, PCI_PRIMARY_BUS,
	      fn->seat->bus | fn->seat->secondary << 8 | fn->seat->subordinate << 16, 0x00ffffff);
	/* Closed windows: the base is above the limit. The one for I/O stays closed. */
	testhw_set16(fn, PCI_IO_BASE, 0x00f0, 0);
	set32(fn, PCI_MEMORY_BASE, 0x0000fff0, 0xfff0fff0);
	set32(fn, PCI_PREF_MEMORY_BASE, 0x0001fff1, 0xfff0fff0);
	set32(fn, PCI_PREF_BASE_UPPER32, 0, ~0);
	set32(fn, PCI_PREF_LIMIT_UPPER32, 0, ~0);
	testhw_set16(fn, PCI_BRIDGE_CONTROL, 0, 0x007f);
}

static void endpoint_header(struct testhw_function *fn, const struct identity *id)
{
	fn->config[PCI_HEADER_TYPE] = PCI_HEADER_TYPE_NORMAL;
	testhw_set16(fn, PCI_SUBSYSTEM_VENDOR_ID, id->subsystem_vendor, 0);
	testhw_set16(fn, PCI_SUBSYSTEM_ID, id->subsystem, 0);
	if (fn->seat->kind == TESTHW_AUDIO || fn->seat->bus == 6)
		fn->config[PCI_HEADER_TYPE] |= 0x80;	/* multi-function */
	if (fn->seat->kind == TESTHW_AUDIO) {
		bar(fn, 0, 16 << 10, 0);
	} else if (fn->seat->kind == TESTHW_NIC) {
		bar(fn, 0, 32 << 20, PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH);
	} else {
		bar(fn, 0, 64 << 20, 0);
		bar(fn, 1, TESTHW_BAR1_SIZE, PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH);
		bar(fn, 3, 32 << 20, PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH);
	}
}

static void power_management(struct testhw_function *fn)
{
	testhw_set16(fn, TESTHW_CAP_PM, PCI_CAP_ID_PM | TESTHW_CAP_MSI << 8, 0);
	testhw_set16(fn, TESTHW_CAP_PM + PCI_PM_PMC, 3, 0);
	testhw_set16(fn, TESTHW_CAP_PM + PCI_PM_CTRL, PCI_PM_CTRL_NO_SOFT_RESET, PCI_PM_CTRL_STATE_MASK);
}

static void msi(struct testhw_function *fn)
{
	testhw_set16(fn, TESTHW_CAP_MSI, PCI_CAP_ID_MSI | TESTHW_CAP_EXP << 8, 0);
	testhw_set16(fn, TESTHW_CAP_MSI + PCI_MSI_FLAGS, PCI_MSI_FLAGS_64BIT,
		     PCI_MSI_FLAGS_ENABLE | PCI_MSI_FLAGS_QSIZE);
	set32(fn, TESTHW_CAP_MSI + PCI_MSI_ADDRESS_LO, 0, ~3);
	set32(fn, TESTHW_CAP_MSI + PCI_MSI_ADDRESS_HI, 0, ~0);
	testhw_set16(fn, TESTHW_CAP_MSI + PCI_MSI_DATA_64, 0, 0xffff);
}

static void express_device(struct testhw_function *fn, const struct identity *id)
{
	u32 devcap = id->payload | PCI_EXP_DEVCAP_EXT_TAG | PCI_EXP_DEVCAP_RBER;

	if (id->type == PCI_EXP_TYPE_ENDPOINT)
		devcap |= PCI_EXP_DEVCAP_FLR;
	testhw_set16(fn, TESTHW_CAP_EXP, PCI_CAP_ID_EXP, 0);
	testhw_set16(fn, TESTHW_CAP_EXP + PCI_EXP_FLAGS, 2 | id->type << 4, 0);
	set32(fn, TESTHW_CAP_EXP + PCI_EXP_DEVCAP, devcap, 0);
	testhw_set16(fn, TESTHW_DEVCTL,
		     PCI_EXP_DEVCTL_RELAX_EN | PCI_EXP_DEVCTL_PAYLOAD_256B | PCI_EXP_DEVCTL_NOSNOOP_EN |
		     id->read_request << 12,
		     id->read_request_fixed ? 0x0fff : 0x7fff);
	put_unaligned_le16(0x000f, fn->clears + TESTHW_CAP_EXP + PCI_EXP_DEVSTA);
	set32(fn, TESTHW_CAP_EXP + PCI_EXP_DEVCAP2,
	      PCI_EXP_DEVCAP2_COMP_TMOUT_DIS | 0xf | PCI_EXP_DEVCAP2_LTR | 3 << 16 /* 10-bit tags */, 0);
	testhw_set16(fn, TESTHW_CAP_EXP + PCI_EXP_DEVCTL2, 0, 0xffff);
	testhw_set16(fn, TESTHW_CAP_EXP + PCI_EXP_RTCTL, 0, id->type == PCI_EXP_TYPE_ROOT_PORT ? 0x1f : 0);
	put_unaligned_le32(PCI_EXP_RTSTA_PME, fn->clears + TESTHW_CAP_EXP + PCI_EXP_RTSTA);
}

static void express_link(struct testhw_function *fn, const struct identity *id)
{
	bool leads_down = id->type == PCI_EXP_TYPE_ROOT_PORT || id->type == PCI_EXP_TYPE_DOWNSTREAM;

	set32(fn, TESTHW_CAP_EXP + PCI_EXP_LNKCAP,
	      SPEED_GEN5 | WIDTH_X16 << 4 | PCI_EXP_LNKCAP_ASPM_L1 | (leads_down ? PCI_EXP_LNKCAP_DLLLARC : 0), 0);
	/* Retrain Link always reads zero. */
	testhw_set16(fn, TESTHW_CAP_EXP + PCI_EXP_LNKCTL, 0, 0x0fff & ~PCI_EXP_LNKCTL_RL);
	testhw_set16(fn, TESTHW_LNKSTA,
		     SPEED_GEN5 | WIDTH_X16 << 4 | PCI_EXP_LNKSTA_SLC | (leads_down ? PCI_EXP_LNKSTA_DLLLA : 0), 0);
	set32(fn, TESTHW_CAP_EXP + PCI_EXP_LNKCAP2, (1 << (SPEED_GEN5 + 1)) - 2, 0);
	testhw_set16(fn, TESTHW_CAP_EXP + PCI_EXP_LNKCTL2, SPEED_GEN5, PCI_EXP_LNKCTL2_TLS | PCI_EXP_LNKCTL2_HASD);
}

static void extended(struct testhw_function *fn, int at, int id, int version, int next)
{
	set32(fn, at, id | version << 16 | next << 20, 0);
}

static void error_reporting(struct testhw_function *fn, const struct identity *id, int next)
{
	extended(fn, TESTHW_ECAP_AER, PCI_EXT_CAP_ID_ERR, 2, next);
	put_unaligned_le32(0x07fff030, fn->clears + TESTHW_ECAP_AER + PCI_ERR_UNCOR_STATUS);
	set32(fn, TESTHW_ECAP_AER + PCI_ERR_UNCOR_MASK, 0, 0x07fff030);
	set32(fn, TESTHW_ECAP_AER + PCI_ERR_UNCOR_SEVER, 0x00462030, 0x07fff030);
	put_unaligned_le32(0x0000f1c1, fn->clears + TESTHW_ECAP_AER + PCI_ERR_COR_STATUS);
	set32(fn, TESTHW_ECAP_AER + PCI_ERR_COR_MASK, PCI_ERR_COR_ADV_NFAT, 0x0000f1c1);
	if (id->type == PCI_EXP_TYPE_ROOT_PORT) {
		set32(fn, TESTHW_ECAP_AER + PCI_ERR_ROOT_COMMAND, 0, 7);
		put_unaligned_le32(0x7f, fn->clears + TESTHW_ECAP_AER + PCI_ERR_ROOT_STATUS);
	}
}

static void access_control(struct testhw_function *fn)
{
	u16 offered = PCI_ACS_SV | PCI_ACS_TB | PCI_ACS_RR | PCI_ACS_CR | PCI_ACS_UF | PCI_ACS_DT;

	extended(fn, TESTHW_ECAP_ACS, PCI_EXT_CAP_ID_ACS, 1, 0);
	testhw_set16(fn, TESTHW_ECAP_ACS + PCI_ACS_CAP, offered, 0);
	testhw_set16(fn, TESTHW_ECAP_ACS + PCI_ACS_CTRL, 0, offered);
}

/* Sizes 256 MiB to 16 GiB are offered and 16 GiB is chosen; the choice cannot be changed. */
static void resizable_bar(struct testhw_function *fn)
{
	int largest = ilog2(TESTHW_BAR1_SIZE >> 20);

	extended(fn, TESTHW_ECAP_REBAR, PCI_EXT_CAP_ID_REBAR, 1, 0);
	set32(fn, TESTHW_ECAP_REBAR + PCI_REBAR_CAP, GENMASK(largest, 8) << 4, 0);
	set32(fn, TESTHW_ECAP_REBAR + PCI_REBAR_CTRL, 1 | 1 << PCI_REBAR_CTRL_NBAR_SHIFT | largest << 8, 0);
}

void testhw_build_config(struct testhw_function *fn)
{
	const struct identity *id = &identities[fn->seat->kind];

	header(fn, id);
	power_management(fn);
	msi(fn);
	express_device(fn, id);
	express_link(fn, id);
	if (is_port(fn)) {
		bridge_header(fn);
		error_reporting(fn, id, fn->seat->kind == TESTHW_UPSTREAM ? 0 : TESTHW_ECAP_ACS);
		if (fn->seat->kind != TESTHW_UPSTREAM)
			access_control(fn);
	} else {
		endpoint_header(fn, id);
		error_reporting(fn, id, fn->seat->kind == TESTHW_GPU ? TESTHW_ECAP_REBAR : 0);
		if (fn->seat->kind == TESTHW_GPU) {
			resizable_bar(fn);
			/* The kernel's quirk_nvidia_hda() finds the audio function already switched on. */
			set32(fn, 0x488, BIT(25), 0);
		}
	}
	memcpy(fn->power_on, fn->config, sizeof(fn->power_on));
}
