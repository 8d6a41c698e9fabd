#include <fmt/format.h>

#include <algorithm>

#include "export/export.h"
#include "trainer/predict.h"

namespace detol::inline exporting {

Result<CheckLogits> check_logits(const Model& model, const Dataset& data, std::int64_t count) {
  Range test = range_of(data.info, DataSplit::kTest);
  test.count = std::min(count, test.count);
  if (test.count < 1) return fail(ErrorCode::kExport, "the data has no test images to check with");
  if (data.info.task.input != model.network.input_shape()) {
    return fail(ErrorCode::kExport,
                fmt::format("the data's images are {}, the network's {}",
                            to_text(data.info.task.input), to_text(model.network.input_shape())));
  }
  auto logits = logits_of(model.network, model.weights, normalised_images(data, test), "reference");
  if (!logits) return fail(ErrorCode::kExport, logits.error().message);
  CheckLogits check{fmt::format("the first {} test images", test.count), test.count, {}, {}};
  if (is_encoded(data)) check.pixels = normalised_images(data, test);
  for (std::int64_t i = 0; i < test.count && !is_encoded(data); ++i) {
    if (!data.has_bytes()) {
      const auto values = data.values_of(test.first + i);
      check.pixels.insert(check.pixels.end(), values.begin(), values.end());
      continue;
    }
    for (const std::uint8_t byte : data.image(test.first + i))
      check.pixels.push_back(static_cast<float>(byte) / 255);
  }
  check.logits = std::move(*logits);
  check.mean = data.target_mean;
  check.deviation = data.target_deviation;
  const std::size_t outputs = check.mean.size();  // 0 unless it is a regression
  for (std::size_t i = 0; outputs > 0 && i < check.logits.size(); ++i) {
    check.logits[i] = check.logits[i] * check.deviation[i % outputs] + check.mean[i % outputs];
  }
  return check;
}

}  // namespace detol::inline exporting
