#include <fmt/format.h>

#include <charconv>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/model_training.h"
#include "core/exit_code.h"
#include "core/json_text.h"
#include "core/log.h"
#include "core/table.h"
#include "models/child_trainings.h"
#include "models/distillation.h"
#include "models/ensembles.h"
#include "models/retraining.h"
#include "models/stop_signals.h"
#include "models/test_score.h"
#include "studies/best_trial.h"
#include "trainer/trainer.h"

namespace detol::inline cli {
namespace {

constexpr int kMostNetworks = 1000;
constexpr const char* kTeacherWeight = "0.5";

Result<Rows> row_of_model(const event::Model& model) {
  DETOL_ASSIGN(const std::string text, members_text(model));
  return Rows{.columns = {"model", "trial", "members", "values", "test", "test_interval"},
              .rows = {{model.model, static_cast<std::int64_t>(model.trial), text,
                        values_json(model), test_json(model), interval_json(model)}}};
}

// Logs the test score beside that of the best trial, which is measured if it is not known.
Result<void> say_gain(const OpenStudy& study, const std::string& storage,
                      const event::Model& model) {
  DETOL_ASSIGN(const TrialSummary best, trial_called(study, "best"));
  TestBench bench(study, storage);
  DETOL_ASSIGN(const event::Model alone, bench.of_trial(best));
  const std::string metric = said_metric(study, model);
  log_info("model {}: {}; trial {} alone: {}", model.model, with_interval(model, metric),
           alone.trial, with_interval(alone, metric));
  return {};
}

Result<EnsembleRequest> request_from(const Arguments& arguments) {
  EnsembleRequest request;
  DETOL_ASSIGN(request.size, number_at_most(arguments, "size", request.size, kMostNetworks));
  DETOL_ASSIGN(request.candidates,
               number_at_most(arguments, "candidates", request.candidates, kMostNetworks));
  return request;
}

Result<event::Model> make(const Arguments& arguments, const OpenStudy& study,
                          std::function<void()> on_progress) {
  const std::string& storage = arguments.globals.storage;
  DETOL_ASSIGN(EnsembleRequest request, request_from(arguments));
  DETOL_ASSIGN(ModelRecord record, ModelRecord::open(storage, study.record.name));
  DETOL_ASSIGN(StudyData shared, load_study_data(study));
  DETOL_TRY(check_has_test(study, shared));
  request.is_of_all_data = arguments.text("on", kOnTraining) == kOnValidationToo;
  if (request.is_of_all_data) train_on_validation(shared.data->info);
  request.backend = inference_backend(storage, study.record.name);
  request.on_progress = std::move(on_progress);
  return make_ensemble(study, shared, storage, request, record);
}

Result<event::Model> make_and_say(const Arguments& arguments, std::function<void()> on_progress) {
  const std::string& storage = arguments.globals.storage;
  DETOL_ASSIGN(const OpenStudy study, open_study_of(arguments));
  DETOL_ASSIGN(const event::Model model, make(arguments, study, std::move(on_progress)));
  const auto said = say_gain(study, storage, model);
  if (!said) log_warning("the best trial alone is not tested: {}", said.error().message);
  return model;
}

Result<int> make_and_show(const Arguments& arguments) {
  DETOL_ASSIGN(const event::Model model, make_and_say(arguments, [] {}));
  DETOL_ASSIGN(const Rows row, row_of_model(model));
  return show_record(row, arguments.globals);
}

// Makes an ensemble in a child, because only processes that have not run networks may train in
// children. Returns false if a signal stopped it.
Result<bool> make_in_child(const Arguments& arguments) {
  const ChildTraining making = [&](int, const Reporter&, Control& control) -> Result<Evaluation> {
    DETOL_TRY(make_and_say(arguments, [&] { control.progress.fetch_add(1); }));
    const auto end = control.suspend ? Evaluation::End::kSuspended : Evaluation::End::kFinished;
    return Evaluation{.end = end, .reason = {}};
  };
  DETOL_ASSIGN(const auto ends,
               train_in_children({.trainings = {&making, 1}, .on_report = [](auto, auto&) {}}));
  if (ends.front().end != Evaluation::End::kFailed)
    return ends.front().end == Evaluation::End::kFinished;
  return fail(ErrorCode::kFailures,
              fmt::format("the ensemble could not be made: {}", ends.front().reason));
}

Result<double> teacher_weight(const Arguments& arguments) {
  const std::string text = arguments.text("teacher-weight", kTeacherWeight);
  double weight = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, weight);
  if (error == std::errc() && rest == end && weight > 0 && weight <= 1) return weight;
  return usage_error("teacher-weight is {}; it must be a number above 0 and at most 1",
                     in_quotes(text));
}

// Checks what is asked of the students, before an ensemble is made for them.
Result<void> check_students(const OpenStudy& study, const Arguments& arguments) {
  DETOL_TRY(trial_called(study, arguments.text("trial", "best")));
  DETOL_TRY(number_at_most(arguments, "seeds", 1, kMostSeeds));
  DETOL_TRY(arguments.number("epochs", 1));
  DETOL_TRY(teacher_weight(arguments));
  if (arguments.text("on", kOnTraining) == kOnTraining) return {};
  return usage_error(
      "--distill needs an ensemble that has not seen the validation data; leave out --on");
}

// Returns the ensemble that teaches: --model, or that of a command that asked for the same and was
// stopped while its students were trained; 0 if there is none.
Result<std::int64_t> known_teacher(const OpenStudy& study, const Arguments& arguments) {
  DETOL_ASSIGN(const EnsembleRequest request, request_from(arguments));
  if (arguments.has("model")) {
    DETOL_ASSIGN(const event::Model model, model_called(study, arguments.text("model")));
    if (model.kind == ModelKind::kEnsembled && model.trained_on == kOnTraining) return model.model;
    const char* why =
        model.kind == ModelKind::kEnsembled ? "has seen the validation data" : "is no ensemble";
    return usage_error("model {} {}", model.model, why);
  }
  DETOL_ASSIGN(const auto models, models_of(study));
  for (const event::Model& student : models) {
    if (student.kind != ModelKind::kDistilled || student.state != ModelState::kTraining) continue;
    DETOL_ASSIGN(const event::Model teacher, model_called(study, std::to_string(student.parent)));
    if (is_of_request(teacher, request)) return teacher.model;
  }
  return 0;
}

Result<event::Model> newest_ensemble(const OpenStudy& study) {
  DETOL_ASSIGN(auto models, models_of(study));
  std::erase_if(models, [](const event::Model& one) { return one.kind != ModelKind::kEnsembled; });
  if (models.empty()) return fail(ErrorCode::kInternal, "the ensemble that was made is not there");
  return models.back();
}

Result<int> distill(const Arguments& arguments, std::int64_t teacher) {
  const std::string& storage = arguments.globals.storage;
  DETOL_ASSIGN(const OpenStudy study, open_study_of(arguments));
  DETOL_ASSIGN(const event::Model ensemble, teacher != 0
                                                ? model_called(study, std::to_string(teacher))
                                                : newest_ensemble(study));
  DETOL_ASSIGN(const TrialSummary trial, trial_called(study, arguments.text("trial", "best")));
  DETOL_ASSIGN(ModelRecord record, ModelRecord::open(storage, study.record.name));
  DETOL_ASSIGN(StudyData shared, load_study_data(study));
  DETOL_TRY(check_has_test(study, shared));
  DETOL_ASSIGN(RunOptions run, training_options_of(arguments, study, shared));
  Retraining work{.study = study,
                  .shared = std::move(shared),
                  .trial = trial.id,
                  .run = std::move(run),
                  .kind = ModelKind::kDistilled,
                  .parent = ensemble.model};
  DETOL_ASSIGN(work.count, number_at_most(arguments, "seeds", 1, kMostSeeds));
  DETOL_ASSIGN(const double weight, teacher_weight(arguments));
  work.settings = compact(nlohmann::json{{"teacher_weight", weight}});
  DETOL_TRY(set_network(trial, work));
  DETOL_ASSIGN(work.candidate.recipe.epochs, epochs_from(arguments, work.shared.config));
  DETOL_ASSIGN(std::vector<event::Model> models, models_to_train(work, record));
  DETOL_ASSIGN(const bool is_taught, learn_from(ensemble, weight, work, record, models));
  if (!is_taught) {
    log_info("stopped; the same command goes on");
    return kExitResumable;
  }
  log_info("training on what model {} says", ensemble.model);
  DETOL_ASSIGN(const int code, train_and_show(work, record, models, arguments.globals));
  log_info("the ensemble: {}", with_interval(ensemble, said_metric(study, ensemble)));
  return code;
}

// Returns an error if an option of the students was given without --distill.
Result<void> check_distills(const Arguments& arguments) {
  for (const char* option :
       {"model", "trial", "teacher-weight", "epochs", "seeds", "workers", "device"}) {
    if (arguments.has(option)) return usage_error("--{} is of --distill; give that, too", option);
  }
  return {};
}

Result<int> run_ensemble(const Arguments& arguments) {
  if (!arguments.has("distill")) {
    DETOL_TRY(check_distills(arguments));
    return make_and_show(arguments);
  }
  const ExitAtSignals signals(kExitResumable);
  std::int64_t teacher = 0;
  {
    DETOL_ASSIGN(const OpenStudy study, open_study_of(arguments));
    DETOL_TRY(check_students(study, arguments));
    DETOL_ASSIGN(teacher, known_teacher(study, arguments));
  }
  if (teacher == 0) {
    DETOL_ASSIGN(const bool is_made, make_in_child(arguments));
    if (!is_made) {
      log_info("stopped; with --model the same command goes on from the ensemble that it made");
      return kExitResumable;
    }
  }
  return distill(arguments, teacher);
}

}  // namespace

Command ensemble_command() {
  return {
      .name = "ensemble",
      .summary = "let the best trials of a study vote, and test that",
      .options = {{"STUDY", "", "its name (detol studies)", Option::kRequired},
                  {"--size", "K", "so many networks, some more than once; default: 20"},
                  {"--candidates", "N", "choose among so many of the best trials; default: 50"},
                  one_of("--on", "SPLIT",
                         "which data its networks were trained on: with the validation data, all "
                         "models that were retrained so, with equal votes; default: train",
                         {kOnTraining, kOnValidationToo}),
                  {"--distill", "", "then train a network of the space on what the ensemble says"},
                  {"--model", "N", "distill this ensemble; default: a new one"},
                  {"--trial", "best|ID", "into the network of this trial; default: best"},
                  {"--teacher-weight", "W",
                   "of what the ensemble says, beside the labels; default: 0.5"},
                  {"--epochs", "N", "how long; default: the most of the study"},
                  {"--seeds", "K", "so many networks, each with a seed; default: 1"},
                  workers_option(),
                  device_option()},
      .examples =
          "  detol ensemble fashion-cnn\n"
          "  detol ensemble fashion-cnn --size 10 -f json\n"
          "  detol ensemble fashion-cnn --on train+validation\n"
          "  detol ensemble fashion-cnn --distill --seeds 3\n"
          "  detol ensemble fashion-cnn --distill --model 4 --trial 12\n"
          "  detol export fashion-cnn --model 4 --to onnx",
      .run = run_ensemble};
}

}  // namespace detol::inline cli
