#include "cli/preflight.h"

#include <gtest/gtest.h>

namespace detol {
namespace {

std::vector<std::string> warnings(const std::string& search) {
  const std::string text =
      "version: 1\nstudy: s\nfunction: {name: branin}\nsearch: " + search + "\n";
  return warnings_about(load_study_config(text, "space.yaml").value());
}

TEST(Preflight, SaysThatWarmStartIsNotImplemented) {
  EXPECT_EQ(warnings("{warm_start: auto}"),
            (std::vector<std::string>{"space.yaml:4:22: search.warm_start: auto is not implemented "
                                      "yet and changes nothing; leave it out"}));
}

TEST(Preflight, IsSilentWhereEverySettingHasAnEffect) {
  EXPECT_TRUE(warnings("{warm_start: none}").empty());
  EXPECT_TRUE(warnings("{repeats: 1}").empty());
}

}  // namespace
}  // namespace detol
