/* Copyright (c) 2026, gpuhost.tuning contributors
 * GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Time, and what happens in it. Nothing that is queued in a stream happens before somebody waits for it; then all streams
 * go on together, copies share the links that they pass, and the clock jumps from one end of a copy to the next.
 */
#include <stdlib.h>
#include <string.h>
#include "standin.h"

struct CUstream_st *streams;
double host_ms;                 /* the clock of the thread that calls */
static double now_ms;           /* the clock of the GPUs */
static CUstream waited_for;     /* what memory is filled with comes at the last moment: when its own stream is waited for */

void enqueue(CUstream stream, struct op op)
{
    if (stream->queued >= QUEUE_LENGTH && any_held())
        sleep_for_ever();       /* nobody is left to release what is held */
    struct op *kept = malloc(sizeof op);
    op.stream = stream;
    op.issued = host_ms;
    op.next = NULL;
    *kept = op;
    if (stream->tail)
        stream->tail->next = kept;
    else
        stream->head = kept;
    stream->tail = kept;
    stream->queued++;
    host_ms += launch_us / 1e3;
}

static void remove_head(CUstream stream)
{
    struct op *op = stream->head;
    stream->head = op->next;
    if (!stream->head)
        stream->tail = NULL;
    stream->queued--;
    free(op);
}

static void spoil(struct op *op)
{
    struct pair *pair = (struct pair *)op->pair;
    pair->copies++;
    if (!pair->every || pair->copies % pair->every)
        return;
    for (size_t i = pair->offset; i < pair->offset + pair->count && i < op->size; i++)
        ((unsigned char *)op->to)[i] ^= 0xff;
}

static int passes(const struct op *op, int link)
{
    for (int i = 0; i < op->pair->link_count; i++)
        if (op->pair->links[i] == link)
            return 1;
    return 0;
}

/* What a link leaves to each copy that passes it now: a share, nothing where it jams, little where writes collapse. */
static double share_of(int link)
{
    int copies = 0, sources = 0, roots = 0;
    unsigned seen = 0;
    const char *first_root = NULL;
    for (CUstream stream = streams; stream; stream = stream->next) {
        struct op *op = stream->head;
        if (!op || op->kind != COPY || !op->started || !passes(op, link))
            continue;
        copies++;
        if (op->source == HOST || op->target == HOST)
            continue;
        if (!(seen & 1u << op->source))
            seen |= 1u << op->source, sources++;
        if (!first_root)
            first_root = gpus[op->target].root, roots = 1;
        else if (strcmp(first_root, gpus[op->target].root))
            roots = 2;
    }
    if (links[link].jam && copies >= links[link].jam)
        return 0;
    if (links[link].collapse_sources && sources >= links[link].collapse_sources && roots > 1)
        return links[link].collapse_gb_s;
    return links[link].gb_s / copies;
}

static double rate_of(const struct op *op)
{
    double gb_s = op->gb_s;
    for (int i = 0; i < op->pair->link_count; i++) {
        double share = share_of(op->pair->links[i]);
        gb_s = share < gb_s ? share : gb_s;
    }
    return gb_s / op->factor;
}

/* Do what takes no time at the head of a stream; whether anything was done. */
static int step(CUstream stream)
{
    struct op *op = stream->head;
    if (!op || op->issued > now_ms)
        return 0;
    switch (op->kind) {
    case COPY:
        if (op->started)
            return 0;
        return op->started = 1;
    case RECORD:
        op->event->ms = now_ms;
        op->event->done = op->number;
        break;
    case WAIT_EVENT:
        if (op->event->done < op->number)
            return 0;
        break;
    case WAIT_VALUE:
        /* Whoever calls has released it at the latest now. */
        if ((int32_t)(*op->word - op->value) < 0)
            return 0;
        if (host_ms > now_ms)
            now_ms = host_ms;
        break;
    case FILL:
        if (stream != waited_for)
            return 0;
        for (size_t i = 0; i < op->size / 4; i++)
            ((uint32_t *)op->to)[i] = op->value;
        break;
    }
    remove_head(stream);
    return 1;
}

/* Let time pass until the next thing happens; whether anything can happen. */
static int advance(void)
{
    double next = -1;
    for (CUstream stream = streams; stream; stream = stream->next) {
        struct op *op = stream->head;
        double wait = -1;
        if (!op)
            continue;
        if (op->issued > now_ms)
            wait = op->issued - now_ms;
        else if (op->kind == COPY && op->late_ms > 0)
            wait = op->late_ms;
        else if (op->kind == COPY && rate_of(op) > 0)
            wait = op->bytes_left / rate_of(op) / 1e6;
        if (wait >= 0 && (next < 0 || wait < next))
            next = wait;
    }
    if (next < 0)
        return 0;
    /* All rates first: an end of one copy changes those of others. */
    for (CUstream stream = streams; stream; stream = stream->next) {
        struct op *op = stream->head;
        if (!op || op->kind != COPY || !op->started)
            continue;
        if (op->late_ms > 0)
            op->late_ms -= next;
        else
            op->bytes_left -= rate_of(op) * next * 1e6;
    }
    now_ms += next;
    for (CUstream stream = streams; stream; stream = stream->next) {
        struct op *op = stream->head;
        if (!op || op->kind != COPY || !op->started)
            continue;
        if (op->late_ms < 1e-9)
            op->late_ms = 0;
        if (op->late_ms == 0 && op->bytes_left < 1e-3) {
            memmove(op->to, op->from, op->size);
            spoil(op);
            remove_head(stream);
        }
    }
    return 1;
}

static void go_on(void)
{
    for (int again = 1; again;) {
        again = 0;
        for (CUstream stream = streams; stream; stream = stream->next)
            while (step(stream))
                again = 1;
    }
}

void run_stream(CUstream stream)
{
    waited_for = stream;
    for (go_on(); stream->head; go_on())
        if (!advance())
            sleep_for_ever();
    waited_for = NULL;
    host_ms = now_ms > host_ms ? now_ms : host_ms;
}

void run_event(CUevent event)
{
    unsigned long wanted = event->recorded;
    for (go_on(); event->done < wanted; go_on())
        if (!advance())
            sleep_for_ever();
    host_ms = now_ms > host_ms ? now_ms : host_ms;
}

/* Whether a stream waits for a word that nobody has written yet. */
int any_held(void)
{
    for (CUstream stream = streams; stream; stream = stream->next)
        for (struct op *op = stream->head; op; op = op->next)
            if (op->kind == WAIT_VALUE && (int32_t)(*op->word - op->value) < 0)
                return 1;
    return 0;
}

/* Whether something that is still to happen reads or writes there. */
int in_use(uintptr_t start, size_t size)
{
    for (CUstream stream = streams; stream; stream = stream->next)
        for (struct op *op = stream->head; op; op = op->next) {
            uintptr_t to = (uintptr_t)op->to, from = (uintptr_t)op->from, word = (uintptr_t)op->word;
            if ((op->to && to < start + size && start < to + op->size) || (word >= start && word < start + size)
                || (op->from && from < start + size && start < from + op->size))
                return 1;
        }
    return 0;
}
