/* Copyright (c) 2026, gpuhost.tuning contributors
 * GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Memory of GPUs and pinned memory of the host, both in memory of the process. Stricter than the real one: nothing is
 * allocated or freed while a stream is held, and nothing is freed that a queued operation still needs.
 */
#include <stdlib.h>
#include <string.h>
#include "standin.h"

struct block *blocks;

/* The block that holds all of this, NULL for none. */
struct block *block_at(uintptr_t address, size_t size)
{
    for (struct block *block = blocks; block; block = block->next)
        if (address >= block->start && address + size <= block->start + block->size)
            return block;
    return NULL;
}

static struct block *make_block(size_t size, int device)
{
    struct block *block = malloc(sizeof *block);
    *block = (struct block){(uintptr_t)calloc(1, size), size, device, blocks};
    return blocks = block;
}

static CUresult free_block(uintptr_t address, int pinned)
{
    if (any_held())
        return misused("memory was freed while a stream is held: the real one may wait for it for ever");
    for (struct block **at = &blocks; *at; at = &(*at)->next)
        if ((*at)->start == address && ((*at)->device == HOST) == pinned) {
            struct block *block = *at;
            if (in_use(block->start, block->size))
                return misused("memory was freed that a queued operation needs");
            *at = block->next;
            if (!pinned)
                gpus[block->device].used -= block->size;
            free((void *)block->start);
            free(block);
            return CUDA_SUCCESS;
        }
    return misused("memory was freed that is none");
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
    if (any_held())
        return misused("memory was allocated while a stream is held");
    if (size == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if ((gpu->used + size) * 20 > gpu->free)
        return CUDA_ERROR_OUT_OF_MEMORY;
    gpu->used += size;
    *address = make_block(size, current->device)->start;
    return CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr address) { BEGIN(1); return free_block(address, 0); }

CUresult cuMemHostAlloc(void **address, size_t size, unsigned int flags)
{
    BEGIN(1);
    if (flags & ~(CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP))
        return CUDA_ERROR_INVALID_VALUE;
    if (any_held())
        return misused("memory was pinned while a stream is held");
    *address = (void *)make_block(size, HOST)->start;
    return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void *address) { BEGIN(1); return free_block((uintptr_t)address, 1); }

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *address, void *host, unsigned int flags)
{
    BEGIN(1);
    struct block *block = block_at((uintptr_t)host, 4);
    if (flags || !block || block->device != HOST)
        return CUDA_ERROR_INVALID_VALUE;
    *address = (uintptr_t)host;
    return CUDA_SUCCESS;
}

/* In the NULL stream of the context: it is done when somebody waits for that, and not before. */
CUresult cuMemsetD32_v2(CUdeviceptr address, unsigned int value, size_t words)
{
    BEGIN(1);
    struct block *block = block_at(address, words * 4);
    if (!block || block->device != current->device)
        return CUDA_ERROR_INVALID_VALUE;
    struct op op = {.kind = FILL, .to = (void *)(uintptr_t)address, .size = words * 4, .value = value};
    enqueue(null_stream_of(current), op);
    return CUDA_SUCCESS;
}
