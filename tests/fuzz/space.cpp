#include <sstream>

#include "core/file.h"
#include "core/rng.h"
#include "encodings/study/study_config.h"
#include "tests/fuzz/promise.h"
#include "tests/fuzz/targets.h"

namespace detol::fuzz {
namespace {

// Checks that the text of a loaded study loads as the same study, and builds a candidate of it.
void use(const StudyConfig& study) {
  const auto again = load_study_config(study.text, "text");
  if (!again) throw BrokenPromise("a study's own text: " + again.error().message);
  promise(again->text == study.text, "a study's text changes");
  Rng rng(1);
  const Genome genome = study.space.sample(rng);
  promise(again->space.genome(genome.assignments()).has_value(), "a sample outside the space");
  if (study.has_networks()) (void)study.candidate(genome, {{1, 28, 28}, 10});
}

}  // namespace

void fuzz_space(std::string_view bytes) {
  const auto study = load_study_config(bytes, "space.yaml");
  if (study) return use(*study);
  std::istringstream lines(study.error().message);  // a line per mistake
  for (std::string line; std::getline(lines, line);) {
    promise_one_line({study.error().code, line}, ErrorCode::kInput);
    promise(line.starts_with("space.yaml"), line);
  }
}

std::vector<std::string> space_seeds() {
  std::vector<std::string> seeds;
  for (const char* name :
       {"cnn", "resnet_hpo", "metaqnn", "darts_cells", "cgp_resset", "graph", "hybrid", "mlp_table",
        "mlp_regression", "conv1d", "nasbench201", "tune"})
    seeds.push_back(read_file(DETOL_SOURCE_DIR "/configs/" + std::string(name) + ".yaml").value());
  seeds.emplace_back(
      "version: 1\nstudy: naps\nfunction: {name: sleep, seconds: 0.5}\n"
      "objectives: [{metric: value, direction: minimize}]\n"
      "search: {algorithm: random, initial_trials: [{x0: 0.25}]}\nbudget: 10trials\n");
  return seeds;
}

}  // namespace detol::fuzz
