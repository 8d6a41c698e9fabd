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

// Writes tiny data for a space file into a folder, and returns what `--data` says; empty if it
// needs none.
using DataWriter = std::function<std::string(const std::filesystem::path& folder)>;

std::string write_images(const std::filesystem::path& folder) {
  write_idx(folder / "data", {.training = 200, .test = 40, .side = 28});
  return "data";
}

// Every cell of four nodes, each with some accuracy.
std::string write_nasbench201(const std::filesystem::path& folder) {
  const char* operations[] = {"none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3",
                              "avg_pool_3x3"};
  std::string text = "arch,c10_val_e200,c10_test_e200,c10_flops\n";
  for (int cell = 0; cell < 15625; ++cell) {
    int rest = cell;
    const auto edge = [&](int from) {
      const std::string word = operations[rest % 5];
      rest /= 5;
      return word + "~" + std::to_string(from) + "|";
    };
    text += "|" + edge(0) + "+|" + edge(0) + edge(1) + "+|" + edge(0) + edge(1) + edge(2);
    text += "," + std::to_string(cell % 90) + ",50,1e6\n";
  }
  write_bytes(folder / "cells.csv", text);
  return "cells.csv";
}

// Writes records of two classes whose values differ; the label is the first or the last field.
std::string write_records(const std::filesystem::path& folder, int values, bool label_first) {
  std::string text;
  for (int i = 0; i < 200; ++i) {
    const std::string label = i % 2 == 0 ? "even" : "odd";
    std::string record;
    for (int j = 0; j < values; ++j)
      record += (j == 0 ? "" : ",") + std::to_string((i % 2) * (j % 3) + 0.01 * (i * 7 % 13));
    text += label_first ? label + "," + record : record + "," + label;
    text += "\n";
  }
  write_bytes(folder / "records.csv", text);
  return "records.csv";
}

// Writes records whose last number is a function of the others.
std::string write_numbers(const std::filesystem::path& folder) {
  std::string text;
  for (int i = 0; i < 200; ++i) {
    const int a = i * 7 % 13, b = i * 5 % 11;
    text += std::to_string(a) + "," + std::to_string(b) + "," + std::to_string(100 + 3 * a - b);
    text += "\n";
  }
  write_bytes(folder / "numbers.csv", text);
  return "numbers.csv";
}

// Records of a number, a category and a number with gaps, with a class or a number to predict.
std::string write_mixed(const std::filesystem::path& folder, bool is_regression) {
  std::string text = "size,colour,age,target\n";
  for (int i = 0; i < 120; ++i) {
    const int size = i * 7 % 13;
    text += std::to_string(size) + (i % 3 == 0 ? ",red," : ",blue,") +
            (i % 4 == 0 ? "" : std::to_string(i * 5 % 11)) + ",";
    text += is_regression ? std::to_string(2 * size + i % 3) : size > 6 ? "large" : "small";
    text += "\n";
  }
  write_bytes(folder / "mixed.csv", text);
  return "mixed.csv";
}

// The space files that do not train on images.
const std::map<std::string, DataWriter> kOtherData = {
    {"nasbench201", write_nasbench201},
    {"tune", [](const auto&) { return std::string(); }},
    {"table", [](const auto& folder) { return write_mixed(folder, false); }},
    {"table_regression", [](const auto& folder) { return write_mixed(folder, true); }},
    {"mlp_table", [](const auto& folder) { return write_records(folder, 9, false); }},
    {"mlp_regression", write_numbers},
    {"conv1d", [](const auto& folder) { return write_records(folder, 40, true); }},
};

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
  if (!data.empty()) words.insert(words.end(), {"--data", data});
  if (text_of(words[2]).find("\ntraining:") != std::string::npos)
    words.insert(words.end(), {"--set", "training.epochs=1"});
  const Ran searched = run(folder.path(), words);
  ASSERT_EQ(searched.code, 0) << searched.err;
  const Ran counted = run(folder.path(), {"query", "-f", "csv",
                                          "SELECT count(*) AS n FROM v_trials WHERE epochs > 0 AND "
                                          "state IN ('COMPLETE', 'PRUNED')"});
  EXPECT_EQ(counted.out, "n\n2\n") << searched.err;
}

INSTANTIATE_TEST_SUITE_P(All, ShippedConfig, testing::ValuesIn(shipped()),
                         [](const auto& config) { return config.param; });

}  // namespace
}  // namespace detol::testing_support
