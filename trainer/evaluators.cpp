#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "trainer/command.h"
#include "trainer/data/formats/formats.h"
#include "trainer/evaluator.h"
#include "trainer/function.h"
#include "trainer/table.h"

namespace detol::inline trainer {
namespace {

// Makes the built-in trainer with what the study wants to be measured.
Result<std::unique_ptr<Evaluator>> make_trainer_of(const StudyConfig& config,
                                                   const TrainerOptions& options) {
  TrainerOptions measuring = options;
  measuring.latency_batch = config.latency_batch;
  measuring.ranking = epoch_ranking_of(config);
  for (const MetricConstraint& one : config.metric_constraints) {
    if (one.metric == "latency") measuring.latency_constraints.push_back(one);
  }
  return make_trainer(config.data, measuring);
}

Result<std::unique_ptr<Evaluator>> make_external(const StudyConfig& config, const TrainerOptions&) {
  return fail(ErrorCode::kUsage, fmt::format("the trials of study {} are evaluated by whoever asks "
                                             "for them (`detol ask {}`); there is nothing to run",
                                             config.study, config.study));
}

constexpr std::array kEvaluators = {
    EvaluatorRow{"function", "compute a formula of the parameters",
                 [](const StudyConfig& config) { return config.function.has_value(); },
                 [](const StudyConfig&) -> Result<DatasetInfo> { return DatasetInfo{}; },
                 make_function},
    EvaluatorRow{"table", "look the candidate up in a table of measurements",
                 [](const StudyConfig& config) { return config.table.has_value(); }, inspect_table,
                 make_table, table_admission},
    EvaluatorRow{"command", "run a program that reports the candidate's metrics",
                 [](const StudyConfig& config) { return config.command.has_value(); },
                 inspect_command, make_command},
    EvaluatorRow{"external", "whoever asks for the candidate evaluates it",
                 [](const StudyConfig& config) { return config.external.has_value(); },
                 [](const StudyConfig&) -> Result<DatasetInfo> { return DatasetInfo{}; },
                 make_external},
    EvaluatorRow{"trainer", "train the network of the study's encoding on its data",
                 [](const StudyConfig&) { return true; },
                 [](const StudyConfig& config) { return inspect_dataset(config.data); },
                 make_trainer_of},
};

const EvaluatorRow& row_of(const StudyConfig& config) {
  return *std::ranges::find_if(kEvaluators,
                               [&](const EvaluatorRow& row) { return row.scores(config); });
}

}  // namespace

std::span<const EvaluatorRow> evaluators() {
  return kEvaluators;
}

Result<DatasetInfo> inspect_study(const StudyConfig& config) {
  return row_of(config).inspect(config);
}

Result<Admission> make_admission(const StudyConfig& config) {
  const EvaluatorRow& row = row_of(config);
  if (row.admit != nullptr) return row.admit(config);
  return Admission([](const Genome&) { return std::nullopt; });
}

Result<std::unique_ptr<Evaluator>> make_evaluator(const StudyConfig& config,
                                                  const TrainerOptions& options) {
  return row_of(config).make(config, options);
}

}  // namespace detol::inline trainer
