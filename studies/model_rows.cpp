#include "studies/model_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "core/json_numbers.h"
#include "core/json_text.h"
#include "core/table.h"
#include "studies/trial_rows.h"

namespace detol::inline studies {
namespace {

using OrderedJson = nlohmann::ordered_json;

// Returns an empty value where the column is missing, as in what an older detol wrote.
template <typename T>
T cell_as(const Rows& rows, std::size_t row, std::string_view column) {
  if (std::ranges::find(rows.columns, column) == rows.columns.end()) return T();
  const auto* found = std::get_if<T>(&cell(rows, row, column));
  return found != nullptr ? *found : T();
}

std::optional<std::int64_t> count_cell(const Rows& rows, std::size_t row, std::string_view column) {
  const auto* found = std::get_if<std::int64_t>(&cell(rows, row, column));
  return found != nullptr ? std::optional(*found) : std::nullopt;
}

double number_or_nan(const OrderedJson& written) {
  return number_in_json(written).value_or(std::numeric_limits<double>::quiet_NaN());
}

// Returns whether a path leads below the folder that it is appended to.
bool leads_inside(const std::filesystem::path& path) {
  return path.is_relative() && std::ranges::find(path, "..") == path.end();
}

Result<event::Model> model_in(const Rows& rows, std::size_t row) {
  const auto kind = model_kind_from(cell_as<std::string>(rows, row, "kind"));
  const auto state = model_state_from(cell_as<std::string>(rows, row, "state"));
  event::Model model{.model = cell_as<std::int64_t>(rows, row, "model"),
                     .trial = static_cast<TrialId>(cell_as<std::int64_t>(rows, row, "trial")),
                     .kind = kind.value_or(ModelKind::kTestedTrial),
                     .state = state.value_or(ModelState::kFailed),
                     .failure = cell_as<std::string>(rows, row, "failure"),
                     .reason = cell_as<std::string>(rows, row, "reason"),
                     .seed = cell_as<std::int64_t>(rows, row, "seed"),
                     .epochs = cell_number(cell(rows, row, "epochs"), 0),
                     .trained_on = cell_as<std::string>(rows, row, "trained_on"),
                     .began_from = cell_as<std::string>(rows, row, "began_from"),
                     .first = cell_as<std::int64_t>(rows, row, "first"),
                     .network_params = count_cell(rows, row, "params"),
                     .flops = count_cell(rows, row, "flops"),
                     .dataset = cell_as<std::string>(rows, row, "dataset"),
                     .folder = cell_as<std::string>(rows, row, "folder"),
                     .at_s = cell_number(cell(rows, row, "created"), 0),
                     .parent = cell_as<std::int64_t>(rows, row, "parent"),
                     .settings = cell_as<std::string>(rows, row, "settings"),
                     .architecture = cell_as<std::string>(rows, row, "architecture")};
  const auto metrics =
      json_or_discarded<OrderedJson>(cell_as<std::string>(rows, row, "values_json"));
  const auto intervals =
      json_or_discarded<OrderedJson>(cell_as<std::string>(rows, row, "intervals_json"));
  const bool is_whole = kind && state && metrics.is_object() && intervals.is_object();
  if (!is_whole || !leads_inside(model.folder))
    return fail(ErrorCode::kStorage, fmt::format("model {} is damaged", model.model));
  for (const auto& [name, value] : metrics.items())
    model.metrics.emplace_back(name, number_or_nan(value));
  for (const auto& [name, ends] : intervals.items()) {
    if (ends.is_array() && ends.size() == 2)
      model.intervals.push_back({name, number_or_nan(ends[0]), number_or_nan(ends[1])});
  }
  return model;
}

std::string metrics_json(const event::Model& model, bool (*takes)(std::string_view name)) {
  OrderedJson object = OrderedJson::object();
  for (const auto& [name, value] : model.metrics) {
    if (takes(name)) object[name] = json_number<OrderedJson>(value);
  }
  return compact(object);
}

// Returns whether the database has the view; what an older detol wrote last has not.
Result<bool> has_models(Reader& reader) {
  DETOL_ASSIGN(const Rows rows,
               reader.select("SELECT 1 FROM sqlite_schema WHERE name = 'v_models'"));
  return !rows.rows.empty();
}

}  // namespace

Result<std::vector<event::Model>> models_of(const OpenStudy& study) {
  std::vector<event::Model> models;
  DETOL_ASSIGN(const bool has_view, has_models(*study.reader));
  if (!has_view) return models;
  DETOL_ASSIGN(const Rows rows,
               study.reader->select("SELECT * FROM v_models WHERE study = ?1 ORDER BY model",
                                    {study.record.name}));
  for (std::size_t row = 0; row < rows.rows.size(); ++row) {
    DETOL_ASSIGN(event::Model model, model_in(rows, row));
    models.push_back(std::move(model));
  }
  return models;
}

Result<event::Model> model_called(const OpenStudy& study, const std::string& number) {
  std::int64_t id = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), id);
  if (error != std::errc() || end != number.data() + number.size())
    return fail(ErrorCode::kUsage,
                fmt::format("model is {}; it must be its number", in_quotes(number)));
  DETOL_ASSIGN(const auto models, models_of(study));
  const auto found = std::ranges::find(models, id, &event::Model::model);
  if (found != models.end()) return *found;
  return fail(ErrorCode::kEmpty,
              fmt::format("study {} has no model {} (detol query \"SELECT * FROM v_models\")",
                          study.record.name, id));
}

const event::Model* tested(std::span<const event::Model> models, TrialId trial, double best_epoch) {
  const auto found = std::ranges::find_if(models, [&](const event::Model& model) {
    return model.kind == ModelKind::kTestedTrial && model.trial == trial &&
           model.epochs == best_epoch;
  });
  return found != models.end() ? &*found : nullptr;
}

std::optional<double> metric_of(const event::Model& model, std::string_view metric) {
  const auto found =
      std::ranges::find_if(model.metrics, [&](const auto& named) { return named.first == metric; });
  return found != model.metrics.end() ? std::optional(found->second) : std::nullopt;
}

std::int64_t next_number(std::span<const event::Model> models) {
  return models.empty() ? 1 : models.back().model + 1;
}

std::string values_json(const event::Model& model) {
  return metrics_json(model, [](std::string_view name) { return !name.starts_with("test_"); });
}

std::string test_json(const event::Model& model) {
  return metrics_json(model, [](std::string_view name) { return name.starts_with("test_"); });
}

std::string interval_json(const event::Model& model) {
  OrderedJson object = OrderedJson::object();
  for (const auto& [name, low, high] : model.intervals)
    object[name] = {json_number<OrderedJson>(low), json_number<OrderedJson>(high)};
  return compact(object);
}

Result<ModelRecord> ModelRecord::open(const std::filesystem::path& storage,
                                      const std::string& study) {
  ModelRecord record;
  DETOL_ASSIGN(record.ledger_, Ledger::open(storage));
  DETOL_ASSIGN(const StudyRecord found, record.ledger_->open_study(study));
  record.study_ = found.id;
  return record;
}

Result<std::vector<event::Model>> ModelRecord::models() {
  DETOL_ASSIGN(const auto events, ledger_->events(study_));
  std::map<std::int64_t, event::Model> by_number;
  for (const Event& event : events) {
    if (const auto* model = std::get_if<event::Model>(&event))
      by_number.insert_or_assign(model->model, *model);
  }
  std::vector<event::Model> models;
  for (auto& [number, model] : by_number) models.push_back(std::move(model));
  return models;
}

Result<void> ModelRecord::save(std::span<const event::Model> models) {
  const std::vector<Event> events(models.begin(), models.end());
  return ledger_->append(study_, events);
}

}  // namespace detol::inline studies
