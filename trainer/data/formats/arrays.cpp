#include "trainer/data/formats/arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace detol::inline trainer {
namespace {

constexpr std::int64_t kMostChannels = 4;  // up to which a layout is guessed

struct Names {
  std::string_view training, training_labels;
  std::string_view validation = {}, validation_labels = {};
  std::string_view test = {}, test_labels = {};
};

constexpr std::array kNames{
    Names{"x_train", "y_train", "x_val", "y_val", "x_test", "y_test"},
    Names{"X_train", "y_train", "X_val", "y_val", "X_test", "y_test"},
    Names{"train_images", "train_labels", "val_images", "val_labels", "test_images", "test_labels"},
    Names{"x", "y"},
    Names{"X", "y"},
    Names{"images", "labels"},
};

Result<Names> names_in(const DataConfig& config, const ArrayBox& box) {
  const Names* named =
      std::ranges::find_if(kNames, [&](const Names& one) { return box.has(one.training); });
  Names names =
      named == kNames.end() ? Names{kNames[0].training, kNames[0].training_labels} : *named;
  if (!config.images.empty()) names = {config.images, names.training_labels};
  if (!config.labels.empty()) names.training_labels = config.labels.front();
  for (const std::string_view name : {names.training, names.training_labels}) {
    if (box.has(name)) continue;
    return fail(ErrorCode::kInput,
                fmt::format("{}: there is no array {}; the names known are x_train and y_train, "
                            "train_images and train_labels, x and y, images and labels",
                            config.path, name));
  }
  return names;
}

Result<std::optional<Samples>> open_if_there(ArrayBox& box, std::string_view images,
                                             std::string_view labels, const DataConfig& config,
                                             const Offsets& of_training) {
  if (images.empty() || (!box.has(images) && !box.has(labels))) return std::nullopt;
  for (const std::string_view name : {images, labels}) {
    if (box.has(name)) continue;
    return fail(ErrorCode::kInput,
                fmt::format("{}: there is no array {}, but there is {}; add it, or leave both out",
                            config.path, name, name == images ? labels : images));
  }
  DETOL_ASSIGN(Samples samples, box.open(images, labels, &of_training));
  return samples;
}

}  // namespace

Result<Found> open_arrays(const DataConfig& config, ArrayBox& box) {
  if (config.labels.size() > 1) {
    return fail(ErrorCode::kInput,
                fmt::format("{}: data.label names {} arrays; there is one, whose columns are the "
                            "labels",
                            config.path, config.labels.size()));
  }
  DETOL_ASSIGN(const Names names, names_in(config, box));
  Found found;
  DETOL_ASSIGN(found.training, box.open(names.training, names.training_labels, nullptr));
  const Offsets& offsets = found.training.offsets;
  DETOL_ASSIGN(found.validation,
               open_if_there(box, names.validation, names.validation_labels, config, offsets));
  DETOL_ASSIGN(found.test, open_if_there(box, names.test, names.test_labels, config, offsets));
  return found;
}

tl::expected<ImageLayout, std::string> layout_of(std::span<const std::int64_t> sizes,
                                                 bool is_of_bytes, const DataConfig& config) {
  const auto shape = fmt::format("sizes {}", fmt::join(sizes, " x "));
  if (sizes.size() == 2) {
    const Shape record = config.sequence ? Shape{1, 1, sizes[1]} : Shape{sizes[1], 1, 1};
    return ImageLayout{.shape = record, .has_bytes = false};
  }
  if (sizes.size() == 3) return ImageLayout{{1, sizes[1], sizes[2]}, is_of_bytes, false};
  if (sizes.size() != 4)
    return tl::unexpected(shape + ": records have two sizes, grey images three, others four");
  const bool first = sizes[1] <= kMostChannels, last = sizes[3] <= kMostChannels;
  if (config.layout.empty() && first == last)
    return tl::unexpected(shape + ": which of them are channels? say data.layout: chw or hwc");
  const bool is_last = config.layout.empty() ? last : config.layout == "hwc";
  if (is_last) return ImageLayout{{sizes[3], sizes[1], sizes[2]}, is_of_bytes, true};
  return ImageLayout{{sizes[1], sizes[2], sizes[3]}, is_of_bytes, false};
}

tl::expected<std::size_t, std::string> outputs_in(std::span<const std::int64_t> sizes,
                                                  std::int64_t images, TaskKind task) {
  const bool is_list = sizes.size() == 1 || (sizes.size() == 2 && sizes[1] == 1);
  const bool may_have_columns = !has_labels(task) && sizes.size() == 2;
  if ((is_list || may_have_columns) && sizes[0] == images)
    return static_cast<std::size_t>(is_list ? 1 : sizes[1]);
  return tl::unexpected(
      fmt::format("labels of sizes {}, but there are {} images", fmt::join(sizes, " x "), images));
}

std::optional<BadTarget> bad_target(std::span<const double> targets, TaskKind task) {
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const auto target = static_cast<float>(targets[i]);
    if (!std::isfinite(target))
      return BadTarget{i, fmt::format("{}: all numbers must be finite", target)};
    if (task == TaskKind::kMultiLabel && target != 0 && target != 1) {
      return BadTarget{i, fmt::format("{} is neither 0 nor 1, as the labels of data.task "
                                      "multi_label are",
                                      target)};
    }
  }
  return std::nullopt;
}

Result<std::vector<std::int32_t>> labels_of(
    std::span<const std::int64_t> numbers,
    const std::function<tl::unexpected<Error>(std::size_t, std::string_view)>& error_at) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max() - 1;
  std::vector<std::int32_t> labels;
  for (const std::int64_t number : numbers) {
    if (number < 0 || number > kMost)
      return error_at(labels.size(), fmt::format("label {}; labels count from 0", number));
    labels.push_back(static_cast<std::int32_t>(number));
  }
  return labels;
}

bool may_have_offsets(std::span<const std::int64_t> sizes, std::size_t bytes, bool is_whole) {
  return sizes.size() == 2 && (bytes == 8 || (is_whole && bytes == 4));
}

void add_rows(std::span<const double> rows, std::span<OffsetFinder> columns) {
  for (std::size_t i = 0; i < rows.size(); ++i) columns[i % columns.size()].add(rows[i]);
}

void subtract(std::span<const double> rows, std::span<const double> offsets, std::span<float> out) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    out[i] = static_cast<float>(rows[i] - (offsets.empty() ? 0 : offsets[i % offsets.size()]));
}

std::vector<float> offset_targets(std::span<const double> targets, TaskKind task,
                                  std::size_t outputs, const Offsets* of_training,
                                  Offsets& offsets) {
  if (of_training != nullptr) {
    offsets.targets = of_training->targets;
  } else if (task == TaskKind::kRegression) {
    std::vector<OffsetFinder> columns(outputs);
    add_rows(targets, columns);
    offsets.targets = offsets_of(columns);
  }
  std::vector<float> rest(targets.size());
  subtract(targets, offsets.targets, rest);
  return rest;
}

std::size_t first_not_finite(std::span<const float> all) {
  const auto found = std::ranges::find_if(all, [](float value) { return !std::isfinite(value); });
  return static_cast<std::size_t>(found - all.begin());
}

}  // namespace detol::inline trainer
