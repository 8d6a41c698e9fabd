#include "encodings/foreign/foreign_space.h"
#include "encodings/study/study_config.h"
#include "tests/fuzz/promise.h"
#include "tests/fuzz/targets.h"

namespace detol::fuzz {

// What is read can be written, and the written file loads or says in one line why not.
void fuzz_foreign(std::string_view bytes) {
  const auto space = read_foreign_space(bytes, "sweep.yaml");
  if (!space) {
    promise_one_line(space.error(), ErrorCode::kInput);
    promise(space.error().message.starts_with("sweep.yaml"), space.error().message);
    return;
  }
  const auto study = load_study_config(write_space_file(*space, "s", "sweep.yaml"), "written");
  if (!study) return promise_one_line(study.error(), ErrorCode::kInput);
  promise(study->space.size() <= space->parameters.size(), "a parameter that nobody wrote");
  promise(study->seed == 0, "a key that nobody wrote");
}

std::vector<std::string> foreign_seeds() {
  return {
      R"({"lr": {"_type": "loguniform", "_value": [0.0001, 0.1]}, "n": {"_type": "quniform",
 "_value": [2, 10, 5]}, "op": {"_type": "choice", "_value": [{"_name": "a"}, {"_name": "b",
 "k": {"_type": "randint", "_value": [1, 4]}}]}})",
      "program: train.py\nmethod: bayes\nmetric: {name: acc, goal: maximize}\n"
      "command: ['${env}', python, '${program}', '${args}']\n"
      "parameters: {lr: {min: 0.0, max: 1.0}, net: {parameters: {w: {values: [1, null]}}},\n"
      "  q: {distribution: q_log_normal, mu: 3, sigma: 1}}\n"
      "early_terminate: {type: hyperband, max_iter: 27, s: 2}\nrun_cap: 30\n",
      R"({"a": "{\"name\": \"FloatDistribution\", \"attributes\": {\"low\": 1, \"high\": 2}}",
 "b": {"name": "CategoricalDistribution", "attributes": {"choices": ["a", 2, true, null]}}})",
      "lr: tune.loguniform(1e-4, 1e-1)\nx: tune.choice([a, [1, 2]])\nz: {y: randn(sd=2)}\nn: 3\n"};
}

}  // namespace detol::fuzz
