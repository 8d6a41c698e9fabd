// Searches on GPUs, tested without a GPU: tests/support/fake_gpu stands in for the backend's
// library.

#include <algorithm>
#include <set>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>

#include "tests/e2e/tiny_study.h"

namespace detol::testing_support {
namespace {

class Device : public testing::Test {
 protected:
  // Runs the program with the fake GPUs.
  Ran detol(const std::vector<std::string>& words, std::vector<std::string> variables = {}) const {
    variables.emplace_back("DETOL_CUDA_LIBRARY=" DETOL_FAKE_GPU);
    return Program(study.path(), words, variables).wait();
  }

  std::vector<std::string> search_words(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"search", "--space", "tiny.yaml", "--progress", "events"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  std::string query(const std::string& sql) const {
    return study.detol({"query", "-f", "csv", sql}).out;
  }

  std::string log_variable() const {
    return "DETOL_FAKE_GPU_LOG=" + (study.path() / "gpus").string();
  }

  // Returns the devices that compiled a network.
  std::multiset<std::string> used() const {
    std::istringstream lines(text_of(study.path() / "gpus"));
    std::multiset<std::string> names;
    for (std::string name; std::getline(lines, name);) names.insert(name);
    return names;
  }

  TinyStudy study;
};

TEST_F(Device, GpusTrainWhereThereAreAny) {
  const Ran dry = detol(search_words({"--dry-run", "-f", "json"}));
  EXPECT_EQ(dry.code, 0) << dry.err;
  EXPECT_NE(dry.out.find("cuda (2 x Fake GPU)"), std::string::npos) << dry.out;
  const Ran cpu = detol(search_words({"--dry-run", "-f", "json", "--device", "cpu"}));
  EXPECT_NE(cpu.out.find("\"cpu\""), std::string::npos) << cpu.out;
}

TEST_F(Device, AWorkerSeesOneGpu) {
  const Ran ran = detol(search_words({"-j", "1"}), {log_variable()});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_FALSE(used().empty());
  EXPECT_EQ(used().count("GPU-fake-0"), used().size());
}

// Each waits for the other, so that both workers run one.
TEST_F(Device, AProgramOfTheUserSeesOneGpuWhereThatIsAskedFor) {
  const std::vector<std::string> command = {
      "--param",
      "x=int(1,9)",
      "--metric",
      "loss:minimize",
      "--budget",
      "2trials",
      "--",
      "sh",
      "-c",
      "echo $CUDA_VISIBLE_DEVICES > seen.$DETOL_TRIAL\n"
      "while [ ! -e seen.$((1 - DETOL_TRIAL)) ]; do sleep 0.01; done\n"
      "echo '{\"loss\": 1}' >> $DETOL_REPORT"};
  std::vector<std::string> words = {"tune", "--device", "cuda"};
  words.insert(words.end(), command.begin(), command.end());
  const Ran ran = detol(words);
  ASSERT_EQ(ran.code, 0) << ran.err;
  const std::set<std::string> seen = {text_of(study.path() / "seen.0"),
                                      text_of(study.path() / "seen.1")};
  EXPECT_EQ(seen, (std::set<std::string>{"GPU-fake-0\n", "GPU-fake-1\n"}));
}

TEST_F(Device, OnlyGpusThatTheUserLeavesVisibleAreUsed) {
  const Ran ran =
      detol(search_words({"-j", "2"}), {log_variable(), "CUDA_VISIBLE_DEVICES=GPU-fake-1"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(used().count("GPU-fake-1"), used().size());
}

TEST_F(Device, AGpuBudgetIsRefusedWithTheReasonWhereNoneCanBeUsed) {
  for (const auto& words :
       {search_words({"--budget", "1gpu-h"}), search_words({"--device", "cuda"})}) {
    const Ran ran = detol(words, {"DETOL_FAKE_GPUS=0"});
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_NE(ran.err.find("there is no fake GPU"), std::string::npos) << ran.err;
  }
  const Ran cpu = detol(search_words({"--budget", "1gpu-h", "--device", "cpu"}));
  EXPECT_EQ(cpu.code, 2) << cpu.err;
  EXPECT_NE(cpu.err.find("cpu-h"), std::string::npos) << cpu.err;
}

TEST_F(Device, AGpuBudgetHoldsWhereThereAreGpus) {
  const Ran ran = detol(search_words({"--budget", "1gpu-h,2trials", "-j", "1"}));
  EXPECT_EQ(ran.code, 0) << ran.err;
  const Ran status = study.detol({"status", "tiny"});
  EXPECT_NE(status.out.find("gpu-h"), std::string::npos) << status.out;
}

TEST_F(Device, AResumedStudyGoesOnWhereItBegan) {
  ASSERT_EQ(study.detol(search_words({"--budget", "1trials", "-j", "1"})).code, 0);
  const Ran same = detol({"resume", "tiny", "--budget", "2trials", "-j", "1"}, {log_variable()});
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_TRUE(used().empty());
  EXPECT_EQ(same.err.find("differ by rounding"), std::string::npos) << same.err;
}

TEST_F(Device, AResumeOnAnotherDeviceSaysWhatThatMeans) {
  ASSERT_EQ(study.detol(search_words({"--budget", "1trials", "-j", "1"})).code, 0);
  const Ran other = detol({"resume", "tiny", "--budget", "2trials", "-j", "1", "--device", "cuda"},
                          {log_variable()});
  EXPECT_EQ(other.code, 0) << other.err;
  EXPECT_FALSE(used().empty());
  EXPECT_NE(other.err.find("trained by cpu, now by cudnn"), std::string::npos) << other.err;
}

TEST_F(Device, APrecisionThatTheCpuDoesNotHaveIsRefusedThereBeforeAnythingIsTrained) {
  for (const char* value : {"bf16", "{type: categorical, choices: [fp32, tf32]}"}) {
    const auto words = search_words({"--set", std::string("training.precision=") + value});
    auto on_cpu = words;
    on_cpu.insert(on_cpu.end(), {"--device", "cpu"});
    const Ran cpu = detol(on_cpu);
    EXPECT_EQ(cpu.code, 3) << cpu.err;
    for (const char* says : {"--set training.precision: ", "--device cuda", "fp32"})
      EXPECT_NE(cpu.err.find(says), std::string::npos) << cpu.err;
    auto on_gpu = words;
    on_gpu.insert(on_gpu.end(), {"-j", "1", "--if-exists", "new"});
    EXPECT_EQ(detol(on_gpu).code, 0);
  }
}

TEST_F(Device, APlaceInTheFileIsNamedWhereItsPrecisionIsRefused) {
  std::string space = kTinySpace;
  space.insert(space.find("schedule:"), "precision: bf16, ");
  write_bytes(study.path() / "tiny.yaml", space);
  const Ran ran = detol(search_words({"--device", "cpu"}));
  EXPECT_EQ(ran.code, 3);
  EXPECT_NE(ran.err.find("tiny.yaml:19:"), std::string::npos) << ran.err;
}

TEST_F(Device, AFormulaNeedsNoGpu) {
  write_bytes(study.path() / "formula.yaml",
              "version: 1\nstudy: formula\nfunction: {name: levy, dimensions: 2}\n"
              "search: {algorithm: random}\nbudget: 3trials\n");
  const std::vector<std::string> none = {"DETOL_FAKE_GPUS=0"};
  std::vector<std::string> words = {"search", "--space", "formula.yaml", "--device", "cuda"};
  EXPECT_EQ(detol(words, none).code, 0);
  words.insert(words.end(), {"--study", "other", "--budget", "1gpu-h"});
  const Ran refused = detol(words);
  EXPECT_EQ(refused.code, 2) << refused.err;
  EXPECT_NE(refused.err.find("cpu-h"), std::string::npos) << refused.err;
}

TEST_F(Device, BenchSetsTimesBesideTheirFloors) {
  const Ran networks = detol({"bench", "trainer", "--device", "cuda", "-f", "csv", "-q"});
  EXPECT_EQ(networks.code, 0) << networks.err;
  EXPECT_NE(networks.out.find("floor_images_per_s,ratio,compile_cold_ms"), std::string::npos);
  EXPECT_NE(networks.out.find("resnet20,256,bf16,256000.0,"), std::string::npos) << networks.out;
  const Ran layers =
      detol({"bench", "layers", "--device", "cuda", "--only", "conv3x3,16", "-f", "csv", "-q"});
  EXPECT_EQ(layers.code, 0) << layers.err;
  EXPECT_NE(layers.out.find("conv3x3,16x32x32"), std::string::npos) << layers.out;
  const Ran other = detol({"bench", "search", "--device", "cuda"});
  EXPECT_EQ(other.code, 2);
}

// A stand-in for nvidia-cuda-mps-control, which keeps running and logs its pipe directory.
class DeviceWithMps : public Device {
 protected:
  DeviceWithMps() {
    const auto program = study.path() / "bin" / "nvidia-cuda-mps-control";
    std::filesystem::create_directory(program.parent_path());
    write_bytes(program,
                "#!/bin/sh\n"
                "echo \"$1 $CUDA_MPS_PIPE_DIRECTORY\" >> " +
                    (study.path() / "mps").string() +
                    "\n"
                    "touch \"$CUDA_MPS_PIPE_DIRECTORY/control\"\n"
                    "exec sleep 1000\n");
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  }
  std::string path_variable() const {
    return "PATH=" + (study.path() / "bin").string() + ":/usr/bin:/bin";
  }
};

TEST_F(DeviceWithMps, SeveralSmallTrialsShareAGpuWhileMpsRuns) {
  auto words = search_words({"-j", "4", "--budget", "8trials"});
  Program search(study.path(), words,
                 {"DETOL_CUDA_LIBRARY=" DETOL_FAKE_GPU, path_variable(), "DETOL_FAKE_GPUS=1"});
  ASSERT_TRUE(search.says("epoch 1"));
  const std::string log = text_of(study.path() / "mps");
  EXPECT_TRUE(log.starts_with("-f /")) << log;
  const std::filesystem::path folder = log.substr(3, log.find('\n') - 3);
  EXPECT_EQ(search.wait().code, 0);
  EXPECT_TRUE(processes_in(study.path()).empty());
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST_F(DeviceWithMps, ItEndsWithARunThatIsKilled) {
  auto words = search_words({"-j", "2", "--budget", "1000trials"});
  Program search(study.path(), words,
                 {"DETOL_CUDA_LIBRARY=" DETOL_FAKE_GPU, path_variable(), "DETOL_FAKE_GPUS=1"});
  ASSERT_TRUE(search.says("epoch 1"));
  search.signal(9);
  search.wait();
  while (!processes_in(study.path()).empty()) {
  }
}

TEST_F(DeviceWithMps, WithoutANumberOfWorkersAsManyTrialsShareAGpuAsFit) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "a worker has a core for itself";
  const Ran dry =
      detol(search_words({"--dry-run", "-f", "json"}), {path_variable(), "DETOL_FAKE_GPUS=1"});
  EXPECT_NE(dry.out.find("trials each"), std::string::npos) << dry.out;
}

TEST_F(Device, ACandidateThatFindsNoRoomOnAGpuIsRefused) {
  const Ran ran =
      detol(search_words({"-j", "1", "--budget", "1trials"}), {"DETOL_FAKE_GPU_MEMORY=500001000"});
  EXPECT_NE(query("SELECT DISTINCT failure FROM v_trials").find("too_large"), std::string::npos);
  EXPECT_NE(query("SELECT reason FROM v_trials").find("no worker has more than 1000"),
            std::string::npos);
}

// A lost device ends its process; another process resumes from the last checkpoint.
TEST_F(Device, ATrialOfALostDeviceGoesOnInAnotherProcess) {
  const Ran undisturbed = detol(search_words({"-j", "1"}));
  ASSERT_EQ(undisturbed.code, 0) << undisturbed.err;
  const std::string results = study.results();
  for (const char* name : {"detol.db", "detol.db-wal", "detol.db-shm", "detol.db.d"})
    std::filesystem::remove_all(study.path() / name);
  const Ran ran = detol(
      search_words({"-j", "1"}),
      {"DETOL_FAKE_GPU_BREAKS=20", "DETOL_FAKE_GPU_MARK=" + (study.path() / "mark").string()});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.err.find("cuda: the device is lost"), std::string::npos) << ran.err;
  EXPECT_EQ(study.results(), results);
}

TEST_F(Device, ATrialThatLosesItsDeviceEveryTimeFailsAlone) {
  const Ran ran =
      detol(search_words({"-j", "1", "--budget", "1trials"}), {"DETOL_FAKE_GPU_BREAKS=1"});
  EXPECT_EQ(ran.code, 8) << ran.err;
  EXPECT_NE(query("SELECT state, failure, reason FROM v_trials").find("FAIL,crashed"),
            std::string::npos);
  EXPECT_NE(query("SELECT reason FROM v_trials").find("cuda: the device is lost"),
            std::string::npos);
}

}  // namespace
}  // namespace detol::testing_support
