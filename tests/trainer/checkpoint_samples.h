#pragma once

// Sample checkpoints, and the names of their files.

#include <bit>
#include <filesystem>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/temp_folder.h"
#include "trainer/checkpoint.h"

namespace detol::testing_support {

inline Checkpoint example(int epoch) {
  Checkpoint checkpoint{.trial = 0xffff'ffff'ffff'fff0u,
                        .attempt = 2,
                        .arch_hash = 0x0123456789abcdef,
                        .job_hash = 0xfedcba9876543210,
                        .epoch = epoch,
                        .step = 100L * epoch,
                        .progress = {},
                        .history = {},
                        .state = {}};
  for (int e = 1; e <= epoch; ++e) {
    checkpoint.history.push_back(
        {.epoch = e,
         .metrics = {{"val_accuracy", 0.1 + 0.2 * e}, {"val_loss", 1.0 / 3}},
         .work = 1e15 / 3 * e,
         .train_s = 0.1 * e});
  }
  checkpoint.state.weights = {{"conv1.weight", {2, 1, 1, 1}, {0.5f, -0.25f}},
                              {"bn1.running_var", {1}, {static_cast<float>(epoch)}}};
  checkpoint.state.moments = {{{"conv1.weight", {2, 1, 1, 1}, {1e-30f, 3}}}};
  return checkpoint;
}

inline bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

inline void expect_equal(const Weights& a, const Weights& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].name, b[i].name);
    EXPECT_EQ(a[i].shape, b[i].shape);
    EXPECT_EQ(a[i].data, b[i].data);
  }
}

inline void expect_equal(const Checkpoint& a, const Checkpoint& b) {
  EXPECT_EQ(a.trial, b.trial);
  EXPECT_EQ(a.attempt, b.attempt);
  EXPECT_EQ(a.arch_hash, b.arch_hash);
  EXPECT_EQ(a.job_hash, b.job_hash);
  EXPECT_EQ(a.epoch, b.epoch);
  EXPECT_EQ(a.step, b.step);
  EXPECT_EQ(a.progress.steps, b.progress.steps);
  EXPECT_TRUE(same_bits(a.progress.loss, b.progress.loss));
  EXPECT_EQ(a.progress.correct, b.progress.correct);
  EXPECT_TRUE(same_bits(a.progress.train_s, b.progress.train_s));
  ASSERT_EQ(a.history.size(), b.history.size());
  for (std::size_t e = 0; e < a.history.size(); ++e) {
    EXPECT_EQ(a.history[e].epoch, b.history[e].epoch);
    EXPECT_TRUE(same_bits(a.history[e].work, b.history[e].work));
    EXPECT_TRUE(same_bits(a.history[e].train_s, b.history[e].train_s));
    EXPECT_EQ(a.history[e].is_best, b.history[e].is_best);
    ASSERT_EQ(a.history[e].metrics.size(), b.history[e].metrics.size());
    for (std::size_t m = 0; m < a.history[e].metrics.size(); ++m) {
      EXPECT_EQ(a.history[e].metrics[m].name, b.history[e].metrics[m].name);
      EXPECT_TRUE(same_bits(a.history[e].metrics[m].value, b.history[e].metrics[m].value));
    }
  }
  expect_equal(a.state.weights, b.state.weights);
  expect_equal(a.state.average, b.state.average);
  expect_equal(a.best, b.best);
  for (const auto lists :
       {&TrainingState::moments, &TrainingState::residuals, &TrainingState::pending}) {
    ASSERT_EQ((a.state.*lists).size(), (b.state.*lists).size());
    for (std::size_t i = 0; i < (a.state.*lists).size(); ++i)
      expect_equal((a.state.*lists)[i], (b.state.*lists)[i]);
  }
}

// Returns a checkpoint 30 steps into the epoch after `epoch`.
inline Checkpoint partial(int epoch) {
  Checkpoint checkpoint = example(epoch);
  checkpoint.progress = {.steps = 30, .loss = 0.1 + epoch, .correct = 77, .train_s = 1.0 / 3};
  checkpoint.step += 30;
  return checkpoint;
}

inline Checkpoint by_attempt(int attempt, Checkpoint checkpoint) {
  checkpoint.attempt = attempt;
  return checkpoint;
}

inline std::filesystem::path file_of(const TempFolder& folder, int epoch) {
  return folder.path() / ("epoch-" + std::to_string(epoch) + ".a2.ckpt");
}

inline std::set<std::string> names_in(const TempFolder& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    names.insert(entry.path().filename());
  return names;
}

using Names = std::set<std::string>;

}  // namespace detol::testing_support
