#include "trainer/backends/cuda/resident.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace detol::inline trainer::cuda {
namespace {

constexpr std::size_t kEvents = 64;
constexpr std::size_t kCounterBytes = 256;

std::int64_t* next_row(const DeviceMemory& counters) {
  return counters.as<std::int64_t>();
}
std::int64_t* first_image(const DeviceMemory& counters) {
  return counters.as<std::int64_t>() + 1;
}

}  // namespace

void Upload::put(const void* values, std::size_t bytes) {
  if (bytes > memory_.bytes()) {
    wait();
    memory_ = DeviceMemory();
    memory_ = DeviceMemory(bytes);
    staging_ = HostMemory(bytes);
    moved_ = true;
  }
  if (bytes == 0) return;
  std::memcpy(staging_.data(), values, bytes);
  to_device(memory_.data(), staging_.data(), bytes);
}

Resident::Resident(Compiled& compiled, std::shared_ptr<const DeviceData> data)
    : compiled_(compiled),
      data_(std::move(data)),
      counters_(kCounterBytes),
      evaluation_(sizeof(BatchResult)),
      events_(kEvents) {
  for (cudaEvent_t& event : events_)
    check(cudaEventCreateWithFlags(&event, cudaEventBlockingSync | cudaEventDisableTiming),
          "making an event");
}

Resident::~Resident() {
  cudaStreamSynchronize(device().stream);  // the device may still use what is destroyed here
  for (cudaEvent_t event : events_) cudaEventDestroy(event);
}

BatchCall Resident::batch_call(const Shard& shard) const {
  const Recipe& recipe = compiled_.recipe();
  BatchCall call = data_->call();
  call.type = compiled_.builder().type();
  call.images = shard.count;
  call.images_held = compiled_.builder().batch();
  call.shard_first = shard.first;
  call.out = compiled_.input();
  call.labels = compiled_.labels();
  call.targets = compiled_.takes_labels() ? nullptr : compiled_.targets();
  call.cutout = recipe.cutout;
  call.mixes_images = recipe.mixup > 0;
  return call;
}

void Resident::record_step() {
  std::vector<Action> actions;
  Builder& builder = compiled_.builder();
  StepRow* now = const_cast<StepRow*>(builder.now());
  const auto keys = static_cast<std::int64_t>(builder.dropouts().size());
  actions.push_back({false, [this, now, keys, &builder] {
                       next_step(rows_.as<StepRow>(), keys_.as<std::uint64_t>(), keys,
                                 next_row(counters_), now, builder.keys(), device().stream);
                     }});
  for (std::size_t index = 0; index < builder.micro_batches().size(); ++index) {
    BatchCall call = batch_call(builder.micro_batches()[index]);
    call.order = order_.as<EpochImage>();
    call.now = now;
    call.mixes = compiled_.mixes();
    compiled_.append_micro_batch(
        actions, index, [call] { make_batch(call, device().stream); },
        {.results = results_.on_device<BatchResult>(), .now = now, .adds = index > 0});
  }
  compiled_.append_update(actions);
  step_.emplace(actions);
}

void Resident::begin(std::span<const EpochImage> images, std::span<const StepSettings> steps) {
  wait();
  std::vector<StepRow> rows;
  const std::size_t keys_per_step = compiled_.builder().dropouts().size();
  std::vector<std::uint64_t> keys(steps.size() * keys_per_step);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    StepRow& row = rows.emplace_back(compiled_.row_of(steps[i]));
    row.first_image = static_cast<std::int64_t>(i) * compiled_.recipe().batch_size;
    row.result = static_cast<std::int64_t>(i);
    compiled_.keys_of(steps[i], std::span(keys).subspan(i * keys_per_step, keys_per_step));
  }
  order_.put(images.data(), images.size_bytes());
  rows_.put(rows.data(), rows.size() * sizeof(StepRow));
  keys_.put(keys.data(), keys.size() * sizeof(std::uint64_t));
  const bool moved = order_.moved() | rows_.moved() | keys_.moved();
  const bool short_of_results = steps.size() * sizeof(BatchResult) > results_.bytes();
  if (short_of_results) results_ = HostMemory(steps.size() * sizeof(BatchResult));
  if (moved || short_of_results) step_.reset();
  set_to_zero(counters_.data(), sizeof(std::int64_t));
  begun_ = given_ = 0;
  steps_ = steps.size();
  if (!step_) record_step();
}

void Resident::step() {
  assert(begun_ < steps_);
  step_->run();
  check(cudaEventRecord(events_[begun_ % kEvents], device().stream), "marking a step");
  ++begun_;
}

void Resident::wait_for(std::size_t step) {
  check(cudaEventSynchronize(events_[step % kEvents]), "a step on the device");
}

std::vector<BatchResult> Resident::results(std::size_t in_flight) {
  const std::size_t over = begun_ > in_flight ? begun_ - in_flight : 0;
  if (over <= given_) return {};
  wait_for(over - 1);
  const auto* all = results_.as<const BatchResult>();
  std::vector<BatchResult> results(all + given_, all + over);
  given_ = over;
  return results;
}

Recording Resident::record_evaluation(std::int64_t count, std::int64_t all) {
  std::vector<Action> actions;
  BatchCall call = batch_call({0, count});
  call.first = first_image(counters_);
  call.cutout = 0;
  call.mixes_images = false;
  compiled_.append_evaluation(actions, count, all, [call] { make_batch(call, device().stream); },
                              {.results = evaluation_.on_device<BatchResult>(), .adds = true});
  actions.push_back(
      {false, [this, count] { next_images(first_image(counters_), count, device().stream); }});
  return Recording(actions);
}

BatchResult Resident::evaluate(std::int64_t first, std::int64_t count, std::span<float> outputs) {
  wait();
  *evaluation_.as<BatchResult>() = {};
  set_to_zero(compiled_.total(), sizeof(BatchResult));
  to_device(first_image(counters_), &first, sizeof(first));
  wait();  // `first` is read until then
  compiled_.builder().parameters().swap_average();
  const std::int64_t most = compiled_.builder().batch();
  const auto each = static_cast<std::size_t>(compiled_.outputs());
  for (std::int64_t done = 0; done < count; done += most) {
    const std::int64_t now = std::min(most, count - done);
    auto found = evaluations_.find({now, count});
    if (found == evaluations_.end())
      found = evaluations_.emplace(std::pair(now, count), record_evaluation(now, count)).first;
    found->second.run();
    if (!outputs.empty())
      compiled_.read_logits(now, outputs.subspan(static_cast<std::size_t>(done) * each,
                                                 static_cast<std::size_t>(now) * each));
  }
  compiled_.builder().parameters().swap_average();
  wait();
  return *evaluation_.as<BatchResult>();
}

}  // namespace detol::inline trainer::cuda
