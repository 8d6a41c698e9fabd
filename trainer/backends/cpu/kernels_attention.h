#pragma once

// Attention over the positions of an image (trainer/backends/attention.h), head by head.
//
// What a head reads is laid out as rows (positions x channels), as blocks (a register of channels
// at every position) and as columns (a register of positions for every channel), so that each of
// its products is one of those of kernels_dense.h:
//
//   forward    scores = q k^T, y = p v
//   backward   dp = g v^T, dq = ds k, dk = ds^T q, dv = p^T g
//
// Scores are computed of kAttentionRows queries at a time and all keys, kAttentionKeys to a tile,
// and again in the backward pass, from the largest score and the sum that the forward pass keeps of
// every query: memory is linear in the positions. Keys that a causal query does not see are left
// out by whole tiles.

#include "trainer/backends/cpu/kernels.h"
#include "trainer/backends/cpu/kernels_activation.h"
#include "trainer/backends/cpu/kernels_dense.h"

namespace detol::inline trainer::cpu {
namespace {

// HeadPanels divides the scratch memory of a head.
struct HeadPanels {
  std::ptrdiff_t rows, width;  // of a panel, rounded up
  float* next;
  float* take(std::ptrdiff_t floats) {
    float* taken = next;
    next += floats;
    return taken;
  }
  float* panel() { return take(rows * width); }
};

HeadPanels panels_of(const AttentionShape& s, float* scratch) {
  return {rows_of_attention(s.positions), (s.width + kLanes - 1) / kLanes * kLanes, scratch};
}

// Copies the channels of a head, from `first` of an image on, to rows; the rest of the rows is
// zeros.
void gather_rows(const AttentionShape& s, const HeadPanels& p, const float* image,
                 std::ptrdiff_t first, float* rows) {
  const bool is_whole = first % kLanes == 0 && s.width % kLanes == 0;
  for (std::ptrdiff_t at = 0; at < p.rows; ++at) {
    float* row = rows + at * p.width;
    for (std::ptrdiff_t c = 0; c < p.width; c += kLanes) {
      const std::ptrdiff_t from = (first + c) / kLanes * s.positions + at;
      if (is_whole && at < s.positions) {
        store(row + c, load(image + from * kLanes));
        continue;
      }
      for (std::ptrdiff_t i = c; i < c + kLanes; ++i) {
        const std::ptrdiff_t channel = first + i;
        const bool is_there = at < s.positions && i < s.width;
        row[i] = is_there ? image[(channel / kLanes * s.positions + at) * kLanes + channel % kLanes]
                          : 0.0f;
      }
    }
  }
}

void scatter_rows(const AttentionShape& s, const HeadPanels& p, const float* rows,
                  std::ptrdiff_t first, float* image) {
  const bool is_whole = first % kLanes == 0 && s.width % kLanes == 0;
  for (std::ptrdiff_t at = 0; at < s.positions; ++at) {
    const float* row = rows + at * p.width;
    for (std::ptrdiff_t c = 0; is_whole && c < s.width; c += kLanes)
      store(image + ((first + c) / kLanes * s.positions + at) * kLanes, load(row + c));
    for (std::ptrdiff_t c = 0; !is_whole && c < s.width; ++c) {
      const std::ptrdiff_t channel = first + c;
      image[(channel / kLanes * s.positions + at) * kLanes + channel % kLanes] = row[c];
    }
  }
}

// Turns the pairs of channels by their angles, or back; `table` is null where nothing turns.
void turn_rows(const AttentionShape& s, const HeadPanels& p, const float* table, bool back,
               float* rows) {
  if (table == nullptr) return;
  const std::ptrdiff_t half = s.width / 2;
  const float* cosines = table;
  const float* sines = table + s.positions * half;
  const float sign = back ? -1.0f : 1.0f;
  for (std::ptrdiff_t at = 0; at < s.positions; ++at, cosines += half, sines += half) {
    float* row = rows + at * p.width;
    for (std::ptrdiff_t c = 0; c < half; ++c) {
      const float left = row[c], right = row[c + half], sine = sign * sines[c];
      row[c] = left * cosines[c] - right * sine;
      row[c + half] = right * cosines[c] + left * sine;
    }
  }
}

void to_blocks(const HeadPanels& p, const float* rows, float* blocks) {
  for (std::ptrdiff_t c = 0; c < p.width; c += kLanes) {
    for (std::ptrdiff_t at = 0; at < p.rows; ++at, blocks += kLanes)
      store(blocks, load(rows + at * p.width + c));
  }
}

void to_columns(const HeadPanels& p, const float* rows, float* columns) {
  for (std::ptrdiff_t at = 0; at < p.rows; at += kLanes) {
    for (std::ptrdiff_t c = 0; c < p.width; c += kLanes, columns += kLanes * kLanes) {
      Lanes values[kLanes];
      for (std::ptrdiff_t i = 0; i < kLanes; ++i) values[i] = load(rows + (at + i) * p.width + c);
      transpose<DETOL_LANES / 2>(values);
      for (std::ptrdiff_t i = 0; i < kLanes; ++i) store(columns + i * kLanes, values[i]);
    }
  }
}

// Computes y (height x columns, rows `y_row` apart), adding to `y` if `adds`, as the product of
// `left` and a right factor that is registers of columns, `block` floats apart.
template <std::ptrdiff_t kLeftStep>
void multiply_panels(std::ptrdiff_t height, std::ptrdiff_t columns, std::ptrdiff_t depth, Left left,
                     const float* right, std::ptrdiff_t block, float* y, std::ptrdiff_t y_row,
                     bool adds) {
  for (std::ptrdiff_t c = 0, here; c < columns; c += here) {
    here = registers_of(columns - c) * kLanes;
    dense_product<kLeftStep, kLanes>(height, here, left, {right + c / kLanes * block, block}, depth,
                                     adds ? nullptr : zeros(), {y + c, y_row, kLanes});
  }
}

// QueryTile: queries [first, first + height), and the tiles of the keys that they see.
struct QueryTile {
  std::ptrdiff_t first, height, tiles;
  float* tile(float* scores, std::ptrdiff_t number) const {
    return scores + number * kAttentionRows * kAttentionKeys;
  }
};

QueryTile query_tile(const AttentionShape& s, std::ptrdiff_t first) {
  const std::ptrdiff_t left = s.positions - first;
  const std::ptrdiff_t height = left < kAttentionRows ? left : kAttentionRows;
  const std::ptrdiff_t keys = s.causal ? first + height : s.positions;
  return {first, height, (keys + kAttentionKeys - 1) / kAttentionKeys};
}

// Computes left (rows of a head) times the transposed right factor, by its columns.
void multiply_transposed(const HeadPanels& p, const QueryTile& q, const float* left,
                         const float* columns, float* scores) {
  for (std::ptrdiff_t t = 0; t < q.tiles; ++t)
    multiply_panels<1>(q.height, kAttentionKeys, p.width, {left + q.first * p.width, p.width},
                       columns + t * kAttentionKeys * p.width, p.width * kLanes, q.tile(scores, t),
                       kAttentionKeys, false);
}

// Computes the weights of the keys times their rows, by their blocks.
void multiply_weights(const HeadPanels& p, const QueryTile& q, float* weights, const float* blocks,
                      float* y) {
  for (std::ptrdiff_t t = 0; t < q.tiles; ++t)
    multiply_panels<1>(q.height, p.width, kAttentionKeys, {q.tile(weights, t), kAttentionKeys},
                       blocks + t * kAttentionKeys * kLanes, p.rows * kLanes, y + q.first * p.width,
                       p.width, t > 0);
}

// Adds the transposed weights of the keys times the rows of the queries, by their blocks.
void add_transposed(const HeadPanels& p, const QueryTile& q, float* weights, const float* blocks,
                    float* y) {
  for (std::ptrdiff_t t = 0; t < q.tiles; ++t)
    multiply_panels<kAttentionKeys>(kAttentionKeys, p.width, q.height, {q.tile(weights, t), 1},
                                    blocks + q.first * kLanes, p.rows * kLanes,
                                    y + t * kAttentionKeys * p.width, p.width, true);
}

// Calls visit(address, first key) for every register of a row of scores.
template <typename Visit>
inline void for_registers(const QueryTile& q, float* scores, std::ptrdiff_t row, Visit visit) {
  for (std::ptrdiff_t t = 0; t < q.tiles; ++t) {
    float* at = q.tile(scores, t) + row * kAttentionKeys;
    for (std::ptrdiff_t k = 0; k < kAttentionKeys; k += kLanes)
      visit(at + k, t * kAttentionKeys + k);
  }
}

// Returns the lanes whose keys come before `end`, as ones; the others are zeros.
inline Lanes seen(std::ptrdiff_t first_key, std::ptrdiff_t end) {
  Lanes ones{};
  for (std::ptrdiff_t i = 0; i < kLanes; ++i) ones[i] = first_key + i < end ? 1.0f : 0.0f;
  return ones;
}

inline std::ptrdiff_t keys_seen(const AttentionShape& s, const QueryTile& q, std::ptrdiff_t row) {
  return s.causal ? q.first + row + 1 : s.positions;
}

// Returns the largest score of a row.
float largest_score(const AttentionShape& s, const QueryTile& q, float* scores,
                    std::ptrdiff_t row) {
  const std::ptrdiff_t end = keys_seen(s, q, row);
  Lanes most = all(scores[row * kAttentionKeys]);
  for_registers(q, scores, row, [&](const float* at, std::ptrdiff_t key) {
    if (key >= end) return;
    Lanes values = load(at);
    if (key + kLanes > end) values = seen(key, end) > 0.5f ? values : most;
    most = most > values ? most : values;
  });
  float largest = most[0];
  for (std::ptrdiff_t i = 1; i < kLanes; ++i) largest = most[i] > largest ? most[i] : largest;
  return largest;
}

// Replaces the scores of a row by exp(scale (score - largest)) factor; returns the sum.
float exponentials(const AttentionShape& s, const QueryTile& q, float* scores, std::ptrdiff_t row,
                   float largest, float factor) {
  const std::ptrdiff_t end = keys_seen(s, q, row);
  Lanes sum{};
  for_registers(q, scores, row, [&](float* at, std::ptrdiff_t key) {
    if (key >= end) return store(at, Lanes{});
    Lanes weight = ElementaryOfLanes::exp((load(at) - largest) * s.scale) * factor;
    if (key + kLanes > end) weight = seen(key, end) > 0.5f ? weight : Lanes{};
    sum += weight;
    store(at, weight);
  });
  float total = 0;
  for (std::ptrdiff_t i = 0; i < kLanes; ++i) total += sum[i];
  return total;
}

// Each query has two statistics: its largest score and 1 / the sum of its exponentials.
void attention(const AttentionShape& s, const float* table, const float* x, float* y,
               float* statistics, float* scratch) {
  HeadPanels p = panels_of(s, scratch);
  float *rows = p.panel(), *queries = p.panel(), *keys = p.panel(), *values = p.panel();
  float *out = p.panel(), *scores = p.take(kAttentionRows * p.rows);
  const std::ptrdiff_t in = s.in_blocks * s.positions * kLanes;
  const std::ptrdiff_t out_image = s.out_blocks * s.positions * kLanes;
  for (std::ptrdiff_t item = 0; item < s.images * s.heads; ++item) {
    const std::ptrdiff_t n = item / s.heads, head = item % s.heads;
    const float* image = x + n * in;
    gather_rows(s, p, image, head * s.width, queries);
    turn_rows(s, p, table, false, queries);
    if (head % (s.heads / s.key_heads) == 0) {
      const std::ptrdiff_t shared = head * s.key_heads / s.heads;
      gather_rows(s, p, image, (s.heads + shared) * s.width, rows);
      turn_rows(s, p, table, false, rows);
      to_columns(p, rows, keys);
      gather_rows(s, p, image, (s.heads + s.key_heads + shared) * s.width, rows);
      to_blocks(p, rows, values);
    }
    for (std::ptrdiff_t first = 0; first < s.positions; first += kAttentionRows) {
      const QueryTile q = query_tile(s, first);
      multiply_transposed(p, q, queries, keys, scores);
      for (std::ptrdiff_t row = 0; row < q.height; ++row) {
        float* own = statistics + 2 * (item * s.positions + first + row);
        own[0] = largest_score(s, q, scores, row);
        own[1] = 1 / exponentials(s, q, scores, row, own[0], 1);
      }
      multiply_weights(p, q, scores, values, out);
      for (std::ptrdiff_t row = 0; row < q.height; ++row) {
        const float inverse = statistics[2 * (item * s.positions + first + row) + 1];
        float* to = out + (first + row) * p.width;
        for (std::ptrdiff_t c = 0; c < p.width; c += kLanes) store(to + c, load(to + c) * inverse);
      }
    }
    scatter_rows(s, p, out, head * s.width, y + n * out_image);
  }
}

// Turns the gradients of a row's weights into those of its scores: p (dp - sum of p dp) scale.
void score_gradients(const AttentionShape& s, const QueryTile& q, float* weights, float* slopes,
                     std::ptrdiff_t row) {
  const auto distance = slopes - weights;
  Lanes sum{};
  for_registers(q, weights, row,
                [&](float* at, std::ptrdiff_t) { sum += load(at) * load(at + distance); });
  float mean = 0;
  for (std::ptrdiff_t i = 0; i < kLanes; ++i) mean += sum[i];
  for_registers(q, weights, row, [&](float* at, std::ptrdiff_t) {
    store(at + distance, load(at) * (load(at + distance) - mean) * s.scale);
  });
}

void attention_backward(const AttentionShape& s, const float* table, const float* x,
                        const float* statistics, const float* g, float* dx, float* scratch) {
  HeadPanels p = panels_of(s, scratch);
  float *rows = p.panel(), *queries = p.panel(), *query_blocks = p.panel();
  float *key_blocks = p.panel(), *keys = p.panel(), *values = p.panel();
  float *gradients = p.panel(), *gradient_blocks = p.panel();
  float *dq = p.panel(), *dk = p.panel(), *dv = p.panel();
  float *weights = p.take(kAttentionRows * p.rows), *slopes = p.take(kAttentionRows * p.rows);
  const std::ptrdiff_t in = s.in_blocks * s.positions * kLanes;
  const std::ptrdiff_t out_image = s.out_blocks * s.positions * kLanes;
  const std::ptrdiff_t sharing = s.heads / s.key_heads;
  for (std::ptrdiff_t item = 0; item < s.images * s.heads; ++item) {
    const std::ptrdiff_t n = item / s.heads, head = item % s.heads;
    const std::ptrdiff_t shared = head / sharing;
    const std::ptrdiff_t key_channel = (s.heads + shared) * s.width;
    const std::ptrdiff_t value_channel = key_channel + s.key_heads * s.width;
    gather_rows(s, p, x + n * in, head * s.width, queries);
    turn_rows(s, p, table, false, queries);
    to_blocks(p, queries, query_blocks);
    gather_rows(s, p, g + n * out_image, head * s.width, gradients);
    to_blocks(p, gradients, gradient_blocks);
    if (head % sharing == 0) {
      gather_rows(s, p, x + n * in, key_channel, rows);
      turn_rows(s, p, table, false, rows);
      to_columns(p, rows, keys);
      to_blocks(p, rows, key_blocks);
      gather_rows(s, p, x + n * in, value_channel, rows);
      to_columns(p, rows, values);
      for (float* sum : {dk, dv}) {
        for (std::ptrdiff_t i = 0; i < p.rows * p.width; i += kLanes) store(sum + i, Lanes{});
      }
    }
    for (std::ptrdiff_t first = 0; first < s.positions; first += kAttentionRows) {
      const QueryTile q = query_tile(s, first);
      multiply_transposed(p, q, queries, keys, weights);
      multiply_transposed(p, q, gradients, values, slopes);
      for (std::ptrdiff_t row = 0; row < q.height; ++row) {
        const float* own = statistics + 2 * (item * s.positions + first + row);
        exponentials(s, q, weights, row, own[0], own[1]);
      }
      add_transposed(p, q, weights, gradient_blocks, dv);
      for (std::ptrdiff_t row = 0; row < q.height; ++row)
        score_gradients(s, q, weights, slopes, row);
      multiply_weights(p, q, slopes, key_blocks, dq);
      add_transposed(p, q, slopes, query_blocks, dk);
    }
    turn_rows(s, p, table, true, dq);
    scatter_rows(s, p, dq, head * s.width, dx + n * in);
    if ((head + 1) % sharing != 0) continue;
    turn_rows(s, p, table, true, dk);
    scatter_rows(s, p, dk, key_channel, dx + n * in);
    scatter_rows(s, p, dv, value_channel, dx + n * in);
  }
}

}  // namespace
}  // namespace detol::inline trainer::cpu
