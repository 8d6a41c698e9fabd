#include "trainer/data/preprocessing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "core/durable_file.h"
#include "core/file.h"
#include "core/hash.h"
#include "core/json_numbers.h"
#include "core/json_text.h"
#include "core/table.h"
#include "trainer/data/table_look.h"

namespace detol::inline trainer {
namespace {

using nlohmann::json;

constexpr std::size_t kMostInputs = std::size_t{1} << 20;
constexpr std::size_t kMostKnots = 1025;  // data.columns.bins is at most 1,024
constexpr std::size_t kMostTableColumns = std::size_t{1} << 14;
constexpr std::size_t kLargestFile = std::size_t{64} << 20;

// The second has offsets, which a reader of the first would pass over.
constexpr std::string_view kForm = "preprocessing 1", kFormWithOffsets = "preprocessing 2";

struct EncodingRow {
  std::string_view name;
  NumberEncoding encoding;
};
constexpr std::array kEncodings = {EncodingRow{"standard", NumberEncoding::kStandard},
                                   EncodingRow{"quantile", NumberEncoding::kQuantile},
                                   EncodingRow{"piecewise", NumberEncoding::kPiecewise}};

// Runs an action that reads untrusted JSON; an exception of the library becomes an error.
template <typename Action>
auto guarded(std::string_view what, Action action) -> Result<decltype(action())> {
  try {
    return action();
  } catch (const json::exception&) {
    return fail(ErrorCode::kInput, fmt::format("its {} is not as detol writes it", what));
  }
}

[[noreturn]] void refuse() {
  throw json::other_error::create(501, "a value that detol does not write", nullptr);
}

template <typename Row, std::size_t N>
const Row& row_called(const std::array<Row, N>& rows, const json& name) {
  const Row* row = find_row(std::span<const Row>(rows), name.get_ref<const std::string&>());
  if (row == nullptr) refuse();
  return *row;
}

ColumnKind kind_from(std::string_view name) {
  for (const auto kind : {ColumnKind::kNumber, ColumnKind::kDate, ColumnKind::kCategory}) {
    if (name_of(kind) == name) return kind;
  }
  refuse();
}

float finite(const json& value) {
  const auto number = value.get<float>();
  if (!value.is_number() || !std::isfinite(number)) refuse();
  return number;
}

std::vector<float> finite_numbers(const json& list) {
  std::vector<float> numbers;
  for (const json& value : list.get_ref<const json::array_t&>()) numbers.push_back(finite(value));
  return numbers;
}

std::vector<double> offsets_from(const json& all, const char* key) {
  std::vector<double> offsets;
  if (!all.contains(key)) return offsets;
  for (const json& value : all.at(key).get_ref<const json::array_t&>()) {
    if (!value.is_number() || !std::isfinite(value.get<double>())) refuse();
    offsets.push_back(value.get<double>());
  }
  return offsets;
}

json json_of(const TableColumn& column) {
  json all = {{"name", column.name}, {"kind", name_of(column.kind)}};
  if (column.kind == ColumnKind::kCategory) {
    all["categories"] = column.categories;
    all["pools_rare"] = column.pools_rare;
    return all;
  }
  const auto encoding = std::ranges::find(kEncodings, column.encoding, &EncodingRow::encoding);
  all["encoding"] = encoding->name;
  all["mean"] = column.mean;
  all["deviation"] = column.deviation;
  all["knots"] = column.knots;
  all["fill"] = column.fill;
  all["marks_missing"] = column.marks_missing;
  if (column.kind == ColumnKind::kDate) all["is_day_first"] = column.is_day_first;
  return all;
}

TableColumn column_from(const json& all) {
  TableColumn column;
  column.name = all.at("name").get<std::string>();
  column.kind = kind_from(all.at("kind").get_ref<const std::string&>());
  if (column.kind == ColumnKind::kCategory) {
    column.categories = all.at("categories").get<std::vector<std::string>>();
    column.pools_rare = all.at("pools_rare").get<bool>();
    const std::set<std::string_view> distinct(column.categories.begin(), column.categories.end());
    if (distinct.size() != column.categories.size()) refuse();
    return column;
  }
  column.encoding = row_called(kEncodings, all.at("encoding")).encoding;
  column.mean = finite(all.at("mean"));
  column.deviation = finite(all.at("deviation"));
  column.knots = finite_numbers(all.at("knots"));
  column.fill = finite(all.at("fill"));
  column.marks_missing = all.at("marks_missing").get<bool>();
  if (column.kind == ColumnKind::kDate) column.is_day_first = all.at("is_day_first").get<bool>();
  const bool ascends =
      std::ranges::adjacent_find(column.knots, std::greater_equal{}) == column.knots.end();
  if (!(column.deviation > 0) || !ascends || column.knots.size() > kMostKnots) refuse();
  return column;
}

TableDialect dialect_from(const json& all) {
  const auto& separator = all.at("separator").get_ref<const std::string&>();
  const auto& decimal = all.at("decimal").get_ref<const std::string&>();
  if (separator.size() != 1 || (decimal != "." && decimal != ",")) refuse();
  return {separator.front(), decimal.front(), all.at("header").get<bool>()};
}

std::uint64_t hash_from(const json& value) {
  const auto& digits = value.get_ref<const std::string&>();
  std::uint64_t hash = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), hash, 16);
  if (error != std::errc() || end != digits.data() + digits.size()) refuse();
  return hash;
}

Task task_from(const json& all) {
  const json& input = all.at("input");
  Task task;
  const TaskRow* row = find_row(tasks(), all.at("task").get_ref<const std::string&>());
  if (row == nullptr) refuse();
  task.kind = row->kind;
  task.input = {whole_number<std::int64_t>(input.at(0)), whole_number<std::int64_t>(input.at(1)),
                whole_number<std::int64_t>(input.at(2))};
  task.classes = whole_number<int>(all.at("classes"));
  return task;
}

bool are_consistent(const Offsets& offsets, const Preprocessing& of) {
  const std::size_t columns = of.table ? of.table->columns.size() : of.mean.size();
  const bool fit = offsets.inputs.empty() || offsets.inputs.size() == columns;
  return fit && (offsets.targets.empty() || offsets.targets.size() == of.target_mean.size());
}

// Returns whether the parts have the sizes that the task demands.
bool is_consistent(const Preprocessing& of) {
  const auto channels = static_cast<std::size_t>(std::max<std::int64_t>(of.task.input.channels, 0));
  const bool scales = of.task.kind == TaskKind::kRegression;
  const std::size_t outputs = scales ? static_cast<std::size_t>(std::max(of.task.classes, 0)) : 0;
  return channels > 0 && of.mean.size() == channels && of.deviation.size() == channels &&
         std::ranges::all_of(of.deviation, [](float x) { return x > 0; }) &&
         of.target_mean.size() == outputs && of.target_deviation.size() == outputs &&
         (!of.table || of.table->inputs() == channels) && are_consistent(of.offsets, of);
}

json json_of(const Preprocessing& of) {
  const Shape& input = of.task.input;
  const bool has_offsets = !of.offsets.inputs.empty() || !of.offsets.targets.empty();
  json all = {{"detol", has_offsets ? kFormWithOffsets : kForm},
              {"data", to_hex(of.fingerprint)},
              {"task", row_of(of.task.kind).name},
              {"input", {input.channels, input.height, input.width}},
              {"classes", of.task.classes},
              {"has_bytes", of.has_bytes},
              {"mean", of.mean},
              {"deviation", of.deviation},
              {"class_names", of.class_names},
              {"target_mean", of.target_mean},
              {"target_deviation", of.target_deviation}};
  if (!of.offsets.inputs.empty()) all["offsets"] = of.offsets.inputs;
  if (!of.offsets.targets.empty()) all["target_offsets"] = of.offsets.targets;
  if (of.table) all["table"] = json_of(*of.table);
  if (of.table && of.table->dialect) all["dialect"] = json_of(*of.table->dialect);
  if (of.pictures) all["pictures"] = json_of(*of.pictures);
  return all;
}

Result<Preprocessing> preprocessing_from(const json& all) {
  Preprocessing of;
  DETOL_TRY(guarded("content", [&] {
    of.fingerprint = hash_from(all.at("data"));
    of.task = task_from(all);
    of.has_bytes = all.at("has_bytes").get<bool>();
    of.mean = finite_numbers(all.at("mean"));
    of.deviation = finite_numbers(all.at("deviation"));
    of.class_names = all.at("class_names").get<std::vector<std::string>>();
    of.target_mean = finite_numbers(all.at("target_mean"));
    of.target_deviation = finite_numbers(all.at("target_deviation"));
    of.offsets = {offsets_from(all, "offsets"), offsets_from(all, "target_offsets")};
    return true;
  }));
  if (all.contains("table")) {
    DETOL_ASSIGN(TableEncoder table, table_from(all.at("table"), all.value("dialect", json())));
    of.table = std::make_shared<TableEncoder>(std::move(table));
  }
  if (all.contains("pictures")) {
    DETOL_ASSIGN(of.pictures, pictures_from(all.at("pictures")));
  }
  if (is_consistent(of)) return of;
  return fail(ErrorCode::kInput, "its parts do not belong together");
}

}  // namespace

json json_of(const TableEncoder& table) {
  json columns = json::array();
  for (const TableColumn& column : table.columns) columns.push_back(json_of(column));
  return columns;
}

json json_of(const TableDialect& dialect) {
  return {{"separator", std::string(1, dialect.separator)},
          {"decimal", std::string(1, dialect.decimal)},
          {"header", dialect.has_header}};
}

json json_of(const PictureForm& pictures) {
  const auto fit = std::ranges::find(picture_fits(), pictures.fit, &PictureFitRow::fit);
  return {{"size", pictures.size}, {"fit", fit->name}, {"channels", pictures.channels}};
}

Result<TableEncoder> table_from(const json& columns, const json& dialect) {
  return guarded("table", [&] {
    TableEncoder table;
    if (!dialect.is_null()) table.dialect = dialect_from(dialect);
    std::set<std::string> names;
    for (const json& column : columns.get_ref<const json::array_t&>()) {
      table.columns.push_back(column_from(column));
      if (!names.insert(table.columns.back().name).second) refuse();
    }
    const std::size_t inputs = table.inputs();
    if (inputs == 0 || inputs > kMostInputs || table.columns.size() > kMostTableColumns) refuse();
    return table;
  });
}

Result<PictureForm> pictures_from(const json& all) {
  return guarded("form of pictures", [&] {
    constexpr int kLargestSide = 4096;
    PictureForm form;
    form.size = whole_number<int>(all.at("size"));
    form.channels = whole_number<int>(all.at("channels"));
    const PictureFitRow* row =
        find_row(picture_fits(), all.at("fit").get_ref<const std::string&>());
    if (row == nullptr || form.size < 0 || form.size > kLargestSide ||
        (form.channels != 1 && form.channels != 3))
      refuse();
    form.fit = row->fit;
    return form;
  });
}

Preprocessing preprocessing_of(const Dataset& data) {
  return {.fingerprint = data.info.fingerprint,
          .task = data.info.task,
          .has_bytes = data.has_bytes(),
          .mean = data.mean,
          .deviation = data.deviation,
          .table = data.table,
          .offsets = data.offsets,
          .pictures = data.pictures,
          .class_names = data.class_names,
          .target_mean = data.target_mean,
          .target_deviation = data.target_deviation};
}

Result<void> write_preprocessing(const std::filesystem::path& path, const Preprocessing& of) {
  std::error_code ignored;
  Result<void> written;
  if (!std::filesystem::exists(path, ignored))
    written = write_file_durably(path, compact(json_of(of)) + "\n");
  if (!std::filesystem::exists(path, ignored)) return written;
  remove_unfinished(path);  // what killed workers left; others write the same
  return {};
}

Result<Preprocessing> read_preprocessing(const std::filesystem::path& path) {
  DETOL_ASSIGN(const std::string text, read_file(path, kLargestFile));
  const json all = json_or_discarded(text, {.bytes = kLargestFile});
  const json form = all.is_object() ? all.value("detol", json()) : json();
  if (form != kForm && form != kFormWithOffsets)
    return fail(ErrorCode::kInput, path.string() + ": not a file that detol wrote, or damaged");
  return preprocessing_from(all).map_error([&](const Error& error) {
    return Error{error.code, path.string() + ": " + error.message};
  });
}

}  // namespace detol::inline trainer
