#include "models/retraining.h"

#include <gtest/gtest.h>

#include "knowledge/ledger.h"
#include "tests/support/temp_folder.h"

namespace detol {
namespace {

TEST(Retraining, TakesTheMicroBatchesOfTheTrialsLastAttempt) {
  const testing_support::TempFolder folder;
  const std::filesystem::path storage = folder.path() / "detol.db";
  {
    auto ledger = Ledger::open(storage).value();
    StudyRecord record;
    record.name = "tiny";
    record.objectives = {{.metric = "val_accuracy", .direction = Direction::kMaximize}};
    event::Asked asked, other;
    other.trial = 1;
    const std::vector<Event> events = {
        asked, other, event::Started{.worker = "w"},
        event::Requeued{.attempt = 1, .reason = {RequeueCause::kWorkerGone}},
        event::Started{.attempt = 2, .worker = "w", .micro_batches = 4}};
    ASSERT_TRUE(ledger->append(ledger->create_study(record).value(), events));
  }
  const OpenStudy study = open_study(storage.string(), "tiny").value();
  EXPECT_EQ(micro_batches_of(study, 0), 4);
  EXPECT_EQ(micro_batches_of(study, 1), 1);
}

}  // namespace
}  // namespace detol
