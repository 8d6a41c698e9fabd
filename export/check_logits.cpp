#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/rng.h"
#include "export/export.h"
#include "trainer/predict.h"

namespace detol::inline exporting {

namespace {

// Adds the logits, those of a regression in the units of the data.
Result<void> add_logits(const Model& model, std::span<const float> normalised, CheckLogits& check) {
  auto logits = logits_of(model.network, model.weights, normalised, "reference");
  if (!logits) return fail(ErrorCode::kExport, logits.error().message);
  check.logits = outputs_from(model, *std::move(logits));
  const std::size_t outputs = check.mean.size();  // 0 unless it is a regression
  for (std::size_t i = 0; outputs > 0 && i < check.logits.size(); ++i)
    check.logits[i] = check.logits[i] * check.deviation[i % outputs] + check.mean[i % outputs];
  return {};
}

// Returns a pixel in [0, 1] that is a byte / 255.
float as_byte(float pixel) {
  return std::round(std::clamp(pixel, 0.0F, 1.0F) * 255) / 255;
}

// Draws a cell that is not missing, or that is, where the training records have missing ones.
float drawn_cell(const TableColumn& column, Rng& rng) {
  if (column.kind == ColumnKind::kCategory)
    return static_cast<float>(rng.below(column.categories.size() + 1));
  if (column.marks_missing && rng.chance(0.2)) return std::numeric_limits<float>::quiet_NaN();
  return column.mean + column.deviation * static_cast<float>(rng.normal());
}

// Draws records of a table, and what the network reads of them before its normalisation: the cells
// themselves where mean and deviation say everything.
void draw_records(const TableEncoder& table, std::int64_t count, Rng& rng, CheckLogits& check) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::vector<float> cells, inputs(table.inputs());
    for (const TableColumn& column : table.columns) cells.push_back(drawn_cell(column, rng));
    table.encode(cells, inputs);
    check.cells.insert(check.cells.end(), cells.begin(), cells.end());
    const std::vector<float>& read = table.is_linear() ? cells : inputs;
    check.pixels.insert(check.pixels.end(), read.begin(), read.end());
  }
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
  for (std::int64_t i = 0; i < test.count && data.table; ++i) {
    const auto cells = data.values_of(test.first + i);
    check.cells.insert(check.cells.end(), cells.begin(), cells.end());
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
  if (data.table) draw_records(*data.table, count, rng, check);
  for (std::int64_t i = 0; i < count * shape.elements(); ++i) {
    const auto channel = static_cast<std::size_t>(i / plane % shape.channels);
    const float mean = model.mean[channel], deviation = model.deviation[channel];
    if (!data.table) {
      const float drawn = mean + deviation * static_cast<float>(rng.normal());
      check.pixels.push_back(model.reads_pixels ? as_byte(drawn) : drawn);
    }
    normalised.push_back((check.pixels[static_cast<std::size_t>(i)] - mean) / deviation);
  }
  DETOL_TRY(add_logits(model, normalised, check));
  return check;
}

}  // namespace detol::inline exporting
