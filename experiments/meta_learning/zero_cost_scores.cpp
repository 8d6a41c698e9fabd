#include "experiments/meta_learning/zero_cost_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "trainer/backends.h"
#include "trainer/backends/reference/reference.h"
#include "trainer/predict.h"

namespace detol::inline trainer {
namespace {

constexpr double kNothing = -std::numeric_limits<double>::infinity();

bool is_relu(const Layer& layer) {
  return layer.kind == LayerKind::kActivation && layer.activation == Activation::kRelu;
}

// Copies the nodes that are kept into a builder, in their order and with their names; what followed
// another then follows its input. Returns the copy of each node.
std::vector<NodeId> copy_into(NetworkBuilder& builder, const Network& network,
                              bool (*is_kept)(const Layer&)) {
  std::vector<NodeId> copies = {builder.input()};
  for (const Node& node : network.nodes().subspan(1)) {
    std::vector<NodeId> inputs;
    for (const NodeId input : node.inputs) inputs.push_back(copies[input]);
    copies.push_back(is_kept(node.layer) ? builder.add(node.layer, std::move(inputs), node.name)
                                         : inputs.front());
  }
  return copies;
}

// Returns the network with the outputs of all its ReLUs as its one output.
Result<Network> with_relus_as_output(const Network& network) {
  NetworkBuilder builder(network.input_shape());
  const auto copies = copy_into(builder, network, [](const Layer&) { return true; });
  std::vector<NodeId> units;
  for (NodeId id = 0; id < copies.size(); ++id) {
    if (is_relu(network.nodes()[id].layer))
      units.push_back(builder.add({.kind = LayerKind::kFlatten}, {copies[id]}));
  }
  if (units.size() == 1) return builder.build(units.front());
  return builder.build(builder.add({.kind = LayerKind::kConcat}, units));
}

// Returns the network without norms and dropout, and with the sum of its outputs as its output.
Result<Network> as_flow(const Network& network) {
  NetworkBuilder builder(network.input_shape());
  const auto copies = copy_into(builder, network, [](const Layer& layer) {
    return layer.kind != LayerKind::kBatchNorm && layer.kind != LayerKind::kLayerNorm &&
           layer.kind != LayerKind::kDropout;
  });
  const Layer sum{.kind = LayerKind::kDense, .channels = 1};
  return builder.build(builder.add(sum, {copies.back()}, "sum_of_outputs"));
}

// Returns log |det A| of a symmetric positive semi-definite matrix (n x n) by Cholesky's method.
double log_determinant(std::vector<double> a, std::size_t n) {
  double sum = 0;
  for (std::size_t k = 0; k < n; ++k) {
    const double pivot = a[k * n + k];
    if (pivot <= 1e-9 * a[0]) return kNothing;
    sum += std::log(pivot);
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = a[i * n + k] / pivot;
      for (std::size_t j = k + 1; j <= i; ++j) a[i * n + j] -= factor * a[j * n + k];
    }
  }
  return sum;
}

}  // namespace

Result<double> nwot(const Network& network, std::span<const float> images, std::uint64_t seed,
                    std::string_view backend) {
  if (std::ranges::none_of(network.nodes(), [](const Node& node) { return is_relu(node.layer); }))
    return kNothing;
  DETOL_ASSIGN(const Network probe, with_relus_as_output(network));
  DETOL_ASSIGN(const BackendRow* row, backend_called(backend));
  const auto size = static_cast<std::size_t>(network.input_shape().elements());
  const std::size_t n = images.size() / size;
  const Recipe recipe{.batch_size = static_cast<std::int64_t>(n)};
  DETOL_ASSIGN(const auto executable, row->compile(probe, recipe, {}));
  executable->set_state({initial_weights(probe, seed), {}});
  std::ranges::copy(images, executable->images().begin());
  std::ranges::fill(executable->labels(), 0);
  executable->accumulate({.seed = seed}, executable->micro_batches().front());
  const std::span<const float> units = executable->logits();
  const std::size_t width = units.size() / n;
  std::vector<double> alike(n * n);  // units that agree
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      std::int64_t count = 0;
      for (std::size_t k = 0; k < width; ++k)
        count += (units[i * width + k] > 0) == (units[j * width + k] > 0);
      alike[i * n + j] = static_cast<double>(count);
    }
  }
  return log_determinant(std::move(alike), n);
}

Result<double> synflow(const Network& network, std::uint64_t seed) {
  DETOL_ASSIGN(const Network flow, as_flow(network));
  const Recipe recipe{.batch_size = 1, .loss = "mse"};
  const auto executable = make_reference<double>(flow, recipe);
  TrainingState state{.weights = initial_weights(flow, seed), .moments = {}};
  for (Tensor& tensor : state.weights) {
    for (float& weight : tensor.data) weight = std::abs(weight);
  }
  std::ranges::fill(state.weights.back().data, 1.0F);  // the sum of the outputs
  executable->set_state(state);
  std::ranges::fill(executable->images(), 1.0F);
  std::ranges::fill(executable->targets().targets, 0.0F);
  const double r = std::sqrt(executable->differentiate({}).loss);  // the loss is R^2
  double sum = 0;
  for (std::size_t i = 0; i + 1 < state.weights.size(); ++i) {
    for (std::size_t k = 0; k < state.weights[i].data.size(); ++k)
      sum += std::abs(state.weights[i].data[k] * executable->gradients()[i][k]);
  }
  return r > 0 ? std::log(sum / (2 * r)) : kNothing;  // the gradients are 2 R dR/dw
}

}  // namespace detol::inline trainer
