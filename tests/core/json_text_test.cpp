// JSON of strangers: what it may cost before it is refused.

#include "core/json_text.h"

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

namespace detol::core {
namespace {

using nlohmann::json;

std::string repeated(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

TEST(JsonText, IsRefusedBeforeItIsNestedDeeperThanTheStack) {
  const int bomb = 200'000;
  for (const std::string& text :
       {repeated("[", bomb), repeated("[", bomb) + repeated("]", bomb), repeated("{\"a\":", bomb),
        "{\"a\\\"[\":" + repeated("[", bomb), repeated("[{\"a\":", bomb)}) {
    const auto read = parse_json(text, "the text");
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().message, "the text is nested more than 64 deep");
    EXPECT_EQ(read.error().code, ErrorCode::kInput);
    EXPECT_TRUE(json_or_discarded(text).is_discarded());
    EXPECT_TRUE(json_or_discarded<nlohmann::ordered_json>(text).is_discarded());
    EXPECT_FALSE(is_json(text));
  }
}

TEST(JsonText, CountsWhatIsOpenAndNotWhatIsThere) {
  EXPECT_TRUE(parse_json("[" + repeated("[],", 1000) + "[]]", "it"));
  EXPECT_TRUE(parse_json("\"" + repeated("[", 1000) + "\"", "it")) << "in quotes";
  EXPECT_TRUE(parse_json(R"(["\"[[[[[[[[["])", "it", {.depth = 1})) << "behind an escaped quote";
  EXPECT_TRUE(parse_json(repeated("[", 64) + repeated("]", 64), "it"));
  EXPECT_FALSE(parse_json(repeated("[", 65) + repeated("]", 65), "it"));
}

TEST(JsonText, HasAsManyBytesAndValuesAsItMay) {
  EXPECT_TRUE(parse_json("[1,2]", "it", {.bytes = 5}));
  EXPECT_EQ(parse_json("[1, 2]", "it", {.bytes = 5}).error().message,
            "it has 6 bytes, more than 5");
  EXPECT_TRUE(parse_json("[1,2,3]", "it", {.values = 3}));
  EXPECT_EQ(parse_json("[1,2,3,4]", "it", {.values = 3}).error().message,
            "it has more than 3 values");
  EXPECT_FALSE(parse_json("[{},{},{}]", "it", {.values = 3}));
}

TEST(JsonText, SaysInOneLineWhatIsWrong) {
  EXPECT_EQ(parse_json("[1,", "it").error().message, "it is not JSON from byte 4 on");
  EXPECT_EQ(parse_json("", "it").error().message, "it is not JSON from byte 1 on");
  EXPECT_EQ(parse_json("[1e999]", "it").error().message, "it has a number that is out of range");
  EXPECT_EQ(parse_json("[\"\xff\"]", "it").error().message, "it is not JSON from byte 3 on");
}

TEST(JsonText, IsWrittenWhateverItsBytes) {
  EXPECT_EQ(compact(json("caf\xe9")), "\"caf\xef\xbf\xbd\"");
  EXPECT_EQ(compact(json("caf\xc3\xa9")), "\"caf\xc3\xa9\"");
  EXPECT_EQ(compact(json{{"a", 1}}, 1), "{\n \"a\": 1\n}");
}

TEST(JsonText, AFieldOfAnotherTypeIsAsIfItWereMissing) {
  const json object = {{"port", "80"},  {"on", 1},           {"name", 5}, {"share", "x"},
                       {"real", 1e300}, {"far", 1ULL << 40}, {"fine", 7}};
  EXPECT_EQ(field_or(object, "port", 0), 0);
  EXPECT_EQ(field_or(object, "real", 3), 3);
  EXPECT_EQ(field_or(object, "far", 3), 3);
  EXPECT_EQ(field_or(object, "none", 3), 3);
  EXPECT_EQ(field_or(object, "fine", 3), 7);
  EXPECT_FALSE(field_or(object, "on", false));
  EXPECT_EQ(field_or(object, "name", std::string("?")), "?");
  EXPECT_EQ(field_or(object, "share", 0.5), 0.5);
  EXPECT_EQ(field_or(object, "fine", 0.5), 7);
}

}  // namespace
}  // namespace detol::core
