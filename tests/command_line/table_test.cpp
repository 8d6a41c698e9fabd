// A table of two commands and a group: nothing here knows what detol can do.

#include <gtest/gtest.h>

#include "command_line/completion.h"
#include "command_line/manual.h"
#include "command_line/parse.h"

namespace detol {
namespace {

Result<int> bake(const Arguments& arguments) {
  return static_cast<int>(arguments.number("count", 1).value().value_or(1));
}

const std::vector<Command> kCommands = {
    {.name = "bake",
     .summary = "bake bread",
     .options = {{"STUDY", "", "which oven", Option::kRequired},
                 {"-n,--count", "N", "loaves; default: 1"},
                 {"--kind", "KIND", "of flour", Option::kOptional, {"rye", "wheat"}}},
     .examples = "  detol bake stone --kind rye",
     .run = bake},
    {.name = "oven clean", .summary = "clean it", .options = {}, .examples = "", .run = bake}};
constexpr CommandGroup kGroups[] = {{"oven", "look after the oven"}};
const std::vector<Option> kGlobals = {{"--loud", "", "say more"}};
const CommandTable kTable{kCommands, kGroups, kGlobals};

std::string no_hint(const Command&, const std::string&) {
  return "; flour?";
}

std::string error_of(const std::vector<std::string>& words) {
  const auto call = parse(kTable, words, no_hint);
  return call ? "" : call.error().message;
}

TEST(CommandTable, ParsesItsCommandsAndRunsThem) {
  const auto call = parse(kTable, {"bake", "stone", "-n", "3", "--kind", "RYE", "--loud"}, no_hint);
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(call->arguments.text("kind"), "rye");
  EXPECT_TRUE(call->arguments.has("loud"));
  EXPECT_EQ(call->command->run(call->arguments), 3);
  EXPECT_EQ(parse(kTable, {"oven", "clean"}, no_hint)->command, &kCommands[1]);
}

TEST(CommandTable, SaysWhatIsWrongOnOneLine) {
  EXPECT_EQ(error_of({"bake"}), "the argument STUDY is missing: which oven");
  EXPECT_EQ(error_of({"bake", "stone", "dough"}),
            "unexpected argument 'dough'; flour? (detol bake --help)");
  EXPECT_EQ(error_of({"bake", "stone", "--cuont", "3"}),
            "bake has no option '--cuont'; did you mean '--count'? (detol bake --help)");
  EXPECT_EQ(error_of({"bake", "stone", "--count"}),
            "--count needs a value, N: loaves; default: 1 (detol --help)");
  EXPECT_EQ(error_of({"oven", "claen"}),
            "unknown oven command 'claen'; did you mean 'clean'? known: clean");
}

TEST(CommandTable, KnowsWhatMayFollow) {
  EXPECT_EQ(first_words(kTable), (std::vector<std::string_view>{"bake", "oven"}));
  EXPECT_EQ(words_of(kTable, kGroups[0]), (std::vector<std::string_view>{"clean"}));
  EXPECT_EQ(flags_of(kTable, kCommands[0]),
            (std::vector<std::string_view>{"--count", "--kind", "--loud"}));
}

TEST(CommandTable, HasAManualPageOfAllAndOneOfEach) {
  EXPECT_NE(manual_page(kTable).find("\\fBoven clean\\fR\nclean it; see \\fBdetol\\-oven\\-clean"),
            std::string::npos);
  const std::string page = manual_page(kCommands[0]);
  EXPECT_NE(page.find("\\fBdetol bake\\fR [OPTIONS] \\fISTUDY\\fR\n"), std::string::npos) << page;
  EXPECT_NE(page.find("of flour; rye, wheat\n"), std::string::npos) << page;
}

TEST(CommandTable, ShellsAskTheWordsThatTheTableDoesNotSay) {
  const CompletionWords words{
      .studies = "list-ovens",
      .values = [](const Option& option) { return std::string(option.key()) + "-words"; },
      .bash_values =
          [](const Command& command, const Option& option) {
            return std::string(command.name == "bake" && option.key() == "kind" ? "\"$(kinds)\""
                                                                                : "''");
          },
      .bash_cases = "    more) words=less ;;\n"};
  const std::string bash = completion_script(kTable, "bash", words);
  for (const char* part :
       {"'bake'\\ *) words='--count --kind --loud --help' ;;", "'oven ') words='clean --help' ;;",
        "bake) words=\"$words $(list-ovens)\"", "'bake '*' --kind') words=\"$(kinds)\" ;;",
        "    more) words=less ;;"})
    EXPECT_NE(bash.find(part), std::string::npos) << part << "\n" << bash;
  EXPECT_TRUE(completion_script(kTable, "zsh", words).ends_with(bash));
  const std::string fish = completion_script(kTable, "fish", words);
  EXPECT_NE(fish.find("-l kind -r -f -a 'kind-words' -d 'of flour'"), std::string::npos) << fish;
  EXPECT_NE(fish.find("-f -a '(list-ovens)'"), std::string::npos) << fish;
}

}  // namespace
}  // namespace detol
