#include "report/gathering/live_study.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>

#include "core/clock.h"
#include "core/json_text.h"
#include "knowledge/changes.h"
#include "report/gathering/report_source.h"
#include "studies/best_trial.h"
#include "studies/final_choice.h"
#include "studies/labels.h"

namespace detol::inline report {
namespace {

using Json = nlohmann::ordered_json;

// Not all of v_trials, whose other columns take as long again.
constexpr std::string_view kColumns =
    "trial, state, failure, reason, algorithm, arch_hash, params, flops, epochs, device_seconds, "
    "started, finished, values_json, feasible, params_json";

constexpr std::size_t kReadAtOnce = 5000;  // trials, so that their rows take some 10 MB
constexpr std::size_t kMeasured = 2000;    // trials that say how much a choice matters
constexpr double kLeastPauseS = 1;         // between two models
constexpr double kPauseForCost = 50;       // so that models take a fiftieth of a core

std::string dumped(const Json& value) {
  return compact(value);
}

// Returns the columns of v_trials, or all, of these trials.
Result<Rows> rows_of(const OpenStudy& study, std::string_view columns,
                     std::span<const TrialId> trials) {
  return study.reader->select(
      fmt::format("SELECT {} FROM v_trials WHERE study = ?1 AND trial IN ({}) ORDER BY trial",
                  columns, fmt::join(trials, ",")),
      {study.record.name});
}

Result<Rows> curves_of(const OpenStudy& study, std::span<const TrialId> trials) {
  if (study.record.objectives.empty()) return Rows();
  return study.reader->select(
      fmt::format("SELECT trial, epoch, value FROM v_metrics WHERE study = ?1 AND name = ?2 AND "
                  "trial IN ({}) ORDER BY trial, epoch",
                  fmt::join(trials, ",")),
      {study.record.name, study.record.objectives.front().metric});
}

Result<StudyProgress> progress_of(const OpenStudy& study) {
  DETOL_ASSIGN(const auto all, progress_of_studies(*study.reader));
  const auto found = std::ranges::find(all, study.record.id, &StudyProgress::id);
  if (found != all.end()) return *found;
  return fail(ErrorCode::kStudy, "study " + study.record.name + " was deleted");
}

Result<std::string> table_of(const OpenStudy& study, const ReportSource& source,
                             const std::vector<TrialId>& page, const StudyProgress& now,
                             std::size_t matching) {
  DETOL_ASSIGN(const Rows rows, rows_of(study, kColumns, page));
  return dumped(Json{{"of", now.trials},
                     {"matching", matching},
                     {"last", now.last},
                     {"size", kTrialsOfPage},
                     {"trials", trial_table(source, page, rows)}});
}

}  // namespace

Result<void> LiveStudy::read_new(const OpenStudy& study) {
  DETOL_ASSIGN(const StudyProgress now, progress_of(study));
  if (now.last == last_) return {};
  std::vector<TrialId> fresh(last_ > 0 ? 0 : static_cast<std::size_t>(now.trials));
  std::iota(fresh.begin(), fresh.end(), TrialId{0});
  if (last_ > 0) {
    DETOL_ASSIGN(fresh, changed_trials(*study.reader, id_, last_));
  }
  for (std::size_t first = 0; first < fresh.size(); first += kReadAtOnce) {
    const auto some = std::span(fresh).subspan(first, std::min(kReadAtOnce, fresh.size() - first));
    DETOL_ASSIGN(const Rows trials, rows_of(study, kColumns, some));
    DETOL_ASSIGN(const Rows attempts, attempts_of(*study.reader, id_, some));
    trials_.take(trials, attempts, study.record.objectives);
  }
  last_ = now.last;
  return {};
}

Result<ReportSource> LiveStudy::source_of(const OpenStudy& study) {
  DETOL_ASSIGN(ReportSource source, read_facts(study));
  DETOL_ASSIGN(source.events, state_events(*study.reader, id_));
  // As chosen_trial(), which reads all trials, without what the trials at hand say.
  const std::vector<TrialId> best = trials_.best(source, 1);
  if (!best.empty())
    source.best = final_choice(study, source.models, best.front()).value_or(best.front());
  if (source.config.repeats > 0) {
    DETOL_ASSIGN(const auto chosen, chosen_trial(study));
    if (chosen) source.best = chosen->trial;
  }
  if (source.best && *source.best >= trials_.size()) source.best.reset();
  return source;
}

Result<std::string> LiveStudy::make_model(const OpenStudy& study) {
  DETOL_ASSIGN(ReportSource source, source_of(study));
  const std::vector<TrialId> measured = trials_.spread(kMeasured);
  const std::vector<TrialId> pictured = trials_.best(source, kLookedAtForNetworks);
  analyses_.config = source.config;
  if (made_.json.empty() || measured != measured_) add_importance(study, measured, analyses_);
  if (made_.json.empty() || pictured != pictured_)
    add_networks(study, storage_, pictured, analyses_);
  measured_ = measured;
  pictured_ = pictured;
  source.importance = analyses_.importance;
  source.why_no_importance = analyses_.why_no_importance;
  source.networks = analyses_.networks;
  source.why_no_networks = analyses_.why_no_networks;
  add_landscapes(study, storage_, source);
  DETOL_ASSIGN(const Rows drawn, rows_of(study, "trial, params_json", trials_.drawn(source)));
  DETOL_ASSIGN(const Rows curves, curves_of(study, trials_.with_curves(source)));
  return dumped(trials_.model(source, drawn, curves));
}

Result<LiveModel> LiveStudy::model(const OpenStudy& study) {
  DETOL_TRY(read_new(study));
  Clock& clock = system_clock();
  const double began_s = clock.now_s();
  const double pause_s = std::max(kLeastPauseS, kPauseForCost * cost_s_) - (began_s - made_s_);
  if (!made_.json.empty() && (made_.last == last_ || pause_s > 0)) {
    made_.again_s = made_.last == last_ ? 0 : pause_s;
    return made_;
  }
  DETOL_ASSIGN(made_.json, make_model(study));
  made_.last = last_;
  made_.again_s = 0;
  made_s_ = clock.now_s();
  cost_s_ = made_s_ - began_s;
  return made_;
}

Result<std::string> LiveStudy::table(const OpenStudy& study, const TrialQuery& query) {
  DETOL_TRY(read_new(study));
  ReportSource source;
  source.study = study.record;
  DETOL_ASSIGN(source.labels, read_labels(*study.reader, study.record));
  std::size_t matching = 0;
  const std::vector<TrialId> page = trials_.page(source, query, matching);
  StudyProgress read;
  read.trials = static_cast<std::int64_t>(trials_.size());
  read.last = last_;
  return table_of(study, source, page, read, matching);
}

Result<std::string> trials_by_number(const OpenStudy& study, const TrialQuery& query) {
  ReportSource source;
  source.study = study.record;
  DETOL_ASSIGN(source.labels, read_labels(*study.reader, study.record));
  DETOL_ASSIGN(const StudyProgress now, progress_of(study));
  const auto count = static_cast<TrialId>(now.trials);
  const TrialId first = std::min(query.page, count / kTrialsOfPage) * kTrialsOfPage;
  std::vector<TrialId> page;
  for (TrialId i = first; i < std::min(count, first + kTrialsOfPage); ++i)
    page.push_back(query.is_descending ? count - 1 - i : i);
  return table_of(study, source, page, now, count);
}

}  // namespace detol::inline report
