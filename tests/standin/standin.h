/* Copyright (c) 2026, gpuhost.tuning contributors
 * GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the parts of the stand-in share. README.md says what of it is real and what is not.
 */
#ifndef STANDIN_H
#define STANDIN_H
#include "driver_api.h"

#define MOST 16             /* GPUs */
#define MOST_LINKS 64
#define HOST (-1)           /* where a copy comes from or goes to, beside the number of a GPU */
#define QUEUE_LENGTH 128    /* operations behind a held stream; the real queue is longer, and blocks its caller too */

enum kind { COPY, RECORD, WAIT_EVENT, WAIT_VALUE, FILL };

struct op {
    enum kind kind;
    struct CUstream_st *stream;
    double issued;                              /* ms by the clock of the host: it cannot begin before */
    struct op *next;
    /* COPY */
    void *to;
    const void *from;
    size_t size;
    int source, target, started;
    double late_ms, bytes_left, factor, gb_s;
    const struct pair *pair;
    /* RECORD, WAIT_EVENT: the number of the record that is waited for */
    struct CUevent_st *event;
    unsigned long number;
    /* WAIT_VALUE, FILL */
    volatile uint32_t *word;
    uint32_t value;
};

struct CUctx_st { int device, retained, reaches[MOST]; struct CUstream_st *null_stream; };
struct CUstream_st { int device, queued; struct op *head, *tail; struct CUstream_st *next; };
struct CUevent_st { int device; unsigned long recorded, done; double ms; };
struct block { uintptr_t start; size_t size; int device; struct block *next; };
struct gpu { char bdf[32], name[64], root[32]; size_t total, free, used; struct CUctx_st context; int hidden, mig; };
/* How copies from one to the other go; `every` how many of them one is spoiled, 0 for none. */
struct pair { int from, to, blocked, links[8], link_count; double gb_s; int every; size_t offset, count; unsigned long copies; };
struct link { char name[32]; double gb_s; int jam, collapse_sources; double collapse_gb_s; };

extern struct gpu gpus[MOST];
extern int gpu_count, initialized;
extern struct link links[MOST_LINKS];
extern double staged_gb_s, start_us, launch_us, uneven;
extern struct CUstream_st *streams;
extern struct block *blocks;
extern CUcontext current;
extern double host_ms;
extern unsigned long events_made, misuses;
extern int events_alive, streams_alive, modules_alive;
extern char config_path[512];

int find_gpu(const char *bdf);
struct pair *pair_of(int from, int to);
CUresult obey(const char *function);
void sleep_for_ever(void);
CUresult misused(const char *what);

void enqueue(CUstream stream, struct op op);
void run_stream(CUstream stream);
void run_event(CUevent event);
int any_held(void);
int in_use(uintptr_t start, size_t size);

CUstream null_stream_of(CUcontext context);
CUresult copy(CUstream stream, uintptr_t to, uintptr_t from, size_t size, double gb_s);
struct block *block_at(uintptr_t address, size_t size);

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
#endif
