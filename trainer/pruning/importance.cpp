#include "trainer/pruning/importance.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "trainer/backends/backend.h"
#include "trainer/data/batches.h"
#include "trainer/data/feed.h"
#include "trainer/predict.h"

namespace detol::inline trainer {
namespace {

using Scores = std::vector<double>;

constexpr std::int64_t kTaylorBatches = 32;

double& of_class(Scores& scores, int one) {
  return scores[static_cast<std::size_t>(one)];
}

// Adds up `term(element)` of a tensor over the rows (first extent), each for the class of its
// channel.
template <typename Term>
void add_rows(const std::vector<int>& rows, std::size_t elements, const Term& term,
              Scores& scores) {
  const std::size_t size = elements / rows.size();
  for (std::size_t i = 0; i < elements; ++i) of_class(scores, rows[i / size]) += term(i);
}

// Divides every score by the mean of its layer group, so that groups of all sizes compare.
void normalise(const ChannelClasses& classes, Scores& scores) {
  const auto groups = static_cast<std::size_t>(classes.count());  // at most
  Scores sums(groups), counts(groups);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    of_class(sums, classes.layer_group[i]) += scores[i];
    ++of_class(counts, classes.layer_group[i]);
  }
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const double sum = of_class(sums, classes.layer_group[i]);
    if (sum > 0) scores[i] *= of_class(counts, classes.layer_group[i]) / sum;
  }
}

Result<Scores> magnitude(const Network& network, const Weights& weights,
                         const ChannelClasses& classes, const TrainedOn&) {
  Scores squares(static_cast<std::size_t>(classes.count()));
  const std::vector<NetworkParameter> parameters = network.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].spec.decays) continue;  // the weights of convolutions and dense layers
    const std::vector<float>& values = weights[i].data;
    const auto square = [&](std::size_t at) {
      return static_cast<double>(values[at]) * static_cast<double>(values[at]);
    };
    const NodeId node = parameters[i].node;
    add_rows(classes.of_outputs[node], values.size(), square, squares);
    const std::vector<int> read = classes_read_by(network, classes, node);
    const auto columns = static_cast<std::size_t>(weights[i].shape[1]);
    const std::size_t size =
        values.size() / (static_cast<std::size_t>(weights[i].shape[0]) * columns);
    if (columns != read.size()) continue;  // grouped: its rows are of the same channels
    for (std::size_t at = 0; at < values.size(); ++at)
      of_class(squares, read[at / size % columns]) += square(at);
  }
  for (double& one : squares) one = std::sqrt(one);
  normalise(classes, squares);
  return squares;
}

Result<Scores> batch_norm(const Network& network, const Weights& weights,
                          const ChannelClasses& classes, const TrainedOn& trained) {
  Scores gammas(static_cast<std::size_t>(classes.count()));
  const std::vector<NetworkParameter> parameters = network.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const NodeId node = parameters[i].node;
    if (network.nodes()[node].layer.kind != LayerKind::kBatchNorm ||
        parameters[i].spec.name != "gamma")
      continue;
    add_rows(
        classes.of_outputs[node], weights[i].data.size(),
        [&](std::size_t at) { return std::abs(static_cast<double>(weights[i].data[at])); }, gammas);
  }
  normalise(classes, gammas);
  DETOL_ASSIGN(const Scores magnitudes, magnitude(network, weights, classes, trained));
  Scores sums(gammas.size());
  for (std::size_t i = 0; i < gammas.size(); ++i)
    of_class(sums, classes.layer_group[i]) += gammas[i];
  for (std::size_t i = 0; i < gammas.size(); ++i) {
    if (of_class(sums, classes.layer_group[i]) == 0) gammas[i] = magnitudes[i];
  }
  return gammas;
}

// GradientBatches computes gradients of batches: the velocity of sgd after one step from rest.
class GradientBatches {
 public:
  static Result<GradientBatches> make(const Network& network, const Weights& weights,
                                      const TrainedOn& trained) {
    DETOL_ASSIGN(const BackendRow* backend, backend_called(trained.backend));
    Recipe recipe = trained.recipe;
    recipe.batch_size = std::min(recipe.batch_size, trained.data.info.training);
    recipe.optimizer = "sgd";
    recipe.momentum = 0;
    recipe.weight_decay = recipe.clip_norm = recipe.ema = 0;
    recipe.precision = "fp32";
    DETOL_ASSIGN(auto executable, backend->compile(network, recipe, {}));
    return GradientBatches(trained.data, recipe, weights, std::move(executable));
  }

  std::int64_t count() const { return std::min(kTaylorBatches, batches_.steps_per_epoch()); }

  Weights next() {
    executable_->set_state({weights_, {}});
    batches_.fill(step_++, executable_->micro_batches().front(), executable_->images(),
                  executable_->targets());
    executable_->train_step({.lr = 0, .step = step_, .seed = 0});
    return std::move(executable_->state().moments.front());
  }

 private:
  GradientBatches(const Dataset& data, const Recipe& recipe, const Weights& weights,
                  std::unique_ptr<Executable> executable)
      : weights_(weights), executable_(std::move(executable)), batches_(data, recipe, /*seed=*/0) {
    batches_.start_epoch(1);
  }

  const Weights& weights_;
  std::unique_ptr<Executable> executable_;
  Batches batches_;
  std::int64_t step_ = 0;
};

Result<Scores> taylor(const Network& network, const Weights& weights, const ChannelClasses& classes,
                      const TrainedOn& trained) {
  DETOL_ASSIGN(GradientBatches batches, GradientBatches::make(network, weights, trained));
  Scores sums(static_cast<std::size_t>(classes.count()));
  const std::vector<NetworkParameter> parameters = network.parameters();
  for (std::int64_t batch = 0; batch < batches.count(); ++batch) {
    const Weights gradients = batches.next();
    Scores changes(sums.size());
    std::size_t next = 0;  // gradients are of trainable tensors alone
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (!parameters[i].spec.trainable) continue;
      const std::vector<float>&values = weights[i].data, &slopes = gradients[next++].data;
      add_rows(
          classes.of_outputs[parameters[i].node], values.size(),
          [&](std::size_t at) {
            return static_cast<double>(values[at]) * static_cast<double>(slopes[at]);
          },
          changes);
    }
    for (std::size_t i = 0; i < sums.size(); ++i)
      sums[i] += changes[i] * changes[i] / static_cast<double>(batches.count());
  }
  return sums;
}

}  // namespace

std::span<const ImportanceRow> importances() {
  static constexpr std::array kRows = {
      ImportanceRow{"magnitude", "the norm of their weights", magnitude},
      ImportanceRow{"batch_norm", "the scales of their batch norms", batch_norm},
      ImportanceRow{"taylor", "the change of the loss without them, to first order", taylor}};
  return kRows;
}

}  // namespace detol::inline trainer
