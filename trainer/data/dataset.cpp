#include "trainer/data/dataset.h"

#include <algorithm>
#include <utility>

#include "trainer/data/table_encoder.h"

namespace detol::inline trainer {
namespace {

template <typename Pixel>
std::span<const Pixel> pixels_of(std::size_t size, const MappedPixels& mapped,
                                 std::span<const Pixel> owned, std::int64_t index) {
  const auto at = static_cast<std::size_t>(index);
  if (!mapped.blocks) return owned.subspan(at * size, size);
  const std::byte* block = mapped.blocks.get() + at / mapped.block_images * mapped.block_bytes;
  return {reinterpret_cast<const Pixel*>(block) + at % mapped.block_images * size, size};
}

}  // namespace

void Dataset::write_targets(std::int64_t image, std::size_t to, const BatchTargets& batch) const {
  const auto from = static_cast<std::size_t>(image);
  if (!labels.empty()) batch.labels[to] = labels[from];
  if (batch.targets.empty()) return;
  const auto outputs = static_cast<std::size_t>(info.task.classes);
  const auto out = batch.targets.subspan(to * outputs, outputs);
  if (image < info.training && !teacher.empty()) {
    std::ranges::copy(std::span(teacher).subspan(from * outputs, outputs), out.begin());
    return;
  }
  for (std::size_t k = 0; k < outputs; ++k) {
    if (!labels.empty()) {
      const bool is_of_class = info.task.kind == TaskKind::kClassification;
      out[k] = static_cast<float>(is_of_class ? std::cmp_equal(labels[from], k) : labels[from]);
    } else if (target_mean.empty()) {
      out[k] = targets[from * outputs + k];
    } else {
      out[k] = (targets[from * outputs + k] - target_mean[k]) / target_deviation[k];
    }
  }
}

std::size_t Dataset::row_size() const {
  return table ? table->columns.size() : static_cast<std::size_t>(info.task.input.elements());
}

std::span<const std::uint8_t> Dataset::image(std::int64_t index) const {
  return pixels_of(row_size(), mapped, std::span(images), index);
}

std::span<const float> Dataset::values_of(std::int64_t index) const {
  return pixels_of(row_size(), mapped, std::span(values), index);
}

bool is_encoded(const Dataset& data) {
  return data.table && !data.table->is_linear();
}

Range range_of(const DatasetInfo& info, DataSplit split) {
  switch (split) {
    case DataSplit::kTraining:
      return {0, info.training};
    case DataSplit::kValidation:
      return {info.training, info.validation};
    case DataSplit::kTest:
      break;
  }
  return {info.training + info.validation, info.test};
}

}  // namespace detol::inline trainer
