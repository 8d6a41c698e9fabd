#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/json_numbers.h"
#include "core/json_text.h"
#include "encodings/space/value_json.h"
#include "studies/trial_file.h"

namespace detol::inline studies {
namespace {

using OrderedJson = nlohmann::ordered_json;

Cell value_cell(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return std::string(*flag ? "true" : "false");
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return std::get<std::string>(value);
}

OrderedJson to_json(const EpochMetrics& epoch) {
  OrderedJson object = OrderedJson::object();
  for (const auto& [name, value] : epoch.metrics) object[name] = json_number<OrderedJson>(value);
  return object;
}

OrderedJson to_json(const TrialHistory& trial) {
  OrderedJson object = {{"state", to_text(trial.state)}};
  if (trial.failure) object["failure"] = to_text(*trial.failure);
  object["params"] = OrderedJson::object();
  for (const auto& [name, value] : trial.params)
    object["params"][name] = json_value<OrderedJson>(value);
  object["values"] = to_json(trial.curve.empty() ? EpochMetrics{} : final_epoch(trial));
  if (!trial.curve.empty() && final_epoch(trial).epoch != trial.curve.back().epoch)
    object["best_epoch"] = final_epoch(trial).epoch;
  object["curve"] = OrderedJson::array();
  for (const EpochMetrics& epoch : trial.curve) {
    OrderedJson point = {{"epoch", epoch.epoch}};
    point.update(to_json(epoch));
    object["curve"].push_back(std::move(point));
  }
  return object;
}

}  // namespace

Rows trial_table(const std::vector<NamedHistories>& studies) {
  Rows table;
  std::map<std::string, std::size_t> positions;  // of "p lr" and "v val_accuracy"
  const auto add_column = [&](const std::string& kind, const std::string& name) {
    if (!positions.try_emplace(kind + name, table.columns.size()).second) return;
    const bool is_taken = std::ranges::find(kTrialColumns, name) != kTrialColumns.end() ||
                          std::ranges::find(table.columns, name) != table.columns.end();
    table.columns.push_back(is_taken ? kind + name : name);
  };
  if (studies.size() > 1) table.columns.emplace_back("study");
  for (const char* name : {"trial", "state", "epoch", "failure"}) table.columns.emplace_back(name);
  const std::size_t fixed = table.columns.size();
  for (const NamedHistories& study : studies) {
    for (const TrialHistory& trial : study.trials) {
      for (const auto& [name, value] : trial.params) add_column("params.", name);
    }
  }
  for (const NamedHistories& study : studies) {
    for (const TrialHistory& trial : study.trials) {
      if (trial.curve.empty()) continue;
      for (const auto& [name, value] : final_epoch(trial).metrics) add_column("values.", name);
    }
  }
  for (const NamedHistories& study : studies) {
    for (std::size_t i = 0; i < study.trials.size(); ++i) {
      const TrialHistory& trial = study.trials[i];
      std::vector<Cell> row;
      if (studies.size() > 1) row.emplace_back(study.study.name);
      row.emplace_back(static_cast<std::int64_t>(i));
      row.emplace_back(std::string(to_text(trial.state)));
      row.push_back(trial.curve.empty() ? Cell() : Cell(std::int64_t{trial.curve.back().epoch}));
      row.push_back(trial.failure ? Cell(std::string(to_text(*trial.failure))) : Cell());
      row.resize(std::max(fixed, table.columns.size()));
      for (const auto& [name, value] : trial.params)
        row[positions.at("params." + name)] = value_cell(value);
      if (!trial.curve.empty()) {
        for (const auto& [name, value] : final_epoch(trial).metrics)
          row[positions.at("values." + name)] = value;
      }
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

std::string trials_json(const std::vector<NamedHistories>& studies) {
  std::string text = "[";
  for (const NamedHistories& study : studies) {
    for (std::size_t i = 0; i < study.trials.size(); ++i) {
      OrderedJson object = OrderedJson::object();
      if (studies.size() > 1) object["study"] = study.study.name;
      object["trial"] = i;
      object.update(to_json(study.trials[i]));
      text += text.size() == 1 ? "\n" : ",\n";
      text += compact(object);
    }
  }
  return text + "\n]\n";
}

}  // namespace detol::inline studies
