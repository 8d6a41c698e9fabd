// Tests that memory that runs out, at any point of a training, is the candidate's result and never
// an error, a crash or a failure of the next candidate. Each training runs in a child process whose
// address space is limited.

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include <gtest/gtest.h>

#include "encodings/network/cost.h"
#include "tests/support/idx_writer.h"
#include "tests/support/temp_folder.h"
#include "tests/trainer/samples.h"
#include "tests/trainer/tested_backends.h"
#include "trainer/evaluator.h"

namespace detol {
namespace {

using testing_support::TempFolder;
using testing_support::write_idx;

constexpr std::size_t kMegabyte = std::size_t{1} << 20;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

// Exit is the exit code of a child.
enum Exit { kFinished, kOutOfMemory, kOther, kError, kThrew, kNextOneFailed };

class ShortMemory : public testing::TestWithParam<std::string> {
 protected:
  ShortMemory() { write_idx(folder_.path(), {.training = 1200}); }

  // Trains the large candidate with so many bytes to spare, then, with the limit gone, a small one.
  Exit train_in_child(std::size_t spare_bytes) const {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(train(spare_bytes));
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    return static_cast<Exit>(WEXITSTATUS(status));
  }

 private:
  Exit train(std::size_t spare_bytes) const try {
    const DataConfig data{.format = "idx", .path = folder_.path().string(), .validation = 0.2};
    const auto trainer = make_trainer(data, {.backend = GetParam()}).value();
    if (evaluate(*trainer, job(4, 32, "before")) != kFinished) return kOther;
    rlimit before{};
    ::getrlimit(RLIMIT_AS, &before);
    const rlimit limit{address_space() + spare_bytes, before.rlim_max};
    ::setrlimit(RLIMIT_AS, &limit);
    const Exit end = evaluate(*trainer, job(16, 960, "large"));
    ::setrlimit(RLIMIT_AS, &before);
    return evaluate(*trainer, job(4, 32, "after")) == kFinished ? end : kNextOneFailed;
  } catch (const std::exception&) {
    return kThrew;
  }

  Job job(std::int64_t channels, std::int64_t batch, std::string_view folder) const {
    const Recipe recipe{.lr = 0.02, .batch_size = batch, .epochs = 1};
    Candidate candidate{.network = composite(channels, {1, 12, 12}), .recipe = recipe, .cost = {}};
    candidate.cost = cost_of(candidate.network).value();
    return {.seed = 11, .candidate = std::move(candidate), .folder = folder_.path() / folder};
  }

  static Exit evaluate(Evaluator& trainer, const Job& job) {
    Control control;
    const auto evaluation = trainer.evaluate(
        job, [](const EpochReport&, bool) { return Verdict::kContinue; }, control);
    if (!evaluation) return kError;
    if (evaluation->end == Evaluation::End::kFinished) return kFinished;
    return evaluation->cause == Cause::kOutOfMemory ? Exit::kOutOfMemory : kOther;
  }

  static std::size_t address_space() {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  }

  TempFolder folder_;
};

// The spare memory starts at 0 bytes.
TEST_P(ShortMemory, IsTheCandidatesResultWhereverItRunsOut) {
  if (kIsSanitized) GTEST_SKIP() << "a sanitizer needs the whole address space";
  constexpr std::size_t kStep = 4 * kMegabyte;
  int ran_out = 0;
  Exit end = Exit::kOutOfMemory;
  for (std::size_t spare = 0; end == Exit::kOutOfMemory; spare += kStep) {
    ASSERT_LT(spare, 1024 * kMegabyte) << "it is never enough";
    end = train_in_child(spare);
    ran_out += end == Exit::kOutOfMemory;
  }
  EXPECT_EQ(end, kFinished);
  EXPECT_GE(ran_out, 3);
}

INSTANTIATE_TEST_SUITE_P(EveryBackend, ShortMemory, testing::ValuesIn(tested_backend_names()),
                         [](const auto& row) { return row.param; });

}  // namespace
}  // namespace detol
