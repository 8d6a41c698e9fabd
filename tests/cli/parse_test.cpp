#include <cstdlib>
#include <map>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "cli/commands.h"

namespace detol {
namespace {

TEST(Parse, KnowsTheCommandItsOptionsAndTheGlobalOnesAnywhere) {
  const auto call = parse({"--storage", "a.db", "trials", "s", "--top", "3", "-f", "json", "-q"});
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(call->command->name, "trials");
  EXPECT_EQ(call->arguments.text("STUDY"), "s");
  EXPECT_EQ(call->arguments.number("top", 1).value(), 3);
  EXPECT_EQ(call->arguments.globals.storage, "a.db");
  EXPECT_EQ(call->arguments.globals.format, Format::kJson);
  EXPECT_TRUE(call->arguments.globals.quiet);
}

TEST(Parse, KeepsEveryRepeatAndTheLastOfTheOthers) {
  const auto call = parse({"validate", "--space", "a", "--set", "x=1", "--set=y=2", "--space=b"});
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(call->arguments.text("space"), "b");
  EXPECT_EQ(call->arguments.all("set"), (std::vector<std::string>{"x=1", "y=2"}));
}

TEST(Parse, GivesAnOptionThatIsAListSeveralWords) {
  const auto call =
      parse({"explore", "--data", "a", "b", "--budget", "1h", "--data=c", "--space", "s"});
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(call->arguments.all("data"), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(call->arguments.text("budget"), "1h");
}

TEST(Parse, TheFlagForTheStorageBeatsTheVariable) {
  ::setenv("DETOL_STORAGE", "variable.db", 1);
  EXPECT_EQ(parse({"studies"})->arguments.globals.storage, "variable.db");
  EXPECT_EQ(parse({"studies", "--storage", "flag.db"})->arguments.globals.storage, "flag.db");
  ::setenv("DETOL_STORAGE", "~/no such.db", 1);
  EXPECT_EQ(parse({"studies"})->arguments.globals.storage,
            std::string(std::getenv("HOME")) + "/no such.db");  // NOLINT(concurrency-mt-unsafe)
  ::unsetenv("DETOL_STORAGE");
  EXPECT_EQ(parse({"studies"})->arguments.globals.storage, "detol.db");
}

struct Mistake {
  std::vector<std::string> words;
  std::string says;
};

TEST(Parse, SaysInOneLineWhatIsWrongAndWhatWasMeant) {
  const std::vector<Mistake> mistakes = {
      {{"trails", "s"}, "unknown command 'trails'; did you mean 'trials'?"},
      {{"--bogus"}, "unknown option '--bogus'"},
      {{"trials", "s", "--stat", "FAIL"}, "trials has no option '--stat'; did you mean '--state'?"},
      {{"trials", "s", "--stat=FAIL"}, "trials has no option '--stat'; did you mean '--state'?"},
      {{"resume"}, "the argument STUDY is missing: its name"},
      {{"trials", "s", "t"}, "unexpected argument 't' (detol trials --help)"},
      {{"search", "cnn"}, "unexpected argument 'cnn'; did you mean --space cnn?"},
      {{"search", "my.yaml"}, "unexpected argument 'my.yaml'; did you mean --space my.yaml?"},
      {{"search", "--trials", "20"}, "search has no option '--trials'; write --budget 20trials"},
      {{"run"}, "unknown command 'run'; write search;"},
      {{"trials", "s", "--state", "FAILED"},
       "--state: unknown value 'FAILED'; did you mean 'FAIL'?"},
      {{"trials", "s", "--top"}, "--top needs a value, N: only the first N"},
      {{"studies", "-f", "yaml"}, "--format: unknown value 'yaml'; known: table, json, jsonl, csv"},
      {{"studies", "--storage", ""}, "--storage is empty"},
      {{"studies", "--storage", "K\xe4se"}, "--storage: 'K\\xe4se' is not UTF-8"},
      {{"validate"}, "the option --space is missing"},
      {{"study", "renam", "a", "b"}, "unknown study command 'renam'; did you mean 'rename'?"},
      {{"stdy", "rename", "a", "b"}, "unknown command 'stdy'; did you mean 'study'?"},
      {{"study", "rename", "a"}, "the argument NEW is missing"},
      {{"study", "rename", "a", "b", "c"}, "unexpected argument 'c' (detol study rename --help)"},
      {{"db", "check", "--agains", "x"}, "db check has no option '--agains'; did you mean"},
      {{"bench", "surogate"}, "WHAT: unknown value 'surogate'; did you mean 'surrogate'?"},
      {{"export", "s", "--to", "onx"}, "--to: unknown value 'onx'; did you mean 'onnx'?"},
  };
  for (const Mistake& mistake : mistakes) {
    const auto call = parse(mistake.words);
    ASSERT_FALSE(call) << mistake.says;
    EXPECT_EQ(call.error().code, ErrorCode::kUsage);
    EXPECT_NE(call.error().message.find(mistake.says), std::string::npos) << call.error().message;
    EXPECT_EQ(call.error().message.find('\n'), std::string::npos) << call.error().message;
  }
}

TEST(Parse, WordsOfAnOptionAreTakenInAnyCase) {
  const auto call = parse({"trials", "s", "--state", "complete"});
  ASSERT_TRUE(call);
  EXPECT_EQ(call->arguments.text("state"), "COMPLETE");
}

TEST(Parse, ANumberMustBeWholeAndLargeEnough) {
  for (const char* word : {"0", "-1", "x", "3.5", "", "99999999999999999999"}) {
    const auto call = parse({"trials", "s", std::string("--top=") + word});
    if (!call) continue;  // parse() refused it already
    const auto number = call->arguments.number("top", 1);
    ASSERT_FALSE(number) << word;
    EXPECT_EQ(number.error().code, ErrorCode::kUsage);
  }
}

TEST(Parse, PrintsHelpAndVersion) {
  EXPECT_EQ(parse({})->command, nullptr);
  EXPECT_NE(parse({})->text.find("Subcommands:"), std::string::npos);
  EXPECT_TRUE(parse({"--version"})->text.starts_with("detol "));
  for (const Command& command : command_table().commands) {
    const std::string name(command.name);
    const std::size_t space = name.find(' ');
    auto words = space == std::string::npos
                     ? std::vector<std::string>{name}
                     : std::vector<std::string>{name.substr(0, space), name.substr(space + 1)};
    words.emplace_back("--help");
    const auto help = parse(words);
    ASSERT_TRUE(help) << help.error().message;
    EXPECT_EQ(help->command, nullptr);
    EXPECT_NE(help->text.find("Examples:\n  "), std::string::npos) << command.name;
    for (const Option& option : command.options)
      EXPECT_NE(help->text.find(option.key()), std::string::npos) << option.name;
  }
}

TEST(Parse, HelpMarksWhatMustBeGiven) {
  const std::string retrain = parse({"retrain", "--help"})->text;
  EXPECT_NE(retrain.find("[OPTIONS] STUDY\n"), std::string::npos) << retrain;
  EXPECT_NE(retrain.find("STUDY REQUIRED"), std::string::npos) << retrain;
  EXPECT_NE(parse({"trials", "--help"})->text.find("[OPTIONS] [STUDY]\n"), std::string::npos);
  EXPECT_NE(parse({"validate", "--help"})->text.find("--space FILE REQUIRED"), std::string::npos);
  EXPECT_EQ(parse({"validate"}).error().message.find("the option --space is missing"), 0u);
}

TEST(Parse, AGroupAloneSaysWhatItHas) {
  for (const CommandGroup& group : command_table().groups) {
    for (const auto& words : std::vector<std::vector<std::string>>{
             {std::string(group.name)}, {std::string(group.name), "--help"}}) {
      const auto call = parse(words);
      ASSERT_TRUE(call) << call.error().message;
      EXPECT_EQ(call->command, nullptr);
      for (const std::string_view word : words_of(command_table(), group))
        EXPECT_NE(call->text.find(word), std::string::npos) << word;
    }
  }
}

TEST(Parse, AfterTwoDashesAWordIsNoOption) {
  EXPECT_EQ(parse({"status", "--", "-x"})->arguments.text("STUDY"), "-x");
  const auto call = parse({"study", "delete", "--yes", "--", "--help"});
  EXPECT_EQ(call->arguments.text("NAME"), "--help");
  EXPECT_TRUE(call->arguments.has("yes"));
}

TEST(Parse, AStudyMayHaveTheNameOfACommand) {
  const auto call = parse({"study", "rename", "db", "study", "-q"});
  ASSERT_TRUE(call) << call.error().message;
  EXPECT_EQ(call->command->name, "study rename");
  EXPECT_EQ(call->arguments.text("NAME"), "db");
  EXPECT_EQ(call->arguments.text("NEW"), "study");
  EXPECT_TRUE(call->arguments.globals.quiet);
}

// Options whose absence is not a choice of detol's: one of a command's several must be given, or
// what they do is then not done.
bool has_no_default(const Command& command, const Option& option) {
  static const std::map<std::string_view, std::set<std::string_view>> kWithout = {
      {"tune", {"COMMAND"}},
      {"new", {"NAME", "from"}},
      {"tell", {"value", "values", "step", "failed"}},
      {"trial", {"note"}}};
  const auto known = kWithout.find(command.name);
  return known != kWithout.end() && known->second.contains(option.key());
}

TEST(Help, SaysTheDefaultOfEveryOptionThatHasOne) {
  const auto says = [](const Option& option) {
    return option.is_switch() || option.arity != Option::kOptional ||
           option.help.find("default") != std::string_view::npos;
  };
  for (const Option& option : command_table().globals) EXPECT_TRUE(says(option)) << option.name;
  for (const Command& command : command_table().commands) {
    for (const Option& option : command.options)
      EXPECT_NE(says(option), has_no_default(command, option)) << command.name << option.name;
  }
}

TEST(Help, KeepsOptionsWithinEightyColumns) {
  for (const Command& command : command_table().commands) {
    std::vector<std::string> words;
    std::istringstream name{std::string(command.name)};
    for (std::string word; name >> word;) words.push_back(word);
    words.emplace_back("--help");
    const auto call = parse(words);
    ASSERT_TRUE(call) << command.name;
    const std::string options =
        call->text.substr(0, call->text.find("\n\n", call->text.find("Options:")));
    std::istringstream lines(options.substr(options.find('\n') + 1));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  }
}

}  // namespace
}  // namespace detol
