/* Copyright (c) 2026, gpuhost.tuning contributors
 * GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
 * SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the stand-in is told to do, by the file <its own path>.conf; what it counted is in <its own path>.left at the end.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "standin.h"

struct rule { char function[48], action[16], text[256], path[256]; int nth, seen, code; struct rule *next; };

struct gpu gpus[MOST];
int gpu_count, initialized;
struct link links[MOST_LINKS];
double staged_gb_s = 11, start_us = 2, launch_us = 0, uneven = 1;
char config_path[512];
unsigned long misuses;
static int link_count;
static struct pair pairs[(MOST + 1) * (MOST + 1)];
static int pair_count;
static double h2d_gb_s = 50, d2h_gb_s = 52, d2d_gb_s = 1500, peer_gb_s = 45;
static struct rule *rules;

int find_gpu(const char *bdf)
{
    if (strcmp(bdf, "host") == 0)
        return HOST;
    for (int i = 0; i < gpu_count; i++)
        if (strcasecmp(gpus[i].bdf, bdf) == 0)
            return i;
    return -2;
}

struct pair *pair_of(int from, int to)
{
    for (int i = 0; i < pair_count; i++)
        if (pairs[i].from == from && pairs[i].to == to)
            return &pairs[i];
    double gb_s = from == HOST ? h2d_gb_s : to == HOST ? d2h_gb_s : from == to ? d2d_gb_s : peer_gb_s;
    pairs[pair_count] = (struct pair){.from = from, .to = to, .gb_s = gb_s};
    return &pairs[pair_count++];
}

static int find_link(const char *name)
{
    for (int i = 0; i < link_count; i++)
        if (strcmp(links[i].name, name) == 0)
            return i;
    snprintf(links[link_count].name, sizeof links->name, "%s", name);
    links[link_count].gb_s = 1e9;
    return link_count++;
}

static void understand_path(const char *line)
{
    char text[512], *rest = text, *word;
    snprintf(text, sizeof text, "%s", line);
    text[strcspn(text, "\n")] = 0;
    strsep(&rest, " ");
    const char *from = strsep(&rest, " "), *to = strsep(&rest, " ");
    struct pair *pair = pair_of(find_gpu(from), find_gpu(to));
    while ((word = strsep(&rest, " ")) && pair->link_count < 8)
        pair->links[pair->link_count++] = find_link(word);
}

static int understand_rule(const char *line)
{
    struct rule rule = {0};
    char text[256] = "", path[256] = "";
    if (sscanf(line, "on %47s %d %15s %d", rule.function, &rule.nth, rule.action, &rule.code) < 3)
        return 0;
    if (sscanf(line, "on %*s %*d append %255s %255[^\n]", path, text) == 2) {
        strcpy(rule.path, path);
        strcpy(rule.text, text);
    }
    struct rule *kept = malloc(sizeof rule);
    rule.next = rules;
    *kept = rule;
    rules = kept;
    return 1;
}

static int understand_link(const char *line)
{
    char name[64];
    double rate;
    int number;
    if (sscanf(line, "link %31s %lf", name, &rate) == 2)
        links[find_link(name)].gb_s = rate;
    else if (sscanf(line, "jam %31s %d", name, &number) == 2)
        links[find_link(name)].jam = number;
    else if (sscanf(line, "collapse %31s %d %lf", name, &number, &rate) == 3)
        links[find_link(name)].collapse_sources = number, links[find_link(name)].collapse_gb_s = rate;
    else
        return 0;
    return 1;
}

/* One line of the file; README.md has the list. */
static void understand(const char *line)
{
    char one[64], other[64];
    double rate;
    size_t offset, count;
    int every = 1;
    struct gpu gpu = {0};
    if (sscanf(line, "gpu %31s %zu %zu", gpu.bdf, &gpu.total, &gpu.free) == 3) {
        snprintf(gpu.name, sizeof gpu.name, "Stand-in GPU %d", gpu_count);
        snprintf(gpu.root, sizeof gpu.root, "%d", gpu_count);
        gpu.context.device = gpu_count;
        gpus[gpu_count++] = gpu;
    } else if (sscanf(line, "rate %63s %63s %lf", one, other, &rate) == 3) {
        pair_of(find_gpu(one), find_gpu(other))->gb_s = rate;
    } else if (sscanf(line, "rate h2d %lf", &rate) == 1) {
        h2d_gb_s = rate;
    } else if (sscanf(line, "rate d2h %lf", &rate) == 1) {
        d2h_gb_s = rate;
    } else if (sscanf(line, "rate peer %lf", &rate) == 1) {
        peer_gb_s = rate;
    } else if (sscanf(line, "staged %lf", &rate) == 1) {
        staged_gb_s = rate;
    } else if (sscanf(line, "launch %lf", &rate) == 1) {
        launch_us = rate;
    } else if (sscanf(line, "uneven %lf", &rate) == 1) {
        uneven = rate;
    } else if (sscanf(line, "no_peer %63s %63s", one, other) == 2) {
        pair_of(find_gpu(one), find_gpu(other))->blocked = 1;
    } else if (sscanf(line, "mig %63s", one) == 1) {
        gpus[find_gpu(one)].mig = 1;
    } else if (sscanf(line, "root %63s %31s", one, other) == 2) {
        memcpy(gpus[find_gpu(one)].root, other, sizeof gpu.root);
    } else if (sscanf(line, "flip %63s %63s %zu %zu %d", one, other, &offset, &count, &every) >= 4) {
        struct pair *pair = pair_of(find_gpu(one), find_gpu(other));
        pair->every = every, pair->offset = offset, pair->count = count;
    } else if (strncmp(line, "path ", 5) == 0) {
        understand_path(line);
    } else if (!understand_link(line)) {
        understand_rule(line);
    }
}

__attribute__((constructor)) static void configure(void)
{
    Dl_info self;
    char line[512];
    if (!dladdr((void *)configure, &self))
        return;
    snprintf(config_path, sizeof config_path, "%s", self.dli_fname);
    char path[520];
    snprintf(path, sizeof path, "%s.conf", config_path);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        understand(line);
    if (file)
        fclose(file);
}

/* What a process that ends in good order did not give back, and what it did that the real library punishes at random. */
__attribute__((destructor)) static void count_what_is_left(void)
{
    char path[520];
    int contexts = 0, reaches = 0, memory = 0, pinned = 0;
    if (!initialized)
        return;
    for (int i = 0; i < gpu_count; i++) {
        contexts += gpus[i].context.retained;
        for (int j = 0; j < gpu_count; j++)
            reaches += gpus[i].context.reaches[j];
    }
    for (struct block *block = blocks; block; block = block->next)
        *(block->device == HOST ? &pinned : &memory) += 1;
    snprintf(path, sizeof path, "%s.left", config_path);
    FILE *file = fopen(path, "w");
    if (!file)
        return;
    fprintf(file, "contexts %d\npeers %d\nmemory %d\npinned %d\nstreams %d\nevents %d\nmodules %d\nmisuses %lu\n", contexts, reaches,
            memory, pinned, streams_alive, events_alive, modules_alive, misuses);
    fclose(file);
}

CUresult misused(const char *what)
{
    misuses++;
    fprintf(stderr, "stand-in: %s\n", what);
    return CUDA_ERROR_INVALID_VALUE;
}

void sleep_for_ever(void)
{
    for (;;)
        pause();
}

/* What the file says about this call of a function; CUDA_SUCCESS where it says nothing. */
CUresult obey(const char *function)
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
