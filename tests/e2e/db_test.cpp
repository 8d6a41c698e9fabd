// The knowledge base of a search that was killed: damaged, checked, recovered, restored.

#include <filesystem>
#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "tests/e2e/program.h"
#include "tests/support/idx_writer.h"
#include "tests/support/temp_folder.h"

namespace detol::testing_support {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kNaps = R"(version: 1
study: naps
function: {name: sleep, seconds: 0.01}
search: {algorithm: random}
budget: 1000trials
)";

// The folder of a search that was killed with all of its processes.
class KilledSearch : public testing::Test {
 protected:
  KilledSearch() {
    write_bytes(folder_.path() / "naps.yaml", kNaps);
    Program search(folder_.path(), {"search", "--space", "naps.yaml", "-j", "1"});
    EXPECT_TRUE(search.says("trial 5 COMPLETE")) << search.wait().err;
    search.kill_everything();
  }

  Ran detol(const std::vector<std::string>& words) const { return run(folder_.path(), words); }

  std::size_t trials() const {
    return Json::parse(detol({"trials", "naps", "-f", "json"}).out, nullptr, false).size();
  }

  // Changes byte `at` of the log, counted from its end.
  void damage(std::size_t at) const {
    const fs::path log = folder_.path() / "detol.db-wal";
    std::string bytes = text_of(log);
    bytes[bytes.size() - at] ^= 1;
    write_bytes(log, bytes);
  }

  TempFolder folder_;
};

TEST_F(KilledSearch, WithADamagedLogIsRefusedByEveryCommandAndRecovered) {
  const std::size_t before = trials();
  ASSERT_EQ(detol({"db", "backup"}).code, 0);
  damage(20600);
  for (const auto& words : {std::vector<std::string>{"db", "check"},
                            {"trials", "naps"},
                            {"status", "naps"},
                            {"resume", "naps"},
                            {"db", "backup"}}) {
    const Ran refused = detol(words);
    EXPECT_EQ(refused.code, 5) << words[0];
    EXPECT_NE(refused.err.find("detol db recover"), std::string::npos) << refused.err;
  }
  const Ran recovered = detol({"db", "recover"});
  ASSERT_EQ(recovered.code, 0) << recovered.err;
  EXPECT_NE(recovered.out.find("detol.db-wal.damaged"), std::string::npos) << recovered.out;
  EXPECT_LT(trials(), before);
  const Ran lacks = detol({"db", "check"});
  EXPECT_EQ(lacks.code, 5);
  EXPECT_NE(lacks.out.find("not as in the backup"), std::string::npos) << lacks.out;

  EXPECT_EQ(detol({"db", "restore"}).code, 0);
  EXPECT_EQ(trials(), before);
  EXPECT_EQ(detol({"db", "check"}).code, 0);
  const Ran resumed = detol({"resume", "naps", "--budget", std::to_string(before + 2) + "trials"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
}

TEST_F(KilledSearch, WithADamagedEndSaysSoAndGoesOn) {
  const std::size_t before = trials();
  damage(1);
  const Ran checked = detol({"db", "check"});
  EXPECT_EQ(checked.code, 5);
  EXPECT_NE(checked.out.find("does not verify"), std::string::npos) << checked.out;
  const Ran shown = detol({"trials", "naps"});
  EXPECT_EQ(shown.code, 0);
  EXPECT_NE(shown.err.find("does not verify"), std::string::npos) << shown.err;
  const Ran resumed = detol({"resume", "naps", "--budget", std::to_string(before + 2) + "trials"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(detol({"db", "check"}).code, 0);
}

TEST_F(KilledSearch, IsBackedUpAsOftenAsItIsToldAndShrunk) {
  for (int i = 0; i < 5; ++i) ASSERT_EQ(detol({"db", "backup"}).code, 0);
  EXPECT_TRUE(fs::exists(folder_.path() / "detol.db.backup.2"));
  EXPECT_FALSE(fs::exists(folder_.path() / "detol.db.backup.3"));
  for (int i = 0; i < 3; ++i) ASSERT_EQ(detol({"db", "backup", "b.db", "--keep", "2"}).code, 0);
  EXPECT_TRUE(fs::exists(folder_.path() / "b.db.1"));
  EXPECT_FALSE(fs::exists(folder_.path() / "b.db.2"));
  EXPECT_EQ(detol({"db", "backup", "b.db"}).code, 5);
  EXPECT_EQ(detol({"db", "vacuum"}).code, 0);
  EXPECT_EQ(detol({"db", "check"}).code, 0);
}

}  // namespace
}  // namespace detol::testing_support
