#include "scheduler/simulation/recorded_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/json_text.h"
#include "encodings/space/value_json.h"

namespace detol::inline scheduler {
namespace {

using Json = nlohmann::ordered_json;

// CurveRecorder collects the curve of one trial from its events.
struct CurveRecorder {
  RecordedTrial trial;
  int group_size = 1;
  bool is_known = false;  // it took the outcome of another trial
  double started_s = 0;
  double trained_s = 0;  // in this attempt
};

void add(const event::Reported& reported, const GroupSpeed& speed, CurveRecorder& recorder) {
  const double wall_s = reported.train_s / recorder.group_size;
  const double seconds = wall_s * speed(recorder.group_size);
  recorder.trained_s += wall_s;
  auto& reports = recorder.trial.reports;
  if (!reports.empty() && reported.epochs() <= reports.back().epochs) return;
  reports.push_back({reported.epochs(), seconds, reported.work, reported.metrics});
}

bool is_own(Cause cause) {
  return cause == Cause::kDiverged || cause == Cause::kOutOfMemory;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

Json to_json(const RecordedTrial& trial) {
  Json params = Json::object();
  for (const auto& [name, value] : trial.params) params[name] = json_value<Json>(value);
  Json reports = Json::array();
  for (const RecordedReport& report : trial.reports) {
    Json metrics = Json::object();
    for (const auto& [name, value] : report.metrics) metrics[name] = value;
    reports.push_back({{"epochs", report.epochs},
                       {"seconds", report.seconds},
                       {"work", report.work},
                       {"metrics", std::move(metrics)}});
  }
  const Json failure = trial.failure ? Json(to_text(*trial.failure)) : Json();
  return {{"params", std::move(params)}, {"failure", failure}, {"reports", std::move(reports)}};
}

Value value_from(const Json& json) {
  auto value = value_in_json(json);
  return value ? *std::move(value) : json.get<std::string>();  // which throws
}

// Throws a nlohmann exception where the line is not one of to_json().
RecordedTrial trial_from(const Json& json) {
  RecordedTrial trial;
  for (const auto& [name, value] : json.at("params").items())
    trial.params.emplace_back(name, value_from(value));
  if (!json.at("failure").is_null())
    trial.failure = cause_from(json.at("failure").get<std::string>());
  for (const Json& one : json.at("reports")) {
    RecordedReport& report = trial.reports.emplace_back();
    report.epochs = one.at("epochs");
    report.seconds = one.at("seconds");
    report.work = one.at("work");
    for (const auto& [name, value] : one.at("metrics").items())
      if (value.is_number()) report.metrics.emplace_back(name, value.get<double>());
  }
  return trial;
}

}  // namespace

RecordedCurves curves_of(std::span<const Event> events, const GroupSpeed& speed) {
  std::map<TrialId, CurveRecorder> recorders;
  std::vector<double> besides_s;
  for (const Event& event : events) {
    if (const auto* asked = std::get_if<event::Asked>(&event)) {
      recorders[asked->trial].trial.params = asked->params;
    } else if (const auto* started = std::get_if<event::Started>(&event)) {
      CurveRecorder& recorder = recorders[started->trial];
      recorder.group_size = started->group_size;
      recorder.started_s = started->at_s;
      recorder.trained_s = 0;
    } else if (const auto* reported = std::get_if<event::Reported>(&event)) {
      add(*reported, speed, recorders[reported->trial]);
    } else if (const auto* told = std::get_if<event::Told>(&event)) {
      CurveRecorder& recorder = recorders[told->trial];
      recorder.is_known = told->reason.cause == EndCause::kSameTrial;
      const auto cause = cause_of(told->outcome);
      recorder.trial.failure = cause && is_own(*cause) ? cause : std::nullopt;
      const bool is_whole = recorder.trained_s > 0 && told->unreported_s == 0;
      if (is_whole)
        besides_s.push_back(std::max(0.0, told->at_s - recorder.started_s - recorder.trained_s));
    }
  }
  RecordedCurves curves;
  for (auto& [id, recorder] : recorders) {
    if (!recorder.is_known && (!recorder.trial.reports.empty() || recorder.trial.failure))
      curves.trials.push_back(std::move(recorder.trial));
  }
  curves.start_s = median(std::move(besides_s));
  return curves;
}

Result<RecordedCurves> read_curves(const std::filesystem::path& file) {
  DETOL_ASSIGN(const std::string text, read_file(file));
  RecordedCurves curves;
  std::string_view rest = text;
  for (int line = 1; !rest.empty(); ++line) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view words = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (words.empty()) continue;
    DETOL_ASSIGN(const Json json,
                 parse_json<Json>(words, fmt::format("{}:{}: it", file.string(), line)));
    try {
      curves.trials.push_back(trial_from(json));
    } catch (const nlohmann::json::exception& e) {
      return fail(ErrorCode::kInput,
                  fmt::format("{}:{}: no recorded trial: {}", file.string(), line, e.what()));
    }
  }
  if (curves.trials.empty())
    return fail(ErrorCode::kInput, file.string() + ": there is no recorded trial in it");
  return curves;
}

std::string to_json_lines(const RecordedCurves& curves) {
  std::string text;
  for (const RecordedTrial& trial : curves.trials) text += compact(to_json(trial)) + '\n';
  return text;
}

}  // namespace detol::inline scheduler
