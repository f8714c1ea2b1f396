/* The arithmetic of one decoding step, compiled once for each instruction set: NAME(x) gives each
 * its own names, WITH_DOTS takes the processor's products of bfloat16 pairs.
 *
 * Rows never meet: what is summed for one, and in which order, does not depend on how many there
 * are, or on the number of threads. So a draft that is verified as several rows gets the very
 * numbers that decoding token by token would give.
 */

typedef float NAME(floats) __attribute__((vector_size(4 * LANES)));
typedef int32_t NAME(integers) __attribute__((vector_size(4 * LANES)));
typedef uint32_t NAME(words) __attribute__((vector_size(4 * LANES)));
#define floats NAME(floats)
#define integers NAME(integers)
#define words NAME(words)
#define VECTORS (WIDE / LANES) /* of one block */

INLINE floats NAME(load)(const float *p) {
    floats x;
    memcpy(&x, p, sizeof x);
    return x;
}

INLINE words NAME(load_words)(const void *p) {
    words x;
    memcpy(&x, p, sizeof x);
    return x;
}

INLINE void NAME(store)(float *p, floats x) { memcpy(p, &x, sizeof x); }

INLINE float NAME(sum)(floats x) {
    integers lane;
    for (int i = 0; i < LANES; i++) lane[i] = i;
    for (int half = LANES / 2; half; half /= 2) x += __builtin_shuffle(x, lane ^ half);
    return x[0];
}

/* The float16 in the low half of each word, neither infinite nor nan. */
INLINE floats NAME(from_half)(words w) {
    floats magnitude = (floats)((w & 0x7fff) << 13) * 0x1p112f;
    return (floats)((words)magnitude | (w & 0x8000) << 16);
}

/* The bfloat16 in the low half of each word, and in the high half. */
INLINE floats NAME(even)(words w) { return (floats)(w << 16); }
INLINE floats NAME(odd)(words w) { return (floats)(w & 0xffff0000u); }

/* Numbers in the order that `even` and `odd` take them from pairs: count divides by 2 LANES. */
INLINE void NAME(pair_up)(const float *x, long count, float *y) {
    for (long i = 0; i < count; i += 2 * LANES)
        for (long j = 0; j < LANES; j++) {
            y[i + j] = x[i + 2 * j];
            y[i + LANES + j] = x[i + 2 * j + 1];
        }
}

INLINE floats NAME(select)(integers which, floats yes, floats no) {
    return (floats)(((words)yes & (words)which) | ((words)no & ~(words)which));
}

/* e^x to within 2 units of the last place; what is beyond -87 and 88 counts as these. */
INLINE floats NAME(exp)(floats x) {
    x = NAME(select)(x < -87.0f, (floats){} - 87.0f, x);
    x = NAME(select)(x > 88.0f, (floats){} + 88.0f, x);
    floats shifted = x * 1.44269504f + 12582912.0f; /* the whole number sits in the low bits */
    floats n = shifted - 12582912.0f;
    floats r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    floats p = 1.9875691500e-4f * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    words power = ((words)shifted - 0x4b400000u + 127u) << 23;
    return p * (floats)power;
}

/* One RMSNorm of a vector: y may be x. */
static void NAME(norm)(const float *x, const float *gain, long width, float eps, float *y) {
    floats squares = {};
    for (long i = 0; i < width; i += LANES) {
        floats v = NAME(load)(x + i);
        squares += v * v;
    }
    float scale = 1.0f / sqrtf(NAME(sum)(squares) / (float)width + eps);
    for (long i = 0; i < width; i += LANES)
        NAME(store)(y + i, NAME(load)(x + i) * scale * NAME(load)(gain + i));
}

/* Rounds rows to what the products take and sums each group of columns: y may be x. */
static void NAME(prepare)(const float *x, long rows, long width, float *y, float *sums) {
    for (long i = 0; i < rows * width / GROUP; i++, x += GROUP, y += GROUP) {
        floats sum = {};
#if WITH_DOTS
        __m512bh packed = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(x + 16), _mm512_loadu_ps(x));
        sum = NAME(even)((words)packed) + NAME(odd)((words)packed);
        memcpy(y, &packed, sizeof packed); /* pair c stands where number c did */
#else
        for (int j = 0; j < GROUP; j += LANES) sum += NAME(load)(x + j);
        memmove(y, x, GROUP * sizeof *y);
#endif
        sums[i] = NAME(sum)(sum);
    }
}

/* Adds what the eight columns in each of sixteen words give to `rows` rows, a constant. */
INLINE void NAME(columns)(const uint8_t *quarter, const float *x, long stride, const int rows,
                          floats part[4][VECTORS < 2 ? 2 : VECTORS]) {
#if WITH_DOTS
    __m512i w = _mm512_loadu_si512(quarter);
#pragma GCC unroll 4
    for (int c = 0; c < 4; c++) {
        __m512bh q = (__m512bh)_mm512_permutexvar_epi16(_mm512_srli_epi32(w, 4 * c), TABLE);
#pragma GCC unroll 4
        for (int m = 0; m < rows; m++) {
            __m512bh pair = (__m512bh)_mm512_set1_ps(x[m * stride + c]);
            part[m][c & 1] = (floats)_mm512_dpbf16_ps((__m512)part[m][c & 1], q, pair);
        }
    }
#else
#pragma GCC unroll 4
    for (int v = 0; v < VECTORS; v++) {
        words w = NAME(load_words)(quarter + 4 * LANES * v);
#pragma GCC unroll 8
        for (int c = 0; c < 8; c++) {
            words q = w >> (16 * (c & 1) + 4 * (c >> 1)) & 15;
            floats weight = __builtin_convertvector((integers)q, floats);
#pragma GCC unroll 4
            for (int m = 0; m < rows; m++)
                part[m][VECTORS == 1 ? c & 1 : v] += weight * x[m * stride + c];
        }
    }
#endif
}

/* This thread's share of a x of the addition: rows x, before they are prepared, to low. */
static void NAME(lower)(const Job *job, const Matrix *w, const float *x, long me) {
    Span s = span(w->rank * job->rows, me, job->threads);
    for (long i = s.first; i < s.last; i++) {
        long k = i / job->rows, r = i % job->rows; /* the rows of one rank: it is read once */
        const float *from = x + r * w->in;
        const uint16_t *a = w->a + k * w->in;
        floats first = {}, second = {};
        for (long g = 0; g < w->in; g += GROUP)
            for (int j = 0; j < WIDE; j += LANES) {
                words pairs = NAME(load_words)(a + g + 2 * j);
                first += NAME(load)(from + g + j) * NAME(even)(pairs);
                second += NAME(load)(from + g + WIDE + j) * NAME(odd)(pairs);
            }
        job->work.low[r * w->rank + k] = NAME(sum)(first + second);
    }
    if (w->rank) meet(job);
}

/* y and what b, at its pairs of these outputs, adds to it. */
INLINE floats NAME(raised)(floats y, const uint16_t *b, const float *low, long rank) {
    for (long k = 0; k < rank; k += 2, b += 2 * WIDE) {
        words pairs = NAME(load_words)(b);
        y += NAME(even)(pairs) * low[k];
        y += NAME(odd)(pairs) * low[k + 1];
    }
    return y;
}

/* Block b of sixteen outputs of `rows` rows, a constant: to out, or added to it. */
INLINE void NAME(block)(const Matrix *w, long b, const float *x, const float *sums,
                        const float *low, const int rows, float *out, int add) {
    long groups = w->in / GROUP;
    const uint8_t *stream = w->stream + b * groups * BYTES;
    const uint16_t *raising = w->b + b * w->rank * WIDE;
    floats total[4][VECTORS] = {};
    for (long g = 0; g < groups; g++, stream += BYTES) {
        floats part[4][VECTORS < 2 ? 2 : VECTORS] = {};
#pragma GCC unroll 4
        for (int j = 0; j < 4; j++)
            NAME(columns)(stream + 64 * (j + 1), x + g * GROUP + j * (WITH_DOTS ? 4 : 8),
                          groups * GROUP, rows, part);
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++) {
            words grid = NAME(load_words)(stream + 4 * LANES * v);
            floats scale = NAME(from_half)(grid), low = NAME(from_half)(grid >> 16);
#pragma GCC unroll 4
            for (int m = 0; m < rows; m++) {
                floats all = VECTORS == 1 ? part[m][0] + part[m][1] : part[m][v];
                total[m][v] += scale * all + low * sums[m * groups + g];
            }
        }
    }
    for (int m = 0; m < rows; m++)
        for (int v = 0; v < VECTORS; v++) {
            float *to = out + m * w->out + b * WIDE + v * LANES;
            floats y = total[m][v];
            if (w->bias) y += NAME(load)(w->bias + b * WIDE + v * LANES);
            y = NAME(raised)(y, raising + 2 * v * LANES, low + m * w->rank, w->rank);
            NAME(store)(to, add ? NAME(load)(to) + y : y);
        }
}

/* Outputs first..last-1 (in blocks of sixteen) of prepared rows; added to y if `add`. */
static void NAME(product)(const Matrix *w, long first, long last, const float *x,
                          const float *sums, const float *low, long rows, float *y, int add) {
    for (long b = first; b < last; b++)
        for (long r = 0, taken; r < rows; r += taken) {
            const float *from = x + r * w->in, *of = sums + r * w->in / GROUP;
            const float *lowered = low + r * w->rank;
            float *to = y + r * w->out;
            taken = rows - r < AT_ONCE ? rows - r : AT_ONCE;
            switch (taken) {
                case 1: NAME(block)(w, b, from, of, lowered, 1, to, add); break;
                case 2: NAME(block)(w, b, from, of, lowered, 2, to, add); break;
#if AT_ONCE == 4
                case 3: NAME(block)(w, b, from, of, lowered, 3, to, add); break;
                case 4: NAME(block)(w, b, from, of, lowered, 4, to, add); break;
#endif
            }
        }
}

/* silu(gate) * up: blocks of h from the halves of one product. */
static void NAME(gated)(const Matrix *w, long first, long last, const float *x,
                        const float *sums, const float *low, long rows, float *both, float *h) {
    long hidden = w->out / 2, second = hidden / WIDE;
    NAME(product)(w, first, last, x, sums, low, rows, both, 0);
    NAME(product)(w, second + first, second + last, x, sums, low, rows, both, 0);
    for (long r = 0; r < rows; r++)
        for (long i = first * WIDE; i < last * WIDE; i += LANES) {
            floats gate = NAME(load)(both + r * w->out + i);
            floats up = NAME(load)(both + r * w->out + hidden + i);
            NAME(store)(h + r * hidden + i, gate / (NAME(exp)(-gate) + 1.0f) * up);
        }
}

#include "attention.h"

static void NAME(layer)(const Job *job, const Layer *layer, long n, long me, Private *mine) {
    const Model *m = job->model;
    const Work *w = &job->work;
    long rows = job->rows, e = m->head_width, share = m->heads / m->groups;
    long size = m->bf16 ? 2 : 4;
    Span s = span(layer->qkv.out / WIDE, me, job->threads);
    for (long r = 0; r < rows; r++)
        NAME(norm)(job->x + r * m->width, layer->attention_norm, m->width, m->eps,
                   mine->x + r * m->width);
    NAME(lower)(job, &layer->qkv, mine->x, me);
    NAME(prepare)(mine->x, rows, m->width, mine->x, mine->sums);
    NAME(product)(&layer->qkv, s.first, s.last, mine->x, mine->sums, w->low, rows, w->qkv, 0);
    meet(job);
    s = span(rows * m->groups, me, job->threads);
    for (long i = s.first; i < s.last; i++)
        NAME(place)(m, layer, job->places + i / m->groups, n, i % m->groups,
                    w->qkv + i / m->groups * layer->qkv.out);
    meet(job);
    s = span(rows * m->heads, me, job->threads);
    for (long i = s.first; i < s.last; i++) {
        long r = i / m->heads, h = i % m->heads;
        const Row *row = job->places + r;
        long at = (n * row->layer_stride + h / share * row->group_stride) * size;
        NAME(attend_any)(m, w->qkv + r * layer->qkv.out + h * e, (char *)row->keys + at,
                         (char *)row->values + at, row->position + 1, mine->scores,
                         w->mixed + i * e);
    }
    meet(job);
    s = span(m->width / WIDE, me, job->threads);
    NAME(lower)(job, &layer->out, w->mixed, me);
    NAME(prepare)(w->mixed, rows, layer->out.in, mine->x, mine->sums);
    NAME(product)(&layer->out, s.first, s.last, mine->x, mine->sums, w->low, rows, job->x, 1);
    meet(job);
    for (long r = 0; r < rows; r++)
        NAME(norm)(job->x + r * m->width, layer->feed_forward_norm, m->width, m->eps,
                   mine->x + r * m->width);
    NAME(lower)(job, &layer->gate_up, mine->x, me);
    NAME(prepare)(mine->x, rows, m->width, mine->x, mine->sums);
    s = span(layer->down.in / WIDE, me, job->threads);
    NAME(gated)(&layer->gate_up, s.first, s.last, mine->x, mine->sums, w->low, rows, w->both,
                w->hidden);
    meet(job);
    s = span(m->width / WIDE, me, job->threads);
    NAME(lower)(job, &layer->down, w->hidden, me);
    NAME(prepare)(w->hidden, rows, layer->down.in, mine->x, mine->sums);
    NAME(product)(&layer->down, s.first, s.last, mine->x, mine->sums, w->low, rows, job->x, 1);
    meet(job);
}

static void NAME(step)(const Job *job, long me, Private *mine) {
    const Model *m = job->model;
    for (long n = 0; n < m->layers; n++) NAME(layer)(job, m->layer + n, n, me, mine);
    float *last = mine->x;
    for (long r = 0; r < job->rows; r++)
        NAME(norm)(job->x + r * m->width, m->norm, m->width, m->eps, last + r * m->width);
    meet(job); /* all have read x before one of them writes it */
    if (!me) memcpy(job->x, last, (size_t)(job->rows * m->width) * sizeof *last);
    NAME(prepare)(last, job->rows, m->width, last, mine->sums);
    Span s = span(m->head.out / WIDE, me, job->threads);
    NAME(product)(&m->head, s.first, s.last, last, mine->sums, 0, job->rows, job->logits, 0);
    meet(job);
}

/* One product on its own: y (rows, out). */
static void NAME(multiply)(const Job *job, long me, Private *mine) {
    const Matrix *w = job->matrix;
    Span s = span(w->out / WIDE, me, job->threads);
    NAME(prepare)(job->x, job->rows, w->in, mine->x, mine->sums);
    NAME(product)(w, s.first, s.last, mine->x, mine->sums, 0, job->rows, job->logits, 0);
    meet(job);
}

/* Anew, the logits of chosen tokens, from the whole matrix of the head. */
static void NAME(exact)(const Job *job, const void *dense, int bf16, const int64_t *ids,
                        long count) {
    long size = bf16 ? 2 : 4;
    for (long r = 0; r < job->rows; r++, ids += count) {
        const float *x = job->x + r * job->width;
        if (bf16) NAME(pair_up)(x, job->width, job->mine[0].x), x = job->mine[0].x;
        for (long i = 0; i < count; i++) {
            const char *token = (const char *)dense + ids[i] * job->width * size;
            job->logits[r * job->vocabulary + ids[i]] = NAME(dot)(x, token, job->width, bf16);
        }
    }
}

#undef NAME
#undef WITH_DOTS
#undef LANES
#undef AT_ONCE
#undef VECTORS
#undef floats
#undef integers
#undef words
