// `detol data`: a data set in one file, and a search on it.

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "tests/e2e/tiny_study.h"

namespace detol::testing_support {
namespace {

using Json = nlohmann::json;

class PackedStudy : public testing::Test {
 protected:
  Ran pack(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"data",  "pack",    "--space", "tiny.yaml",
                                      "--out", "d.detol", "-f",      "json"};
    words.insert(words.end(), more.begin(), more.end());
    return study_.detol(words);
  }

  TinyStudy study_;
};

TEST_F(PackedStudy, SaysWhatItPackedAndWhatIsInAFile) {
  const Ran packed = pack();
  ASSERT_EQ(packed.code, 0) << packed.err;
  const Json info = Json::parse(packed.out);
  EXPECT_EQ(info.at("shape"), "1x12x12");
  EXPECT_EQ(info.at("training"), 320);
  EXPECT_EQ(info.at("validation"), 80);
  EXPECT_EQ(study_.detol({"data", "info", "d.detol", "-f", "json"}).out, packed.out);
}

TEST_F(PackedStudy, NeedsNoSpaceFile) {
  const Ran packed = study_.detol({"data", "pack", "--from", "idx", "--data", "data", "--set",
                                   "data.split.validation=0.2", "--out", "alone.detol"});
  ASSERT_EQ(packed.code, 0) << packed.err;
  ASSERT_EQ(pack().code, 0);
  EXPECT_EQ(text_of(study_.path() / "alone.detol"), text_of(study_.path() / "d.detol"));
}

TEST_F(PackedStudy, ReplacesAFileOnlyIfAsked) {
  ASSERT_EQ(pack().code, 0);
  EXPECT_EQ(pack().code, 2);
  EXPECT_EQ(pack({"--force"}).code, 0);
}

TEST_F(PackedStudy, ASearchOnItFindsWhatASearchOnTheFilesFinds) {
  ASSERT_EQ(pack().code, 0);
  std::vector<std::string> words = study_.search_words();
  ASSERT_EQ(study_.detol(words).code, 0);
  const std::string expected = study_.results();

  TinyStudy other;
  std::filesystem::copy(study_.path() / "d.detol", other.path());
  words.insert(words.end(), {"--set", "data.format=packed", "--data", "d.detol"});
  const Ran searched = other.detol(words);
  ASSERT_EQ(searched.code, 0) << searched.err;
  EXPECT_EQ(other.results(), expected);
}

TEST_F(PackedStudy, ADamagedFileEndsASearchBeforeItBegins) {
  ASSERT_EQ(pack().code, 0);
  std::string bytes = text_of(study_.path() / "d.detol");
  bytes[bytes.size() - 9000] ^= 1;
  write_bytes(study_.path() / "d.detol", bytes);
  std::vector<std::string> words = study_.search_words();
  words.insert(words.end(), {"--set", "data.format=packed", "--data", "d.detol"});
  const Ran searched = study_.detol(words);
  EXPECT_EQ(searched.code, 3);
  EXPECT_NE(searched.err.find("d.detol: byte 4096: the checksum of block 1 of 1 is wrong"),
            std::string::npos)
      << searched.err;
  EXPECT_FALSE(std::filesystem::exists(study_.path() / "detol.db"));
}

}  // namespace
}  // namespace detol::testing_support
