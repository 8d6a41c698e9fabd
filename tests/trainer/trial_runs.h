#pragma once

// Runs of a small trial by every backend, on images that are easily told apart.

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "encodings/network/cost.h"
#include "tests/support/idx_writer.h"
#include "tests/support/temp_folder.h"
#include "tests/trainer/tested_backends.h"
#include "trainer/backends/backend.h"
#include "trainer/checkpoint.h"
#include "trainer/data/dataset.h"
#include "trainer/evaluator.h"

namespace detol::testing_support {

// The files are written once for all tests; each test has a folder for its checkpoints.
inline const DataConfig& data() {
  static const TempFolder folder;
  static const DataConfig config = [] {
    write_idx(folder.path());
    return DataConfig{.format = "idx", .path = folder.path().string(), .validation = 0.2};
  }();
  return config;
}

inline Network small_network(Shape input, std::int64_t classes) {
  NetworkBuilder b(input);
  NodeId x = b.add({.kind = LayerKind::kConv, .channels = 16, .kernel = 3, .stride = 2}, {0});
  x = b.add({.kind = LayerKind::kBatchNorm}, {x});
  x = b.add({.kind = LayerKind::kActivation}, {x});
  x = b.add({.kind = LayerKind::kDropout, .rate = 0.1}, {x});
  x = b.add({.kind = LayerKind::kFlatten}, {x});
  x = b.add({.kind = LayerKind::kDense, .channels = classes, .bias = true}, {x});
  return b.build(x).value();
}

inline Recipe easy_recipe() {
  return {.lr = 0.05,
          .weight_decay = 1e-4,
          .batch_size = 32,
          .epochs = 4,
          .schedule = "cosine",
          .warmup_epochs = 0.5,
          .crop_padding = 1};
}

// Ran holds the reports and the outcome.
struct Ran {
  std::vector<EpochReport> reports;
  Evaluation evaluation;
  std::uint64_t progress = 0;
  int groups = 0;  // of reports that share a checkpoint
};

class TrialRuns : public testing::TestWithParam<std::string> {
 protected:
  Job job(const Recipe& recipe, std::string_view folder = "trial") const {
    Candidate candidate{.network = small_network({1, 12, 12}, 4), .recipe = recipe, .cost = {}};
    candidate.cost = cost_of(candidate.network).value();
    return {.trial = 5,
            .seed = 11,
            .candidate = std::move(candidate),
            .folder = folder_.path() / folder};
  }

  // The reporter returns `verdict` for the epoch `at`, kContinue for all others.
  Result<Ran> try_run(const Job& job, int at = 0, Verdict verdict = Verdict::kStop) const {
    Ran ran;
    Control control;
    control.undecided = undecided_;
    const auto trainer = make_trainer(data(), {.backend = GetParam(), .ranking = ranking_}).value();
    const Reporter report = [&](const EpochReport& epoch, bool more) {
      ran.reports.push_back(epoch);
      ran.groups += more ? 0 : 1;
      return epoch.epoch == at ? verdict : Verdict::kContinue;
    };
    DETOL_ASSIGN(ran.evaluation, trainer->evaluate(job, report, control));
    ran.progress = control.progress;
    return ran;
  }

  Ran run(const Job& job, int at = 0, Verdict verdict = Verdict::kStop) const {
    return try_run(job, at, verdict).value();
  }

  TempFolder folder_;
  std::optional<EpochRanking> ranking_;  // nullopt: the last epoch counts
  double undecided_ = 0;                 // Control::undecided
};

inline double metric(const EpochReport& report, std::string_view name) {
  const auto found = std::find_if(report.metrics.begin(), report.metrics.end(),
                                  [&](const Metric& m) { return m.name == name; });
  return found == report.metrics.end() ? NAN : found->value;
}

inline std::vector<std::uint32_t> bits(const TrainingState& state) {
  std::vector<std::uint32_t> all;
  const auto append = [&](const Weights& tensors) {
    for (const Tensor& tensor : tensors) {
      for (float value : tensor.data) all.push_back(std::bit_cast<std::uint32_t>(value));
    }
  };
  append(state.weights);
  for (const Weights& moment : state.moments) append(moment);
  append(state.average);
  return all;
}

inline std::vector<std::uint32_t> final_bits(const Job& job) {
  return bits(newest_checkpoint(job.folder, job.attempt).value()->state);
}

}  // namespace detol::testing_support
