/* STREAM's copy (McCalpin), for bench_roofs.py: b[i] = a[i], counted as bytes read and written.

   stream WORKING_SET REPEATS THREADS    prints the best of the repeats, bytes/s, for each kernel:
     plain        as the compiler makes the loop: a line is read before it is written
     memcpy       the C library's copy of each thread's part
     nontemporal  stores that do not read the line first (x86 only)

   The first copy of each kernel is not timed. Pages are large where the system offers them, as
   numpy's are. Built with the machine's compiler: cc -O3 -march=native -fopenmp. */

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __linux__
#include <sys/mman.h>
#endif
#ifdef _OPENMP
#include <omp.h>
#endif
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { PLAIN, MEMCPY, NONTEMPORAL, KERNELS };
static const char *NAMES[] = {"plain", "memcpy", "nontemporal"};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static double *numbers(size_t count) {
    void *memory = NULL;
    if (posix_memalign(&memory, 1 << 21, count * sizeof(double))) exit(1);
#ifdef MADV_HUGEPAGE
    madvise(memory, count * sizeof(double), MADV_HUGEPAGE);
#endif
    return memory;
}

static void copy(int kernel, double *restrict b, const double *restrict a, long count) {
    if (kernel == MEMCPY) {
        memcpy(b, a, count * sizeof(double));
    } else if (kernel == NONTEMPORAL) {
#ifdef __SSE2__
        for (long i = 0; i < count; i += 2) _mm_stream_pd(b + i, _mm_load_pd(a + i));
        _mm_sfence();
#endif
    } else {
        /* The empty statement keeps the compiler from making this a memcpy. */
        for (long i = 0; i < count; i += 8) {
            for (int j = 0; j < 8; j++) b[i + j] = a[i + j];
            __asm__ volatile("" ::: "memory");
        }
    }
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    int repeats = atoi(argv[2]), threads = atoi(argv[3]);
    long part = atol(argv[1]) / 16 / threads / 8 * 8, count = part * threads;
    double *a = numbers(count), *b = numbers(count);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (long i = 0; i < count; i++) a[i] = 1.0, b[i] = 2.0;
    for (int kernel = 0; kernel < KERNELS; kernel++) {
        double best = 0;
#ifndef __SSE2__
        if (kernel == NONTEMPORAL) continue;
#endif
        for (int repeat = 0; repeat <= repeats; repeat++) {
            double start = now();
#pragma omp parallel for num_threads(threads) schedule(static)
            for (int t = 0; t < threads; t++) copy(kernel, b + t * part, a + t * part, part);
            double speed = 16.0 * count / (now() - start);
            if (repeat && speed > best) best = speed;
        }
        printf("%s %.0f\n", NAMES[kernel], best);
    }
    return b[0] == a[0] ? 0 : 1;
}
