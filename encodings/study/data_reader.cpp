#include "encodings/study/data_reader.h"

#include <nlohmann/json.hpp>

#include "core/table.h"

namespace detol::inline encoding {
namespace {

using nlohmann::json;

json part_of(const json& data, const char* key) {
  return data.value(key, json::object());
}

SplitConfig split_from(const json& section) {
  SplitConfig split;
  split.by = section.value("by", split.by);
  split.column = section.value("column", split.column);
  split.seed = section.value("seed", split.seed);
  split.folds = section.value("folds", split.folds);
  split.fold = section.value("fold", split.fold);
  return split;
}

ColumnsConfig columns_from(const json& data) {
  ColumnsConfig columns;
  columns.separator = data.value("separator", columns.separator);
  columns.decimal = data.value("decimal", columns.decimal);
  if (data.contains("header")) columns.header = data.at("header").get<bool>();
  const json section = part_of(data, "columns");
  columns.use = section.value("use", columns.use);
  columns.drop = section.value("drop", columns.drop);
  columns.types = section.value("types", columns.types);
  columns.numbers = section.value("numbers", columns.numbers);
  columns.bins = section.value("bins", columns.bins);
  return columns;
}

}  // namespace

DataConfig data_config_from(const json& data) {
  DataConfig config;
  config.format = data.at("format");
  if (data.contains("task")) config.task = find_row(tasks(), data["task"].get<std::string>())->kind;
  config.path = data.value("path", "");
  config.source = data.value("source", "");
  const json split = part_of(data, "split");
  config.validation = split.value("validation", config.validation);
  config.test = split.value("test", config.test);
  config.split = split_from(split);
  config.labels = data.value("label", config.labels);
  config.sequence = data.value("sequence", config.sequence);
  config.test_path = data.value("test_path", "");
  config.missing_label = data.value("missing_label", config.missing_label);
  config.layout = data.value("layout", "");
  config.images = data.value("images", "");
  config.size = data.value("size", config.size);
  config.channels = data.value("channels", config.channels);
  if (data.contains("fit"))
    config.fit = find_row(picture_fits(), data["fit"].get<std::string>())->fit;
  config.columns = columns_from(data);
  return config;
}

}  // namespace detol::inline encoding
