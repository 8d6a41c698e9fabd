#pragma once

// A study that is over in seconds: 12 x 12 images of four classes, small networks, three
// epochs, one worker.

#include <string>

#include "tests/e2e/program.h"
#include "tests/support/idx_writer.h"
#include "tests/support/temp_folder.h"

namespace detol::testing_support {

inline constexpr const char* kTinySpace = R"(version: 1
study: tiny
seed: 7
data: {format: idx, path: data, split: {validation: 0.2}, augment: {horizontal_flip: true}}
architecture:
  type: chain
  stem: {op: conv_bn_relu, channels: {type: categorical, choices: [4, 8]}}
  stages:
    - repeat: 2
      depth: {type: int, low: 1, high: 2}
      block:
        op: {type: categorical, choices: [conv, residual, identity]}
        kernel: 3
  head: {op: global_avg_pool_linear}
parameters:
  optimizer: {type: categorical, choices: [sgd, adamw]}
  lr: {type: float, low: 1.0e-3, high: 1.0e-1, log: true}
  batch_size: {type: categorical, choices: [16, 32]}
training: {epochs: 3, loss: cross_entropy, schedule: {name: cosine}}
objectives:
  - {metric: val_accuracy, direction: maximize}
search: {algorithm: evolution, pruner: {name: asha, min_resource: 1, reduction_factor: 3}}
budget: 6trials
resources: {workers: auto}
)";

// A folder with the data and the space file of a study, where nothing has run yet.
class TinyStudy {
 public:
  TinyStudy() {
    write_idx(path() / "data");
    write_bytes(path() / "tiny.yaml", kTinySpace);
  }

  const std::filesystem::path& path() const { return folder_.path(); }

  Ran detol(const std::vector<std::string>& words) const { return run(path(), words); }

  std::vector<std::string> search_words() const {
    return {"search", "--space", "tiny.yaml", "--workers", "1"};
  }

  // Returns everything that must be the same in every run: no times.
  std::string results() const {
    return detol({"query", "-f", "csv",
                  "SELECT trial, state, failure, reason, algorithm, arch_hash, epochs, value, "
                  "values_json, params_json FROM v_trials ORDER BY trial"})
               .out +
           detol({"query", "-f", "csv",
                  "SELECT trial, epoch, name, value FROM v_metrics ORDER BY trial, epoch, name"})
               .out;
  }

 private:
  TempFolder folder_;
};

}  // namespace detol::testing_support
