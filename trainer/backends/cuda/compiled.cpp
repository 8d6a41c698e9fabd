#include "trainer/backends/cuda/compiled.h"

#include <algorithm>

#include "trainer/backends/cuda/clock.h"
#include "trainer/backends/cuda/lower.h"
#include "trainer/backends/dropout.h"
#include "trainer/backends/loss.h"

namespace detol::inline trainer::cuda {
namespace {

constexpr program::Lowerings<Builder> kLowerings = {
    lower_conv,   lower_dense,       lower_norm,     lower_layer_norm, lower_activation,
    lower_pool,   lower_global_pool, lower_flatten,  lower_scale,      lower_dropout,
    lower_concat, lower_quantize,    lower_attention};

}  // namespace

Compiled::Compiled(const Network& network, const Recipe& recipe, const Placement& placement,
                   std::size_t most_scratch)
    : sums_(make_sums(*placement.group)),
      builder_(network, recipe, placement, *sums_, most_scratch),
      outputs_(network.output().shape.elements()) {}

bool Compiled::sums_on_device() const {
  return sums_->is_on_device() && compression_of(recipe()) == CompressionKind::kNone &&
         recipe().staleness == 0;
}

Result<std::vector<TunableConv>> Compiled::find_tunable_convs(const Network& network) {
  make_inputs();
  DETOL_TRY(program::lower_network(builder_, network, kLowerings));
  return builder_.tunable_convs();
}

Result<void> Compiled::compile(const Network& network) {
  make_inputs();
  DETOL_TRY(program::lower_network(builder_, network, kLowerings));
  make_loss(builder_.flattened(builder_.value(network.nodes().size() - 1)));
  builder_.lower_backward();
  steps_.assign(builder_.steps().begin(), builder_.steps().end());
  builder_.place();
  warm_up();
  builder_.parameters().bind();
  set_to_zero(inputs_.mixes->data, inputs_.mixes->bytes);
  wait();
  return {};
}

void Compiled::make_inputs() {
  inputs_ = builder_.make_inputs(kOfNetwork, outputs_);
  Arena& arena = builder_.arena();
  const auto images = static_cast<std::size_t>(builder_.batch());
  losses_ = arena.make_persistent(images * sizeof(double));
  rights_ = arena.make_persistent(images * sizeof(std::int32_t));
  total_ = arena.make_persistent(sizeof(BatchResult));
}

void Compiled::make_loss(Value& logits) {
  loss_step_ = builder_.size();
  output_ = logits.data;
  converts_ = builder_.type() != Type::kFloat && logits.layout != kFloats;
  logits_ = converts_ ? builder_.floats(builder_.elements(logits)) : output_;
  builder_.arena().use(output_, static_cast<int>(loss_step_));
  if (!converts_) builder_.arena().use(logits_, Arena::kAlways);
  if (logits.needs_gradient) gradient_ = builder_.add_gradient(logits);
  std::vector<Buffer*> uses = {output_, logits_};
  if (gradient_ != nullptr) uses.push_back(gradient_);
  builder_.step(uses, [](const StepContext&) {});  // the callers of loss_call() append the loss
}

void Compiled::read_logits(std::int64_t images, std::span<float> all) const {
  const auto each = static_cast<std::size_t>(outputs_), stride = static_cast<std::size_t>(width());
  std::vector<float> rows(static_cast<std::size_t>(images) * stride);
  to_host(rows.data(), logits(), rows.size() * sizeof(float));
  for (std::size_t i = 0; i < static_cast<std::size_t>(images); ++i)
    std::ranges::copy(std::span(rows).subspan(i * stride, each), all.subspan(i * each).begin());
}

LossCall Compiled::loss_call(std::int64_t images) const {
  return {.kind = training_loss_of(recipe()),
          .images = images,
          .images_held = builder_.batch(),
          .outputs = outputs_,
          .width = width(),
          .batch = static_cast<double>(recipe().batch_size),
          .smoothing = recipe().label_smoothing,
          .logits = logits(),
          .labels = labels(),
          .targets = targets(),
          .mixes = mixes(),
          .gradient = gradient_ != nullptr ? gradient_->data : nullptr,
          .type = builder_.type(),
          .losses = losses_->as<double>(),
          .rights = rights_->as<std::int32_t>(),
          .total = total()};
}

void Compiled::append_steps(std::vector<Action>& actions, std::size_t first, std::size_t end,
                            const StepContext& context) const {
  for (std::size_t i = first; i < end; ++i) {
    const Step& step = steps_[i];
    actions.push_back({step.on_host, [&step, context] { step.run(context); }});
  }
  if (end != loss_step_ || !converts_) return;
  actions.push_back({false, [this] {
                       to_floats(builder_.type(), output_->data, logits_->as<float>(),
                                 builder_.batch() * width(), device().stream);
                     }});
}

void Compiled::append_micro_batch(std::vector<Action>& actions, std::size_t index,
                                  const std::function<void()>& fill, const Report& report) {
  const StepContext context{.settings = {}, .shard = builder_.micro_batches()[index]};
  if (fill) actions.push_back({false, fill});
  append_steps(actions, 0, loss_step_, context);
  LossCall call = loss_call(context.shard.count);
  call.results = report.results;
  call.now = report.now;
  call.adds = report.adds;
  actions.push_back({false, [call] { loss(call, device().stream); }});
  append_steps(actions, loss_step_ + 1, steps_.size(), context);
  actions.push_back(
      {false, [this, index] { builder_.parameters().finish_micro_batch(index == 0); }});
}

void Compiled::append_update(std::vector<Action>& actions) {
  if (sums_on_device())
    actions.push_back({false, [this] {
                         const Parameters& parameters = builder_.parameters();
                         sums_->sum(parameters.gradients(), parameters.trainable());
                       }});
  actions.push_back({false, [this] { builder_.parameters().update(builder_.now()); }});
}

void Compiled::append_evaluation(std::vector<Action>& actions, std::int64_t count,
                                 std::int64_t batch, const std::function<void()>& fill,
                                 const Report& report) {
  if (fill) actions.push_back({false, fill});
  append_steps(actions, 0, loss_step_, {.training = false, .settings = {}, .shard = {0, count}});
  LossCall call = loss_call(count);
  call.batch = static_cast<double>(batch);
  call.smoothing = 0;
  call.mixes = nullptr;
  call.gradient = nullptr;
  call.results = report.results;
  call.adds = report.adds;
  actions.push_back({false, [call] { loss(call, device().stream); }});
}

// Some libraries load code when it is first used, which is not allowed while a graph is recorded.
void Compiled::warm_up() {
  const HostMemory result(sizeof(BatchResult));
  set_to_zero(inputs_.images->data, inputs_.images->bytes);
  set_to_zero(inputs_.labels->data, inputs_.labels->bytes);
  set_to_zero(inputs_.targets->data, inputs_.targets->bytes);
  set_to_zero(inputs_.mixes->data, inputs_.mixes->bytes);
  std::vector<Action> actions;
  append_micro_batch(actions, 0, {}, {.results = result.on_device<BatchResult>()});
  append_update(actions);
  for (const Action& action : actions) {
    if (!action.on_host) action.run();
  }
  wait();
}

void Compiled::time_step(std::span<NodeSeconds> nodes) {
  Clock clock;
  const StepContext context{.settings = {}, .shard = builder_.micro_batches().front()};
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const double seconds = clock.time([&] { steps_[i].run(context); });
    NodeSeconds& node = nodes[steps_[i].node];
    (i < loss_step_ ? node.forward : node.backward) += seconds;
  }
}

StepRow Compiled::row_of(const StepSettings& settings) const {
  return {program::update_numbers(recipe(), settings)};
}

void Compiled::keys_of(const StepSettings& settings, std::span<std::uint64_t> keys) const {
  const std::span<const NodeId> nodes = builder_.dropouts();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const DropoutStream stream{.seed = settings.seed, .step = settings.step, .node = nodes[i]};
    keys[i] = draw_of(stream, builder_.node(nodes[i]).layer.rate).key;
  }
}

}  // namespace detol::inline trainer::cuda
