#include "encodings/study/data_checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/table.h"

namespace detol::inline encoding {
namespace {

// KeyOfFormats: a key of data that only some formats accept.
struct KeyOfFormats {
  std::string_view key, formats;
};

constexpr KeyOfFormats kKeysOfFormats[] = {{"label", "csv, cifar, hdf5"},
                                           {"sequence", "csv, npy, hdf5"},
                                           {"test_path", "csv"},
                                           {"missing_label", "csv"},
                                           {"separator", "csv"},
                                           {"decimal", "csv"},
                                           {"header", "csv"},
                                           {"columns", "csv"},
                                           {"layout", "npy, hdf5"},
                                           {"images", "hdf5"},
                                           {"size", "image_folder, webdataset"},
                                           {"fit", "image_folder, webdataset"},
                                           {"channels", "image_folder, webdataset"}};

}  // namespace

std::vector<std::string> words_of_training(const YamlNode& tree, std::string_view key) {
  const YamlNode* node = node_at(tree, {"training", key});
  if (node == nullptr || node->kind == YamlNode::Kind::kNull) return {};
  if (node->kind == YamlNode::Kind::kScalar) return {node->scalar};
  std::vector<std::string> words;
  for (const YamlNode& item : node_at(*node, {"choices"})->items) words.push_back(item.scalar);
  return words;
}

Result<void> has_keys_of_its_format(const YamlNode& tree, const YamlSource& source,
                                    std::string_view format) {
  for (const auto& [key, formats] : kKeysOfFormats) {
    const YamlNode* node = node_at(tree, {"data", key});
    if (node == nullptr ||
        fmt::format(", {},", formats).find(fmt::format(", {},", format)) != std::string::npos)
      continue;
    return source.error(node->at,
                        fmt::format("data.{} is for format {}; leave it out", key, formats));
  }
  const YamlNode* fit = node_at(tree, {"data", "fit"});
  if (fit != nullptr && node_at(tree, {"data", "size"}) == nullptr)
    return source.error(fit->at, "data.fit says how pictures become a square of data.size; say it");
  return {};
}

namespace {

// Checks the type of each column that is typed, and the characters that separate.
Result<void> check_columns(const YamlNode& tree, const YamlSource& source,
                           const ColumnsConfig& columns) {
  constexpr std::string_view kTypes[] = {"number", "category", "date"};
  for (const auto& [name, type] : columns.types) {
    if (std::ranges::find(kTypes, type) != std::end(kTypes)) continue;
    return source.error(
        node_at(tree, {"data", "columns", "types", name})->at,
        fmt::format("data.columns.types.{}: {}", name, unknown_name("type", type, kTypes)));
  }
  if (columns.separator.size() > 1) {
    return source.error(node_at(tree, {"data", "separator"})->at,
                        "data.separator is one character, such as ';' or \"\\t\"");
  }
  if (columns.decimal.empty() || columns.decimal == "." || columns.decimal == ",") return {};
  return source.error(node_at(tree, {"data", "decimal"})->at, "data.decimal is '.' or ','");
}

// Checks that the keys of the split belong together, and to the format.
Result<void> check_split(const YamlNode& tree, const YamlSource& source, const DataConfig& data) {
  const SplitConfig& split = data.split;
  const YamlNode* section = node_at(tree, {"data", "split"});
  const bool is_default = split.by == "random" && split.seed == 0 && split.folds == 0;
  if (data.format == "packed" && !is_default) {
    return source.error(section->at,
                        "data.split: packed data are split already; leave by, seed and folds out");
  }
  const bool needs_column = split.by == "group" || split.by == "time";
  if (needs_column && data.format != "csv") {
    return source.error(section->at, fmt::format("data.split.by {} is for format csv; accepted "
                                                 "for {}: random, stratified",
                                                 split.by, data.format));
  }
  if (needs_column == split.column.empty() && section != nullptr) {
    return source.error(section->at,
                        needs_column ? fmt::format("data.split.by {} needs data.split.column, the "
                                                   "column that it goes by",
                                                   split.by)
                                     : "data.split.column is for data.split.by group or time; "
                                       "leave it out");
  }
  if (split.fold > 0 && split.fold >= split.folds) {
    return source.error(section->at, fmt::format("data.split.fold {} of {} folds; folds count "
                                                 "from 0",
                                                 split.fold, split.folds));
  }
  if (split.folds > 0 && split.by == "time") {
    return source.error(section->at,
                        "data.split.folds does not go with data.split.by time, which validates "
                        "on the newest records; leave it out");
  }
  return {};
}

}  // namespace

Result<void> check_data(const YamlNode& tree, const YamlSource& source, const DataConfig& data) {
  DETOL_TRY(check_columns(tree, source, data.columns));
  return check_split(tree, source, data);
}

Result<void> suits_task(const YamlNode& tree, const YamlSource& source, const DataConfig& data) {
  const TaskRow& task = row_of(data.task);
  if (has_labels(task.kind) && data.labels.size() > 1) {
    return source.error(node_at(tree, {"data", "label"})->at,
                        fmt::format("data.label: {} columns, but data.task {} takes one; "
                                    "multi_label and regression take several",
                                    data.labels.size(), task.name));
  }
  if (data.missing_label == "class" && !has_labels(task.kind)) {
    return source.error(node_at(tree, {"data", "missing_label"})->at,
                        fmt::format("data.missing_label: data.task {} has no classes; accepted: "
                                    "error, drop",
                                    task.name));
  }
  for (const std::string& loss : words_of_training(tree, "loss")) {
    if (std::ranges::find(task.losses, loss) != task.losses.end()) continue;
    return source.error(node_at(tree, {"training", "loss"})->at,
                        fmt::format("training.loss: {} is no loss of data.task {}; accepted: {}",
                                    loss, task.name, join(task.losses)));
  }
  const YamlNode* weights = node_at(tree, {"training", "class_weights"});
  if (task.kind != TaskKind::kClassification && weights != nullptr) {
    return source.error(weights->at,
                        fmt::format("training.class_weights: data.task {} has none; leave it out, "
                                    "or use classification, of two classes, too",
                                    task.name));
  }
  const YamlNode* smoothing = node_at(tree, {"parameters", "label_smoothing"});
  if (task.kind == TaskKind::kRegression && smoothing != nullptr) {
    return source.error(smoothing->at,
                        "parameters.label_smoothing: there are no labels in data.task regression; "
                        "leave it out");
  }
  return {};
}

}  // namespace detol::inline encoding
