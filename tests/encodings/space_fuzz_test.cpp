// Loading randomly edited space files never crashes, hangs or throws; what loads is consistent.

#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "core/file.h"
#include "core/rng.h"
#include "encodings/study/study_config.h"

namespace detol {
namespace {

constexpr std::uint64_t kSeed = 20240;
constexpr std::uint64_t kCases = 2000;

std::string mutated(std::string text, Rng& rng) {
  constexpr std::string_view kSpecial = "{}[]:,-#&*!|>'\"%@`?~\n\t \\0159.exX\x80\xff";
  for (std::uint64_t edits = 1 + rng.below(6); edits > 0 && !text.empty(); --edits) {
    const std::size_t at = rng.below(text.size());
    switch (rng.below(5)) {
      case 0:
        text[at] = static_cast<char>(rng.below(256));
        break;
      case 1:
        text[at] = kSpecial[rng.below(kSpecial.size())];
        break;
      case 2:
        text.insert(at, 1, kSpecial[rng.below(kSpecial.size())]);
        break;
      case 3:
        text.erase(at, 1 + rng.below(8));
        break;
      default: {
        const std::string piece = text.substr(rng.below(text.size()), rng.below(40));
        text.insert(at, piece);
      }
    }
  }
  return text;
}

// Returns how many of the edited files still load.
int load_edited(const std::string& good) {
  int loaded = 0;
  for (std::uint64_t n = 0; n < kCases; ++n) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", case " + std::to_string(n));
    Rng rng = Rng(kSeed).split(n);
    const auto study = load_study_config(mutated(good, rng), "s.yaml");
    if (!study) {
      std::istringstream lines(study.error().message);
      for (std::string line; std::getline(lines, line);)
        EXPECT_TRUE(line.starts_with("s.yaml:")) << line;
      continue;
    }
    ++loaded;
    const auto again = load_study_config(study->text, "text");
    if (!again) {
      ADD_FAILURE() << again.error().message << "\n" << study->text;
      continue;
    }
    EXPECT_EQ(again->text, study->text);
    const Genome genome = study->space.sample(rng);
    const auto assignments = genome.assignments();
    EXPECT_TRUE(again->space.genome(assignments));
    EXPECT_EQ(again->architecture_json(genome), study->architecture_json(genome));
    (void)study->candidate(genome, {{1, 28, 28}, 10});
  }
  return loaded;
}

TEST(SpaceFuzz, EditedFilesLoadSoundlyOrAreRefusedWithALinePerMistake) {
  const std::string good =
      read_file(std::string(DETOL_SOURCE_DIR) + "/configs/cnn.yaml").value_or("");
  ASSERT_FALSE(good.empty());
  EXPECT_GT(load_edited(good), 50);
}

TEST(SpaceFuzz, EditedFilesOfAFunctionLoadSoundlyOrAreRefusedWithALinePerMistake) {
  const std::string good =
      "version: 1\nstudy: naps\nfunction: {name: sleep, seconds: 0.5}\n"
      "objectives: [{metric: value, direction: minimize}]\n"
      "search: {algorithm: random, initial_trials: [{x0: 0.25}]}\nbudget: 10trials\n";
  EXPECT_GT(load_edited(good), 10);
}

}  // namespace
}  // namespace detol
