#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/ensembles.h"
#include "cli/output.h"
#include "cli/test_score.h"
#include "core/log.h"

namespace detol::inline cli {
namespace {

constexpr int kMostNetworks = 1000;

Result<int> number_of(const Arguments& arguments, std::string_view key, int otherwise) {
  DETOL_ASSIGN(const auto number, arguments.number(key, 1));
  if (number.value_or(otherwise) <= kMostNetworks)
    return static_cast<int>(number.value_or(otherwise));
  return fail(ErrorCode::kUsage,
              fmt::format("{} is {}; it must be at most {}", key, *number, kMostNetworks));
}

Result<Rows> row_of_model(const event::Model& model) {
  DETOL_ASSIGN(const std::string text, members_text(model));
  return Rows{.columns = {"model", "trial", "members", "values", "test", "test_interval"},
              .rows = {{model.model, static_cast<std::int64_t>(model.trial), text,
                        values_json(model), test_json(model), interval_json(model)}}};
}

// Logs the test score beside that of the best trial, which is measured if it is not known.
Result<void> say_gain(const OpenStudy& study, const std::string& storage,
                      const event::Model& model) {
  DETOL_ASSIGN(const Rows best, one_trial(study, "best"));
  TestBench bench(study, storage);
  DETOL_ASSIGN(const event::Model alone, bench.of_trial(best, 0));
  const std::string metric = said_metric(study, model);
  log_info("model {}: {}; trial {} alone: {}", model.model, with_interval(model, metric),
           alone.trial, with_interval(alone, metric));
  return {};
}

Result<event::Model> make(const Arguments& arguments, const OpenStudy& study) {
  const std::string& storage = arguments.globals.storage;
  EnsembleRequest request;
  DETOL_ASSIGN(request.size, number_of(arguments, "size", request.size));
  DETOL_ASSIGN(request.candidates, number_of(arguments, "candidates", request.candidates));
  DETOL_ASSIGN(ModelRecord record, ModelRecord::open(storage, study.record.name));
  DETOL_ASSIGN(const StudyData shared, load_study_data(study));
  DETOL_TRY(check_has_test(study, shared));
  request.backend = inference_backend(storage, study.record.name);
  return make_ensemble(study, shared, storage, request, record);
}

Result<int> run_ensemble(const Arguments& arguments) {
  const std::string& storage = arguments.globals.storage;
  DETOL_ASSIGN(const OpenStudy study, open_study(storage, arguments.text("STUDY")));
  DETOL_ASSIGN(const event::Model model, make(arguments, study));
  DETOL_ASSIGN(const Rows row, row_of_model(model));
  DETOL_TRY(print_data(render_record(row, arguments.globals)));
  const auto said = say_gain(study, storage, model);
  if (!said) log_warning("the best trial alone is not tested: {}", said.error().message);
  return 0;
}

}  // namespace

Command ensemble_command() {
  return {
      .name = "ensemble",
      .summary = "let the best trials of a study vote, and test that",
      .options = {{"STUDY", "", "its name (detol studies)", Option::kRequired},
                  {"--size", "K", "so many networks, some more than once; default: 20"},
                  {"--candidates", "N", "choose among so many of the best trials; default: 50"}},
      .examples =
          "  detol ensemble fashion-cnn\n"
          "  detol ensemble fashion-cnn --size 10 -f json\n"
          "  detol export fashion-cnn --model 4 --to onnx",
      .run = run_ensemble};
}

}  // namespace detol::inline cli
