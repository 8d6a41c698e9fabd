#include <map>
#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "tests/e2e/program.h"
#include "tests/support/temp_folder.h"

namespace detol::testing_support {
namespace {

using Json = nlohmann::json;

Ran doctor(const TempFolder& folder, std::vector<std::string> words = {},
           const std::vector<std::string>& variables = {}) {
  words.insert(words.begin(), "doctor");
  return Program(folder.path(), words, variables).wait();
}

std::map<std::string, std::string> findings(const Ran& ran) {
  std::map<std::string, std::string> found;
  for (const Json& row : Json::parse(ran.out, nullptr, false))
    found[row.at("what")] = row.at("finding");
  return found;
}

TEST(Doctor, SaysWhatIsThereAndLeavesNothingBehind) {
  const TempFolder folder;
  const Ran ran = doctor(folder, {"-f", "json"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  const auto found = findings(ran);
  for (const char* what : {"program", "processor", "memory", "storage", "MPI", "oneDNN", "GPU"})
    EXPECT_TRUE(found.contains(what)) << what;
  EXPECT_TRUE(listing(folder.path()).empty());
}

TEST(Doctor, SaysOfEveryGpuWhatItIsAndWhatIsAroundIt) {
  const TempFolder folder;
  const Ran ran = doctor(folder, {"-f", "json"}, {"DETOL_CUDA_LIBRARY=" DETOL_FAKE_GPU});
  EXPECT_EQ(ran.code, 0) << ran.err;
  const auto found = findings(ran);
  EXPECT_NE(found.at("GPU").find("compute capability 9.0"), std::string::npos) << ran.out;
  EXPECT_EQ(found.at("cuDNN"), "9.19.0");
  EXPECT_EQ(found.at("NCCL"), "2.28.9");
  EXPECT_TRUE(found.contains("MPS"));
}

TEST(Doctor, SaysInOneLineWhyThereIsNoGpu) {
  const TempFolder folder;
  const Ran ran =
      doctor(folder, {"-f", "json"}, {"DETOL_CUDA_LIBRARY=" DETOL_FAKE_GPU, "DETOL_FAKE_GPUS=0"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(findings(ran).at("GPU"), "there is no fake GPU");
}

TEST(Doctor, WhereNoStudyCanBeKeptNoSearchCanRun) {
  const TempFolder folder;
  const Ran ran = doctor(folder, {"--storage", "no/such/folder/detol.db"});
  EXPECT_EQ(ran.code, 69) << ran.err;
  EXPECT_NE(ran.out.find("no/such/folder"), std::string::npos) << ran.out;
}

TEST(Bench, MeasuresWithTheProgramBesideIt) {
  const TempFolder folder;
  const Ran ran =
      run(folder.path(), {"bench", "search", "--only", "asks/evolution", "-q", "-fjson"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json figures = Json::parse(ran.out);
  EXPECT_EQ(figures.at(0).at("name"), "asks/evolution");
  EXPECT_GT(figures.at(0).at("value").get<double>(), 0);
}

TEST(Bench, SaysHowToGetTheProgramThatMeasures) {
  const TempFolder folder;
  std::filesystem::copy_file(tested_program(), folder.path() / "detol");
  // NOLINTNEXTLINE(concurrency-mt-unsafe): this test has one thread
  ::setenv("DETOL_PROGRAM", (folder.path() / "detol").c_str(), 1);
  const Ran ran = run(folder.path(), {"bench", "search"});
  ::unsetenv("DETOL_PROGRAM");
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("install the package detol-dev"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace detol::testing_support
