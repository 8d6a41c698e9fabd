#include "trainer/data/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/table.h"

namespace detol::inline trainer {
namespace {

// Sums over kRun squared bytes fit in 32 bits: 255 x 255 x 65,536 < 2^32.
constexpr std::size_t kRun = 65536;

Result<void> of_bytes(Dataset& data, const std::string& path) {
  ByteSums sums(data.info.task.input);
  for (std::int64_t i = 0; i < data.info.training; ++i) sums.add(data.image(i));
  DETOL_TRY(sums.check(path));
  for (std::size_t channel = 0; std::cmp_less(channel, data.info.task.input.channels); ++channel) {
    data.mean.push_back(sums.mean(channel));
    data.deviation.push_back(sums.deviation(channel));
  }
  return {};
}

std::string name_of_output(const Dataset& data, std::size_t output) {
  if (data.class_names.empty()) return std::to_string(output + 1);
  return in_quotes(data.class_names[output]);
}

void of_floats(Dataset& data) {
  const auto channels = static_cast<std::size_t>(data.info.task.input.channels);
  const auto size = static_cast<std::size_t>(data.info.task.input.elements());
  const std::size_t plane = size / channels;
  const auto all =
      std::span(data.values).first(static_cast<std::size_t>(data.info.training) * size);
  const std::size_t of_a_channel = all.size() / channels;
  for (std::size_t channel = 0; channel < channels; ++channel) {
    const auto over_all = [&](auto of) {
      double sum = 0;
      for (std::size_t first = channel * plane; first < all.size(); first += size) {
        for (const float value : all.subspan(first, plane)) sum += of(value);
      }
      return sum / static_cast<double>(of_a_channel);
    };
    const double mean = over_all([](double value) { return value; });
    const double variance = over_all([&](double value) { return (value - mean) * (value - mean); });
    const auto deviation = static_cast<float>(std::sqrt(variance));
    data.mean.push_back(static_cast<float>(mean));
    data.deviation.push_back(deviation > 0 ? deviation : 1);
  }
}

}  // namespace

ByteSums::ByteSums(const Shape& shape)
    : plane_(static_cast<std::size_t>(shape.height * shape.width)),
      channels_(static_cast<std::size_t>(shape.channels)) {}

void ByteSums::add(std::span<const std::uint8_t> image) {
  ++images_;
  for (std::size_t channel = 0; channel < channels_.size(); ++channel)
    add(image.subspan(channel * plane_, plane_), channels_[channel]);
}

void ByteSums::add(std::span<const std::uint8_t> pixels, Sums& to) const {
  for (; !pixels.empty(); pixels = pixels.subspan(std::min(kRun, pixels.size()))) {
    std::uint32_t run_sum = 0, run_squares = 0;
    for (const std::uint32_t pixel : pixels.first(std::min(kRun, pixels.size()))) {
      run_sum += pixel;
      run_squares += pixel * pixel;
    }
    to.sum += run_sum;
    to.squares += run_squares;
  }
}

float ByteSums::mean(std::size_t channel) const {
  const double pixels = static_cast<double>(plane_) * static_cast<double>(images_);
  return static_cast<float>(static_cast<double>(channels_[channel].sum) / pixels / 255);
}

float ByteSums::deviation(std::size_t channel) const {
  const double variance = this->variance(channels_[channel]);
  return variance > 0 ? static_cast<float>(std::sqrt(variance) / 255) : 1.0f;
}

double ByteSums::variance(const Sums& channel) const {
  const double pixels = static_cast<double>(plane_) * static_cast<double>(images_);
  const double mean = static_cast<double>(channel.sum) / pixels;
  return static_cast<double>(channel.squares) / pixels - mean * mean;
}

Result<void> ByteSums::check(const std::string& path) const {
  if (std::ranges::any_of(channels_, [&](const Sums& one) { return variance(one) > 0; })) return {};
  return fail(ErrorCode::kInput, fmt::format("{}: all images to train on are of one colour: there "
                                             "is nothing to learn; check the images",
                                             path));
}

Result<void> fill_statistics(Dataset& data, const std::string& path) {
  if (data.has_bytes()) return of_bytes(data, path);
  if (!is_encoded(data)) {
    of_floats(data);
    return {};
  }
  const auto inputs = static_cast<std::size_t>(data.info.task.input.channels);
  data.mean.assign(inputs, 0);  // the encoder's inputs are taken as they are
  data.deviation.assign(inputs, 1);
  return {};
}

Result<void> fill_target_statistics(Dataset& data, const std::string& path) {
  const auto outputs = static_cast<std::size_t>(data.info.task.classes);
  const auto count = static_cast<double>(data.info.training);
  const auto all =
      std::span(data.targets).first(static_cast<std::size_t>(data.info.training) * outputs);
  for (std::size_t k = 0; k < outputs; ++k) {
    double sum = 0, squares = 0;
    for (std::size_t i = k; i < all.size(); i += outputs) sum += double{all[i]};
    const double mean = sum / count;
    for (std::size_t i = k; i < all.size(); i += outputs)
      squares += (double{all[i]} - mean) * (double{all[i]} - mean);
    const auto deviation = static_cast<float>(std::sqrt(squares / count));
    if (!(deviation > 0)) {
      return fail(ErrorCode::kInput,
                  fmt::format("{}: target {} is {} in every record to train on: there is nothing "
                              "to learn; check data.label",
                              path, name_of_output(data, k), mean + data.offsets.of_target(k)));
    }
    data.target_mean.push_back(static_cast<float>(mean));
    data.target_deviation.push_back(deviation);
  }
  return {};
}

Result<void> check_multi_labels(const Dataset& data, const std::string& path) {
  const auto outputs = static_cast<std::size_t>(data.info.task.classes);
  const auto training = static_cast<std::size_t>(data.info.training);
  for (std::size_t k = 0; k < outputs; ++k) {
    const float first = data.targets[k];
    bool differs = false;
    for (std::size_t i = 0; i < training; ++i) differs |= data.targets[i * outputs + k] != first;
    if (differs) continue;
    return fail(ErrorCode::kInput,
                fmt::format("{}: the label {} is {} in every record to train on: "
                            "there is nothing to learn; check data.label",
                            path, name_of_output(data, k), first));
  }
  return {};
}

Result<void> check_task_targets(Dataset& data, const DataConfig& config) {
  if (config.task == TaskKind::kMultiLabel) return check_multi_labels(data, config.path);
  if (config.task == TaskKind::kRegression) return fill_target_statistics(data, config.path);
  return {};
}

}  // namespace detol::inline trainer
