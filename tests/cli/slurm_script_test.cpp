#include "scheduler/launchers/slurm_script.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>

#include "tests/support/idx_writer.h"
#include "tests/support/temp_folder.h"

namespace detol {
namespace {

using testing_support::TempFolder;
using testing_support::write_bytes;

SlurmJob job() {
  return {.study = "naps",
          .script = "/s/detol.db.slurm-naps.sh",
          .log = "/s/detol.db.slurm-naps.log",
          .folder = "/w",
          .command = {"detol", "search"},
          .nodes = 8};
}

bool has(const std::string& script, std::string_view line) {
  return script.find(line) != std::string::npos;
}

TEST(SlurmTime, IsReadAsSlurmWritesIt) {
  EXPECT_EQ(slurm_seconds("90"), 90 * 60);
  EXPECT_EQ(slurm_seconds("1:30"), 90);
  EXPECT_EQ(slurm_seconds("1:30:00"), 5400);
  EXPECT_EQ(slurm_seconds("2-12"), 60 * 3600);
  EXPECT_EQ(slurm_seconds("1-0:0:1"), 86401);
  for (const char* wrong :
       {"", "soon", "1h", "1:2:3:4", "1:2-3", "-1", "1-", "99999999999999999999"})
    EXPECT_FALSE(slurm_seconds(wrong)) << wrong;
}

TEST(SlurmTime, AJobIsWarnedThreeMinutesBeforeItsEndOrAFifthOfIt) {
  EXPECT_EQ(notice_s("1-0"), 180);
  EXPECT_EQ(notice_s(""), 180);
  EXPECT_EQ(notice_s("5"), 60);
}

TEST(SlurmScript, AsksForWhatKeepsTheChainGoing) {
  const std::string script = slurm_script(job());
  for (const char* line : {"#SBATCH --nodes=8\n", "#SBATCH --signal=B:USR1@180\n",
                           "#SBATCH --requeue\n", "#SBATCH --open-mode=append\n"})
    EXPECT_TRUE(has(script, line)) << line;
}

TEST(SlurmScript, TakesWholeNodesUnlessTheUserSaysHowMuch) {
  EXPECT_TRUE(has(slurm_script(job()), "#SBATCH --exclusive\n"));
  SlurmJob shared = job();
  shared.options = {"--account=ml", "--gpus-per-node=4"};
  EXPECT_FALSE(has(slurm_script(shared), "--exclusive"));
}

// bash itself reads the script back, with Slurm's programs replaced by ones that do nothing.
TEST(SlurmScript, NoNameIsReadAsACommand) {
  const TempFolder folder;
  const std::string name = "a'b; $(touch harmed) `touch harmed` \"c\" \\";
  SlurmJob odd = job();
  odd.study = name;
  odd.script = folder.path() / "script";
  odd.options = {name};
  odd.command = {"/bin/sh", "-c", "printf %s \"$1\" > said", "sh", name};
  write_bytes(odd.script, slurm_script(odd));
  for (const char* program : {"sbatch", "scontrol", "scancel"}) {
    write_bytes(folder.path() / program, "#!/bin/sh\n");
    std::filesystem::permissions(folder.path() / program, std::filesystem::perms(0755));
  }
  const std::string line =
      "cd '" + folder.path().string() + "' && SLURM_JOB_ID=1 PATH=.:$PATH bash ./script";
  EXPECT_EQ(std::system(line.c_str()), 0);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "harmed"));
  std::ifstream said(folder.path() / "said");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(said), {}), name);
}

}  // namespace
}  // namespace detol
