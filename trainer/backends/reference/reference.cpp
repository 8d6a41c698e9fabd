#include "trainer/backends/reference/reference.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <optional>
#include <utility>

#include "trainer/backends/loss.h"
#include "trainer/backends/optimizer.h"
#include "trainer/backends/optimizer_functions.h"
#include "trainer/backends/precision.h"
#include "trainer/backends/program/rank_step.h"
#include "trainer/backends/reference/layers.h"

namespace detol::inline trainer {
namespace {

using reference::LayerContext;
using reference::View;

template <typename Real>
using Tensors = std::vector<std::vector<Real>>;

template <typename Real>
class ReferenceExecutable final : public Reference<Real> {
 public:
  ReferenceExecutable(const Network& network, const Recipe& recipe, const Placement& placement)
      : network_(network),
        recipe_(recipe),
        group_(*placement.group),
        micro_batches_(micro_batches_of(recipe.batch_size, placement)),
        specs_(network.parameters()),
        images_(elements(network.input_shape())),
        labels_(static_cast<std::size_t>(micro_batches_.front().count)),
        mixes_(labels_.size()),
        loss_(training_loss_of(recipe), network.output().shape.elements(), recipe.label_smoothing),
        plain_loss_(training_loss_of(recipe), network.output().shape.elements(), 0) {
    for (const Node& node : network.nodes()) {
      activations_.emplace_back(elements(node.shape));
      activation_gradients_.emplace_back(elements(node.shape));
    }
    for (const NetworkParameter& parameter : specs_) {
      parameters_.emplace_back(static_cast<std::size_t>(parameter.spec.elements()));
    }
    gradients_ = parameters_;
    moments_.assign(static_cast<std::size_t>(moments_of(recipe)), parameters_);
    if (recipe.ema > 0) average_ = parameters_;
    if (group_.size() > 1) make_sums();
    logits_.resize(activations_.back().size());
    if (!takes_labels(training_loss_of(recipe))) targets_.resize(logits_.size());
  }

  std::span<const Shard> micro_batches() const override { return micro_batches_; }
  std::span<float> images() override { return images_; }
  BatchTargets targets() override { return {labels_, targets_, mixes_}; }
  std::span<const float> logits() const override { return logits_; }
  Tensors<Real>& parameters() override { return parameters_; }
  const Tensors<Real>& gradients() const override { return gradients_; }

  BatchResult differentiate(const StepSettings& settings) override {
    set_to_zero(gradients_);
    return accumulate(settings, micro_batches_.front());
  }

  BatchResult accumulate(const StepSettings& settings, const Shard& shard) override {
    run_forward({shard, true, settings});
    set_to_zero(activation_gradients_);
    const std::size_t all = static_cast<std::size_t>(shard.count) * outputs();
    const BatchResult result =
        loss_(LossInput<Real>{.logits = std::span<const Real>(activations_.back()).first(all),
                              .targets = targets(),
                              .gradient = std::span<Real>(activation_gradients_.back()).first(all),
                              .batch = recipe_.batch_size});
    for (NodeId id = network_.nodes().size(); id-- > 0;) {
      reference::backward(context(id, {shard, true, settings}));
    }
    return result;
  }

  void update(const StepSettings& settings) override {
    const std::optional<StepSettings> of_gradients = sum_gradients(settings);
    if (!of_gradients) return set_to_zero(gradients_);
    clip();
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      if (specs_[i].spec.trainable) update_tensor(i, *of_gradients);
    }
    if (recipe_.ema > 0) move_average(of_gradients->step);
    set_to_zero(gradients_);
  }

  void share_statistics() override {
    for (Tensors<Real>* tensors : {&parameters_, &average_}) {
      for (std::size_t i = 0; i < tensors->size(); ++i) {
        if (specs_[i].spec.trainable) continue;
        std::vector<Real>& statistic = (*tensors)[i];
        if (group_.rank() != 0) std::fill(statistic.begin(), statistic.end(), Real{0});
        group_.sum(std::span(statistic));
      }
    }
  }

  void share_state() override {
    if (ranks_) ranks_->share();
  }

  BatchResult evaluate(std::int64_t count) override {
    assert(count > 0 && count <= std::ssize(labels_));
    if (recipe_.ema > 0) std::swap(parameters_, average_);
    run_forward({{0, count}, false, {}});
    if (recipe_.ema > 0) std::swap(parameters_, average_);
    const std::size_t all = static_cast<std::size_t>(count) * outputs();
    return plain_loss_(
        LossInput<Real>{.logits = std::span<const Real>(activations_.back()).first(all),
                        .targets = {labels_, targets_},
                        .gradient = {},
                        .batch = count});
  }

  TrainingState state() const override {
    TrainingState state;
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      state.weights.push_back(exported(i, parameters_[i]));
    }
    for (const Tensors<Real>& moment : moments_) {
      Weights& out = state.moments.emplace_back();
      for (std::size_t i = 0; i < specs_.size(); ++i) {
        if (specs_[i].spec.trainable) out.push_back(exported(i, moment[i]));
      }
    }
    for (std::size_t i = 0; i < average_.size(); ++i) {
      state.average.push_back(exported(i, average_[i]));
    }
    if (ranks_)
      ranks_->save(state, [this](std::span<const float> flat) { return tensors_of(flat); });
    return state;
  }

  void set_state(const TrainingState& state) override {
    if (ranks_) ranks_->restore(state, flat_of);
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      parameters_[i].assign(state.weights[i].data.begin(), state.weights[i].data.end());
    }
    for (std::size_t i = 0; i < average_.size(); ++i) {
      const Tensor& tensor = scored_weights(state)[i];
      average_[i].assign(tensor.data.begin(), tensor.data.end());
    }
    for (std::size_t m = 0; m < moments_.size(); ++m) {
      std::size_t next = 0;
      for (std::size_t i = 0; i < specs_.size(); ++i) {
        std::vector<Real>& moment = moments_[m][i];
        if (m >= state.moments.size()) moment.assign(moment.size(), Real{0});
        if (m >= state.moments.size() || !specs_[i].spec.trainable) continue;
        const Tensor& tensor = state.moments[m][next++];
        moment.assign(tensor.data.begin(), tensor.data.end());
      }
    }
  }

  std::size_t bytes() const override {
    std::size_t reals = 0;
    for (const auto& tensor : activations_) reals += 2 * tensor.size();
    for (const auto& tensor : parameters_) reals += (2 + moments_.size()) * tensor.size();
    for (const auto& tensor : average_) reals += tensor.size();
    return reals * sizeof(Real) + images_.size() * sizeof(float);
  }

 private:
  struct Pass {
    Shard shard;
    bool training = true;
    const StepSettings& settings;
  };

  static void set_to_zero(Tensors<Real>& tensors) {
    for (std::vector<Real>& tensor : tensors) std::fill(tensor.begin(), tensor.end(), Real{0});
  }

  std::size_t elements(const Shape& shape) const {
    return static_cast<std::size_t>(micro_batches_.front().count * shape.elements());
  }

  std::size_t outputs() const { return logits_.size() / labels_.size(); }

  View<Real> view(Tensors<Real>& tensors, NodeId id, std::int64_t count) {
    const Shape& shape = network_.nodes()[id].shape;
    const auto used = static_cast<std::size_t>(count * shape.elements());
    return {shape, std::span<Real>(tensors[id]).first(used)};
  }

  LayerContext<Real> context(NodeId id, const Pass& pass) {
    const Node& node = network_.nodes()[id];
    const std::int64_t count = pass.shard.count;
    LayerContext<Real> context;
    context.layer = &node.layer;
    context.images = count;
    context.training = pass.training;
    context.dropout = {pass.settings.seed, pass.settings.step, id, pass.shard.first};
    if (recipe_.sync_batch_norm) context.norm_group = &group_;
    for (NodeId input : node.inputs) {
      context.inputs.push_back(view(activations_, input, count));
      context.input_gradients.push_back(view(activation_gradients_, input, count));
    }
    context.output = view(activations_, id, count);
    context.output_gradient = view(activation_gradients_, id, count);
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      if (specs_[i].node != id) continue;
      context.parameters.push_back(parameters_[i]);
      context.parameter_gradients.push_back(gradients_[i]);
    }
    return context;
  }

  void run_forward(const Pass& pass) {
    std::copy(images_.begin(), images_.end(), activations_.front().begin());
    for (NodeId id = 0; id < network_.nodes().size(); ++id) {
      reference::forward(context(id, pass));
    }
    for (std::size_t i = 0; i < logits_.size(); ++i) {
      logits_[i] = static_cast<float>(activations_.back()[i]);
    }
  }

  // Calls action(i, its range of `flat`) for every trainable tensor i.
  template <typename Float, typename Action>
  void for_trainable(std::span<Float> flat, const Action& action) const {
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      if (!specs_[i].spec.trainable) continue;
      action(i, flat.first(gradients_[i].size()));
      flat = flat.subspan(gradients_[i].size());
    }
  }

  // Sums the gradients over the ranks, in single precision; each tensor is a bucket. Returns what
  // RankStep::finish() does.
  std::optional<StepSettings> sum_gradients(const StepSettings& settings) {
    if (!ranks_) return settings;
    for_trainable(std::span(flat_), [&](std::size_t i, std::span<float> flat) {
      std::ranges::transform(gradients_[i], flat.begin(),
                             [](Real value) { return static_cast<float>(value); });
    });
    const auto of_gradients = ranks_->finish(flat_, settings);
    if (!of_gradients) return std::nullopt;
    for_trainable(std::span(flat_), [&](std::size_t i, std::span<float> flat) {
      std::ranges::copy(flat, gradients_[i].begin());
    });
    return of_gradients;
  }

  Weights tensors_of(std::span<const float> flat) const {
    Weights tensors;
    for_trainable(flat, [&](std::size_t i, std::span<const float> one) {
      tensors.push_back(
          {specs_[i].name, specs_[i].spec.shape, std::vector(one.begin(), one.end())});
    });
    return tensors;
  }

  static std::vector<float> flat_of(const Weights& tensors) {
    std::vector<float> flat;
    for (const Tensor& one : tensors) flat.insert(flat.end(), one.data.begin(), one.data.end());
    return flat;
  }

  void make_sums() {
    std::vector<GradientBucket> buckets;
    for (const NetworkParameter& parameter : specs_) {
      if (!parameter.spec.trainable) continue;
      const auto floats = static_cast<std::size_t>(parameter.spec.elements());
      buckets.push_back({flat_.size(), floats});
      flat_.resize(flat_.size() + floats);
    }
    ranks_.emplace(recipe_, group_, buckets);
  }

  void clip() {
    double squares = 0;
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      if (specs_[i].spec.trainable) squares += squares_of(gradients_[i]);
    }
    const auto factor = static_cast<Real>(clip_factor(recipe_, std::sqrt(squares)));
    if (factor == 1) return;
    for (std::vector<Real>& tensor : gradients_) {
      for (Real& gradient : tensor) gradient *= factor;
    }
  }

  void update_tensor(std::size_t i, const StepSettings& settings) {
    const auto steps = static_cast<double>(settings.step + 1);
    const OptimizerKind optimizer = optimizer_of(recipe_);
    const OptimizerRule<Real> rule{
        .lr = optimizer == OptimizerKind::kLars ? rate_of(i, settings.lr)
                                                : static_cast<Real>(settings.lr),
        .decay = static_cast<Real>(specs_[i].spec.decays ? recipe_.weight_decay : 0),
        .momentum = static_cast<Real>(recipe_.momentum),
        .beta2 = static_cast<Real>(recipe_.beta2),
        .epsilon = static_cast<Real>(recipe_.epsilon),
        .unbiased1 = static_cast<Real>(1 - std::pow(recipe_.momentum, steps)),
        .unbiased2 = static_cast<Real>(1 - std::pow(recipe_.beta2, steps)),
        .nesterov = recipe_.nesterov};
    Real none = 0;
    with_optimizer(optimizer, [&]<OptimizerKind kKind>() {
      for (std::size_t k = 0; k < parameters_[i].size(); ++k) {
        Real& second = moments_.size() > 1 ? moments_[1][i][k] : none;
        update_weight<kKind>(rule, gradients_[i][k], parameters_[i][k], moments_[0][i][k], second);
      }
    });
  }

  // Returns the rate of a tensor under lars.
  Real rate_of(std::size_t i, double lr) const {
    if (!specs_[i].spec.decays) return static_cast<Real>(lr);
    const double weights = std::sqrt(squares_of(parameters_[i]));
    return static_cast<Real>(lars_rate(recipe_, lr, weights, std::sqrt(squares_of(gradients_[i]))));
  }

  static double squares_of(const std::vector<Real>& tensor) {
    return sum_of_squares(std::span<const Real>(tensor));
  }

  void move_average(std::int64_t step) {
    const auto kept = static_cast<Real>(average_decay(recipe_, step));
    for (std::size_t i = 0; i < average_.size(); ++i) {
      for (std::size_t k = 0; k < average_[i].size(); ++k) {
        average_[i][k] = kept * average_[i][k] + (1 - kept) * parameters_[i][k];
      }
    }
  }

  Tensor exported(std::size_t i, const std::vector<Real>& values) const {
    Tensor tensor{specs_[i].name, specs_[i].spec.shape, {}};
    for (Real value : values) tensor.data.push_back(static_cast<float>(value));
    return tensor;
  }

  const Network network_;
  const Recipe recipe_;
  Group& group_;
  const std::vector<Shard> micro_batches_;
  const std::vector<NetworkParameter> specs_;
  std::vector<float> images_;
  std::vector<std::int32_t> labels_;
  std::vector<float> targets_;
  std::vector<MixedLabel> mixes_;
  Loss loss_, plain_loss_;
  Tensors<Real> activations_, activation_gradients_;  // per node
  Tensors<Real> parameters_, gradients_;              // per parameter
  std::vector<Tensors<Real>> moments_;
  Tensors<Real> average_;                   // of parameters_; empty without ema
  std::vector<float> flat_;                 // the trainable gradients, in a group
  std::optional<program::RankStep> ranks_;  // of a group
  std::vector<float> logits_;
};

}  // namespace

template <typename Real>
std::unique_ptr<Reference<Real>> make_reference(const Network& network, const Recipe& recipe,
                                                const Placement& placement) {
  return std::make_unique<ReferenceExecutable<Real>>(network, recipe, placement);
}

template std::unique_ptr<Reference<float>> make_reference(const Network&, const Recipe&,
                                                          const Placement&);
template std::unique_ptr<Reference<double>> make_reference(const Network&, const Recipe&,
                                                           const Placement&);

Result<std::unique_ptr<Executable>> compile_reference(const Network& network, const Recipe& recipe,
                                                      const Placement& placement) {
  DETOL_TRY(check_fp32(recipe));
  return make_reference<float>(network, recipe, placement);
}

}  // namespace detol::inline trainer
