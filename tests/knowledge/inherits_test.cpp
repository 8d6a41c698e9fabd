// From which trial a trial inherits, as v_trials has it.

#include "tests/knowledge/support.h"

namespace detol {
namespace {

using testing_support::asked;
using testing_support::must;
using testing_support::OneStudy;

TEST(Inherits, IsTheTrialThatWasRecordedOrNothing) {
  OneStudy one;
  event::Asked child = asked(1);
  child.inherits = {.trial = 0, .epochs = 2.5};
  one.append({asked(0), child});
  const Rows rows = must(
      must(Reader::open(one.path))->select("SELECT inherits FROM v_trials ORDER BY trial", {}));
  ASSERT_EQ(rows.rows.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(rows.rows[0][0]));
  EXPECT_EQ(std::get<std::int64_t>(rows.rows[1][0]), 0);
}

}  // namespace
}  // namespace detol
