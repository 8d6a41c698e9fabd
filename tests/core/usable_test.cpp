// A process's share of a machine, read from /proc and /sys as kernels, batch systems and containers
// write them.

#include "core/usable.h"

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/cgroup.h"
#include "tests/support/temp_folder.h"

namespace detol {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMiB = 1 << 20;
constexpr const char* kV2 = "24 1 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr const char* kV1 =
    "30 1 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
    "31 1 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";

class Machine : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) const {
    fs::create_directories((root() / path).parent_path());
    std::ofstream(root() / path) << text;
  }
  void write_group(const std::string& group, const std::string& mounts) const {
    write("proc/self/cgroup", group);
    write("proc/self/mountinfo", "21 1 8:1 / / rw - ext4 /dev/sda1 rw\n" + mounts);
  }
  UsableCores cores(int allowed = 64) const {
    return usable_cores({.count = allowed, .of_machine = 64, .limit = {}}, root());
  }
  UsableMemory memory() const {
    return usable_memory(
        {.bytes = 1000 * kMiB, .free = 900 * kMiB, .of_machine = 1000 * kMiB, .limit = {}}, root());
  }
  const fs::path& root() const { return folder_.path(); }

  testing_support::TempFolder folder_;
};

TEST_F(Machine, WithoutControlGroupsIsUsableAsAWhole) {
  EXPECT_EQ(cores().count, 64);
  EXPECT_EQ(cores().limit, "");
  EXPECT_EQ(memory().bytes, 1000 * kMiB);
  EXPECT_EQ(memory().free, 900 * kMiB);
  EXPECT_EQ(memory().limit, "");
}

TEST_F(Machine, HasTheCoresOfItsGroupsQuota) {
  write_group("0::/slurm/job_7\n", kV2);
  write("sys/fs/cgroup/slurm/job_7/cpu.max", "400000 100000\n");
  EXPECT_EQ(cores().count, 4);
  EXPECT_EQ(cores().limit, "CPU quota in " + (root() / "sys/fs/cgroup/slurm/job_7").string());
}

TEST_F(Machine, ObeysTheGroupsAroundItsOwn) {
  write_group("0::/slurm/job_7/step_0\n", kV2);
  write("sys/fs/cgroup/slurm/job_7/step_0/cpu.max", "max 100000\n");
  write("sys/fs/cgroup/slurm/job_7/cpu.max", "300000 100000\n");
  write("sys/fs/cgroup/slurm/cpu.max", "800000 100000\n");
  write("sys/fs/cgroup/slurm/job_7/step_0/memory.max", "max\n");
  write("sys/fs/cgroup/slurm/job_7/memory.max", std::to_string(200 * kMiB) + "\n");
  EXPECT_EQ(cores().count, 3);
  EXPECT_EQ(memory().bytes, 200 * kMiB);
  EXPECT_EQ(memory().limit, (root() / "sys/fs/cgroup/slurm/job_7/memory.max").string());
}

struct Quota {
  const char* text;
  int allowed, cores;
};

TEST_F(Machine, TakesTheSmallerOfMaskAndQuotaRoundedDownToACoreAtLeast) {
  write_group("0::/\n", kV2);
  for (const auto& [text, allowed, count] : {Quota{"250000 100000", 64, 2},
                                             {"250000 100000", 1, 1},
                                             {"50000 100000", 64, 1},
                                             {"max 100000", 3, 3},
                                             {"199999 100000", 64, 1}}) {
    write("sys/fs/cgroup/cpu.max", text);
    EXPECT_EQ(cores(allowed).count, count) << text;
  }
}

TEST_F(Machine, OfVersionOneHasATreeForEachController) {
  write_group("4:memory:/slurm/job_7\n3:cpu,cpuacct:/slurm/job_7\n1:name=systemd:/x\n", kV1);
  write("sys/fs/cgroup/cpu,cpuacct/slurm/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu,cpuacct/slurm/cpu.cfs_period_us", "100000\n");
  write("sys/fs/cgroup/cpu,cpuacct/slurm/job_7/cpu.cfs_quota_us", "200000\n");
  write("sys/fs/cgroup/cpu,cpuacct/slurm/job_7/cpu.cfs_period_us", "100000\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("sys/fs/cgroup/memory/slurm/job_7/memory.limit_in_bytes", std::to_string(300 * kMiB));
  EXPECT_EQ(cores().count, 2);
  EXPECT_EQ(memory().bytes, 300 * kMiB);
}

TEST_F(Machine, WithoutALimitOfVersionOneHasAllItsMemory) {
  write_group("4:memory:/\n", kV1);
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(memory().bytes, 1000 * kMiB);
  EXPECT_EQ(memory().limit, "");
}

TEST_F(Machine, MayHaveBothVersions) {
  write_group(
      "4:memory:/a\n3:cpu:/a\n0::/b\n",
      std::string(kV1) + "32 1 0:32 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate\n");
  write("sys/fs/cgroup/memory/a/memory.limit_in_bytes", std::to_string(400 * kMiB));
  write("sys/fs/cgroup/unified/b/cpu.max", "500000 100000\n");
  EXPECT_EQ(memory().bytes, 400 * kMiB);
  EXPECT_EQ(cores().count, 5);
}

// In the first three the mount has only the container's own group; /proc/self/cgroup says its path
// on the host, the same from inside of its namespace, or one outside of that.
TEST_F(Machine, MayBeAContainer) {
  const std::string part =
      "24 1 0:22 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n";
  for (const auto& [group, mounts] : {std::pair{"0::/docker/abc\n", part},
                                      {"0::/docker/abc\n", std::string(kV2)},
                                      {"0::/../def\n", std::string(kV2)},
                                      {"0::/\n", std::string(kV2)}}) {
    write_group(group, mounts);
    write("sys/fs/cgroup/cpu.max", "200000 100000\n");
    write("sys/fs/cgroup/memory.max", std::to_string(100 * kMiB));
    EXPECT_EQ(cores().count, 2) << group << mounts;
    EXPECT_EQ(memory().bytes, 100 * kMiB) << group << mounts;
  }
}

TEST_F(Machine, OfAContainersPartOfATreeKnowsTheGroupsInside) {
  write_group("0::/docker/abc/worker\n",
              "24 1 0:22 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  write("sys/fs/cgroup/worker/cpu.max", "200000 100000\n");
  EXPECT_EQ(cores().count, 2);
}

TEST_F(Machine, MayHaveASpaceInThePathOfItsGroups) {
  write_group("0::/a b\n", "24 1 0:22 / /sys/fs/my\\040groups rw - cgroup2 cgroup2 rw\n");
  write("sys/fs/my groups/a b/cpu.max", "200000 100000\n");
  EXPECT_EQ(cores().count, 2);
}

TEST_F(Machine, WithBrokenFilesIsUsableAsAWhole) {
  write_group("nonsense\n0:\n::\n0::/a\n4:memory:/a\n",
              "garbage\n - cgroup2\n5 - cgroup2 x y\n" + std::string(kV2) + kV1);
  for (const char* text : {"", "\n", "abc def\n", "100000\n", "0 0\n", "-5 100000\n", "\x01\xff"}) {
    write("sys/fs/cgroup/a/cpu.max", text);
    write("sys/fs/cgroup/a/memory.max", *text == '0' || *text == '1' ? "x" : text);
    write("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "-1");
    write("sys/fs/cgroup/a/memory.stat", text);
    EXPECT_EQ(cores().count, 64) << text;
    EXPECT_EQ(memory().bytes, 1000 * kMiB) << text;
  }
}

TEST_F(Machine, HasFreeWhatIsNeitherUsedNorACacheOfFiles) {
  write("proc/meminfo",
        "MemTotal: 1024000 kB\nMemAvailable: " + std::to_string(700 * 1024) + " kB\n");
  EXPECT_EQ(memory().free, 700 * kMiB);
  write_group("0::/a\n", kV2);
  write("sys/fs/cgroup/a/memory.max", std::to_string(500 * kMiB));
  write("sys/fs/cgroup/a/memory.current", std::to_string(400 * kMiB));
  write("sys/fs/cgroup/a/memory.stat",
        "anon 1\ninactive_file " + std::to_string(150 * kMiB) + "\n");
  EXPECT_EQ(memory().free, 250 * kMiB);
  write("sys/fs/cgroup/a/memory.high", std::to_string(300 * kMiB));
  EXPECT_EQ(memory().bytes, 300 * kMiB);
  EXPECT_EQ(memory().free, 50 * kMiB);
}

TEST_F(Machine, OfVersionOneHasFreeWhatIsNeitherUsedNorACacheOfFiles) {
  write_group("4:memory:/a\n", kV1);
  write("sys/fs/cgroup/memory/a/memory.limit_in_bytes", std::to_string(500 * kMiB));
  write("sys/fs/cgroup/memory/a/memory.usage_in_bytes", std::to_string(400 * kMiB));
  write("sys/fs/cgroup/memory/a/memory.stat",
        "inactive_file 1\ntotal_inactive_file " + std::to_string(100 * kMiB) + "\n");
  EXPECT_EQ(memory().free, 200 * kMiB);
}

TEST(ThisMachine, HasACoreAndMemory) {
  const UsableCores cores = usable_cores();
  EXPECT_GE(cores.count, 1);
  EXPECT_LE(cores.count, cores.of_machine);
  const UsableMemory memory = usable_memory();
  EXPECT_GT(memory.bytes, 0);
  EXPECT_LE(memory.free, memory.bytes);
}

}  // namespace
}  // namespace detol
