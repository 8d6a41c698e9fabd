#include "encodings/study/table_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/table.h"
#include "encodings/study/encodings.h"

namespace detol::inline encoding {
namespace {

using nlohmann::json;

constexpr std::string_view kArchitecture = "architecture";

// Written: one column of the key as it is written; `name` is a parameter or `architecture`.
struct Written {
  std::string name, column;
  Position at;
};

class KeyReader {
 public:
  KeyReader(const json& file, const YamlSource& source)
      : parameters_(file.value("parameters", json::object())),
        has_architecture_(file.contains(kArchitecture)),
        source_(source) {}

  Result<std::vector<KeyColumn>> read(const YamlNode& key) {
    DETOL_ASSIGN(const std::vector<Written> written, written_in(key));
    std::vector<KeyColumn> columns;
    for (const Written& one : written) {
      DETOL_ASSIGN(std::string parameter, meant(one));
      for (const KeyColumn& other : columns) {
        if (other.parameter == parameter || other.column == one.column) {
          return mistake(one.at, fmt::format("{} and {} are the same; one is enough",
                                             in_quotes(other.column), in_quotes(one.column)));
        }
      }
      columns.push_back({one.column, std::move(parameter)});
    }
    DETOL_TRY(check_all_have_one(columns, key.at));
    return columns;
  }

 private:
  tl::unexpected<Error> mistake(const Position& at, std::string_view what) const {
    return source_.error(at, fmt::format("table.key: {}", what));
  }

  // Returns the columns in their order, none empty.
  Result<std::vector<Written>> written_in(const YamlNode& key) const {
    std::vector<Written> written;
    if (key.kind == YamlNode::Kind::kScalar) written.push_back({"", key.scalar, key.at});
    for (const YamlNode& item : key.items) written.push_back({"", item.scalar, item.at});
    for (const YamlEntry& entry : key.entries)
      written.push_back({entry.key, entry.value.scalar, entry.at});
    const auto blank = std::ranges::find(written, "", &Written::column);
    if (written.empty() || blank != written.end()) {
      return mistake(written.empty() ? key.at : blank->at,
                     "it must be a column, a list of columns, or a map {parameter: column}");
    }
    return written;
  }

  // Returns the parameter's name, or "" for the architecture.
  Result<std::string> meant(const Written& one) const {
    const std::string& name = one.name.empty() ? one.column : one.name;
    if (parameters_.contains(name)) return name;
    if (has_architecture_ && (one.name.empty() || one.name == kArchitecture)) return std::string();
    std::vector<std::string> known;
    for (const auto& [parameter, value] : parameters_.items()) known.push_back(parameter);
    if (has_architecture_) known.emplace_back(kArchitecture);
    const std::vector<std::string_view> views(known.begin(), known.end());
    return mistake(one.at, unknown_name("parameter", name, views));
  }

  Result<void> check_all_have_one(const std::vector<KeyColumn>& columns, const Position& at) const {
    std::vector<std::string> names;
    for (const auto& [parameter, value] : parameters_.items()) names.push_back(parameter);
    if (has_architecture_) names.emplace_back();
    for (const std::string& name : names) {
      if (std::ranges::find(columns, name, &KeyColumn::parameter) != columns.end()) continue;
      const std::string what = name.empty() ? "architecture" : "parameter " + in_quotes(name);
      return mistake(at, fmt::format("the {} has no column here, so that nothing would depend on "
                                     "it",
                                     what));
    }
    return {};
  }

  const json parameters_;
  const bool has_architecture_;
  const YamlSource& source_;
};

// Checks that the encoding gives architectures a text under which a table can list them.
Result<void> check_has_key(const EncodingRow& encoding, const Position& at,
                           const YamlSource& source) {
  if (encoding.key != nullptr) return {};
  std::vector<std::string_view> accepted;
  for (const EncodingRow& row : encodings()) {
    if (row.key != nullptr) accepted.push_back(row.name);
  }
  return source.error(at, fmt::format("architecture.type: no table knows the architectures of "
                                      "{}; accepted: {}",
                                      encoding.name, join(accepted)));
}

}  // namespace

Result<TableConfig> read_table_config(const YamlNode& tree, const json& file,
                                      const EncodingRow* encoding, const YamlSource& source) {
  if (encoding != nullptr) {
    const YamlNode& type = tree.find("architecture")->value.find("type")->value;
    DETOL_TRY(check_has_key(*encoding, type.at, source));
  }
  const json& section = file.at("table");
  TableConfig table{.path = section.value("path", ""),
                    .source = section.value("source", ""),
                    .key = {},
                    .metrics = {},
                    .cost = section.value("cost", "")};
  for (const auto& [metric, column] : section.at("metrics").items())
    table.metrics.push_back({metric, column});
  const YamlNode& key = tree.find("table")->value.find("key")->value;
  DETOL_ASSIGN(table.key, KeyReader(file, source).read(key));
  return table;
}

}  // namespace detol::inline encoding
