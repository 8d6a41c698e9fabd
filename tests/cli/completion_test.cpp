
#include <cstdlib>
#include <fstream>
#include <regex>

#include <gtest/gtest.h>

#include "cli/commands.h"
#include "tests/support/temp_folder.h"

namespace detol {
namespace {

class CompletionOf : public testing::TestWithParam<const char*> {};

TEST_P(CompletionOf, KnowsEveryCommandFlagAndValue) {
  const auto call = parse({"completion", GetParam()});
  ASSERT_TRUE(call) << call.error().message;
  testing::internal::CaptureStdout();
  ASSERT_TRUE(run_call(*call));
  const std::string script = testing::internal::GetCapturedStdout();
  for (const std::string_view word : first_words(command_table()))
    EXPECT_NE(script.find(word), std::string::npos) << word;
  for (const Command& command : command_table().commands) {
    const std::string_view last = command.name.substr(command.name.find(' ') + 1);
    EXPECT_NE(script.find(last), std::string::npos) << command.name;
    for (const Option& option : command.options) {
      if (option.is_positional()) continue;
      EXPECT_NE(script.find(option.key()), std::string::npos) << option.name;
      for (const std::string_view value : option.words)
        EXPECT_NE(script.find(value), std::string::npos) << option.name << " " << value;
    }
  }
  for (const char* one : {"portfolio", "hyperband", "detol studies -q -f csv --columns study"})
    EXPECT_NE(script.find(one), std::string::npos) << one;
}

INSTANTIATE_TEST_SUITE_P(Shells, CompletionOf, testing::Values("bash", "zsh", "fish"),
                         [](const auto& shell) { return std::string(shell.param); });

// Returns what bash offers for the last of these words, which stand behind `detol`.
std::string offered(const std::vector<std::string>& words) {
  const testing_support::TempFolder folder;
  const std::string script = (folder.path() / "completion").string();
  const std::string out = (folder.path() / "out").string();
  std::ofstream(script) << completion_script("bash");
  std::string line = "detol";
  for (const std::string& word : words) line += " '" + word + "'";
  const std::string program = "detol() { :; }; . " + script + "; COMP_WORDS=(" + line +
                              "); COMP_CWORD=" + std::to_string(words.size()) +
                              "; _detol; echo \"${COMPREPLY[*]}\" > " + out;
  EXPECT_EQ(std::system(("bash -c '" + std::regex_replace(program, std::regex("'"), "'\\''") + "'")
                            .c_str()),  // NOLINT(concurrency-mt-unsafe)
            0);
  std::ifstream file(out);
  std::string text;
  std::getline(file, text);
  return text;
}

TEST(Completion, OffersTheValuesOfTheCommandsOwnOption) {
  const std::string of_export = offered({"export", "--to", ""});
  EXPECT_NE(of_export.find("onnx"), std::string::npos) << of_export;
  EXPECT_EQ(of_export.find("csv"), std::string::npos) << of_export;
  EXPECT_EQ(offered({"export", "s", "--to", "onn"}), "onnx");
  EXPECT_NE(offered({"db", "export", "--to", ""}).find("csv"), std::string::npos);
  EXPECT_EQ(offered({"trials", "s", "--state", "PRU"}), "PRUNED");
  EXPECT_EQ(offered({"search", "-f", "jsonl"}), "jsonl");
  EXPECT_EQ(offered({"search", "--algorithm", "portf"}), "portfolio");
}

TEST(Completion, OffersSpacesAndDirectionsAndKindsOfParameters) {
  EXPECT_EQ(offered({"search", "--space", "nasb"}), "nasbench201");
  EXPECT_EQ(offered({"search", "--space", "/etc/host"}).substr(0, 9), "/etc/host");
  EXPECT_EQ(offered({"tune", "--metric", "loss"}), "loss:minimize loss:maximize");
  EXPECT_EQ(offered({"tune", "--metric", "loss", ":", "max"}), "maximize");
  EXPECT_EQ(offered({"tune", "--param", "lr", "=", "log"}), "log logint");
  EXPECT_EQ(offered({"tune", "--param", "lr"}).substr(0, 16), "lr=float lr=log ");
}

TEST(Completion, LeavesFilesToBash) {
  EXPECT_EQ(offered({"search", "--log-file", ""}), "");
  EXPECT_EQ(offered({"search", "--storage", ""}), "");
}

}  // namespace
}  // namespace detol
