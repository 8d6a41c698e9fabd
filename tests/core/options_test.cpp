#include "core/options.h"

#include <string>

#include <gtest/gtest.h>

namespace detol {
namespace {

using Given = std::map<std::string, std::string>;

TEST(Options, AreReadOrFallBack) {
  const Given given = {{"population", "32"}};
  OptionReader options("evolution", given);
  EXPECT_EQ(options.whole("population", 20, 2, 100), 32);
  EXPECT_EQ(options.whole("sample", 5, 1, 100), 5);
  EXPECT_TRUE(options.done());
}

TEST(Options, ReportTheFirstMistake) {
  const Given given = {{"population", "1"}, {"sample", "0"}};
  OptionReader options("evolution", given);
  (void)options.whole("population", 20, 2, 100);
  (void)options.whole("sample", 5, 1, 100);
  const auto done = options.done();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::kInput);
  EXPECT_EQ(done.error().message,
            "evolution: population is '1'; it must be a whole number from 2 to 100");
}

TEST(Options, RefuseWhatIsNoWholeNumber) {
  for (const char* word : {"", "3.5", "3 ", "0x3", "three", "1e2", "99999999999999999999"}) {
    const Given given = {{"sample", word}};
    OptionReader options("evolution", given);
    EXPECT_EQ(options.whole("sample", 5, 1, 100), 5);
    EXPECT_FALSE(options.done()) << word;
  }
}

TEST(Options, ReadNumbersWithAPoint) {
  const Given given = {{"rate", "0.25"}, {"decay", "5e-2"}, {"share", "1"}};
  OptionReader options("qlearning", given);
  EXPECT_EQ(options.real("rate", 0.1, 0, 1), 0.25);
  EXPECT_EQ(options.real("decay", 0.1, 0, 1), 0.05);
  EXPECT_EQ(options.real("share", 0.1, 0, 1), 1);
  EXPECT_EQ(options.real("discount", 0.9, 0, 1), 0.9);
  EXPECT_TRUE(options.done());
}

TEST(Options, RefuseWhatIsNoNumberOfTheRange) {
  for (const char* word : {"", "0.5 ", "nan", "inf", "-0.1", "1.01", "half", "1e999"}) {
    const Given given = {{"rate", word}};
    OptionReader options("qlearning", given);
    EXPECT_EQ(options.real("rate", 0.1, 0, 1), 0.1);
    ASSERT_FALSE(options.done()) << word;
    EXPECT_EQ(options.done().error().message,
              "qlearning: rate is '" + std::string(word) + "'; it must be a number from 0 to 1");
  }
}

TEST(Options, AreWordsBetweenBlanks) {
  const Given given = {{"members", " local  evolution "}, {"none", ""}};
  OptionReader options("portfolio", given);
  EXPECT_EQ(options.words("members", "random"), (std::vector<std::string>{"local", "evolution"}));
  EXPECT_EQ(options.words("others", "a b"), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(options.words("none", "a").empty());
  EXPECT_TRUE(options.done());
}

TEST(Options, RefuseANameThatWasNeverRead) {
  const Given given = {{"popluation", "32"}};
  OptionReader options("evolution", given);
  (void)options.whole("population", 20, 2, 100);
  EXPECT_EQ(options.done().error().message,
            "evolution: unknown option 'popluation'; did you mean 'population'? known: population");
  EXPECT_EQ(OptionReader("none", given).done().error().message,
            "none: unknown option 'popluation'; it has no options");
}

}  // namespace
}  // namespace detol
