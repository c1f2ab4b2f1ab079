/* Copyright (c) 2026, gpuhost.tuning contributors
 * GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * GPUs, their contexts, and who may reach whom.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "standin.h"

static const struct { int code; const char *name, *text; } errors[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_ECC_UNCORRECTABLE, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"},
    {CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED",
     "peer access is not supported between these two devices"},
    {CUDA_ERROR_INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {CUDA_ERROR_JIT_COMPILER_NOT_FOUND, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "PTX JIT compiler library not found"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
     "peer access is already enabled"},
    {CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "peer access has not been enabled"},
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
};

CUcontext current;

/* As the real one: from the first UUID on that is none of its GPUs, those that are named are not there either. */
static void hide_others(const char *visible)
{
    char text[1024], uuid[64], *rest = text;
    if (!visible)
        return;
    for (int i = 0; i < gpu_count; i++)
        gpus[i].hidden = 1;
    snprintf(text, sizeof text, "%s", visible);
    for (char *word; (word = strsep(&rest, ","));) {
        int found = 0;
        for (int i = 0; i < gpu_count; i++) {
            snprintf(uuid, sizeof uuid, "GPU-00000000-0000-4000-8000-%012x", i);
            if (!strcmp(word, uuid))
                gpus[i].hidden = 0, found = 1;
        }
        if (!found)
            return;
    }
}

CUresult cuInit(unsigned int flags)
{
    CUresult said = obey(__func__);
    if (said != CUDA_SUCCESS)
        return said;
    if (flags != 0)
        return CUDA_ERROR_INVALID_VALUE;
    initialized = 1;
    hide_others(getenv("CUDA_VISIBLE_DEVICES"));
    for (int i = 0; i < gpu_count; i++)
        if (!gpus[i].hidden)
            return CUDA_SUCCESS;
    return CUDA_ERROR_NO_DEVICE;
}

CUresult cuDriverGetVersion(int *version) { *version = 12080; return CUDA_SUCCESS; }

CUresult cuGetErrorName(CUresult error, const char **text)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == (int)error)
            return *text = errors[i].name, CUDA_SUCCESS;
    return *text = NULL, CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **text)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == (int)error)
            return *text = errors[i].text, CUDA_SUCCESS;
    return *text = NULL, CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceGetCount(int *count) { BEGIN(0); *count = gpu_count; return CUDA_SUCCESS; }

CUresult cuDeviceGetByPCIBusId(CUdevice *device, const char *bdf)
{
    BEGIN(0);
    *device = find_gpu(bdf);
    return *device < 0 || gpus[*device].hidden ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char *text, int size, CUdevice device)
{
    BEGIN(0);
    snprintf(text, size, "%s", gpus[device].bdf);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *text, int size, CUdevice device)
{
    BEGIN(0);
    snprintf(text, size, "%s", gpus[device].name);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
    BEGIN(0);
    memset(uuid, 0, sizeof *uuid);
    uuid->bytes[6] = 0x40, uuid->bytes[8] = (char)0x80, uuid->bytes[15] = device;
    return CUDA_SUCCESS;
}

/* Of a GPU that is split up it is the UUID of the part that this process sees. */
CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
    CUresult said = cuDeviceGetUuid(uuid, device);
    uuid->bytes[0] = gpus[device].mig ? 0x11 : 0;
    return said;
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
    BEGIN(0);
    *can = device != peer && !pair_of(device, peer)->blocked;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute, CUdevice device, CUdevice peer)
{
    BEGIN(0);
    if ((int)attribute < 1 || (int)attribute > 4 || device == peer)
        return CUDA_ERROR_INVALID_VALUE;
    *value = 0;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    BEGIN(0);
    if (device < 0 || device >= gpu_count)
        return CUDA_ERROR_INVALID_DEVICE;
    *context = &gpus[device].context;
    (*context)->retained++;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    BEGIN(0);
    if (device < 0 || device >= gpu_count || !gpus[device].context.retained)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!--gpus[device].context.retained && current == &gpus[device].context)
        current = NULL;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context)
{
    BEGIN(0);
    if (context && !context->retained)
        return CUDA_ERROR_INVALID_CONTEXT;
    current = context;
    return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags)
{
    BEGIN(1);
    if (flags || !peer->retained)
        return CUDA_ERROR_INVALID_VALUE;
    if (pair_of(current->device, peer->device)->blocked)
        return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    if (current->reaches[peer->device])
        return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    current->reaches[peer->device] = 1;
    return CUDA_SUCCESS;
}

CUresult cuCtxDisablePeerAccess(CUcontext peer)
{
    BEGIN(1);
    if (!current->reaches[peer->device])
        return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    current->reaches[peer->device] = 0;
    return CUDA_SUCCESS;
}
