#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include <gtest/gtest.h>

#include "tests/e2e/tiny_study.h"

namespace detol::testing_support {

inline nlohmann::json json_of(const Ran& ran) {
  EXPECT_EQ(ran.code, 0) << ran.err;
  return nlohmann::json::parse(ran.out, nullptr, false);
}

inline std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of('\n');
  const std::size_t begin = text.find_last_of('\n', end);
  return text.substr(begin + 1, end - begin);
}

// A study that a search has ended.
struct Searched : TinyStudy {
  Searched() { search = detol(search_words()); }
  nlohmann::json query(const std::string& sql) const {
    return json_of(detol({"query", sql, "-f", "json"}));
  }
  Ran search;
};

}  // namespace detol::testing_support
