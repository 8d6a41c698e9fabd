#include <gtest/gtest.h>

#include "cli/parse.h"

namespace detol {
namespace {

class CompletionOf : public testing::TestWithParam<const char*> {};

TEST_P(CompletionOf, KnowsEveryCommandFlagAndValue) {
  const auto call = parse({"completion", GetParam()});
  ASSERT_TRUE(call) << call.error().message;
  testing::internal::CaptureStdout();
  ASSERT_TRUE(call->command->run(call->arguments));
  const std::string script = testing::internal::GetCapturedStdout();
  for (const std::string_view word : first_words())
    EXPECT_NE(script.find(word), std::string::npos) << word;
  for (const Command& command : commands()) {
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

}  // namespace
}  // namespace detol
