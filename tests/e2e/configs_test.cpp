// Every shipped space file runs as it is, but for its length and its data: two trials of one
// epoch on a handful of images. A new file in configs/ is tested here with no further edit, unless
// its data are no images.

#include <algorithm>
#include <functional>
#include <map>

#include <gtest/gtest.h>

#include "tests/e2e/program.h"
#include "tests/support/idx_writer.h"
#include "tests/support/temp_folder.h"

namespace detol::testing_support {
namespace {

// Writes tiny data for a space file into a folder, and returns what `--data` says.
using DataWriter = std::function<std::string(const std::filesystem::path& folder)>;

std::string write_images(const std::filesystem::path& folder) {
  write_idx(folder / "data", {.training = 200, .test = 40, .side = 28});
  return "data";
}

// Whatever does not train on images.
const std::map<std::string, DataWriter> kOtherData = {};

std::vector<std::string> shipped() {
  std::vector<std::string> names;
  for (const std::string& file : listing(std::filesystem::path(DETOL_SOURCE_DIR) / "configs")) {
    if (file.ends_with(".yaml")) names.push_back(file.substr(0, file.size() - 5));
  }
  return names;
}

class ShippedConfig : public testing::TestWithParam<std::string> {};

TEST_P(ShippedConfig, TrainsTwoCandidates) {
  const TempFolder folder;
  const auto other = kOtherData.find(GetParam());
  const std::string data =
      (other == kOtherData.end() ? write_images : other->second)(folder.path());
  std::vector<std::string> words = {"search", "--space",
                                    DETOL_SOURCE_DIR "/configs/" + GetParam() + ".yaml"};
  for (const char* word : {"--budget", "2trials", "--workers", "1", "--study", "tiny"})
    words.emplace_back(word);
  words.insert(words.end(), {"--data", data});
  if (text_of(words[2]).find("\ntraining:") != std::string::npos)
    words.insert(words.end(), {"--set", "training.epochs=1"});
  const Ran searched = run(folder.path(), words);
  ASSERT_EQ(searched.code, 0) << searched.err;
  const Ran counted = run(folder.path(), {"query", "-f", "csv",
                                          "SELECT count(*) AS n FROM v_trials WHERE epochs > 0 AND "
                                          "state IN ('COMPLETE', 'PRUNED')"});
  EXPECT_EQ(counted.out, "n\r\n2\r\n") << searched.err;
}

INSTANTIATE_TEST_SUITE_P(All, ShippedConfig, testing::ValuesIn(shipped()),
                         [](const auto& config) { return config.param; });

}  // namespace
}  // namespace detol::testing_support
