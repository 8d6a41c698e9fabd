#include <fmt/format.h>

#include <algorithm>

#include "core/rng.h"
#include "export/export.h"
#include "trainer/predict.h"

namespace detol::inline exporting {

namespace {

// Adds the logits, those of a regression in the units of the data.
Result<void> add_logits(const Model& model, std::span<const float> normalised, CheckLogits& check) {
  auto logits = logits_of(model.network, model.weights, normalised, "reference");
  if (!logits) return fail(ErrorCode::kExport, logits.error().message);
  check.logits = std::move(*logits);
  const std::size_t outputs = check.mean.size();  // 0 unless it is a regression
  for (std::size_t i = 0; outputs > 0 && i < check.logits.size(); ++i)
    check.logits[i] = check.logits[i] * check.deviation[i % outputs] + check.mean[i % outputs];
  return {};
}

}  // namespace

Result<CheckLogits> check_logits(const Model& model, const Dataset& data, std::int64_t count) {
  Range test = range_of(data.info, DataSplit::kTest);
  test.count = std::min(count, test.count);
  if (test.count < 1) return fail(ErrorCode::kExport, "the data has no test images to check with");
  if (data.info.task.input != model.network.input_shape()) {
    return fail(ErrorCode::kExport,
                fmt::format("the data's images are {}, the network's {}",
                            to_text(data.info.task.input), to_text(model.network.input_shape())));
  }
  CheckLogits check{fmt::format("the first {} test images", test.count), test.count, {}, {}};
  const std::vector<float> normalised = normalised_images(data, test);
  if (is_encoded(data)) check.pixels = normalised;
  for (std::int64_t i = 0; i < test.count && !is_encoded(data); ++i) {
    if (!data.has_bytes()) {
      const auto values = data.values_of(test.first + i);
      check.pixels.insert(check.pixels.end(), values.begin(), values.end());
      continue;
    }
    for (const std::uint8_t byte : data.image(test.first + i))
      check.pixels.push_back(static_cast<float>(byte) / 255);
  }
  check.mean = data.target_mean;
  check.deviation = data.target_deviation;
  DETOL_TRY(add_logits(model, normalised, check));
  return check;
}

Result<CheckLogits> check_logits(const Model& model, const Preprocessing& data,
                                 std::int64_t count) {
  CheckLogits check{fmt::format("{} drawn images", count), count, {}, {}};
  check.mean = data.target_mean;
  check.deviation = data.target_deviation;
  const Shape& shape = model.network.input_shape();
  const std::int64_t plane = shape.height * shape.width;
  Rng rng(1);
  std::vector<float> normalised;
  for (std::int64_t i = 0; i < count * shape.elements(); ++i) {
    const auto channel = static_cast<std::size_t>(i / plane % shape.channels);
    const float mean = model.mean[channel], deviation = model.deviation[channel];
    const float drawn = mean + deviation * static_cast<float>(rng.normal());
    check.pixels.push_back(model.reads_pixels ? std::clamp(drawn, 0.0F, 1.0F) : drawn);
    normalised.push_back((check.pixels.back() - mean) / deviation);
  }
  DETOL_TRY(add_logits(model, normalised, check));
  return check;
}

}  // namespace detol::inline exporting
