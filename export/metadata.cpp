#include "export/metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/json_numbers.h"
#include "core/table.h"
#include "encodings/network/task.h"
#include "encodings/space/value_json.h"
#include "export/json_text.h"
#include "trainer/data/preprocessing.h"

namespace detol::inline exporting {
namespace {

using nlohmann::json;

constexpr std::string_view kPrefix = "detol.";

// Keys with a meaning of their own; every other is a property.
constexpr std::array<std::string_view, 18> kReserved = {
    "architecture", "classes", "columns",        "deviation", "dialect",   "input",
    "input_shape",  "mean",    "metrics",        "offsets",   "params",    "pictures",
    "shares",       "table",   "target_offsets", "task",      "threshold", "version"};

// InputMeaning: what a file is fed.
struct InputMeaning {
  std::string_view text;  // detol.input
  bool reads_pixels = false, is_raw = false;
};
constexpr InputMeaning kRawPixels{"pixels in [0, 1] (bytes / 255), N x C x H x W", true, true};
constexpr InputMeaning kRawNumbers{"numbers as they are in the data, N x C x H x W", false, true};
constexpr InputMeaning kRawCells{"a table's encoded cells, N x C x 1 x 1", false, true};
constexpr InputMeaning kPictures{
    "bytes of decoded pictures, N x H x W x C: red, green, blue and maybe alpha, turned upright",
    true, false};
constexpr InputMeaning kBytes{"bytes as they are in the data, N x H x W x C", true, false};
constexpr InputMeaning kNumbers{"numbers as they are in the data, floats N x C x H x W", false,
                                false};
constexpr InputMeaning kCells{"cells of a table: see detol.columns", false, false};
constexpr std::array kInputMeanings = {kRawPixels, kRawNumbers, kRawCells, kPictures,
                                       kBytes,     kNumbers,    kCells};

const InputMeaning& meaning_of(const Model& model, bool is_raw) {
  if (is_raw && model.table && !model.table->is_linear()) return kRawCells;
  if (is_raw) return model.reads_pixels ? kRawPixels : kRawNumbers;
  if (model.table) return kCells;
  if (model.pictures) return kPictures;
  return model.reads_pixels ? kBytes : kNumbers;
}

// Returns the JSON of a key with detol's prefix; null if there is none.
Result<json> entry(const Metadata& metadata, const std::string& key) {
  const auto found = metadata.find(std::string(kPrefix) + key);
  if (found == metadata.end()) return json();
  return parse_json(found->second, "the metadata's " + found->first, kModelJson);
}

tl::unexpected<Error> no(std::string_view what, std::string_view key) {
  return fail(ErrorCode::kInput, fmt::format("the metadata's {}{} is no {}", kPrefix, key, what));
}

template <typename Number = float>
Result<std::vector<Number>> floats(const Metadata& metadata, const std::string& key) {
  DETOL_ASSIGN(const json list, entry(metadata, key));
  if (!list.is_array()) return no("list of numbers", key);
  std::vector<Number> values;
  for (const json& value : list) {
    if (!value.is_number()) return no("list of numbers", key);
    values.push_back(value.get<Number>());
  }
  return values;
}

Result<void> read_shares(const Metadata& metadata, Model& model) {
  if (!metadata.contains("detol.shares")) return {};
  DETOL_ASSIGN(model.shares, floats(metadata, "shares"));
  return {};
}

Result<void> read_offsets(const Metadata& metadata, Model& model) {
  if (metadata.contains("detol.offsets")) {
    DETOL_ASSIGN(model.offsets.inputs, floats<double>(metadata, "offsets"));
  }
  if (metadata.contains("detol.target_offsets")) {
    DETOL_ASSIGN(model.offsets.targets, floats<double>(metadata, "target_offsets"));
  }
  return {};
}

Result<void> read_threshold(const Metadata& metadata, Model& model) {
  DETOL_ASSIGN(const json number, entry(metadata, "threshold"));
  if (number.is_null()) return {};
  const double value = number.is_number() ? number.get<double>() : 0;
  if (!(value > 0 && value < 1)) return no("probability between 0 and 1", "threshold");
  model.threshold = value;
  return {};
}

Result<void> read_classes(const Metadata& metadata, Model& model) {
  DETOL_ASSIGN(const json list, entry(metadata, "classes"));
  if (list.is_null()) return {};
  if (!list.is_array()) return no("list of names", "classes");
  for (const json& name : list) {
    if (!name.is_string()) return no("list of names", "classes");
    model.class_names.push_back(name.get<std::string>());
  }
  return {};
}

Result<void> read_params(const Metadata& metadata, Model& model) {
  DETOL_ASSIGN(const json object, entry(metadata, "params"));
  if (!object.is_object()) return no("JSON object", "params");
  for (const auto& [name, value] : object.items()) {
    auto read = value_in_json(value);
    if (!read)
      return fail(ErrorCode::kInput,
                  fmt::format("the metadata's hyperparameter {} has no plain value",
                              compact(json(name)).substr(0, 80)));
    model.parameters.emplace_back(name, *std::move(read));
  }
  return {};
}

Result<void> read_metrics(const Metadata& metadata, Model& model) {
  DETOL_ASSIGN(const json object, entry(metadata, "metrics"));
  if (!object.is_object()) return no("JSON object", "metrics");
  for (const auto& [name, value] : object.items()) {
    const auto number = number_in_json(value);
    if (!number) return fail(ErrorCode::kInput, "a metric of the metadata is no number");
    model.metrics.push_back({name, *number});
  }
  return {};
}

// Reads the task. A file without a task is from a version that had only classification.
Result<void> read_task(const Metadata& metadata, Model& model) {
  const auto found = metadata.find("detol.task");
  if (found == metadata.end()) return {};
  const TaskRow* row = find_row(tasks(), found->second);
  if (row == nullptr) return no("task", "task");
  model.task = row->kind;
  return {};
}

// Reads how the data's cells or pictures are prepared.
Result<void> read_preparation(const Metadata& metadata, Model& model) {
  DETOL_ASSIGN(const json table, entry(metadata, "table"));
  if (!table.is_null()) {
    DETOL_ASSIGN(const json dialect, entry(metadata, "dialect"));
    DETOL_ASSIGN(TableEncoder encoder, table_from(table, dialect));
    model.table = std::make_shared<TableEncoder>(std::move(encoder));
  }
  DETOL_ASSIGN(const json pictures, entry(metadata, "pictures"));
  if (!pictures.is_null()) {
    DETOL_ASSIGN(model.pictures, pictures_from(pictures));
  }
  const bool is_odd = (model.table && (model.reads_pixels || model.pictures)) ||
                      (model.pictures && !model.reads_pixels);
  if (is_odd) return fail(ErrorCode::kInput, "its metadata describe data of two kinds");
  return {};
}

void read_properties(const Metadata& metadata, Model& model) {
  for (const auto& [key, value] : metadata) {
    if (!key.starts_with(kPrefix)) continue;
    const std::string name = key.substr(kPrefix.size());
    if (std::ranges::find(kReserved, name) == kReserved.end()) model.properties[name] = value;
  }
}

}  // namespace

std::string_view input_meaning(const Model& model) {
  return meaning_of(model, model.is_raw).text;
}

const char* output_name(const Model& model) {
  return model.task == TaskKind::kRegression ? "prediction" : "logits";
}

std::string_view output_meaning(const Model& model) {
  switch (model.task) {
    case TaskKind::kClassification:
      break;
    case TaskKind::kBinary:
      return "logits, N x 1; the sigmoid is the probability of the second class";
    case TaskKind::kMultiLabel:
      return "logits, N x labels; the sigmoid gives the probability of each";
    case TaskKind::kRegression:
      return "numbers, N x outputs, in the units of the data";
  }
  return "logits, N x classes; softmax gives probabilities";
}

Metadata metadata_of(const Model& model, bool is_raw) {
  Metadata all;
  const auto note = [&](const std::string& key, const std::string& value) {
    all[std::string(kPrefix) + key] = value;
  };
  for (const auto& [key, value] : model.properties) note(key, as_utf8(value));
  const Shape& input = model.network.input_shape();
  note("version", DETOL_VERSION);
  note("input", std::string(meaning_of(model, is_raw).text));
  note("input_shape", compact(json{input.channels, input.height, input.width}));
  note("mean", compact(json(model.mean)));
  note("deviation", compact(json(model.deviation)));
  if (!model.offsets.inputs.empty()) note("offsets", compact(json(model.offsets.inputs)));
  if (!model.offsets.targets.empty()) note("target_offsets", compact(json(model.offsets.targets)));
  if (model.table) note("table", compact(json_of(*model.table)));
  if (model.table && model.table->dialect) note("dialect", compact(json_of(*model.table->dialect)));
  if (model.pictures) note("pictures", compact(json_of(*model.pictures)));
  if (!model.class_names.empty()) note("classes", compact(json(model.class_names)));
  if (!model.shares.empty()) note("shares", compact(json(model.shares)));
  if (model.threshold != kUsualThreshold) note("threshold", compact(json(model.threshold)));
  if (model.task != TaskKind::kClassification) note("task", std::string(row_of(model.task).name));
  json params = json::object(), metrics = json::object();
  for (const auto& [name, value] : model.parameters) params[name] = json_value(value);
  for (const Metric& metric : model.metrics) metrics[metric.name] = json_number(metric.value);
  note("params", compact(params));
  note("metrics", compact(metrics));
  return all;
}

Result<Shape> input_shape_from(const Metadata& metadata) {
  DETOL_ASSIGN(const json list, entry(metadata, "input_shape"));
  const auto is_extent = [](const json& value) { return value.is_number_unsigned(); };
  if (!list.is_array() || list.size() != 3 || !std::ranges::all_of(list, is_extent))
    return no("list of channels, height and width", "input_shape");
  return Shape{list[0].get<std::int64_t>(), list[1].get<std::int64_t>(),
               list[2].get<std::int64_t>()};
}

Result<void> read_metadata(const Metadata& metadata, Model& model) {
  const auto input = metadata.find("detol.input");
  const auto meaning =
      std::ranges::find(kInputMeanings, input == metadata.end() ? "" : input->second,
                        [](const InputMeaning& one) { return one.text; });
  if (meaning == kInputMeanings.end())
    return fail(ErrorCode::kInput,
                "its metadata do not say what its input is; detol reads the models that detol "
                "wrote");
  model.reads_pixels = meaning->reads_pixels;
  model.is_raw = meaning->is_raw;
  DETOL_TRY(read_preparation(metadata, model));
  if (meaning_of(model, model.is_raw).text != meaning->text)
    return fail(ErrorCode::kInput, "the metadata's detol.input is not that of its data");
  DETOL_ASSIGN(model.mean, floats(metadata, "mean"));
  DETOL_ASSIGN(model.deviation, floats(metadata, "deviation"));
  DETOL_TRY(read_offsets(metadata, model));
  DETOL_TRY(read_shares(metadata, model));
  DETOL_TRY(read_classes(metadata, model));
  DETOL_TRY(read_task(metadata, model));
  DETOL_TRY(read_threshold(metadata, model));
  DETOL_TRY(read_params(metadata, model));
  DETOL_TRY(read_metrics(metadata, model));
  read_properties(metadata, model);
  return {};
}

}  // namespace detol::inline exporting
