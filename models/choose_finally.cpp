#include "models/choose_finally.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <span>

#include "core/clock.h"
#include "core/exit_code.h"
#include "core/hash.h"
#include "core/log.h"
#include "knowledge/artefacts.h"
#include "models/child_trainings.h"
#include "models/retraining.h"
#include "models/stop_signals.h"
#include "models/test_score.h"
#include "scheduler/budget.h"
#include "scheduler/launchers/gpus.h"
#include "scheduler/trial_seed.h"
#include "studies/best_trial.h"
#include "studies/final_choice.h"
#include "studies/model_rows.h"
#include "trainer/data/formats/formats.h"
#include "trainer/trainer.h"

namespace detol::inline models {
namespace {

namespace fs = std::filesystem;

constexpr int kFolds = 5;
constexpr std::size_t kFinalists = 10;
constexpr std::int64_t kMostRecords = 5000;  // to train on and to validate with
constexpr double kShareOfSearch = 0.25;      // of its cost

// Finalist: a trial that may be chosen.
struct Finalist {
  TrialId trial = 0;
  Genome genome;
  double epochs = 0;                        // that gave its value
  std::map<std::string, double> sums = {};  // of its metrics, over the folds
};

Result<double> select_number(const OpenStudy& study, const std::string& sql,
                             const std::vector<Cell>& arguments) {
  DETOL_ASSIGN(const Rows rows, study.reader->select(sql, arguments));
  if (rows.rows.empty()) return 0;
  if (const auto* real = std::get_if<double>(&rows.rows[0][0])) return *real;
  const auto* whole = std::get_if<std::int64_t>(&rows.rows[0][0]);
  return whole != nullptr ? static_cast<double>(*whole) : 0;
}

Result<double> records_of(const OpenStudy& study) {
  DETOL_ASSIGN(const auto fact,
               study.reader->fact(kDatasetFact, to_hex(study.record.data_fingerprint)));
  if (!fact) return kMostRecords;
  return select_number(study, "SELECT ?1->>'training' + (?1->>'validation')", {fact->payload});
}

Result<bool> is_due(const OpenStudy& study, const StudyConfig& config, TrialId best) {
  const bool is_of_its_kind = config.trains() && config.final_choice &&
                              config.data.format == "csv" && config.data.split.folds == 0 &&
                              config.data.split.by != "time" &&
                              study.record.objectives.size() == 1 &&
                              study.record.objectives.front().metric.starts_with("val_");
  if (!is_of_its_kind) return false;
  DETOL_ASSIGN(const double records, records_of(study));
  DETOL_ASSIGN(const auto models, models_of(study));
  return records < kMostRecords && !final_choice(study, models, best);
}

// Returns what a trial cost, in a unit that is the same for all: seconds of a device where the
// budget is in time; else operations, so that equal searches choose equally.
double cost_of(const TrialSummary& trial, bool is_timed) {
  return is_timed ? trial.device_s : trial.flops * trial.epochs;
}

// Plan: the trials that may be chosen, and on how many folds they are trained.
struct Plan {
  std::vector<Finalist> finalists;
  int rounds = 0;
};

// Returns what a quarter of the search's cost allows: as many of the ten best trials as one round
// may take, then as many rounds.
Result<Plan> plan_of(const OpenStudy& study, const StudyConfig& config) {
  DETOL_ASSIGN(const Budget budget, parse_budget(study.record.budget));
  const bool is_timed = budget.wall_s || budget.cpu_s || budget.gpu_s;
  DETOL_ASSIGN(const auto trials,
               trials_of(study, {.sort = "value", .only_scored = true, .only_feasible = true}));
  double limit = 0, round = 0;
  for (const TrialSummary& one : trials) limit += kShareOfSearch * cost_of(one, is_timed);
  Plan plan;
  for (const TrialSummary& one :
       std::span(trials).first(std::min<std::size_t>(kFinalists, trials.size()))) {
    const double share = one.best_epoch / one.epochs;
    round += cost_of(one, is_timed) * share;
    if (round > limit) break;
    plan.rounds = static_cast<int>(std::min<double>(kFolds, limit / round));
    DETOL_ASSIGN(Genome genome, genome_of(config, one));
    plan.finalists.push_back({one.id, std::move(genome), one.best_epoch});
  }
  if (plan.finalists.size() < 2) plan.rounds = 0;
  return plan;
}

Result<Job> job_of(const Finalist& one, const StudyConfig& config, const Task& task,
                   const fs::path& folder) {
  auto candidate = config.candidate(one.genome, task);
  if (!candidate) return fail(ErrorCode::kInput, candidate.error().reason);
  return Job{.trial = one.trial,
             .seed = trial_seed(config.seed, one.trial),
             .candidate = *std::move(candidate),
             .folder = folder / std::to_string(one.trial)};
}

// Trains a finalist on a fold, in a child process, until the epoch that counts.
Result<Evaluation> train_on(const Dataset& data, const std::string& backend, const Job& job,
                            double epochs, const Reporter& report, Control& control) {
  DETOL_ASSIGN(const auto trainer, make_trainer_on(data, {.backend = backend}));
  control.undecided = epochs;
  const auto until = [&](const EpochReport& epoch, bool more) {
    const Verdict verdict = report(epoch, more);
    return epoch.epochs() >= epochs ? Verdict::kStop : verdict;
  };
  return trainer->evaluate(job, until, control);
}

// Trains all finalists on one fold, and adds what they reported last. Returns false if a signal
// stopped it; a finalist that failed is left out from then on.
Result<bool> run_round(const StudyConfig& config, const RunOptions& run, int fold,
                       const fs::path& folder, std::vector<Finalist>& finalists) {
  DataConfig part = config.data;
  part.split.folds = kFolds;
  part.split.fold = fold;
  DETOL_ASSIGN(const Dataset data, load_dataset(part));
  std::vector<ChildTraining> trainings;
  for (const Finalist& one : finalists) {
    DETOL_ASSIGN(Job job, job_of(one, config, data.info.task, folder));
    trainings.emplace_back([&, job = std::move(job), epochs = one.epochs](
                               int place, const Reporter& report, Control& control) {
      select_gpus(run.gpus, place);
      return train_on(data, run.backend, job, epochs, report, control);
    });
  }
  std::vector<std::vector<Metric>> last(finalists.size());
  DETOL_ASSIGN(const auto ends,
               train_in_children(
                   {.trainings = trainings,
                    .at_once = models_at_a_time(run),
                    .on_report = [&](std::size_t i, const auto& one) { last[i] = one.metrics; }}));
  std::vector<Finalist> left;
  for (std::size_t i = 0; i < finalists.size(); ++i) {
    if (ends[i].end == Evaluation::End::kSuspended) return false;
    if (ends[i].end == Evaluation::End::kFailed) continue;
    for (const Metric& metric : last[i]) finalists[i].sums[metric.name] += metric.value;
    left.push_back(std::move(finalists[i]));
  }
  finalists = std::move(left);
  return true;
}

// Runs the rounds. Returns false if a signal stopped them, or if fewer than two finalists are
// left.
Result<bool> run_rounds(const StudyConfig& config, const RunOptions& run, const fs::path& folder,
                        Plan& plan) {
  std::error_code ignored;
  fs::remove_all(folder, ignored);  // of a choice that was killed
  for (int fold = 0; fold < plan.rounds; ++fold) {
    DETOL_ASSIGN(const bool is_done, run_round(config, run, fold, folder, plan.finalists));
    fs::remove_all(folder, ignored);
    if (!is_done || plan.finalists.size() < 2) return false;
  }
  return true;
}

std::vector<event::Model> models_with(const OpenStudy& study, const StudyConfig& config,
                                      const Plan& plan, std::int64_t first) {
  std::vector<event::Model> models;
  for (const Finalist& one : plan.finalists) {
    const std::int64_t number = first + static_cast<std::int64_t>(models.size());
    event::Model model{.model = number,
                       .trial = one.trial,
                       .kind = ModelKind::kCrossValidated,
                       .state = ModelState::kComplete,
                       .seed = std::bit_cast<std::int64_t>(trial_seed(config.seed, one.trial)),
                       .epochs = one.epochs,
                       .trained_on = fmt::format("{} of {} folds", plan.rounds, kFolds),
                       .began_from = kFromScratch,
                       .first = first,
                       .dataset = to_hex(study.record.data_fingerprint),
                       .at_s = system_clock().wall_s()};
    for (const auto& [name, sum] : one.sums) {
      if (name.starts_with("val_")) model.metrics.emplace_back(name, sum / plan.rounds);
    }
    models.push_back(std::move(model));
  }
  return models;
}

Result<void> choose(const RunOptions& run, const std::string& name) {
  DETOL_ASSIGN(const OpenStudy study, open_study(run.storage, name));
  DETOL_ASSIGN(const StudyConfig config, load_study_config(study.record.config, name));
  const auto best = best_by_value(study);
  if (!best) return {};
  DETOL_ASSIGN(const bool due, is_due(study, config, best->id));
  if (!due) return {};
  DETOL_ASSIGN(Plan plan, plan_of(study, config));
  if (plan.rounds == 0) return {};
  DETOL_ASSIGN(const fs::path artefacts, find_artefacts(run.storage, name));
  log_info("choosing among the {} best trials by cross-validation", plan.finalists.size());
  DETOL_ASSIGN(const bool is_done, run_rounds(config, run, artefacts / "models" / "folds", plan));
  if (!is_done) return {};
  DETOL_ASSIGN(ModelRecord record, ModelRecord::open(run.storage, name));
  DETOL_ASSIGN(const auto known, record.models());
  return record.save(models_with(study, config, plan, next_number(known)));
}

}  // namespace

void choose_finally(const RunOptions& run, const std::string& study) {
  const ExitAtSignals signals(kExitDone);
  const auto done = choose(run, study);
  if (!done) log_warning("no final choice by cross-validation: {}", done.error().message);
}

void end_search(const RunOptions& run, const std::string& study) {
  choose_finally(run, study);
  say_test_score(run.storage, study);
}

}  // namespace detol::inline models
