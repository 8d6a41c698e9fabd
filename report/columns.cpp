#include "report/panels.h"

namespace detol::inline report {
namespace {

// Appends the value of each property of a trial to its column.
void add_row(const ReportSource& source, const ShownTrial& trial, Json& columns) {
  const auto labels = source.labels.find(trial.trial);
  const bool has_labels = labels != source.labels.end();
  const double t0_s = source.study.created_s;
  columns["trial"].push_back(trial.trial);
  columns["state"].push_back(trial.state);
  columns["failure"].push_back(trial.failure);
  columns["reason"].push_back(trial.reason);
  columns["algorithm"].push_back(trial.algorithm);
  columns["scored"].push_back(trial.is_scored ? 1 : 0);
  columns["epochs"].push_back(trial.epochs);
  columns["device_s"].push_back(trial.device_s);
  columns["start_s"].push_back(trial.started_s ? Json(*trial.started_s - t0_s) : Json());
  columns["duration_s"].push_back(trial.started_s && trial.finished_s
                                      ? Json(std::max(0.0, *trial.finished_s - *trial.started_s))
                                      : Json());
  columns["params"].push_back(number_or_null(trial.params_count));
  columns["flops"].push_back(number_or_null(trial.flops));
  columns["tags"].push_back(has_labels ? Json(labels->second.tags) : Json());
  columns["note"].push_back(has_labels ? labels->second.note : "");
}

}  // namespace

Json trial_columns(const ReportSource& source, const Trials& trials) {
  Json columns = Json::object();
  for (const char* name : {"trial", "state", "failure", "reason", "algorithm", "scored", "epochs",
                           "device_s", "start_s", "duration_s", "params", "flops", "tags", "note"})
    columns[name] = Json::array();
  Json values = Json::array();
  for (std::size_t k = 0; k < source.study.objectives.size(); ++k) values.push_back(Json::array());
  for (const ShownTrial& trial : trials) {
    add_row(source, trial, columns);
    for (std::size_t k = 0; k < values.size(); ++k)
      values[k].push_back(number_or_null(trial.values[k]));
  }
  columns["values"] = std::move(values);
  return columns;
}

}  // namespace detol::inline report
