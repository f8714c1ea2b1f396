/* Attention of single queries over kept keys and values; a part of step.h. */

/* x . y over `count` numbers, y being kept in bfloat16 (then x is paired up) or float32. */
INLINE float NAME(dot)(const float *x, const void *y, const long count, const int bf16) {
    floats sum = {};
    if (bf16)
        for (long j = 0; j < count; j += 2 * LANES) {
            words w = NAME(load_words)((const uint16_t *)y + j);
            sum += NAME(load)(x + j) * NAME(even)(w);
            sum += NAME(load)(x + j + LANES) * NAME(odd)(w);
        }
    else
        for (long j = 0; j < count; j += LANES)
            sum += NAME(load)(x + j) * NAME(load)((const float *)y + j);
    return NAME(sum)(sum);
}

/* Scores to weights in place; their sum. There is room for whole vectors. */
INLINE float NAME(soften)(float *scores, long count) {
    for (long t = count; t < rounded(count); t++) scores[t] = -INFINITY;
    floats peaks = NAME(load)(scores), totals = {};
    for (long t = 0; t < count; t += LANES) {
        floats here = NAME(load)(scores + t);
        peaks = NAME(select)(here > peaks, here, peaks);
    }
    float most = peaks[0];
    for (int i = 1; i < LANES; i++) most = peaks[i] > most ? peaks[i] : most;
    for (long t = 0; t < count; t += LANES) {
        floats weights = NAME(exp)(NAME(load)(scores + t) - most);
        NAME(store)(scores + t, weights);
        totals += weights; /* what is padded weighs 10^-38 */
    }
    return NAME(sum)(totals);
}

/* The values of width e, a constant, mixed by weights. */
INLINE void NAME(mix)(const float *weights, const void *values, long count, const int e,
                      const int bf16, float total, float *out) {
    floats mixed[MAX_HEAD / LANES] = {};
    for (long t = 0; t < count; t++)
        for (int j = 0; j < e / LANES; j += 2) {
            words w = NAME(load_words)((const uint16_t *)values + t * e + j * LANES);
            const float *plain = (const float *)values + t * e + j * LANES;
            mixed[j] += weights[t] * (bf16 ? NAME(even)(w) : NAME(load)(plain));
            mixed[j + 1] += weights[t] * (bf16 ? NAME(odd)(w) : NAME(load)(plain + LANES));
        }
    for (int j = 0; j < e / LANES; j += 2)
        for (int i = 0; i < LANES; i++) {
            int even = bf16 ? 2 * i : i, odd = bf16 ? 2 * i + 1 : i + LANES;
            out[j * LANES + even] = mixed[j][i] / total;
            out[j * LANES + odd] = mixed[j + 1][i] / total;
        }
}

/* One query over `count` keys and values of width e, a constant. */
INLINE void NAME(attend)(const float *q, const void *keys, const void *values, long count,
                         const int e, const int bf16, float *scores, float *out) {
    float query[MAX_HEAD], scale = 1.0f / sqrtf((float)e);
    long size = bf16 ? 2 : 4;
    if (bf16)
        NAME(pair_up)(q, e, query);
    else
        memcpy(query, q, (size_t)e * sizeof *q);
    for (long t = 0; t < count; t++)
        scores[t] = scale * NAME(dot)(query, (const char *)keys + t * e * size, e, bf16);
    float total = NAME(soften)(scores, count);
    NAME(mix)(scores, values, count, e, bf16, total, out);
}

static void NAME(attend_any)(const Model *m, const float *q, const void *keys, const void *values,
                             long count, float *scores, float *out) {
    int e = (int)m->head_width;
    if (e == 64 && m->bf16)
        NAME(attend)(q, keys, values, count, 64, 1, scores, out);
    else if (e == 64)
        NAME(attend)(q, keys, values, count, 64, 0, scores, out);
    else if (e == 128 && m->bf16)
        NAME(attend)(q, keys, values, count, 128, 1, scores, out);
    else if (m->bf16)
        NAME(attend)(q, keys, values, count, e, 1, scores, out);
    else
        NAME(attend)(q, keys, values, count, e, 0, scores, out);
}

/* Normalises and turns one head in place. */
INLINE void NAME(turn)(const Model *m, float *head, const float *gain, long position) {
    long e = m->head_width, half = e / 2;
    const float *cosines = m->cosines + position * e, *sines = m->sines + position * e;
    float before[MAX_HEAD];
    if (gain) NAME(norm)(head, gain, e, m->head_eps, head);
    memcpy(before, head, (size_t)e * sizeof *before);
    for (long j = 0; j < half; j++) {
        head[j] = before[j] * cosines[j] + before[j + half] * sines[j];
        head[j + half] = before[j + half] * cosines[j + half] + before[j] * sines[j + half];
    }
}

INLINE void NAME(keep)(const Model *m, void *to, const float *from) {
    if (!m->bf16) {
        memcpy(to, from, (size_t)m->head_width * sizeof *from);
        return;
    }
    for (long j = 0; j < m->head_width; j++) ((uint16_t *)to)[j] = to_bf16(from[j]);
}

/* Group `g` of one row: its key and value go to the cache, its queries are turned. */
static void NAME(place)(const Model *m, const Layer *layer, const Row *row, long n, long g,
                        float *qkv) {
    long e = m->head_width, share = m->heads / m->groups, size = m->bf16 ? 2 : 4;
    long at = (n * row->layer_stride + g * row->group_stride + row->position * e) * size;
    float *key = qkv + (m->heads + g) * e, *value = key + m->groups * e;
    for (long h = g * share; h < (g + 1) * share; h++)
        NAME(turn)(m, qkv + h * e, layer->q_norm, row->position);
    NAME(turn)(m, key, layer->k_norm, row->position);
    NAME(keep)(m, (char *)row->keys + at, key);
    NAME(keep)(m, (char *)row->values + at, value);
}
