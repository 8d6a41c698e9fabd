#include "models/untrained_model.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "core/clock.h"
#include "core/hash.h"
#include "knowledge/artefacts.h"
#include "models/test_score.h"
#include "trainer/checkpoint.h"
#include "trainer/test_metrics.h"

namespace detol::inline models {

Result<event::Model> untrained_model(const OpenStudy& study, TrialId trial, ModelKind kind,
                                     const Candidate& candidate, ModelRecord& record) {
  DETOL_ASSIGN(const auto known, record.models());
  const std::int64_t number = next_number(known);
  return event::Model{.model = number,
                      .trial = trial,
                      .kind = kind,
                      .state = ModelState::kComplete,
                      .first = number,
                      .network_params = candidate.cost.params,
                      .flops = candidate.cost.flops,
                      .dataset = to_hex(study.record.data_fingerprint),
                      .folder = fmt::format("models/{}", number),
                      .at_s = system_clock().wall_s()};
}

Result<void> measure_model(const Dataset& data, const Recipe& recipe, const RangeOutputs& outputs,
                           event::Model& model) {
  const Range validation = range_of(data.info, DataSplit::kValidation);
  if (validation.count > 0) {
    std::vector<std::string> names;
    for (const std::string_view name : row_of(data.info.task.kind).metrics) {
      if (name.starts_with("val_")) names.emplace_back(name);
    }
    DETOL_ASSIGN(const auto own, outputs(validation));
    const auto values = metrics_of(data, validation, own, recipe, names);
    for (std::size_t i = 0; i < names.size(); ++i) model.metrics.emplace_back(names[i], values[i]);
  }
  const Range test = range_of(data.info, DataSplit::kTest);
  DETOL_ASSIGN(const auto own, outputs(test));
  add_metrics(metrics_with_intervals(data, test, own, recipe), model);
  return {};
}

Result<void> keep_model(const OpenStudy& study, const std::filesystem::path& storage,
                        const Candidate& candidate, Weights weights, const event::Model& model,
                        ModelRecord& record) {
  EpochReport report{.epoch = static_cast<int>(model.epochs), .metrics = {}};
  for (const auto& [name, value] : model.metrics) {
    if (name.starts_with("val_")) report.metrics.push_back({name, value});
  }
  Checkpoint checkpoint;
  checkpoint.trial = model.trial;
  checkpoint.arch_hash = candidate.arch_hash;
  checkpoint.epoch = report.epoch;
  checkpoint.history = {std::move(report)};
  checkpoint.state.weights = std::move(weights);
  DETOL_ASSIGN(const auto artefacts, find_artefacts(storage, study.record.name));
  remove_checkpoints(artefacts / model.folder, 0);
  DETOL_TRY(write_checkpoint(artefacts / model.folder, checkpoint));
  return record.save({&model, 1});
}

}  // namespace detol::inline models
