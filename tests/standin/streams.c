/* Copyright (c) 2026, gpuhost.tuning contributors
 * GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Streams, events, and the copies that are queued in them. A handle belongs to the context that made it.
 */
#include <stdlib.h>
#include <string.h>
#include "standin.h"

int events_alive, streams_alive;
unsigned long events_made;

static CUstream make_stream(int device)
{
    CUstream stream = calloc(1, sizeof *stream);
    stream->device = device;
    stream->next = streams;
    return streams = stream;
}

CUstream null_stream_of(CUcontext context)
{
    if (!context->null_stream)
        context->null_stream = make_stream(context->device);
    return context->null_stream;
}

static CUstream meant(CUstream stream) { return stream ? stream : null_stream_of(current); }

CUresult cuStreamCreate(CUstream *stream, unsigned int flags)
{
    BEGIN(1);
    if (flags & ~(unsigned)CU_STREAM_NON_BLOCKING)
        return CUDA_ERROR_INVALID_VALUE;
    *stream = make_stream(current->device);
    streams_alive++;
    return CUDA_SUCCESS;
}

CUresult cuStreamDestroy_v2(CUstream stream)
{
    BEGIN(1);
    if (stream->head)
        return misused("a stream was destroyed with operations in it");
    for (CUstream *at = &streams; *at; at = &(*at)->next)
        if (*at == stream) {
            *at = stream->next;
            free(stream);
            streams_alive--;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuStreamSynchronize(CUstream stream) { BEGIN(1); run_stream(meant(stream)); return CUDA_SUCCESS; }

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
    BEGIN(1);
    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    struct op op = {.kind = WAIT_EVENT, .event = event, .number = event->recorded};
    enqueue(meant(stream), op);
    return CUDA_SUCCESS;
}

CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, cuuint32_t value, unsigned int flags)
{
    BEGIN(1);
    struct block *block = block_at(address, 4);
    if (flags != CU_STREAM_WAIT_VALUE_GEQ || !block || address % 4 || meant(stream)->device != current->device)
        return CUDA_ERROR_INVALID_VALUE;
    struct op op = {.kind = WAIT_VALUE, .word = (volatile uint32_t *)(uintptr_t)address, .value = value};
    enqueue(meant(stream), op);
    return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent *event, unsigned int flags)
{
    BEGIN(1);
    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    *event = calloc(1, sizeof **event);
    (*event)->device = current->device;
    events_made++;
    events_alive++;
    return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    BEGIN(1);
    if (meant(stream)->device != event->device)
        return CUDA_ERROR_INVALID_HANDLE;
    struct op op = {.kind = RECORD, .event = event, .number = ++event->recorded};
    enqueue(meant(stream), op);
    return CUDA_SUCCESS;
}

CUresult cuEventSynchronize(CUevent event) { BEGIN(1); run_event(event); return CUDA_SUCCESS; }

CUresult cuEventDestroy_v2(CUevent event)
{
    BEGIN(1);
    if (event->done < event->recorded)
        return misused("an event was destroyed that has not happened yet");
    free(event);
    events_alive--;
    return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end)
{
    BEGIN(1);
    if (!start->recorded || !end->recorded || start->device != end->device)
        return CUDA_ERROR_INVALID_HANDLE;
    if (start->done < start->recorded || end->done < end->recorded)
        return CUDA_ERROR_NOT_READY;
    *milliseconds = (float)(end->ms - start->ms);
    return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime_v2(float *milliseconds, CUevent start, CUevent end)
{
    return cuEventElapsedTime(milliseconds, start, end);
}

static int device_at(uintptr_t address, size_t size, int *device)
{
    struct block *block = block_at(address, size);
    return block ? *device = block->device, 1 : 0;
}

/* The factor of every second reading, which takes three events, and the time that a copy takes to begin. */
CUresult copy(CUstream stream, uintptr_t to, uintptr_t from, size_t size, double gb_s)
{
    int source, target;
    if (!device_at(from, size, &source) || !device_at(to, size, &target) || stream->device != current->device)
        return CUDA_ERROR_INVALID_VALUE;
    double factor = events_made / 3 % 2 ? uneven : 1;
    struct pair *pair = pair_of(source, target);
    struct op op = {.kind = COPY, .to = (void *)to, .from = (const void *)from, .size = size, .source = source,
                    .target = target, .late_ms = start_us / 1e3 * factor, .bytes_left = size, .factor = factor,
                    .gb_s = gb_s > 0 ? gb_s : pair->gb_s, .pair = pair};
    enqueue(stream, op);
    return CUDA_SUCCESS;
}

static CUresult copy_between(CUstream stream, uintptr_t to, uintptr_t from, size_t size, int source, int target)
{
    int here, there;
    if (!device_at(from, size, &here) || !device_at(to, size, &there) || (here == HOST) != (source == HOST)
        || (there == HOST) != (target == HOST) || (here != HOST && here != current->device)
        || (there != HOST && there != current->device))
        return CUDA_ERROR_INVALID_VALUE;
    return copy(meant(stream), to, from, size, 0);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t size, CUstream stream)
{
    BEGIN(1);
    return copy_between(stream, to, (uintptr_t)from, size, HOST, 0);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t size, CUstream stream)
{
    BEGIN(1);
    return copy_between(stream, (uintptr_t)to, from, size, 0, HOST);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream)
{
    BEGIN(1);
    return copy_between(stream, to, from, size, 0, 0);
}

/* Where access was not enabled it goes by way of the host, as with the real one. */
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t size,
                           CUstream stream)
{
    BEGIN(1);
    int here, there;
    if (!device_at(from, size, &here) || !device_at(to, size, &there) || here != from_context->device
        || there != to_context->device)
        return CUDA_ERROR_INVALID_VALUE;
    int reached = current->reaches[current->device == here ? there : here];
    return copy(meant(stream), to, from, size, reached ? 0 : staged_gb_s);
}
