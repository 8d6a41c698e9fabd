#include "core/table.h"

#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace detol {
namespace {

struct Row {
  std::string_view name;
  int number;
};

constexpr std::array kRows = {Row{"one", 1}, Row{"two", 2}};

TEST(Table, FindsARowByItsName) {
  EXPECT_EQ(find_row(std::span<const Row>(kRows), "two")->number, 2);
  EXPECT_EQ(find_row(std::span<const Row>(kRows), "three"), nullptr);
}

TEST(Table, NamesItsRowsInOrder) {
  const auto names = names_of(std::span<const Row>(kRows));
  EXPECT_EQ(join(names), "one, two");
  EXPECT_EQ(join(names, "|"), "one|two");
}

constexpr std::array<std::string_view, 4> kWords = {"sgd", "adamw", "momentum", "lr"};

TEST(DidYouMean, ForgivesASlip) {
  EXPECT_EQ(did_you_mean("adm", kWords), "adamw");
  EXPECT_EQ(did_you_mean("momentun", kWords), "momentum");
  EXPECT_EQ(did_you_mean("sdg", kWords), "sgd");
}

TEST(DidYouMean, DoesNotGuessWildly) {
  EXPECT_EQ(did_you_mean("scheduler", kWords), std::nullopt);
  EXPECT_EQ(did_you_mean("x", kWords), std::nullopt);
  EXPECT_EQ(did_you_mean("", kWords), std::nullopt);
  EXPECT_EQ(did_you_mean(std::string(100'000, 'a'), kWords), std::nullopt);
}

TEST(UnknownName, SaysWhatWasMeantAndWhatThereIs) {
  EXPECT_EQ(unknown_name("optimizer", "adm", kWords),
            "unknown optimizer 'adm'; did you mean 'adamw'? known: sgd, adamw, momentum, lr");
}

TEST(UnknownName, ListsNoThousandsOfNames) {
  std::vector<std::string> names;
  for (int i = 0; i < 1000; ++i) names.push_back("gene" + std::to_string(i));
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string message = unknown_name("column", "x", known);
  EXPECT_TRUE(message.ends_with(", gene99 and 900 more")) << message;
}

TEST(InQuotes, IsOneShortPrintableLine) {
  EXPECT_EQ(in_quotes("plain"), "'plain'");
  EXPECT_EQ(in_quotes("two\nlines\x1b[31m"), "'two\\nlines\\x1b[31m'");
  EXPECT_EQ(in_quotes("\xff").find('\xff'), std::string::npos);
  EXPECT_EQ(in_quotes("gr\xc3\xb6\xc3\x9f"
                      "e \xe2\x96\x88"),
            "'gr\xc3\xb6\xc3\x9f"
            "e \xe2\x96\x88'");
  EXPECT_EQ(in_quotes("cut \xe2\x96"), "'cut \\xe2\\x96'");
  EXPECT_EQ(in_quotes("\xc2\x9b"), "'\\xc2\\x9b'");
  EXPECT_EQ(in_quotes(std::string(1000, 'a')).size(), 82u);
}

}  // namespace
}  // namespace detol
