#include "cli/commands.h"
#include "cli/model_training.h"
#include "core/table.h"
#include "models/model_files.h"
#include "studies/best_trial.h"

namespace detol::inline cli {
namespace {

Result<std::vector<WrittenFile>> files_from(const Arguments& arguments) {
  DETOL_TRY(check_one_is_chosen(arguments));
  const std::string& storage = arguments.globals.storage;
  DETOL_ASSIGN(const OpenStudy study, open_study_of(arguments));
  FileRequest request{.to = arguments.text("to"),
                      .folder = arguments.text("output", "."),
                      .is_raw = arguments.has("raw"),
                      .folds_batch_norms = arguments.has("fold-batch-norm"),
                      .verifies = arguments.has("verify"),
                      .threshold = {}};
  DETOL_ASSIGN(request.threshold, threshold_from(arguments));
  if (arguments.has("model")) {
    DETOL_ASSIGN(const event::Model model, model_called(study, arguments.text("model")));
    return write_model(study, storage, model, request);
  }
  DETOL_ASSIGN(const auto trials, trials_called(study, arguments.text("trial", "best")));
  return write_trials(study, storage, trials, request);
}

Result<int> run_export(const Arguments& arguments) {
  DETOL_ASSIGN(const auto files, files_from(arguments));
  Rows rows{.columns = {"format", "file", "bytes"}, .rows = {}};
  for (const WrittenFile& file : files)
    rows.rows.push_back({file.format, file.path.string(), file.bytes});
  return show(rows, arguments.globals);
}

std::vector<std::string_view> words_of_to() {
  std::vector<std::string_view> words = names_of(exporters());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  words.push_back("all");
  return words;
}

}  // namespace

Command export_command() {
  return {.name = "export",
          .summary = "write a found network with its weights for other tools",
          .options = {{"STUDY", "", "its name; default: the newest study"},
                      {"--trial", "best|ID|pareto", "which; default: best"},
                      {"--model", "N", "a model (v_models) instead of a trial; default: --trial"},
                      {"--to", "FORMAT", "what to write", Option::kRequired, words_of_to()},
                      {"-o,--output", "DIR", "into that folder; default: here"},
                      {"--raw", "", "ONNX without what prepares the data and names the classes"},
                      threshold_option(),
                      {"--fold-batch-norm", "", "fold batch norms into the layers before them"},
                      {"--verify", "", "read every file back and check it"}},
          .examples =
              "  detol export fashion-cnn --to onnx\n"
              "  detol export fashion-cnn --trial 12 --to all -o models --verify\n"
              "  detol export fashion-cnn --trial pareto --to safetensors -o front",
          .run = run_export};
}

}  // namespace detol::inline cli
