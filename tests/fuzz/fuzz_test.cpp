// Runs every fuzz target on its seeds, on edits of these, and on earlier findings. No input
// may take 5 s or 1 GB. DETOL_TEST_CASES: how many edits of each seed.

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "core/file.h"
#include "core/rng.h"
#include "tests/fuzz/targets.h"
#include "tests/trainer/damage.h"

namespace detol::fuzz {
namespace {

class FuzzTargets : public testing::TestWithParam<FuzzTarget> {};

std::uint64_t edits_of_a_seed() {
  const char* text = std::getenv("DETOL_TEST_CASES");  // NOLINT(concurrency-mt-unsafe)
  return text == nullptr ? 20 : std::strtoull(text, nullptr, 10);
}

// A hang ends the program (SIGALRM).
void run(const FuzzTarget& target, const std::string& bytes, const std::string& what) {
  ::alarm(5);
  EXPECT_NO_THROW(target.run(bytes)) << what;
  ::alarm(0);
}

TEST_P(FuzzTargets, KeepTheirPromisesOnTheirSeeds) {
  for (const std::string& seed : GetParam().seeds()) run(GetParam(), seed, "a seed");
  run(GetParam(), "", "nothing");
}

std::string edited(std::string bytes, Rng& rng) {
  for (std::uint64_t left = 1 + rng.below(4); left > 0 && !bytes.empty(); --left) {
    const std::size_t at = rng.below(bytes.size());
    switch (rng.below(3)) {
      case 0:
        bytes[at] = static_cast<char>(rng.below(256));
        break;
      case 1:
        bytes.erase(at, 1 + rng.below(16));
        break;
      default:
        bytes.insert(at, bytes.substr(rng.below(bytes.size()), rng.below(16)));
    }
  }
  return bytes;
}

TEST_P(FuzzTargets, KeepTheirPromisesOnEditsOfThem) {
  const std::uint64_t edits = edits_of_a_seed();
  const testing_support::MemoryLimit limit(std::size_t{1} << 30);
  std::uint64_t stream = 0;
  for (const std::string& seed : GetParam().seeds()) {
    for (std::uint64_t n = 0; n < edits; ++n) {
      Rng rng = Rng(1).split(stream++);
      run(GetParam(), edited(seed, rng), "stream " + std::to_string(stream - 1));
    }
  }
}

TEST_P(FuzzTargets, KeepTheirPromisesOnWhatWasOnceFound) {
  const auto folder =
      std::filesystem::path(DETOL_SOURCE_DIR) / "tests/fuzz/found" / GetParam().name;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
    run(GetParam(), read_file(entry.path()).value(), entry.path().string());
}

INSTANTIATE_TEST_SUITE_P(All, FuzzTargets, testing::ValuesIn(fuzz_targets()),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace detol::fuzz
