// Values as JSON and back.

#include "encodings/space/value_json.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include <gtest/gtest.h>

#include "core/json_text.h"

namespace detol {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

TEST(ValueJson, KeepsTheTypeAndTheValue) {
  using Whole = std::numeric_limits<std::int64_t>;
  for (const Value& value : {Value(true), Value(false), Value(std::int64_t{-7}),
                             Value(Whole::max()), Value(Whole::min()), Value(1.0), Value(5e-324),
                             Value(std::string()), Value(std::string("NaN"))}) {
    EXPECT_EQ(value_in_json(json_value(value)), value) << to_text(value);
    EXPECT_EQ(value_in_json(json_value<ordered_json>(value)), value) << to_text(value);
    EXPECT_EQ(value_in_json(json_or_discarded(compact(json_value(value)))), value);
  }
}

TEST(ValueJson, TakesWholeNumbersBeyond63BitsAsTheNearestDouble) {
  EXPECT_EQ(value_in_json(json(9223372036854775807U)), Value(std::int64_t{9223372036854775807}));
  EXPECT_EQ(value_in_json(json(9223372036854775808U)), Value(9223372036854775808.0));
  EXPECT_EQ(value_in_json(json(18446744073709551615U)), Value(18446744073709551616.0));
}

TEST(ValueJson, IsNothingForNullAndForListsAndObjects) {
  for (const json& other :
       {json(), json::array({1}), json::object(), json(json::value_t::discarded)})
    EXPECT_FALSE(value_in_json(other)) << other.type_name();
}

}  // namespace
}  // namespace detol
