// One random bit changes in the files that a killed search left, again and again, each time in
// a fresh copy: a command whose output changes must report the damage.
//
// DETOL_CHAOS_FLIPS says how many flips in each file (20), DETOL_CHAOS_SEED which (1).

#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>

#include <gtest/gtest.h>

#include "core/rng.h"
#include "tests/chaos/chaos.h"
#include "tests/e2e/program.h"
#include "tests/support/temp_folder.h"

namespace detol::testing_support {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSpace = R"(version: 1
study: naps
function: {name: sleep, seconds: 0.001}
search: {algorithm: random}
budget: 100000trials
)";

const std::vector<std::vector<std::string>> kQuestions = {
    {"trials", "naps", "-f", "json"},
    {"query", "SELECT * FROM v_trials ORDER BY 1, 2, 3", "-f", "json"},
    {"query", "SELECT * FROM v_metrics ORDER BY 1, 2, 3, 4, 5", "-f", "json"},
    {"studies", "-f", "json"}};

enum class Effect { kNone, kSaid, kSilent };

class RandomFlip : public testing::TestWithParam<std::string> {
 protected:
  RandomFlip() {
    std::ofstream(killed_.path() / "naps.yaml") << kSpace;
    Program search(killed_.path(), {"search", "--space", "naps.yaml", "-j", "1"});
    EXPECT_TRUE(search.says("trial 40 COMPLETE")) << search.wait().err;
    search.kill_everything();
    const TempFolder copy;
    answers_ = ask(copy_into(copy)).answers;
  }

  fs::path copy_into(const TempFolder& folder) const {
    for (const char* name : {"detol.db", "detol.db-wal"})
      fs::copy_file(killed_.path() / name, folder.path() / name);
    return folder.path();
  }

  struct Asked {
    std::vector<std::string> answers;
    bool is_damage_said = false;  // by every command whose output differs
  };

  // Runs every command of kQuestions on a database; output that differs from that of the
  // undamaged one must come with a refusal or a warning.
  Asked ask(const fs::path& folder) const {
    Asked asked;
    bool all_said = true;
    for (std::size_t i = 0; i < kQuestions.size(); ++i) {
      const Ran ran = run(folder, kQuestions[i]);
      asked.answers.push_back(ran.out);
      const bool differs = !answers_.empty() && ran.out != answers_[i];
      if (differs && ran.code == 0 && ran.err.empty()) all_said = false;
      EXPECT_LT(ran.code, 128) << kQuestions[i][0] << "\n" << ran.err;
    }
    asked.is_damage_said = all_said;
    return asked;
  }

  Effect effect_of(const std::string& file, std::uint64_t bit) const {
    const TempFolder folder;
    const fs::path path = copy_into(folder) / file;
    std::fstream damaged(path, std::ios::in | std::ios::out | std::ios::binary);
    damaged.seekg(static_cast<std::streamoff>(bit / 8));
    const char changed = static_cast<char>(damaged.get() ^ (1 << bit % 8));
    damaged.seekp(static_cast<std::streamoff>(bit / 8));
    damaged.put(changed);
    damaged.close();
    const Asked asked = ask(folder.path());
    if (asked.answers == answers_) return Effect::kNone;
    return asked.is_damage_said ? Effect::kSaid : Effect::kSilent;
  }

  TempFolder killed_;
  std::vector<std::string> answers_;  // of the undamaged database
};

TEST_P(RandomFlip, IsNeverSilent) {
  const int flips = number_from("DETOL_CHAOS_FLIPS", 20);
  Rng rng(static_cast<std::uint64_t>(number_from("DETOL_CHAOS_SEED", 1)));
  const std::uint64_t bits = fs::file_size(killed_.path() / GetParam()) * 8;
  std::map<Effect, int> counts;
  for (int flip = 0; flip < flips; ++flip) {
    const std::uint64_t bit = rng.below(bits);
    const Effect effect = effect_of(GetParam(), bit);
    ++counts[effect];
    EXPECT_NE(effect, Effect::kSilent) << GetParam() << ", byte " << bit / 8 << ", bit " << bit % 8;
  }
  std::cout << GetParam() << " of " << bits / 8 << " bytes: " << counts[Effect::kSaid] << " said, "
            << counts[Effect::kNone] << " without effect, " << counts[Effect::kSilent] << " silent"
            << std::endl;
}

INSTANTIATE_TEST_SUITE_P(File, RandomFlip, testing::Values("detol.db", "detol.db-wal"),
                         [](const auto& file) {
                           return file.param == "detol.db" ? std::string("Database")
                                                           : std::string("Log");
                         });

}  // namespace
}  // namespace detol::testing_support
