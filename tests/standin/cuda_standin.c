/* Copyright (c) 2026, gpuhost.tuning contributors
 * GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A stand-in for NVIDIA's libcuda.so.1: the functions of the CUDA driver API that gpu_bandwidth calls, on host memory.
 * README.md in this folder says what of it is real and what is not. What it does is read from <its own path>.conf.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct context *CUcontext;
typedef struct stream *CUstream;
typedef struct event *CUevent;
typedef struct { unsigned char bytes[16]; } CUuuid;

enum {
    CUDA_SUCCESS = 0,
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NOT_INITIALIZED = 3,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_INVALID_DEVICE = 101,
    CUDA_ERROR_INVALID_CONTEXT = 201,
    CUDA_ERROR_ECC_UNCORRECTABLE = 214,
    CUDA_ERROR_PEER_ACCESS_UNSUPPORTED = 217,
    CUDA_ERROR_INVALID_HANDLE = 400,
    CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704,
    CUDA_ERROR_PEER_ACCESS_NOT_ENABLED = 705,
    CUDA_ERROR_UNKNOWN = 999
};

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
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED",
     "peer access is already enabled"},
    {CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "peer access has not been enabled"},
};

#define MOST 16
struct context { int device, retained, reaches[MOST]; };
struct stream { int device; double ms; };
struct event { double ms; };
struct block { uintptr_t start; size_t size; int device; struct block *next; };
struct gpu { char bdf[32], name[64]; size_t total, free, used; struct context context; int hidden; };
struct pair { int from, to; double gb_s; int blocked, flips; size_t offset, count; };
struct rule { char function[48], action[16], text[256], path[256]; int nth, seen, code; struct rule *next; };

static struct gpu gpus[MOST];
static int gpu_count, initialized;
static struct pair pairs[MOST * MOST];
static int pair_count;
static double h2d_gb_s = 50, d2h_gb_s = 52, d2d_gb_s = 1500, peer_gb_s = 45, start_us = 2, uneven = 1;
static unsigned events_made;
static struct rule *rules;
static struct block *blocks;
static CUcontext current;

static int find(const char *bdf)
{
    for (int i = 0; i < gpu_count; i++)
        if (strcasecmp(gpus[i].bdf, bdf) == 0)
            return i;
    return -1;
}

static struct pair *pair_of(int from, int to, int make)
{
    for (int i = 0; i < pair_count; i++)
        if (pairs[i].from == from && pairs[i].to == to)
            return &pairs[i];
    if (!make || from < 0 || to < 0)
        return NULL;
    pairs[pair_count] = (struct pair){.from = from, .to = to, .gb_s = peer_gb_s};
    return &pairs[pair_count++];
}

/* One line of the file; README.md has the list. */
static void understand(const char *line)
{
    char one[64], other[64], text[256] = "", path[256] = "";
    double rate;
    size_t offset, count;
    struct gpu gpu = {0};
    struct rule rule = {0};
    if (sscanf(line, "gpu %31s %zu %zu", gpu.bdf, &gpu.total, &gpu.free) == 3) {
        snprintf(gpu.name, sizeof gpu.name, "Stand-in GPU %d", gpu_count);
        gpu.context.device = gpu_count;
        gpus[gpu_count++] = gpu;
    } else if (sscanf(line, "rate %63s %63s %lf", one, other, &rate) == 3) {
        pair_of(find(one), find(other), 1)->gb_s = rate;
    } else if (sscanf(line, "rate h2d %lf", &rate) == 1) {
        h2d_gb_s = rate;
    } else if (sscanf(line, "rate d2h %lf", &rate) == 1) {
        d2h_gb_s = rate;
    } else if (sscanf(line, "uneven %lf", &rate) == 1) {
        uneven = rate;
    } else if (sscanf(line, "no_peer %63s %63s", one, other) == 2) {
        pair_of(find(one), find(other), 1)->blocked = 1;
    } else if (sscanf(line, "flip %63s %63s %zu %zu", one, other, &offset, &count) == 4) {
        struct pair *pair = pair_of(find(one), find(other), 1);
        pair->flips = 1, pair->offset = offset, pair->count = count;
    } else if (sscanf(line, "on %47s %d %15s %d", rule.function, &rule.nth, rule.action, &rule.code) >= 3) {
        if (sscanf(line, "on %*s %*d append %255s %255[^\n]", path, text) == 2) {
            strcpy(rule.path, path);
            strcpy(rule.text, text);
        }
        struct rule *kept = malloc(sizeof rule);
        rule.next = rules;
        *kept = rule;
        rules = kept;
    }
}

__attribute__((constructor)) static void configure(void)
{
    Dl_info self;
    char path[512], line[512];
    if (!dladdr((void *)configure, &self))
        return;
    snprintf(path, sizeof path, "%s.conf", self.dli_fname);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        understand(line);
    if (file)
        fclose(file);
}

static void sleep_for_ever(void)
{
    for (;;)
        pause();
}

/* What the file says about this call of a function; CUDA_SUCCESS where it says nothing. */
static CUresult obey(const char *function)
{
    for (struct rule *rule = rules; rule; rule = rule->next) {
        if (strcmp(rule->function, function) || (++rule->seen != rule->nth && rule->nth != 0))
            continue;
        if (!strcmp(rule->action, "hang"))
            sleep_for_ever();
        if (!strcmp(rule->action, "deaf")) {
            sigset_t all;
            sigfillset(&all);
            sigprocmask(SIG_BLOCK, &all, NULL);
            sleep_for_ever();
        }
        if (!strcmp(rule->action, "abort"))
            abort();
        if (!strcmp(rule->action, "append")) {
            FILE *file = fopen(rule->path, "a");
            if (file) {
                fprintf(file, "%s\n", rule->text);
                fclose(file);
            }
        }
        if (!strcmp(rule->action, "error"))
            return rule->code;
    }
    return CUDA_SUCCESS;
}

#define BEGIN(needs_context)                                                                                           \
    do {                                                                                                               \
        CUresult said = obey(__func__);                                                                                \
        if (said != CUDA_SUCCESS)                                                                                      \
            return said;                                                                                               \
        if (!initialized)                                                                                              \
            return CUDA_ERROR_NOT_INITIALIZED;                                                                         \
        if ((needs_context) && !current)                                                                               \
            return CUDA_ERROR_INVALID_CONTEXT;                                                                         \
    } while (0)

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

CUresult cuInit(unsigned flags)
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
        if (errors[i].code == error)
            return *text = errors[i].name, CUDA_SUCCESS;
    return *text = NULL, CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **text)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == error)
            return *text = errors[i].text, CUDA_SUCCESS;
    return *text = NULL, CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceGetCount(int *count) { BEGIN(0); *count = gpu_count; return CUDA_SUCCESS; }

CUresult cuDeviceGetByPCIBusId(CUdevice *device, const char *bdf)
{
    BEGIN(0);
    *device = find(bdf);
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
    uuid->bytes[6] = 0x40, uuid->bytes[8] = 0x80, uuid->bytes[15] = device;
    return CUDA_SUCCESS;
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
    BEGIN(0);
    struct pair *pair = pair_of(device, peer, 0);
    *can = device != peer && !(pair && pair->blocked);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetP2PAttribute(int *value, int attribute, CUdevice device, CUdevice peer)
{
    BEGIN(0);
    if (attribute < 1 || attribute > 4 || device == peer)
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

CUresult cuCtxSetCurrent(CUcontext context)
{
    BEGIN(0);
    if (context && !context->retained)
        return CUDA_ERROR_INVALID_CONTEXT;
    current = context;
    return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
    BEGIN(1);
    struct pair *pair = pair_of(current->device, peer->device, 0);
    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    if (pair && pair->blocked)
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

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    BEGIN(1);
    *free_bytes = gpus[current->device].free - gpus[current->device].used;
    *total = gpus[current->device].total;
    return CUDA_SUCCESS;
}

/* Stricter than the real one: who takes more than 5% of what was free gets an error, so that a test sees it. */
CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size)
{
    BEGIN(1);
    struct gpu *gpu = &gpus[current->device];
    if (size == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if ((gpu->used + size) * 20 > gpu->free)
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct block *block = malloc(sizeof *block);
    *block = (struct block){(uintptr_t)calloc(1, size), size, current->device, blocks};
    blocks = block;
    gpu->used += size;
    *address = block->start;
    return CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr address)
{
    BEGIN(1);
    for (struct block **at = &blocks; *at; at = &(*at)->next)
        if ((*at)->start == address) {
            struct block *block = *at;
            *at = block->next;
            gpus[block->device].used -= block->size;
            free((void *)block->start);
            free(block);
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_VALUE;
}

/* The device whose memory holds all of this, -1 for none. */
static int owner(CUdeviceptr address, size_t size)
{
    for (struct block *block = blocks; block; block = block->next)
        if (address >= block->start && address + size <= block->start + block->size)
            return block->device;
    return -1;
}

CUresult cuMemHostAlloc(void **address, size_t size, unsigned flags)
{
    BEGIN(1);
    (void)flags;
    *address = malloc(size);
    return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void *address) { BEGIN(1); free(address); return CUDA_SUCCESS; }

CUresult cuMemsetD32_v2(CUdeviceptr address, unsigned value, size_t words)
{
    BEGIN(1);
    if (owner(address, words * 4) != current->device)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < words; i++)
        ((unsigned *)address)[i] = value;
    return CUDA_SUCCESS;
}

/* A copy costs its start and its bytes at the given rate, on a clock that only the stream has. */
static CUresult copy(CUstream stream, void *to, const void *from, size_t size, double gb_s)
{
    double factor = events_made / 2 % 2 ? uneven : 1;
    memmove(to, from, size);
    stream->ms += (start_us / 1e3 + size / gb_s / 1e6) * factor;
    return CUDA_SUCCESS;
}

static void flip(const struct pair *pair, CUdeviceptr to, size_t size)
{
    for (size_t i = pair->offset; i < pair->offset + pair->count && i < size; i++)
        ((unsigned char *)to)[i] ^= 0xff;
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t size, CUstream stream)
{
    BEGIN(1);
    if (owner(to, size) != current->device || stream->device != current->device)
        return CUDA_ERROR_INVALID_VALUE;
    return copy(stream, (void *)to, from, size, h2d_gb_s);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t size, CUstream stream)
{
    BEGIN(1);
    if (owner(from, size) != current->device || stream->device != current->device)
        return CUDA_ERROR_INVALID_VALUE;
    return copy(stream, to, (void *)from, size, d2h_gb_s);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream)
{
    BEGIN(1);
    int device = owner(to, size);
    if (device != current->device || owner(from, size) != device || stream->device != device)
        return CUDA_ERROR_INVALID_VALUE;
    copy(stream, (void *)to, (void *)from, size, d2d_gb_s);
    struct pair *pair = pair_of(device, device, 0);
    if (pair && pair->flips)
        flip(pair, to, size);
    return CUDA_SUCCESS;
}

/* Stricter than the real one, which goes by way of the host where access was not enabled. */
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t size,
                           CUstream stream)
{
    BEGIN(1);
    int here = owner(from, size), there = owner(to, size);
    if (here != from_context->device || there != to_context->device || stream->device != current->device)
        return CUDA_ERROR_INVALID_VALUE;
    if (!current->reaches[current->device == here ? there : here])
        return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    struct pair *pair = pair_of(here, there, 0);
    copy(stream, (void *)to, (void *)from, size, pair ? pair->gb_s : peer_gb_s);
    if (pair && pair->flips)
        flip(pair, to, size);
    return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
    BEGIN(1);
    (void)flags;
    *stream = calloc(1, sizeof **stream);
    (*stream)->device = current->device;
    return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream) { BEGIN(1); (void)stream; return CUDA_SUCCESS; }
CUresult cuStreamDestroy_v2(CUstream stream) { BEGIN(1); free(stream); return CUDA_SUCCESS; }

CUresult cuEventCreate(CUevent *event, unsigned flags)
{
    BEGIN(1);
    (void)flags;
    *event = calloc(1, sizeof **event);
    events_made++;
    return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream) { BEGIN(1); event->ms = stream->ms; return CUDA_SUCCESS; }
CUresult cuEventSynchronize(CUevent event) { BEGIN(1); (void)event; return CUDA_SUCCESS; }
CUresult cuEventDestroy_v2(CUevent event) { BEGIN(1); free(event); return CUDA_SUCCESS; }

CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end)
{
    BEGIN(1);
    *milliseconds = (float)(end->ms - start->ms);
    return CUDA_SUCCESS;
}
