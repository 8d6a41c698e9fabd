// One candidate, compiled: [forward steps][loss][backward steps][optimiser].

#include "trainer/backends/program/executable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <new>
#include <optional>
#include <utility>

#include "core/clock.h"
#include "trainer/backends/cpu/backend.h"
#include "trainer/backends/cpu/lower.h"
#include "trainer/backends/loss.h"
#include "trainer/backends/precision.h"

namespace detol::inline trainer {
namespace cpu {
namespace {

constexpr program::Lowerings<Builder> kLowerings = {
    lower_conv,   lower_dense,       lower_norm,     lower_layer_norm, lower_activation,
    lower_pool,   lower_global_pool, lower_flatten,  lower_scale,      lower_dropout,
    lower_concat, lower_quantize,    lower_attention};

class CpuExecutable final : public program::ProgramExecutable {
 public:
  CpuExecutable(const Network& network, const Recipe& recipe, const Placement& placement)
      : builder_(network, recipe, placement),
        whole_batch_(recipe.batch_size),
        batch_(builder_.batch()),
        outputs_(network.output().shape.elements()),
        loss_(training_loss_of(recipe), outputs_, recipe.label_smoothing),
        plain_loss_(training_loss_of(recipe), outputs_, 0) {}

  // Returns the bytes of what compile() and the group's sums would hold. REQUIRES: called once,
  // instead of compile().
  Result<std::size_t> plan(const Network& network) {
    DETOL_TRY(lower(network));
    builder_.plan();
    return bytes();
  }

  Result<void> compile(const Network& network) {
    DETOL_TRY(lower(network));
    builder_.place();
    buckets_ = builder_.parameters().buckets();
    sum_over_ranks(gradient_buckets());
    std::ranges::fill(targets().mixes, MixedLabel{});
    return {};
  }

  std::span<float> images() override {
    return {inputs_.images->as<float>(), static_cast<std::size_t>(batch_ * image_floats_)};
  }
  BatchTargets targets() override {
    const auto images = static_cast<std::size_t>(batch_);
    const bool labels = takes_labels(training_loss_of(builder_.recipe()));
    const auto targets = static_cast<std::size_t>(labels ? 0 : batch_ * outputs_);
    return {.labels = {inputs_.labels->as<std::int32_t>(), images},
            .targets = {inputs_.targets->as<float>(), targets},
            .mixes = {inputs_.mixes->as<MixedLabel>(), images}};
  }
  std::span<const float> logits() const override {
    return {logits_->as<float>(), static_cast<std::size_t>(batch_ * outputs_)};
  }

  BatchResult accumulate(const StepSettings& settings, const Shard& shard) override {
    clear_unused_images(shard);
    run_step({true, settings, shard});
    builder_.parameters().finish_micro_batch(shard.first == micro_batches().front().first);
    return result_;
  }

  void update(const StepSettings& settings) override {
    Parameters& parameters = builder_.parameters();
    const std::optional<StepSettings> of_gradients =
        ranks() != nullptr ? ranks()->finish(gradients(), settings) : settings;
    if (!of_gradients) return;
    const UpdateNumbers now = program::update_numbers(builder_.recipe(), *of_gradients);
    parameters.update(&now);
  }

  BatchResult evaluate(std::int64_t count) override {
    assert(count > 0 && count <= batch_);
    builder_.parameters().swap_average();
    builder_.run(0, loss_step_, {false, {}, {0, count}});
    builder_.parameters().swap_average();
    BatchTargets whole = targets();
    whole.mixes = {};
    return plain_loss_(
        LossInput<float>{.logits = logits().first(static_cast<std::size_t>(count * outputs_)),
                         .targets = whole,
                         .gradient = {},
                         .batch = count});
  }

  std::size_t bytes() const override {
    return builder_.arena().bytes() +
           bytes_of_sums(builder_.recipe(), gradient_buckets(), builder_.group().size());
  }

  // Adds the seconds of one training step to those of its nodes.
  void time_step(std::vector<NodeTime>& nodes) {
    const StepContext context{true, {.lr = 1e-3}, builder_.micro_batches().front()};
    double before = thread_seconds();
    for (std::size_t i = 0; i < builder_.size(); ++i) {
      builder_.run(i, i + 1, context);
      const double after = thread_seconds();
      NodeTime& node = nodes[builder_.steps()[i].node];
      (i < loss_step_ ? node.forward_s : node.backward_s) += after - std::exchange(before, after);
    }
    update(context.settings);
  }

 private:
  const program::Program& program() const override { return builder_; }

  Result<void> lower(const Network& network) {
    inputs_ = builder_.make_inputs(kPlain, outputs_);
    image_floats_ = network.input_shape().elements();
    DETOL_TRY(program::lower_network(builder_, network, kLowerings));
    make_loss(builder_.value(network.nodes().size() - 1, kPlain));
    builder_.lower_backward();
    return {};
  }

  // Runs the steps; during the backward steps, finished gradients are summed over the ranks, and
  // advance() lets these sums progress.
  void run_step(const StepContext& context) {
    if (!overlaps()) return builder_.run(0, builder_.size(), context);
    std::size_t step = buckets_.front().ready;
    builder_.run(0, step, context);
    for (const program::ScheduledBucket& bucket : buckets_) {
      for (; step < bucket.ready; ++step) {
        builder_.run(step, step + 1, context);
        builder_.group().advance();
      }
      ranks()->start_next(gradients());
    }
    builder_.run(step, builder_.size(), context);
  }

  // Returns whether sums begin inside the step: in a group that trains its shard as one
  // micro-batch.
  bool overlaps() { return ranks() != nullptr && !buckets_.empty() && micro_batches().size() == 1; }

  std::span<float> gradients() const {
    const Parameters& parameters = builder_.parameters();
    return {parameters.gradients(), parameters.trainable()};
  }

  std::vector<GradientBucket> gradient_buckets() const {
    std::vector<GradientBucket> buckets;
    for (const program::ScheduledBucket& one : builder_.parameters().buckets())
      buckets.push_back(one.bucket);
    return buckets;
  }

  void make_loss(Value& logits) {
    loss_step_ = builder_.size();
    logits_ = logits.data;
    builder_.arena().use(logits_, Arena::kAlways);
    Buffer* gradient = logits.needs_gradient ? builder_.add_gradient(logits) : logits_;
    builder_.step({logits_, gradient},
                  [this, gradient, wanted = logits.needs_gradient](auto& context) {
                    const auto outputs = static_cast<std::size_t>(context.shard.count * outputs_);
                    const auto floats = static_cast<std::size_t>(wanted ? batch_ * outputs_ : 0);
                    const std::span<float> all(gradient->as<float>(), floats);
                    const std::size_t used = wanted ? outputs : 0;
                    result_ = loss_(LossInput<float>{.logits = this->logits().first(outputs),
                                                     .targets = targets(),
                                                     .gradient = all.first(used),
                                                     .batch = whole_batch_});
                    std::ranges::fill(all.subspan(used), 0.0f);
                  });
  }

  Builder builder_;
  const std::int64_t whole_batch_;      // images of all ranks
  const std::int64_t batch_, outputs_;  // batch_: images of a run
  std::int64_t image_floats_ = 0;
  std::size_t loss_step_ = 0;
  std::vector<program::ScheduledBucket> buckets_;
  program::Inputs inputs_;
  Buffer* logits_ = nullptr;
  Loss loss_, plain_loss_;
  BatchResult result_;
};

}  // namespace

}  // namespace cpu

std::string onednn_version() {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
}

std::string cpu_vectors() {
  return cpu::machine().lanes() == 16 ? "AVX-512" : "AVX2";
}

void forget_compiled() {
  cpu::machine();
  dnnl::set_primitive_cache_capacity(0);
  dnnl::set_primitive_cache_capacity(cpu::kCachedPrimitives);
}

Result<std::vector<std::vector<NodeTime>>> time_cpu(
    const Network& network, const Recipe& recipe, int steps,
    const std::function<void(Executable&)>& prepare) {
  cpu::CpuExecutable executable(network, recipe, {});
  DETOL_TRY(executable.compile(network));
  prepare(executable);
  std::vector<std::vector<NodeTime>> times;
  for (int i = 0; i < steps; ++i) executable.time_step(times.emplace_back(network.nodes().size()));
  return times;
}

Result<std::unique_ptr<Executable>> compile_cpu(const Network& network, const Recipe& recipe,
                                                const Placement& placement) {
  DETOL_TRY(check_fp32(recipe));
  return cpu::caught([&]() -> Result<std::unique_ptr<Executable>> {
    auto executable = std::make_unique<cpu::CpuExecutable>(network, recipe, placement);
    DETOL_TRY(executable->compile(network));
    return executable;
  });
}

Result<std::size_t> plan_bytes_cpu(const Network& network, const Recipe& recipe,
                                   const Placement& placement) {
  return cpu::caught([&] { return cpu::CpuExecutable(network, recipe, placement).plan(network); });
}

}  // namespace detol::inline trainer
