#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/model_training.h"
#include "core/exit_code.h"
#include "core/file.h"
#include "core/json_text.h"
#include "core/log.h"
#include "knowledge/artefacts.h"
#include "models/landscape.h"
#include "models/stop_signals.h"
#include "models/test_score.h"
#include "studies/best_trial.h"

namespace detol::inline cli {
namespace {

namespace fs = std::filesystem;

constexpr int kLeastOfASide = 3, kMostOfASide = 201;
constexpr int kMostSamples = 1 << 20;

Result<LandscapeSettings> settings_from(const Arguments& arguments, const StudyData& shared) {
  LandscapeSettings settings;
  DETOL_ASSIGN(settings.points, number_at_most(arguments, "grid", settings.points, kMostOfASide));
  if (settings.points < kLeastOfASide || settings.points % 2 == 0)
    return usage_error(
        "grid is {}; it must be odd, so that the trial is in its middle, and at least {}",
        settings.points, kLeastOfASide);
  DETOL_ASSIGN(settings.images,
               number_at_most(arguments, "samples", settings.images, kMostSamples));
  if (shared.data->info.validation > 0) return settings;
  return fail(ErrorCode::kEmpty, "the data have no validation part, of which the loss would be");
}

void say(const TrainedAgain& trained, TrialId trial) {
  if (!trained.repeats)
    log_warning(
        "trial {} came out with other numbers than it had reported: another machine, several ranks "
        "or training.deterministic false; what is shown is of the new training",
        trial);
}

Result<int> run_landscape(const Arguments& arguments) {
  const ExitAtSignals signals(kExitResumable);
  const std::string& storage = arguments.globals.storage;
  DETOL_ASSIGN(const OpenStudy study, open_study_of(arguments));
  DETOL_ASSIGN(const TrialSummary chosen, trial_called(study, arguments.text("trial", "best")));
  const TrialId trial = chosen.id;
  DETOL_ASSIGN(const StudyData shared, load_study_data(study));
  DETOL_ASSIGN(LandscapeSettings settings, settings_from(arguments, shared));
  settings.backend = inference_backend(storage, study.record.name);
  const fs::path folder = landscape_folder(artefact_folder(storage, study.record.name));
  DETOL_ASSIGN(const TrainedAgain trained, train_again(study, shared, chosen, settings.backend,
                                                       folder / fmt::format("{}.training", trial)));
  say(trained, trial);
  DETOL_ASSIGN(auto found, measure_landscape(trained, shared, settings));
  found["trial"] = trial;
  const fs::path file = folder / fmt::format("{}.json", trial);
  DETOL_TRY(write_file_durably(file, compact(found)));
  const auto& explained = found["path"]["explained"];
  const Rows written{
      .columns = {"trial", "epochs", "repeats", "images", "loss", "explained_1", "explained_2",
                  "file"},
      .rows = {{static_cast<std::int64_t>(trial), found["epochs"].get<std::int64_t>(),
                std::string(trained.repeats ? "yes" : "no"), found["images"].get<std::int64_t>(),
                trained.losses.back(), explained[0].get<double>(), explained[1].get<double>(),
                file.string()}}};
  DETOL_TRY(print_rows(written, arguments.globals));
  log_info("`detol report {}` shows it", study.record.name);
  return kExitDone;
}

}  // namespace

Command landscape_command() {
  return {.name = "landscape",
          .summary = "measure the loss around a trial's weights and along its training",
          .options = {{"STUDY", "", "its name (detol studies)", Option::kRequired},
                      {"--trial", "best|ID", "which, trained once more; default: best"},
                      {"--grid", "N", "points of each side of a plane, odd; default: 21"},
                      {"--samples", "N", "validation images at each point; default: 512"}},
          .examples =
              "  detol landscape fashion-cnn\n"
              "  detol landscape fashion-cnn --trial 12 --grid 31 --samples 2000\n"
              "  detol report fashion-cnn    # shows it",
          .run = run_landscape};
}

}  // namespace detol::inline cli
