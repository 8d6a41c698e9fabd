#include <gtest/gtest.h>

#include "scheduler/driver.h"
#include "tests/scheduler/fake_study.h"

namespace detol {
namespace {

using testing_support::FakeStudy;
using testing_support::MemoryLedger;
using testing_support::Mishap;

// Kills the master between any two transactions. The resumed study ends with the trials and
// numbers of a study without a kill.
struct Setting {
  const char* pruner;
  const char* algorithm = "evolution";
  Refits refits = Refits::kAtOnce;
};
class KilledAnywhere : public testing::TestWithParam<Setting> {};

// A transaction with only the time used: a resume without it has the same trials and numbers.
bool is_accounting(const std::vector<Event>& transaction) {
  return transaction.size() == 1 && std::holds_alternative<event::Accounted>(transaction.front());
}

TEST_P(KilledAnywhere, EndsWithTheSameTrialsAndNumbers) {
  const auto prepare = [](FakeStudy& study) {
    study.config.pruner.name = GetParam().pruner;
    study.config.algorithm.name = GetParam().algorithm;
    study.refits = GetParam().refits;
    study.budget = "12trials";
    study.refuses = [](double x) { return x > 0.8; };
    study.pool.mishap = [](const message::Train& train, int epoch) {
      return train.trial % 5 == 4 && epoch == 2 ? Mishap::kDiverge : Mishap::kNone;
    };
  };
  FakeStudy whole;
  prepare(whole);
  ASSERT_TRUE(whole.run());
  ASSERT_GT(whole.ledger.transactions.size(), 20u);
  for (std::size_t kept = 0; kept < whole.ledger.transactions.size(); ++kept) {
    if (kept > 0 && is_accounting(whole.ledger.transactions[kept - 1])) continue;
    MemoryLedger prefix;
    prefix.transactions.assign(whole.ledger.transactions.begin(),
                               whole.ledger.transactions.begin() + static_cast<long>(kept));
    FakeStudy resumed(1, prefix);
    prepare(resumed);
    ASSERT_TRUE(resumed.run());
    EXPECT_EQ(resumed.outcomes(), whole.outcomes()) << "killed after transaction " << kept;
  }
}

INSTANTIATE_TEST_SUITE_P(Pruners, KilledAnywhere,
                         testing::Values(Setting{"none"}, Setting{"median"}, Setting{"asha"}));
INSTANTIATE_TEST_SUITE_P(Models, KilledAnywhere,
                         testing::Values(Setting{"none", "gp"}, Setting{"none", "fake_model"},
                                         Setting{"asha", "fake_model"},
                                         Setting{"none", "fake_model", Refits::kBeside}));

}  // namespace
}  // namespace detol
