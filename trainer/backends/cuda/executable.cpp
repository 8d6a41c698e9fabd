// CudaExecutable: a compiled candidate, as the training loop uses it. Batches from the host go
// through pinned memory; resident.cpp makes those of a data set on the device.

#include "trainer/backends/program/executable.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <map>
#include <new>
#include <optional>

#include "encodings/study/training_settings.h"
#include "trainer/backends/cuda/backend.h"
#include "trainer/backends/cuda/compiled.h"
#include "trainer/backends/cuda/resident.h"
#include "trainer/data/class_weights.h"

namespace detol::inline trainer::cuda {
namespace {

class CudaExecutable final : public program::ProgramExecutable {
 public:
  CudaExecutable(const Network& network, const Recipe& recipe, const Placement& placement,
                 std::size_t most_scratch)
      : compiled_(network, recipe, placement, most_scratch),
        group_(*placement.group),
        batch_(compiled_.builder().batch()),
        image_floats_(network.input_shape().elements()),
        positions_(network.input_shape().height * network.input_shape().width) {}

  Result<void> compile(const Network& network) {
    DETOL_TRY(compiled_.compile(network));
    const auto images = static_cast<std::size_t>(batch_);
    const auto targets = static_cast<std::size_t>(compiled_.outputs());
    images_ = HostMemory(images * static_cast<std::size_t>(image_floats_) * sizeof(float));
    staged_ = DeviceMemory(images_.bytes());
    labels_ = HostMemory(images * sizeof(std::int32_t));
    if (!compiled_.takes_labels()) targets_ = HostMemory(images * targets * sizeof(float));
    mixes_ = HostMemory(images * sizeof(MixedLabel));
    result_ = HostMemory(sizeof(BatchResult));
    logits_.resize(images * targets);
    if (group_.size() > 1 && !compiled_.sums_on_device()) make_sums();
    return {};
  }

  std::span<float> images() override {
    return {images_.as<float>(), images_.bytes() / sizeof(float)};
  }
  BatchTargets targets() override {
    return {.labels = {labels_.as<std::int32_t>(), labels_.bytes() / sizeof(std::int32_t)},
            .targets = {targets_.as<float>(), targets_.bytes() / sizeof(float)},
            .mixes = {mixes_.as<MixedLabel>(), mixes_.bytes() / sizeof(MixedLabel)}};
  }

  BatchResult accumulate(const StepSettings& settings, const Shard& shard) override {
    clear_unused_images(shard);
    set_numbers(settings);
    upload();
    recording_of(shard).run();
    wait();
    has_logits_ = false;
    return *result_.as<const BatchResult>();
  }

  void update(const StepSettings& settings) override {
    const std::optional<StepSettings> of_gradients = sum_on_host(settings);
    if (!of_gradients) return;
    set_numbers(*of_gradients);
    if (!update_) {
      std::vector<Action> actions;
      compiled_.append_update(actions);
      update_.emplace(actions);
    }
    update_->run();
  }

  BatchResult evaluate(std::int64_t count) override {
    assert(count > 0 && count <= batch_);
    upload();
    compiled_.builder().parameters().swap_average();
    evaluation_of(count).run();
    compiled_.builder().parameters().swap_average();
    wait();
    has_logits_ = false;
    return *result_.as<const BatchResult>();
  }

  // Copies the device's logits, without the padding of their rows.
  std::span<const float> logits() const override {
    if (has_logits_) return logits_;
    compiled_.read_logits(batch_, logits_);
    has_logits_ = true;
    return logits_;
  }

  TrainingState state() const override {
    wait();
    return ProgramExecutable::state();
  }

  std::size_t bytes() const override { return compiled_.bytes() + staged_.bytes(); }

  DeviceSteps* steps_on(const Dataset& data) override {
    if (resident_ && same_data(data)) return &*resident_;
    resident_.reset();
    std::shared_ptr<const DeviceData> on_device;
    const bool may = !is_encoded(data) && (group_.size() == 1 || compiled_.sums_on_device());
    if (may) on_device = device_data(data, form_on(data));
    // All ranks train on data on the device, or none does.
    std::array<double, 1> without = {on_device == nullptr ? 1.0 : 0.0};
    group_.sum(std::span(without));
    if (without[0] != 0) return nullptr;
    resident_.emplace(compiled_, std::move(on_device));
    return &*resident_;
  }

 private:
  const program::Program& program() const override { return compiled_.builder(); }

  bool same_data(const Dataset& data) const { return resident_->data().is_of(data, form_on(data)); }
  TargetForm form_on(const Dataset& data) const {
    return {compiled_.outputs(), compiled_.takes_labels(),
            class_weights_of(compiled_.recipe(), data)};
  }

  // Sends the numbers of a step that kernels read.
  void set_numbers(const StepSettings& settings) {
    const Builder& builder = compiled_.builder();
    const StepRow row = compiled_.row_of(settings);
    std::vector<std::uint64_t> keys(builder.dropouts().size());
    compiled_.keys_of(settings, keys);
    to_device(const_cast<StepRow*>(builder.now()), &row, sizeof(row));
    if (!keys.empty()) to_device(builder.keys(), keys.data(), keys.size() * sizeof(std::uint64_t));
    wait();  // `row` and `keys` are read until then
  }

  void upload() {
    to_device(staged_.data(), images_.data(), images_.bytes());
    to_device(compiled_.labels(), labels_.data(), labels_.bytes());
    to_device(compiled_.mixes(), mixes_.data(), mixes_.bytes());
    if (targets_.bytes() > 0) to_device(compiled_.targets(), targets_.data(), targets_.bytes());
  }

  std::function<void()> import() const {
    return [this] {
      import_images(compiled_.builder().type(), staged_.as<float>(), batch_,
                    image_floats_ / positions_, positions_, compiled_.input(), device().stream);
    };
  }

  const Recording& recording_of(const Shard& shard) {
    const std::span<const Shard> all = micro_batches();
    const auto is_it = [&](const Shard& one) {
      return one.first == shard.first && one.count == shard.count;
    };
    const auto index = static_cast<std::size_t>(std::ranges::find_if(all, is_it) - all.begin());
    const auto found = recordings_.find(index);
    if (found != recordings_.end()) return found->second;
    std::vector<Action> actions;
    compiled_.append_micro_batch(actions, index, import(),
                                 {.results = result_.on_device<BatchResult>()});
    return recordings_.emplace(index, Recording(actions)).first->second;
  }

  const Recording& evaluation_of(std::int64_t count) {
    const auto found = evaluations_.find(count);
    if (found != evaluations_.end()) return found->second;
    std::vector<Action> actions;
    compiled_.append_evaluation(actions, count, count, import(),
                                {.results = result_.on_device<BatchResult>()});
    return evaluations_.emplace(count, Recording(actions)).first->second;
  }

  Parameters& parameters() { return compiled_.builder().parameters(); }

  void make_sums() {
    const std::array<GradientBucket, 1> all = {GradientBucket{0, parameters().trainable()}};
    host_gradients_.resize(all[0].floats);
    sum_over_ranks(all);
  }

  // Sums the gradients on the host, if they are not summed on the device. Returns what
  // RankStep::finish() does.
  std::optional<StepSettings> sum_on_host(const StepSettings& settings) {
    if (ranks() == nullptr) return settings;
    const std::size_t bytes = host_gradients_.size() * sizeof(float);
    float* gradients = parameters().gradients();
    to_host(host_gradients_.data(), gradients, bytes);
    const auto of_gradients = ranks()->finish(host_gradients_, settings);
    if (!of_gradients) return std::nullopt;
    to_device(gradients, host_gradients_.data(), bytes);
    wait();
    return of_gradients;
  }

  Compiled compiled_;
  Group& group_;
  const std::int64_t batch_, image_floats_, positions_;
  HostMemory images_, labels_, targets_, mixes_, result_;
  DeviceMemory staged_;
  mutable std::vector<float> logits_;
  mutable bool has_logits_ = false;
  std::map<std::size_t, Recording> recordings_;
  std::map<std::int64_t, Recording> evaluations_;
  std::optional<Recording> update_;
  std::vector<float> host_gradients_;
  std::optional<Resident> resident_;
};

}  // namespace

// Compiles with algorithms that need little memory if it is short. In a group the ranks would have
// to agree on that: there std::bad_alloc is thrown, and the caller tells the other ranks.
Result<std::unique_ptr<Executable>> compile(const Network& network, const Recipe& recipe,
                                            const Placement& placement) {
  DETOL_TRY(check_words(recipe));
  const auto within = [&](std::size_t most_scratch) -> Result<std::unique_ptr<Executable>> {
    auto executable = std::make_unique<CudaExecutable>(network, recipe, placement, most_scratch);
    DETOL_TRY(executable->compile(network));
    return executable;
  };
  if (placement.group->size() > 1) return within(kMostScratch);
  try {
    return within(kMostScratch);
  } catch (const std::bad_alloc&) {
    return within(kLeastScratch);
  }
}

}  // namespace detol::inline trainer::cuda
