#include "command_line/manual.h"

#include <filesystem>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "cli/commands.h"
#include "core/exit_code.h"
#include "core/file.h"
#include "tests/support/temp_folder.h"

namespace detol {
namespace {

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(Manual, PrintsLettersOfRoffAsTheyAre) {
  EXPECT_EQ(roff_text("a\\b --set 'x' \"y\" `z` ~^"),
            "a\\eb \\-\\-set \\(aqx\\(aq \\(dqy\\(dq \\(gaz\\(ga \\(ti\\(ha");
  EXPECT_EQ(roff_text(".so /etc/passwd\n.x\n'y"), "\\&.so /etc/passwd\n\\&.x\n\\&\\(aqy");
}

TEST(Manual, HasAPageOfEveryCommandThatNamesItsOptionsAndTheirWords) {
  for (const Command& command : command_table().commands) {
    const std::string page = manual_page(command);
    EXPECT_TRUE(page.starts_with(".TH ")) << page;
    EXPECT_TRUE(has(page, roff_text(command.summary))) << command.name;
    EXPECT_TRUE(has(page, roff_text(command.examples))) << command.name;
    for (const Option& option : command.options) {
      const std::string name(option.name.substr(option.name.find(',') + 1));
      EXPECT_TRUE(has(page, roff_text(name))) << command.name << " " << name;
      EXPECT_TRUE(has(page, roff_text(option.help))) << command.name << " " << name;
      for (std::string_view word : option.words) EXPECT_TRUE(has(page, roff_text(word))) << word;
    }
    EXPECT_TRUE(has(manual_page(command_table()), roff_text(page_name(command)))) << command.name;
  }
}

TEST(Manual, TellsGlobalOptionsAndExitCodesOnce) {
  const std::string page = manual_page(command_table());
  for (const Option& option : command_table().globals)
    EXPECT_TRUE(has(page, roff_text(option.help)));
  for (const ExitCodeRow& row : kExitCodes) EXPECT_TRUE(has(page, roff_text(row.meaning)));
}

// Nothing but the macros that the pages use begins with a dot.
TEST(Manual, HasNoLineThatRoffWouldTakeForARequestOfItsOwn) {
  for (const Command& command : command_table().commands) {
    std::istringstream lines(manual_page(command));
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with(".") && !line.starts_with("'")) continue;
      const bool is_macro = line.starts_with(".TH ") || line.starts_with(".SH ") || line == ".TP" ||
                            line == ".nf" || line == ".fi";
      EXPECT_TRUE(is_macro) << command.name << ": " << line;
    }
  }
}

TEST(Manual, IsWrittenBesideTheCompletionsWhereAPrefixHasThem) {
  const testing_support::TempFolder folder;
  const auto call = parse({"man", "-o", folder.path() / "share"});
  ASSERT_TRUE(call);
  ASSERT_TRUE(run_call(*call));
  for (const char* file :
       {"man/man1/detol.1", "man/man1/detol-study-rename.1", "bash-completion/completions/detol",
        "zsh/site-functions/_detol", "fish/vendor_completions.d/detol.fish"})
    EXPECT_TRUE(std::filesystem::exists(folder.path() / "share" / file)) << file;
}

TEST(Manual, RefusesThePageOfACommandThatThereIsNot) {
  const auto call = parse({"man", "serach"});
  const auto done = run_call(*call);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kUsage);
  EXPECT_TRUE(has(done.error().message, "did you mean 'search'?"));
}

}  // namespace
}  // namespace detol
