// Numbers that JSON has not.

#include "core/json_numbers.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

namespace detol::core {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(JsonNumbers, KeepNumbersThatAreNotFiniteAsWords) {
  EXPECT_EQ(json_number(std::nan("")), "NaN");
  EXPECT_EQ(json_number<ordered_json>(-std::nan("")), "NaN");
  EXPECT_EQ(json_number(kInfinity), "Infinity");
  EXPECT_EQ(json_number<ordered_json>(-kInfinity), "-Infinity");
}

TEST(JsonNumbers, ReturnTheNumberThatWasWritten) {
  for (const double number : {0.0, -0.1, 5e-324, 1.7976931348623157e308, kInfinity, -kInfinity}) {
    EXPECT_EQ(number_in_json(json_number(number)), number);
    EXPECT_EQ(number_in_json(json_number<ordered_json>(number)), number);
  }
  EXPECT_TRUE(std::isnan(number_in_json(json_number(std::nan(""))).value()));
  EXPECT_EQ(number_in_json(json(7)), 7.0);
}

TEST(JsonNumbers, AreNoOtherWordsAndNoOtherTypes) {
  for (const json& other : {json("nan"), json("inf"), json("+Infinity"), json("1"), json(""),
                            json(true), json(), json::array({1.0}), json::object()})
    EXPECT_FALSE(number_in_json(other)) << other;
}

}  // namespace
}  // namespace detol::core
