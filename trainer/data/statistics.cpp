#include "trainer/data/statistics.h"

#include <fmt/format.h>

#include <cmath>

#include "core/table.h"

namespace detol {
namespace {

// Sums over so many bytes fit in 32 bits: 255 x 255 x 65,536 < 2^32.
constexpr std::size_t kRun = 65536;

struct Sums {
  std::uint64_t sum = 0, squares = 0;

  void add(std::span<const std::uint8_t> pixels) {
    for (; !pixels.empty(); pixels = pixels.subspan(std::min(kRun, pixels.size()))) {
      std::uint32_t run_sum = 0, run_squares = 0;
      for (const std::uint32_t pixel : pixels.first(std::min(kRun, pixels.size()))) {
        run_sum += pixel;
        run_squares += pixel * pixel;
      }
      sum += run_sum;
      squares += run_squares;
    }
  }
};

// Exact integer sums: no order of addition to depend on.
Result<void> of_bytes(Dataset& data, const std::string& path) {
  const Shape& shape = data.info.task.input;
  const auto plane = static_cast<std::size_t>(shape.height * shape.width);
  std::vector<Sums> sums(static_cast<std::size_t>(shape.channels));
  for (std::int64_t i = 0; i < data.info.training; ++i) {
    const auto image = data.image(i);
    for (std::size_t channel = 0; channel < sums.size(); ++channel)
      sums[channel].add(image.subspan(channel * plane, plane));
  }
  const double pixels = static_cast<double>(plane) * static_cast<double>(data.info.training);
  for (const Sums& channel : sums) {
    const double mean = static_cast<double>(channel.sum) / pixels;
    const double variance = static_cast<double>(channel.squares) / pixels - mean * mean;
    if (!(variance > 0)) {
      return fail(ErrorCode::kInput, fmt::format("{}: all pixels of channel {} are {}: there is "
                                                 "nothing to learn; check the images",
                                                 path, data.mean.size(), mean));
    }
    data.mean.push_back(static_cast<float>(mean / 255));
    data.deviation.push_back(static_cast<float>(std::sqrt(variance) / 255));
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

Result<void> fill_statistics(Dataset& data, const std::string& path) {
  if (data.has_bytes()) return of_bytes(data, path);
  of_floats(data);
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
                              path, name_of_output(data, k), mean));
    }
    data.target_mean.push_back(static_cast<float>(mean));
    data.target_deviation.push_back(deviation);
  }
  return {};
}

Result<void> check_switches(const Dataset& data, const std::string& path) {
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

Result<void> check_answers(Dataset& data, const DataConfig& config) {
  if (config.task == TaskKind::kMultiLabel) return check_switches(data, config.path);
  if (config.task == TaskKind::kRegression) return fill_target_statistics(data, config.path);
  return {};
}

}  // namespace detol
