#include "cli/commands.h"
#include "cli/model_training.h"
#include "core/exit_code.h"
#include "models/test_score.h"

namespace detol::inline cli {
namespace {

constexpr int kImages = 512;  // that show the ranges of tensors
constexpr int kMostImages = 1 << 20;

Result<int> run_quantize(const Arguments& arguments) {
  const std::string& storage = arguments.globals.storage;
  DETOL_ASSIGN(const OpenStudy study, open_study_of(arguments));
  DETOL_ASSIGN(const int images, number_at_most(arguments, "images", kImages, kMostImages));
  DETOL_ASSIGN(ModelRecord record, ModelRecord::open(storage, study.record.name));
  DETOL_ASSIGN(StudyData shared, load_study_data(study));
  DETOL_TRY(check_has_test(study, shared));
  DETOL_ASSIGN(const ParentModel parent, parent_from(arguments, study, shared));
  DETOL_ASSIGN(const event::Model model, quantize(study, storage, shared, parent, images, record));
  DETOL_TRY(show_models(study, {model}, arguments.globals));
  say_parent(study, parent);
  return kExitDone;
}

}  // namespace

Command quantize_command() {
  return {.name = "quantize",
          .summary = "round a trained network to eight bits, and test it",
          .options = {{"STUDY", "", "its name (detol studies)", Option::kRequired},
                      {"--trial", "best|ID", "which; default: best"},
                      {"--model", "N", "a model (v_models) instead of a trial; default: --trial"},
                      {"--images", "N",
                       "training images that show the ranges of tensors; default: 512"}},
          .examples =
              "  detol quantize fashion-cnn\n"
              "  detol quantize fashion-cnn --model 3    # such as a pruned one",
          .run = run_quantize};
}

}  // namespace detol::inline cli
