#include "trainer/backends/reference/attention.h"

#include <algorithm>

#include "trainer/backends/attention.h"

namespace detol::inline trainer::reference {
namespace {

// Rows: the channels of a head at each position, positions x width.
template <typename Real>
using Rows = std::vector<Real>;

// Turns the pairs of channels of all positions, by the negative angles if `back`.
template <typename Real>
void turn(const Attention& a, bool back, Rows<Real>& rows) {
  const std::int64_t half = a.width / 2;
  for (std::int64_t at = 0; at < a.positions; ++at) {
    for (std::int64_t pair = 0; pair < half; ++pair) {
      const double angle = rotary_angle(at, pair, a.width) * (back ? -1 : 1);
      const auto cosine = static_cast<Real>(std::cos(angle)),
                 sine = static_cast<Real>(std::sin(angle));
      Real& first = rows[static_cast<std::size_t>(at * a.width + pair)];
      Real& second = rows[static_cast<std::size_t>(at * a.width + pair + half)];
      const Real turned = first * cosine - second * sine;
      second = second * cosine + first * sine;
      first = turned;
    }
  }
}

template <typename Real>
Real& element(const View<Real>& view, const Attention& a, std::int64_t image, std::int64_t channel,
              std::int64_t at) {
  return view
      .values[static_cast<std::size_t>((image * view.shape.channels + channel) * a.positions + at)];
}

template <typename Real>
Rows<Real> rows_of(const View<Real>& view, const Attention& a, std::int64_t image,
                   std::int64_t first, bool turns) {
  Rows<Real> rows;
  for (std::int64_t at = 0; at < a.positions; ++at) {
    for (std::int64_t c = 0; c < a.width; ++c)
      rows.push_back(element(view, a, image, first + c, at));
  }
  if (turns) turn(a, false, rows);
  return rows;
}

template <typename Real>
void add_rows(const View<Real>& view, const Attention& a, std::int64_t image, std::int64_t first,
              bool turns, Rows<Real> rows) {
  if (turns) turn(a, true, rows);
  for (std::int64_t at = 0; at < a.positions; ++at) {
    for (std::int64_t c = 0; c < a.width; ++c)
      element(view, a, image, first + c, at) += rows[static_cast<std::size_t>(at * a.width + c)];
  }
}

template <typename Real>
Real product(const Attention& a, const Rows<Real>& left, std::int64_t i, const Rows<Real>& right,
             std::int64_t j) {
  Real sum = 0;
  for (std::int64_t c = 0; c < a.width; ++c)
    sum += left[static_cast<std::size_t>(i * a.width + c)] *
           right[static_cast<std::size_t>(j * a.width + c)];
  return sum;
}

// Adds factor times row j of `from` to row i of `to`.
template <typename Real>
void add_row(const Attention& a, Real factor, const Rows<Real>& from, std::int64_t j,
             Rows<Real>& to, std::int64_t i) {
  for (std::int64_t c = 0; c < a.width; ++c)
    to[static_cast<std::size_t>(i * a.width + c)] +=
        factor * from[static_cast<std::size_t>(j * a.width + c)];
}

// Returns the weights with which a position sees those it sees, in their order.
template <typename Real>
std::vector<Real> weights_of(const Attention& a, const Rows<Real>& q, const Rows<Real>& k,
                             std::int64_t i) {
  std::vector<Real> weights;
  for (std::int64_t j = 0; j < (a.causal ? i + 1 : a.positions); ++j)
    weights.push_back(product(a, q, i, k, j) * static_cast<Real>(a.scale()));
  const Real largest = *std::ranges::max_element(weights);
  Real sum = 0;
  for (Real& weight : weights) sum += weight = std::exp(weight - largest);
  for (Real& weight : weights) weight /= sum;
  return weights;
}

}  // namespace

template <typename Real>
void attention_forward(const LayerContext<Real>& t) {
  const Attention a = attention_of(*t.layer, t.inputs[0].shape);
  std::ranges::fill(t.output.values, Real{0});
  for (std::int64_t n = 0; n < t.images; ++n) {
    for (std::int64_t head = 0; head < a.heads; ++head) {
      const Rows<Real> q = rows_of(t.inputs[0], a, n, a.queries(head), a.rotary);
      const Rows<Real> k = rows_of(t.inputs[0], a, n, a.keys(head), a.rotary);
      const Rows<Real> v = rows_of(t.inputs[0], a, n, a.values(head), false);
      Rows<Real> y(q.size());
      for (std::int64_t i = 0; i < a.positions; ++i) {
        const std::vector<Real> weights = weights_of(a, q, k, i);
        for (std::size_t j = 0; j < weights.size(); ++j)
          add_row(a, weights[j], v, static_cast<std::int64_t>(j), y, i);
      }
      add_rows(t.output, a, n, head * a.width, false, std::move(y));
    }
  }
}

// With the output's gradient g_i: dv_j += p_ij g_i, and, as dp_ij = g_i v_j, the gradient of a
// score is p_ij (dp_ij - sum over j of p_ij dp_ij).
template <typename Real>
void attention_backward(const LayerContext<Real>& t) {
  const Attention a = attention_of(*t.layer, t.inputs[0].shape);
  for (std::int64_t n = 0; n < t.images; ++n) {
    for (std::int64_t head = 0; head < a.heads; ++head) {
      const Rows<Real> q = rows_of(t.inputs[0], a, n, a.queries(head), a.rotary);
      const Rows<Real> k = rows_of(t.inputs[0], a, n, a.keys(head), a.rotary);
      const Rows<Real> v = rows_of(t.inputs[0], a, n, a.values(head), false);
      const Rows<Real> g = rows_of(t.output_gradient, a, n, head * a.width, false);
      Rows<Real> dq(q.size()), dk(q.size()), dv(q.size());
      for (std::int64_t i = 0; i < a.positions; ++i) {
        const std::vector<Real> weights = weights_of(a, q, k, i);
        std::vector<Real> slopes;
        Real mean = 0;
        for (std::size_t j = 0; j < weights.size(); ++j) {
          slopes.push_back(product(a, g, i, v, static_cast<std::int64_t>(j)));
          mean += weights[j] * slopes.back();
        }
        for (std::size_t at = 0; at < weights.size(); ++at) {
          const auto j = static_cast<std::int64_t>(at);
          const Real slope = weights[at] * (slopes[at] - mean) * static_cast<Real>(a.scale());
          add_row(a, weights[at], g, i, dv, j);
          add_row(a, slope, k, j, dq, i);
          add_row(a, slope, q, i, dk, j);
        }
      }
      add_rows(t.input_gradients[0], a, n, a.queries(head), a.rotary, std::move(dq));
      add_rows(t.input_gradients[0], a, n, a.keys(head), a.rotary, std::move(dk));
      add_rows(t.input_gradients[0], a, n, a.values(head), false, std::move(dv));
    }
  }
}

template void attention_forward(const LayerContext<float>&);
template void attention_forward(const LayerContext<double>&);
template void attention_backward(const LayerContext<float>&);
template void attention_backward(const LayerContext<double>&);

}  // namespace detol::inline trainer::reference
