#include "printing/trial_table.h"

#include <gtest/gtest.h>

namespace detol {
namespace {

const Cell kNothing;

Rows listed_trials() {
  return {.columns = {"trial", "state", "values", "params", "flops", "note"},
          .rows = {{std::int64_t{0}, "COMPLETE", R"({"loss":0.5})",
                    R"({"architecture.depth":3,"lr":0.1})", std::int64_t{0}, kNothing},
                   {std::int64_t{1}, "FAIL", kNothing, R"({"lr":0.2,"op":"adam"})", std::int64_t{0},
                    kNothing}}};
}

TEST(TrialTable, HasAColumnForEachMetricAndParameterAndTheArchitectureLast) {
  const Rows table = trial_table_of(listed_trials(), {"trial", "values", "params", "state"});
  EXPECT_EQ(table.columns,
            (std::vector<std::string>{"trial", "values.loss", "params.lr", "params.op", "state",
                                      "params.architecture.depth"}));
  EXPECT_EQ(table.rows[0][1], Cell(0.5));
  EXPECT_EQ(table.rows[1][1], kNothing);
  EXPECT_EQ(table.rows[1][3], Cell("adam"));
  EXPECT_EQ(table.rows[0].back(), Cell(std::int64_t{3}));
}

TEST(TrialTable, LeavesOutColumnsThatSayNothingButNeverTheTrial) {
  EXPECT_EQ(trial_table_of(listed_trials(), {"trial", "flops", "note", "unknown"}).columns,
            (std::vector<std::string>{"trial"}));
  EXPECT_EQ(without_empty_columns(listed_trials()).columns,
            (std::vector<std::string>{"trial", "state", "values", "params"}));
}

}  // namespace
}  // namespace detol
