#include "trainer/data/data_sample.h"

#include <algorithm>
#include <cstring>

#include "trainer/data/table_encoder.h"

namespace detol::inline trainer {
namespace {

constexpr std::int64_t kMostRows = 2000;
constexpr std::size_t kMostColumns = 1024;

// Returns the numbers of an image; of a table of more than numbers its inputs, in `inputs`.
std::span<const std::byte> row_of(const Dataset& data, std::int64_t at,
                                  std::vector<float>& inputs) {
  if (data.has_bytes()) return std::as_bytes(data.image(at));
  if (!is_encoded(data)) return std::as_bytes(data.values_of(at));
  inputs.resize(data.table->inputs());
  data.table->encode(data.values_of(at), inputs);
  return std::as_bytes(std::span(inputs));
}

}  // namespace

DataSampler::DataSampler(const Shape& shape, std::int64_t training, bool has_bytes) {
  const auto pixels = static_cast<std::size_t>(shape.elements());
  const auto plane = static_cast<std::size_t>(shape.height * shape.width);
  sample_.rows = static_cast<std::size_t>(std::min(kMostRows, training));
  sample_.columns = std::min(kMostColumns, pixels);
  sample_.has_bytes = has_bytes;
  sample_.values.resize(sample_.rows * sample_.columns);
  for (std::size_t column = 0; column < sample_.columns; ++column) {
    pixels_.push_back(column * pixels / sample_.columns);
    sample_.channels.push_back(pixels_.back() / plane);
  }
}

void DataSampler::add(std::int64_t at, std::span<const std::byte> pixels) {
  if (!takes(at)) return;
  float* row = &sample_.values[static_cast<std::size_t>(at) * sample_.columns];
  for (const std::size_t pixel : pixels_) {
    if (sample_.has_bytes)
      *row = static_cast<float>(std::to_integer<int>(pixels[pixel])) / 255.0F;
    else
      std::memcpy(row, &pixels[pixel * sizeof(float)], sizeof(float));
    ++row;
  }
}

void DataSampler::add_label(std::int64_t at, std::int32_t label) {
  const auto index = static_cast<std::size_t>(label);
  if (sample_.in_class.size() <= index) sample_.in_class.resize(index + 1);
  ++sample_.in_class[index];
  if (!takes(at)) return;
  sample_.labels.resize(sample_.rows);
  sample_.labels[static_cast<std::size_t>(at)] = label;
}

void DataSampler::add_targets(std::int64_t at, std::span<const float> targets) {
  if (!takes(at)) return;
  sample_.outputs = targets.size();
  sample_.targets.resize(sample_.rows * targets.size());
  std::ranges::copy(targets, &sample_.targets[static_cast<std::size_t>(at) * targets.size()]);
}

std::shared_ptr<const DataSample> DataSampler::sample() && {
  return std::make_shared<const DataSample>(std::move(sample_));
}

std::shared_ptr<const DataSample> sample_of(const Dataset& data) {
  DataSampler sampler(data.info.task.input, data.info.training, data.has_bytes());
  const auto training = static_cast<std::size_t>(data.info.training);
  const std::size_t outputs =
      data.targets.empty() ? 0 : static_cast<std::size_t>(data.info.task.classes);
  std::vector<float> inputs;
  for (std::size_t i = 0; i < training; ++i) {
    const auto at = static_cast<std::int64_t>(i);
    if (at < kMostRows) sampler.add(at, row_of(data, at, inputs));
    if (!data.labels.empty()) sampler.add_label(at, data.labels[i]);
    if (outputs > 0) sampler.add_targets(at, std::span(data.targets).subspan(i * outputs, outputs));
  }
  return std::move(sampler).sample();
}

}  // namespace detol::inline trainer
