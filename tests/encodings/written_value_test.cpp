// Words and the numbers in them: what a choice is, and which recorded value stands for it.

#include "encodings/space/written_value.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "encodings/space/space.h"

namespace detol {
namespace {

Domain choice_of(std::vector<Value> choices) {
  Domain domain;
  domain.name = "w";
  domain.kind = DomainKind::kCategorical;
  domain.choices = std::move(choices);
  return domain;
}

Domain whole(double low, double high) {
  Domain domain;
  domain.name = "n";
  domain.kind = DomainKind::kInt;
  domain.low = low;
  domain.high = high;
  domain.step = 1;
  return domain;
}

TEST(WrittenValue, IsANumberWhereItsWordSaysNoMore) {
  using Whole = std::int64_t;
  const std::vector<std::pair<const char*, Value>> cases = {
      {"1", Whole{1}},
      {"0", Whole{0}},
      {"-7", Whole{-7}},
      {"1.0", 1.0},
      {"0.5", 0.5},
      {".5", 0.5},
      {"5.", 5.0},
      {"1e-3", 1e-3},
      {"1e3", 1e3},
      {"1E+5", 1e5},
      {"1e-05", 1e-5},
      {"-0.25", -0.25},
      {"true", true},
      {"false", false},
      {"16777217", Whole{16777217}},
      {"9007199254740993", Whole{9007199254740993}},
      {"0.30000000000000004", 0.1 + 0.2},
      {"5e-324", 5e-324}};
  for (const auto& [word, value] : cases) EXPECT_EQ(value_of_word(word), value) << word;
  for (const char* word : {"3.10",
                           "00",
                           "007",
                           "-01",
                           "2.50",
                           "1.00",
                           "+1",
                           "+0.5",
                           "0x10",
                           "1_000",
                           "True",
                           "null",
                           "~",
                           "",
                           "1e400",
                           "1e-400",
                           "nan",
                           "inf",
                           "-0",
                           "00.5",
                           "12345678901234567890",
                           "1 ",
                           " 1",
                           "0.12345678901234567890",
                           "0.12345678901234567",
                           "1e",
                           "no"})
    EXPECT_EQ(value_of_word(word), Value(word)) << word;
}

TEST(Domain, TellsChoicesApartByTheirWords) {
  const Domain domain = choice_of({std::string("3.10"), 3.1, std::int64_t{9007199254740993},
                                   std::int64_t{9007199254740992}, std::string("1e400")});
  for (std::size_t i = 0; i < domain.choices.size(); ++i)
    EXPECT_EQ(domain.code_of(domain.choices[i]), static_cast<double>(i));
  EXPECT_EQ(mistake_in(domain), std::nullopt);
  EXPECT_EQ(mistake_in(choice_of({1.0, std::int64_t{1}})), "w: the choice 1 is there twice");
}

TEST(Domain, FindsTheChoicesThatEarlierVersionsRecordedAsNumbers) {
  const Domain domain = choice_of({std::string("3.10"), 3.9, std::string("007"), std::string("00"),
                                   std::string("+1"), std::string("7.")});
  EXPECT_EQ(domain.code_of(3.1), 0);
  EXPECT_EQ(domain.code_of(std::int64_t{7}), 2);
  EXPECT_EQ(domain.code_of(std::int64_t{0}), 3);
  EXPECT_EQ(domain.code_of(std::int64_t{1}), 4);
  EXPECT_EQ(domain.code_of(4.0), std::nullopt);
  EXPECT_EQ(choice_of({std::string("7")}).code_of(std::int64_t{7}), std::nullopt)
      << "it was a text";
  EXPECT_EQ(choice_of({std::string("01"), std::string("001")}).code_of(std::int64_t{1}),
            std::nullopt)
      << "it may be either";
}

TEST(Domain, OfWholeNumbersEndsWhereDoublesHaveAllOfThem) {
  EXPECT_EQ(mistake_in(whole(0, 9007199254740991)), std::nullopt);
  EXPECT_NE(mistake_in(whole(0, 9007199254740992)), std::nullopt);
  EXPECT_NE(mistake_in(whole(-9007199254740992, 0)), std::nullopt);
}

TEST(Space, SaysThatATextIsNotTheNumberThatItLooksLike) {
  const Space space = SpaceBuilder().add_float("x", 0, 1).build().value();
  const std::vector<std::pair<std::string, Value>> text = {{"x", std::string("0.5")}};
  EXPECT_EQ(space.genome(text).error().message,
            "x cannot be the text '0.5'; it accepts 0 to 1, as a number without quotes");
  const std::vector<std::pair<std::string, Value>> word = {{"x", std::string("half")}};
  EXPECT_EQ(space.genome(word).error().message, "x cannot be half; it accepts 0 to 1");
  const Space choices = SpaceBuilder().add_numbers("v", {3.5, 4.5}).build().value();
  const std::vector<std::pair<std::string, Value>> choice = {{"v", std::string("3.5")}};
  EXPECT_EQ(choices.genome(choice).error().message,
            "v cannot be the text '3.5'; it accepts 3.5, 4.5, as a number without quotes");
}

}  // namespace
}  // namespace detol
