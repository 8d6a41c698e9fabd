// Workers that srun or ssh starts.

#include "scheduler/launchers/remote.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include <gtest/gtest.h>

#include "tests/support/idx_writer.h"
#include "tests/support/temp_folder.h"

namespace detol {
namespace {

// Sets variables while it exists.
class Variables {
 public:
  explicit Variables(std::vector<std::pair<const char*, const char*>> variables)
      : variables_(std::move(variables)) {
    for (const auto& [name, value] : variables_) ::setenv(name, value, 1);
  }
  ~Variables() {
    for (const auto& [name, value] : variables_) ::unsetenv(name);
  }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

 private:
  std::vector<std::pair<const char*, const char*>> variables_;
};

TEST(CountsPerNode, AreReadAsSlurmWritesThem) {
  EXPECT_EQ(counts_per_node("2(x3),1"), (std::vector<int>{2, 2, 2, 1}));
  EXPECT_EQ(counts_per_node("64"), std::vector<int>{64});
  for (const char* wrong : {"", "a", "2(x", "2(x3", "2,", "0", "2(x99999999)", "2 3"})
    EXPECT_TRUE(counts_per_node(wrong).empty()) << wrong;
}

// With a program srun on the PATH that is never started.
class SlurmWorkers : public testing::Test {
 protected:
  SlurmWorkers() {
    const auto srun = folder_.path() / "srun";
    testing_support::write_bytes(srun, "#!/bin/sh\n");
    std::filesystem::permissions(srun, std::filesystem::perms(0755));
    ::setenv("PATH", (folder_.path().string() + ":" + path_).c_str(), 1);
  }
  ~SlurmWorkers() override { ::setenv("PATH", path_.c_str(), 1); }

  static Result<RemoteWorkers> workers(int group_size, int wanted = 0) {
    RunOptions options;
    options.group_size = group_size;
    options.workers = wanted;
    return slurm_workers(options);
  }
  static int count(int group_size, int wanted = 0) {
    const auto found = workers(group_size, wanted);
    return found ? found->count : 0;
  }

  testing_support::TempFolder folder_;
  const std::string path_ = std::getenv("PATH");
};

TEST_F(SlurmWorkers, AreAsManyGroupsAsEachNodeHasRoomFor) {
  const Variables job({{"SLURM_JOB_ID", "1"}, {"SLURM_JOB_CPUS_PER_NODE", "5(x2),2"}});
  EXPECT_EQ(count(1), 12);
  EXPECT_EQ(count(2), 5) << "a group is on one node";
  EXPECT_EQ(count(5), 2);
  EXPECT_EQ(count(1, 3), 3) << "-j 3";
  ASSERT_FALSE(workers(6));
  EXPECT_NE(workers(6).error().message.find("room for a group of 6"), std::string::npos);
}

TEST_F(SlurmWorkers, GoByTheTasksThatWereAskedFor) {
  const Variables job({{"SLURM_JOB_ID", "1"},
                       {"SLURM_JOB_CPUS_PER_NODE", "64"},
                       {"SLURM_TASKS_PER_NODE", "8"},
                       {"SLURM_NTASKS", "8"}});
  EXPECT_EQ(count(2), 4);
}

TEST_F(SlurmWorkers, AreStepsThatEndAsOne) {
  const Variables job({{"SLURM_JOB_ID", "1"}, {"SLURM_JOB_CPUS_PER_NODE", "4"}});
  const auto found = workers(2);
  ASSERT_TRUE(found);
  const auto words = found->words({.study = "s", .storage = "/d", .number = 1, .start = 7});
  for (const char* word : {"--exact", "--kill-on-bad-exit=1", "-N1", "DETOL_LAUNCHED=1:7:0"})
    EXPECT_NE(std::ranges::find(words, word), words.end()) << word;
}

TEST_F(SlurmWorkers, OutsideOfAJobAreRefused) {
  ASSERT_FALSE(workers(1));
  EXPECT_NE(workers(1).error().message.find("no Slurm job"), std::string::npos);
}

TEST_F(SlurmWorkers, WithoutSrunAreRefusedInOneLine) {
  const Variables job({{"SLURM_JOB_ID", "1"}, {"SLURM_JOB_CPUS_PER_NODE", "4"}});
  ::setenv("PATH", "/nowhere", 1);
  const auto refused = workers(1);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("no srun"), std::string::npos);
}

RunOptions ssh_options(std::vector<std::string> hosts) {
  RunOptions options;
  options.hosts = std::move(hosts);
  options.ssh = "/bin/true";
  return options;
}

TEST(SshWorkers, AreAsManyAsTheHostsHaveSlots) {
  const auto workers = ssh_workers(ssh_options({"a", "b:2"}));
  ASSERT_TRUE(workers) << workers.error().message;
  EXPECT_EQ(workers->count, 3);
  std::string hosts;
  for (int number = 0; number < 3; ++number)
    hosts += workers->words({.study = "s", .storage = "/d", .number = number, .start = 1})[1];
  EXPECT_EQ(hosts, "abb");
}

TEST(SshWorkers, EveryWordIsQuotedForTheShellOfTheHost) {
  const auto workers = ssh_workers(ssh_options({"a"}));
  ASSERT_TRUE(workers);
  const auto words = workers->words({.study = "it's; rm *", .storage = "/d", .number = 0});
  EXPECT_NE(std::ranges::find(words, R"('it'\''s; rm *')"), words.end());
}

TEST(SshWorkers, AHostIsNoOptionOfSsh) {
  for (const char* host : {"-oProxyCommand=x", "", "a:0", "a:b", "a:99999", ":2"})
    EXPECT_FALSE(ssh_workers(ssh_options({host}))) << host;
}

}  // namespace
}  // namespace detol
