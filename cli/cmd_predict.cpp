#include <algorithm>
#include <iterator>

#include "cli/commands.h"
#include "cli/model_training.h"
#include "models/model_network.h"
#include "models/prediction_server.h"
#include "models/predictions.h"
#include "web/request.h"

namespace detol::inline cli {
namespace {

constexpr std::int64_t kBatch = 1024;  // inputs that are read and answered at a time
constexpr std::int64_t kUsualPort = 8080, kLastPort = 65535;

// Returns the answers for all inputs of a path.
Result<Rows> answer_all(const Predictor& predictor, const std::string& path) {
  DETOL_ASSIGN(const auto reader, open_inputs(path, predictor.preprocessing()));
  DETOL_ASSIGN(Inputs inputs, reader->next(kBatch));
  DETOL_ASSIGN(Rows all, predictor.answer(inputs));
  while (inputs.count() > 0) {
    DETOL_ASSIGN(inputs, reader->next(kBatch));
    DETOL_ASSIGN(Rows rows, predictor.answer(inputs));
    std::ranges::move(rows.rows, std::back_inserter(all.rows));
  }
  return all;
}

Result<int> run_predict(const Arguments& arguments) {
  DETOL_ASSIGN(const auto threshold, threshold_from(arguments));
  const PredictorName name{.model = arguments.text("MODEL"),
                           .trial = arguments.text("trial", "best"),
                           .retrained = arguments.text("model"),
                           .device = arguments.text("device", "auto"),
                           .storage = arguments.globals.storage,
                           .threshold = threshold};
  if (arguments.has("data") == arguments.has("serve"))
    return usage_error("name the new data with --data PATH, or say --serve");
  DETOL_TRY(check_one_is_chosen(arguments));
  DETOL_ASSIGN(const auto port, arguments.number("port", 0));
  if (port.value_or(0) > kLastPort) return usage_error("--port is at most {}", kLastPort);
  DETOL_ASSIGN(const std::string token, token_from_word(arguments.text("token", "auto")));
  DETOL_ASSIGN(const Predictor predictor, open_predictor(name));
  if (arguments.has("serve")) {
    DETOL_TRY(
        serve_predictions(predictor, static_cast<std::uint16_t>(port.value_or(kUsualPort)), token));
    return 0;
  }
  DETOL_ASSIGN(const Rows all, answer_all(predictor, arguments.text("data")));
  Globals globals = arguments.globals;
  if (globals.format == Format::kTable) globals.format = Format::kCsv;
  return show(all, globals);
}

}  // namespace

Command predict_command() {
  return {
      .name = "predict",
      .summary = "answer for new data with a found network",
      .options =
          {{"MODEL", "", "an exported .onnx or .safetensors file, or a study's name",
            Option::kRequired},
           {"--data", "PATH",
            "a CSV file, a picture, a folder of pictures, a .npy or IDX file; default: none, with "
            "--serve alone"},
           {"--trial", "best|ID", "of a study; default: best"},
           {"--model", "N", "of a study: a model (v_models) instead of a trial; default: --trial"},
           one_of("--device", "NAME",
                  "auto, cpu or cuda; default: what trained the study, for a file the CPU",
                  {"auto", "cpu", "cuda"}),
           threshold_option(),
           {"--serve", "", "answer over HTTP on this machine instead, for a quick try"},
           {"--port", "N", "of --serve; 0: one that is free; default: 8080"},
           {"--token", "auto|none|TOKEN",
            "of --serve: what who asks must send, as the header `Authorization: Bearer TOKEN`; "
            "auto: a new one, which is printed; none: all on this machine may ask; default: auto"}},
      .examples =
          "  detol predict wine --data new_wines.csv > answers.csv\n"
          "  detol predict best.onnx --data photos -f jsonl\n"
          "  detol predict wine --serve &       # prints the curl that asks it",
      .run = run_predict};
}

}  // namespace detol::inline cli
