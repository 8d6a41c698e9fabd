// Candidates that need more memory than there is fail at once and are not tried again.

#include <sys/resource.h>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "tests/e2e/tiny_study.h"

namespace detol::testing_support {
namespace {

using Json = nlohmann::json;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

// One convolution of 16384 x 16384 channels has 1 GB of weights, of 3 x 3 pixels 10 GB.
constexpr const char* kLargeSpace = R"(version: 1
study: large
data: {format: idx, path: data}
architecture:
  type: chain
  stem: {op: conv_bn_relu, channels: {type: categorical, choices: [4, 16384]}}
  stages: [{block: {op: conv, kernel: {type: categorical, choices: [1, 3]}}}]
parameters: {batch_size: {type: categorical, choices: [32, 65536]}}
training: {epochs: 1}
objectives: [{metric: val_loss, direction: minimize}]
search:
  algorithm: random
  initial_trials:
    - {architecture.stem.channels: 16384, "architecture.stages[0].block.kernel": 1, batch_size: 32}
    - {architecture.stem.channels: 16384, "architecture.stages[0].block.kernel": 3, batch_size: 32}
    - {architecture.stem.channels: 16384, "architecture.stages[0].block.kernel": 1, batch_size: 65536}
    - {architecture.stem.channels: 4, "architecture.stages[0].block.kernel": 1, batch_size: 65536}
budget: 4trials
)";

// MemoryLimit limits the address space of every process that is started while it exists.
class MemoryLimit {
 public:
  explicit MemoryLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_AS, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_AS, &limit);
  }
  ~MemoryLimit() { ::setrlimit(RLIMIT_AS, &before_); }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;

 private:
  rlimit before_{};
};

TEST(Memory, ACandidateThatNeedsMoreThanThereIsFailsOnceAndTheSearchGoesOn) {
  if (kIsSanitized) GTEST_SKIP() << "a sanitizer needs the whole address space";
  const TinyStudy study;
  write_bytes(study.path() / "large.yaml", kLargeSpace);
  const Ran search = [&] {
    const MemoryLimit limit(rlim_t{2} << 30);
    return study.detol({"search", "--space", "large.yaml", "-j", "1"});
  }();
  ASSERT_EQ(search.code, 0) << search.err;
  const Json trials = Json::parse(study.detol({"trials", "large", "-f", "json"}).out);
  ASSERT_GE(trials.size(), 4u);
  for (int id : {0, 1, 2}) {
    EXPECT_EQ(trials[id]["state"], "FAIL") << trials[id];
    const bool is_refused = trials[id]["failure"] == "too_large";  // where memory is small
    EXPECT_TRUE(is_refused || trials[id]["failure"] == "oom") << trials[id];
    EXPECT_NE(trials[id]["reason"].get<std::string>().find("bytes"), std::string::npos);
    const Ran log = study.detol({"trial", "large", std::to_string(id), "--log"});
    EXPECT_EQ(log.out.find("attempt 2"), std::string::npos) << log.out;
  }
  EXPECT_EQ(trials[3]["state"], "COMPLETE") << trials[3];
}

TEST(Memory, MaxMemoryRefusesItBeforeAnyTraining) {
  const TinyStudy study;
  write_bytes(study.path() / "large.yaml", kLargeSpace);
  const Ran search =
      study.detol({"search", "--space", "large.yaml", "-j", "1", "--set",
                   "architecture.constraints.max_memory=4GB", "--budget", "1trials"});
  ASSERT_EQ(search.code, 0) << search.err;
  const Json trials = Json::parse(study.detol({"trials", "large", "-f", "json"}).out);
  for (int id : {0, 1, 2}) {
    EXPECT_EQ(trials[id]["failure"], "too_large") << trials[id];
    EXPECT_EQ(trials[id]["epochs"], 0);
  }
  EXPECT_EQ(trials[3]["state"], "COMPLETE") << trials[3];
}

}  // namespace
}  // namespace detol::testing_support
