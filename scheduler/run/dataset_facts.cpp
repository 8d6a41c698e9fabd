#include "scheduler/run/dataset_facts.h"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/hash.h"
#include "core/json_text.h"
#include "trainer/data/meta_features.h"

namespace detol::inline scheduler {
namespace {

using Json = nlohmann::ordered_json;

// Returns the number with four significant digits, null if there is none.
Json rounded(std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return nullptr;
  return std::strtod(fmt::format("{:.4g}", *value).c_str(), nullptr);
}

}  // namespace

Fact dataset_fact(const DataConfig& config, const DatasetInfo& data) {
  std::filesystem::path path(config.path);
  if (!path.has_filename()) path = path.parent_path();  // of "folder/"
  const std::int64_t samples = data.training + data.validation + data.test;
  const std::int64_t features = data.task.input.elements();
  const auto bytes_of_pixel = data.sample->has_bytes ? 1 : static_cast<int>(sizeof(float));
  const MetaFeatures meta = meta_features(*data.sample);
  const Json fields{{"name", path.has_stem() ? path.stem().string() : config.format},
                    {"path", config.path},
                    {"format", config.format},
                    {"task", row_of(data.task.kind).name},
                    {"shape", to_text(data.task.input)},
                    {"samples", samples},
                    {"training", data.training},
                    {"validation", data.validation},
                    {"test", data.test},
                    {"classes", data.task.classes},
                    {"features", features},
                    {"bytes", samples * features * bytes_of_pixel},
                    {"mean", rounded(meta.mean)},
                    {"deviation", rounded(meta.deviation)},
                    {"skew", rounded(meta.skew)},
                    {"zeros", rounded(meta.zeros)},
                    {"largest_class", rounded(meta.largest_class)},
                    {"entropy", rounded(meta.entropy)},
                    {"intrinsic_dimension", rounded(meta.intrinsic_dimension)},
                    {"nearest_neighbour", rounded(meta.nearest_neighbour)},
                    {"nearest_centroid", rounded(meta.nearest_centroid)},
                    {"ridge", rounded(meta.ridge)},
                    {"remarks", data.remarks}};
  return {kDatasetFact, to_hex(data.fingerprint), compact(fields)};
}

}  // namespace detol::inline scheduler
