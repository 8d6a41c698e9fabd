#include "models/distillation.h"

#include <fmt/format.h>

#include <cstring>
#include <string>

#include "core/file.h"
#include "models/child_trainings.h"
#include "models/model_network.h"
#include "scheduler/launchers/gpus.h"
#include "trainer/distillation.h"
#include "trainer/ensemble.h"

namespace detol::inline models {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTargetsFile = "targets.f32";  // floats of this machine

Result<void> write_targets(const fs::path& path, const std::vector<float>& targets) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error)
    return fail(ErrorCode::kStorage,
                fmt::format("cannot make {}: {}", path.parent_path().string(), error.message()));
  return write_file_durably(
      path, {reinterpret_cast<const char*>(targets.data()), targets.size() * sizeof(float)});
}

// Returns the targets that were written for the training images; nothing if they are not there.
std::vector<float> written_targets(const fs::path& path, const DatasetInfo& data) {
  const auto bytes = read_file(path);
  std::vector<float> targets(static_cast<std::size_t>(data.training * data.task.classes));
  if (!bytes || bytes->size() != targets.size() * sizeof(float)) return {};
  std::memcpy(targets.data(), bytes->data(), bytes->size());
  return targets;
}

// Writes what the ensemble says, in a child, because this process may not run networks. Returns
// false if a signal stopped it.
Result<bool> ask_in_child(const event::Model& ensemble, const Retraining& work,
                          const fs::path& path) {
  DETOL_ASSIGN(const TrainedNetwork network,
               network_of(work.study, work.shared, work.run.storage, ensemble));
  const ChildTraining asking = [&](int place, const Reporter&,
                                   Control& control) -> Result<Evaluation> {
    select_gpus(work.run.gpus, place);
    const Dataset& data = *work.shared.data;
    DETOL_ASSIGN(
        auto outputs,
        outputs_of({network.candidate.network, best_weights(network.checkpoint), network.shares},
                   data, range_of(data.info, DataSplit::kTraining), work.run.backend,
                   [&] { control.progress.fetch_add(1); }));
    DETOL_TRY(write_targets(path, targets_from(std::move(outputs), data.info.task)));
    return Evaluation{.end = Evaluation::End::kFinished, .reason = {}};
  };
  DETOL_ASSIGN(const auto ends,
               train_in_children({.trainings = {&asking, 1}, .on_report = [](auto, auto&) {}}));
  if (ends.front().end == Evaluation::End::kFailed)
    return fail(ErrorCode::kFailures,
                fmt::format("model {} could not be asked about the training data: {}",
                            ensemble.model, ends.front().reason));
  return ends.front().end == Evaluation::End::kFinished;
}

}  // namespace

Result<bool> learn_from(const event::Model& ensemble, double weight, Retraining& work,
                        ModelRecord& record, const std::vector<event::Model>& models) {
  DETOL_TRY(record.save(models));
  const fs::path path = folder_of(work, models.front()) / kTargetsFile;
  std::vector<float> targets = written_targets(path, work.shared.data->info);
  if (targets.empty()) {
    DETOL_ASSIGN(const bool is_done, ask_in_child(ensemble, work, path));
    if (!is_done) return false;
    targets = written_targets(path, work.shared.data->info);
  }
  if (targets.empty()) return fail(ErrorCode::kStorage, path.string() + ": cannot be read back");
  teach(std::move(targets), weight, *work.shared.data);
  return true;
}

}  // namespace detol::inline models
