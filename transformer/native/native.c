/* A decoding step of a quantised generator for a few rows, and the product with 4-bit matrices
 * that it is made of. Plain C with the vector types of GCC and Clang; loaded with ctypes.
 *
 * A matrix (out, in) is one stream. For each block of 16 outputs and group of 32 columns it holds
 * 16 words, one an output, of a scale and a minimum in float16; then four times 16 words, one an
 * output, of eight columns: 0, 2, 4, 6 in its low half from the lowest bits up, 1, 3, 5, 7 in its
 * high half. A weight is scale * q + minimum, exactly as in GGUF's Q4_1.
 *
 * It may have an addition of low rank, b (a x), whose two matrices are bfloat16 in pairs: of a, for
 * each rank and group of columns, the pairs (j, j + 16); of b, for each block of outputs, two ranks
 * of all sixteen. The rank is even.
 */

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

enum { WIDE = 16, GROUP = 32, BYTES = 320, MAX_HEAD = 256, MAX_THREADS = 64 };

typedef struct {
    const uint8_t *stream;
    const float *bias; /* or null */
    const uint16_t *a, *b;
    int64_t out, in, rank; /* rank: of the addition, or 0 */
} Matrix;

typedef struct {
    const float *attention_norm, *feed_forward_norm, *q_norm, *k_norm; /* the last two or null */
    Matrix qkv, out, gate_up, down;
} Layer;

typedef struct {
    const Layer *layer;
    const float *norm, *cosines, *sines;
    Matrix head;
    int64_t layers, width, heads, groups, head_width, bf16, rank; /* bf16: of the cache */
    float eps, head_eps;
} Model;

typedef struct { /* where a row's keys and values go, and what it attends to */
    void *keys, *values;
    int64_t layer_stride, group_stride, position;
} Row;

typedef struct {
    float *qkv, *mixed, *both, *hidden, *low;
} Work;

typedef struct {
    float *x, *sums, *scores;
} Private;

typedef struct {
    const Model *model;
    const Matrix *matrix;
    const Row *places;
    int64_t rows, threads, width, vocabulary;
    float *x, *logits;
    Work work;
    Private mine[MAX_THREADS];
} Job;

typedef void (*Part)(const Job *, long, Private *);

typedef struct {
    long first, last;
} Span;

static Span span(long items, long me, long threads) {
    return (Span){items * me / threads, items * (me + 1) / threads};
}

static long rounded(long count) { return (count + WIDE - 1) / WIDE * WIDE; }

static uint16_t to_bf16(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (x != x) return 0x7fc0;
    return (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

/* The threads meet several times a layer: they spin for a moment, then let others run. */
static atomic_long arrived, meeting;

static void meet(const Job *job) {
    if (job->threads == 1) return;
    long now = atomic_load(&meeting);
    if (atomic_fetch_add(&arrived, 1) == job->threads - 1) {
        atomic_store(&arrived, 0);
        atomic_store(&meeting, now + 1);
        return;
    }
    for (long spins = 0; atomic_load_explicit(&meeting, memory_order_acquire) == now; spins++)
        if (spins > 2000) sched_yield();
}

#define INLINE static inline __attribute__((always_inline))

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#include <immintrin.h>
#define VARIANTS 1
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16,fma,prefer-vector-width=512")
static const uint16_t SIXTEEN[32] = { /* 0 to 15 in bfloat16, twice */
    0x0000, 0x3f80, 0x4000, 0x4040, 0x4080, 0x40a0, 0x40c0, 0x40e0,
    0x4100, 0x4110, 0x4120, 0x4130, 0x4140, 0x4150, 0x4160, 0x4170,
    0x0000, 0x3f80, 0x4000, 0x4040, 0x4080, 0x40a0, 0x40c0, 0x40e0,
    0x4100, 0x4110, 0x4120, 0x4130, 0x4140, 0x4150, 0x4160, 0x4170};
#define TABLE _mm512_loadu_si512(SIXTEEN)
#define NAME(x) x##_dots
#define WITH_DOTS 1
#define LANES 16
#define AT_ONCE 4
#include "step.h"
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512vl,avx512dq,fma,prefer-vector-width=512")
#define NAME(x) x##_avx512
#define WITH_DOTS 0
#define LANES 16
#define AT_ONCE 4
#include "step.h"
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define NAME(x) x##_avx2
#define WITH_DOTS 0
#define LANES 8
#define AT_ONCE 2
#include "step.h"
#pragma GCC pop_options
#endif
#define NAME(x) x##_plain
#define WITH_DOTS 0
#define LANES 4
#define AT_ONCE 2
#include "step.h"

enum { PLAIN, AVX2, AVX512, DOTS };
static long level = -1;

/* The best instruction set of this processor, or a lesser one; -1 asks for the best. */
long attest_level(long wanted) {
    long best = PLAIN;
#ifdef VARIANTS
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) best = AVX2;
    if (best == AVX2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        best = AVX512;
    if (best == AVX512 && __builtin_cpu_supports("avx512bf16")) best = DOTS;
#endif
    level = wanted >= 0 && wanted < best ? wanted : best;
    return level;
}

#ifdef VARIANTS
#define CHOOSE(x) \
    (level == DOTS ? x##_dots : level == AVX512 ? x##_avx512 : level == AVX2 ? x##_avx2 : x##_plain)
#else
#define CHOOSE(x) x##_plain
#endif

/* Workers sleep between jobs; one job has them at a time, another meanwhile runs by itself. */
static pthread_mutex_t taken = PTHREAD_MUTEX_INITIALIZER, lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t called = PTHREAD_COND_INITIALIZER;
static long workers, calls, joining;
static const Job *current;
static Part part;

static void *work(void *number) {
    long me = (long)(intptr_t)number, seen = 0;
    for (;;) {
        pthread_mutex_lock(&lock);
        while (calls == seen || me >= joining) {
            seen = calls;
            pthread_cond_wait(&called, &lock);
        }
        seen = calls;
        const Job *job = current;
        Part run = part;
        pthread_mutex_unlock(&lock);
        run(job, me, (Private *)&job->mine[me]);
    }
    return 0;
}

static void forget(void) { /* in a forked child the workers are gone */
    workers = 0;
    arrived = meeting = 0;
    pthread_mutex_init(&taken, 0);
    pthread_mutex_init(&lock, 0);
    pthread_cond_init(&called, 0);
}

static long hired(long threads) {
    static int registered;
    if (!registered) registered = 1, pthread_atfork(0, 0, forget);
    while (workers + 1 < threads) {
        pthread_t thread;
        if (pthread_create(&thread, 0, work, (void *)(intptr_t)(workers + 1))) break;
        pthread_detach(thread);
        workers++;
    }
    return workers + 1 < threads ? workers + 1 : threads;
}

static void run(Job *job, Part what) {
    if (job->threads == 1 || pthread_mutex_trylock(&taken)) {
        job->threads = 1;
        what(job, 0, &job->mine[0]);
        return;
    }
    job->threads = hired(job->threads);
    pthread_mutex_lock(&lock);
    current = job, part = what, joining = job->threads, calls++;
    pthread_cond_broadcast(&called);
    pthread_mutex_unlock(&lock);
    what(job, 0, &job->mine[0]); /* its last act is to meet the others */
    pthread_mutex_unlock(&taken);
}

static long larger(long a, long b) { return a > b ? a : b; }

static float *carve(float **from, long count) {
    float *piece = *from;
    *from += rounded(count);
    return piece;
}

/* Lays the buffers of a job into scratch, or counts its floats where scratch is null. */
static long lay_out(Job *job, float *scratch, long widest, long longest) {
    float *next = scratch;
    const Layer *one = job->model ? job->model->layer : 0;
    if (one) {
        job->work.qkv = carve(&next, job->rows * one->qkv.out);
        job->work.mixed = carve(&next, job->rows * one->out.in);
        job->work.both = carve(&next, job->rows * one->gate_up.out);
        job->work.hidden = carve(&next, job->rows * one->down.in);
        job->work.low = carve(&next, job->rows * job->model->rank);
    }
    for (long t = 0; t < job->threads; t++) {
        job->mine[t].x = carve(&next, job->rows * widest);
        job->mine[t].sums = carve(&next, job->rows * widest / GROUP);
        job->mine[t].scores = carve(&next, longest);
    }
    return next - scratch;
}

static long widest(const Model *m) {
    return larger(m->layer->down.in, larger(m->layer->out.in, m->width));
}

/* Floats of scratch that a step of so many rows over `longest` positions takes. */
int64_t attest_scratch(const Model *model, int64_t rows, int64_t longest, int64_t threads) {
    static float origin;
    Job job = {.model = model, .rows = rows, .threads = threads};
    return lay_out(&job, &origin, widest(model), longest);
}

/* Takes rows of embeddings x (rows, width) through the model. Afterwards x is what the head read,
 * and logits (rows, vocabulary) are what it said. */
void attest_step(const Model *model, const Row *places, int64_t rows, float *x, float *logits,
                 float *scratch, int64_t longest, int64_t threads) {
    Job job = {.model = model, .places = places, .rows = rows, .threads = threads,
               .x = x, .logits = logits};
    lay_out(&job, scratch, widest(model), longest);
    run(&job, CHOOSE(step));
}

/* y (rows, out) = x (rows, in) W^T; scratch takes rows * in * 34 / 32 + 32 floats a thread. */
void attest_multiply(const Matrix *matrix, const float *x, int64_t rows, float *y, float *scratch,
                     int64_t threads) {
    Job job = {.matrix = matrix, .rows = rows, .threads = threads, .x = (float *)x, .logits = y};
    lay_out(&job, scratch, matrix->in, 0);
    run(&job, CHOOSE(multiply));
}

/* Writes the logits of tokens ids (rows, count) anew, from the whole matrix of the head; scratch
 * takes `width` floats. */
void attest_exact(const void *dense, int64_t bf16, const float *x, int64_t rows, int64_t width,
                  const int64_t *ids, int64_t count, float *logits, int64_t vocabulary,
                  float *scratch) {
    Job job = {.rows = rows, .width = width, .vocabulary = vocabulary, .x = (float *)x,
               .logits = logits, .mine = {{.x = scratch}}};
    CHOOSE(exact)(&job, dense, (int)bf16, ids, count);
}
