// A trainer whose training.deterministic is false times the algorithms, has the study record what
// it found, and trains by the recorded choices.

#include <bit>

#include <gtest/gtest.h>

#include "core/table.h"
#include "encodings/network/cost.h"
#include "tests/support/idx_writer.h"
#include "tests/support/temp_folder.h"
#include "tests/trainer/tested_backends.h"
#include "trainer/backends/backend.h"
#include "trainer/checkpoint.h"
#include "trainer/evaluator.h"

namespace detol {
namespace {

using testing_support::TempFolder;

// Record keeps a study's choices in memory: the first choice of a key stays.
class Record final : public AlgorithmRecord {
 public:
  AlgorithmChoices known() override { return known_; }
  std::optional<AlgorithmChoices> settle(const std::vector<TimedShape>& timed) override {
    ++calls;
    if (is_over) return std::nullopt;
    for (const TimedShape& shape : timed) study.algorithms.emplace(shape.key, shape.algorithm);
    return known_ = study;
  }

  AlgorithmChoices study;  // what other workers recorded, too
  int calls = 0;
  bool is_over = false;  // whether the run is over

 private:
  AlgorithmChoices known_;  // what this worker has received
};

Network network() {
  NetworkBuilder b({1, 12, 12});
  NodeId x = b.add({.kind = LayerKind::kConv, .channels = 8, .kernel = 3}, {b.input()});
  x = b.add({.kind = LayerKind::kActivation}, {x});
  x = b.add({.kind = LayerKind::kConv, .channels = 16, .kernel = 3}, {x});
  x = b.add({.kind = LayerKind::kFlatten}, {b.add({.kind = LayerKind::kActivation}, {x})});
  return b.build(b.add({.kind = LayerKind::kDense, .channels = 4, .bias = true}, {x})).value();
}

class Choosing : public testing::Test {
 protected:
  void SetUp() override {
    if (fastest_tested().list_algorithms == nullptr) GTEST_SKIP() << "it has no choices";
    testing_support::write_idx(folder_.path());
    recipe_.deterministic = false;
  }

  Job job(const std::string& name) const {
    Candidate candidate{.network = network(), .recipe = recipe_, .cost = {}};
    candidate.cost = cost_of(candidate.network).value();
    return {
        .trial = 5, .seed = 11, .candidate = std::move(candidate), .folder = folder_.path() / name};
  }

  // Trains; the reporter returns `verdict` after epoch `at`.
  Evaluation run(const Job& job, AlgorithmRecord* record, int at = 3,
                 Verdict verdict = Verdict::kStop) const {
    Control control;
    return make_trainer({.format = "idx", .path = folder_.path().string(), .validation = 0.2},
                        {.backend = std::string(fastest_tested().name), .choices = record})
        .value()
        ->evaluate(
            job,
            [&](const EpochReport& report, bool) {
              return report.epoch == at ? verdict : Verdict::kContinue;
            },
            control)
        .value();
  }

  static std::vector<std::uint32_t> bits(const Job& job) {
    std::vector<std::uint32_t> all;
    const Checkpoint last = newest_checkpoint(job.folder, job.attempt).value().value();
    for (const Tensor& tensor : last.state.weights)
      for (const float value : tensor.data) all.push_back(std::bit_cast<std::uint32_t>(value));
    return all;
  }

  // Returns the last algorithm of every shape; the fixed rule takes the first.
  AlgorithmChoices other_algorithms() const {
    AlgorithmChoices choices;
    const auto all = fastest_tested().list_algorithms(network(), recipe_, {}).value();
    for (const AlgorithmCandidates& open : all)
      choices.algorithms.emplace(open.key, open.algorithms.back());
    return choices;
  }

  TempFolder folder_;
  Recipe recipe_{.batch_size = 32, .epochs = 3};
};

TEST_F(Choosing, IsRecordedOncePerShape) {
  Record record;
  run(job("one"), &record);
  EXPECT_EQ(record.calls, 1);
  EXPECT_FALSE(record.study.algorithms.empty());
  run(job("two"), &record);
  EXPECT_EQ(record.calls, 1);
}

TEST_F(Choosing, GoesByWhatWasRecordedFirst) {
  Record record, informed;
  record.study = informed.study = other_algorithms();
  informed.settle({});
  const Job late = job("late"), early = job("early"), by_rule = job("by_rule");
  run(late, &record);  // times, but receives what was recorded before
  run(early, &informed);
  run(by_rule, nullptr);
  EXPECT_EQ(record.study.algorithms, informed.study.algorithms);
  EXPECT_EQ(bits(late), bits(early));
  EXPECT_NE(bits(late), bits(by_rule));
}

TEST_F(Choosing, AnInterruptedTrialEndsWithTheBitsOfAnUninterruptedOne) {
  Record record;
  record.study = other_algorithms();
  const Job whole = job("whole");
  run(whole, &record);
  Job cut = job("cut");
  run(cut, &record, 1, Verdict::kSuspend);
  cut.acknowledged = 1;
  Record resumed;  // of another process, which has received nothing yet
  resumed.study = record.study;
  run(cut, &resumed);
  EXPECT_EQ(bits(cut), bits(whole));
}

TEST_F(Choosing, EndsSuspendedWhereTheRunIsOver) {
  Record record;
  record.is_over = true;
  EXPECT_EQ(run(job("one"), &record).end, Evaluation::End::kSuspended);
}

TEST_F(Choosing, IsByTheRuleWhereNobodyKeepsARecord) {
  const Job by_itself = job("by_itself");
  run(by_itself, nullptr);
  recipe_.deterministic = true;
  Record record;
  const Job deterministic = job("deterministic");
  run(deterministic, &record);
  EXPECT_EQ(record.calls, 0);
  EXPECT_EQ(bits(by_itself), bits(deterministic));
}

}  // namespace
}  // namespace detol
