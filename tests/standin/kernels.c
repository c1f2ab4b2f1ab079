/* Copyright (c) 2026, gpuhost.tuning contributors
 * GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A kernel that copies. What its text says is not read but for its head and its name: a launch queues the copy that its
 * parameters stand for.
 */
#include <stdlib.h>
#include <string.h>
#include "standin.h"

struct CUfunc_st { int device; };
struct CUmod_st { struct CUfunc_st function; };

int modules_alive;

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    BEGIN(1);
    if (any_held())
        return misused("a module was loaded while a stream is held");
    if (!strstr(image, ".version 6.0\n.target sm_50\n") || !strstr(image, ".entry copy("))
        return CUDA_ERROR_INVALID_PTX;
    *module = calloc(1, sizeof **module);
    (*module)->function.device = current->device;
    modules_alive++;
    return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    BEGIN(1);
    if (strcmp(name, "copy"))
        return CUDA_ERROR_NOT_FOUND;
    *function = &module->function;
    return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module)
{
    BEGIN(1);
    if (module->function.device != current->device)
        return CUDA_ERROR_INVALID_HANDLE;
    free(module);
    modules_alive--;
    return CUDA_SUCCESS;
}

/* Addresses of another GPU are reached only where that was enabled. */
CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                        unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared,
                        CUstream stream, void **parameters, void **extra)
{
    BEGIN(1);
    if (function->device != current->device || stream->device != current->device)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!grid_x || grid_y != 1 || grid_z != 1 || !block_x || block_x > 1024 || block_y != 1 || block_z != 1 || shared || extra)
        return CUDA_ERROR_INVALID_VALUE;
    uintptr_t to = *(uint64_t *)parameters[0], from = *(uint64_t *)parameters[1];
    size_t size = *(uint64_t *)parameters[2] * 16;
    struct block *source = block_at(from, size), *target = block_at(to, size);
    if (!source || !target || to % 16 || from % 16)
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    for (int i = 0; i < 2; i++) {
        int device = i ? source->device : target->device;
        if (device == HOST || (device != current->device && !current->reaches[device]))
            return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    return copy(stream, to, from, size, 0);
}
