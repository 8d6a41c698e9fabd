// The small parts: targets, the keeper of checkpoints, what may change between runs.

#include <fstream>

#include <gtest/gtest.h>

#include "scheduler/keeper.h"
#include "scheduler/study_difference.h"
#include "scheduler/target.h"
#include "tests/support/temp_folder.h"

namespace detol {
namespace {

using testing_support::TempFolder;

TEST(Target, ReadsBothDirections) {
  const Target high = parse_target("val_accuracy>=0.9").value();
  EXPECT_TRUE(high.is_reached_by(0.9));
  EXPECT_FALSE(high.is_reached_by(0.89));
  const Target low = parse_target("val_loss<=3e-1").value();
  EXPECT_TRUE(low.is_reached_by(0.3));
  EXPECT_FALSE(low.is_reached_by(0.31));
  EXPECT_EQ(to_text(parse_target(to_text(low)).value()), to_text(low));
}

TEST(Target, RefusesAnythingElse) {
  for (const char* text : {"", "val_loss", "val_loss=3", ">=3", "val_loss<3",
                           "val_loss<=", "a>=nan", "a>=3x", "a>=inf"})
    EXPECT_FALSE(parse_target(text)) << text;
}

TEST(StudyDifference, OnlyBudgetAndResourcesMayChange) {
  const char* begun =
      "version: 1\nseed: 4\nbudget: 1h\nresources:\n  workers: 2\ntraining:\n  epochs: 9\n";
  EXPECT_TRUE(same_study(begun, begun));
  EXPECT_TRUE(
      same_study(begun, "version: 1\nseed: 4\nresources:\n  workers: 3\ntraining:\n  epochs: 9\n"));
  const auto other = same_study(begun, "version: 1\nseed: 4\ntraining:\n  epochs: 8\n");
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("'  epochs: 9', now '  epochs: 8'"), std::string::npos);
  EXPECT_FALSE(same_study(begun, "version: 1\nseed: 4\n"));
}

TEST(Keeper, KeepsTheCheckpointsOfTheTenBestAndOfTrialsThatMayGoOn) {
  const TempFolder folder;
  const Space space = SpaceBuilder().add_float("x", 0, 100).build().value();
  Book book(space, {minimize("loss")});
  const auto keeper = make_keeper(folder.path());
  const auto file_of = [&](TrialId id) {
    return folder.path() / std::to_string(id) / "epoch-1.ckpt";
  };
  const auto happen = [&](const Event& event) {
    ASSERT_TRUE(book.apply(event));
    keeper->happened(event, book);
  };
  for (TrialId id = 0; id < 14; ++id) {
    std::filesystem::create_directories(file_of(id).parent_path());
    std::ofstream(file_of(id)) << "x";
    const double loss = static_cast<double>((id * 5) % 14);  // every loss once
    event::Asked asked;
    asked.trial = id;
    asked.params = {{"x", loss}};
    happen(asked);
    happen(event::Started{id, 1, "w", 0});
    happen(event::Reported{id, 1, 1, {{"loss", loss}}, 1, 1});
    event::Told told{id, "PRUNED", "", id == 3 ? "budget" : "asha", Measured{.values = {loss}}, 0};
    if (id == 6) told.state = "FAIL";
    happen(told);
  }
  for (TrialId id = 0; id < 14; ++id) {
    const double loss = book.find(id)->values[0];
    const bool is_kept = id == 3 || (id != 6 && loss <= 11);  // trial 3 has loss 1, trial 6 has 2
    EXPECT_EQ(std::filesystem::exists(file_of(id)), is_kept) << "trial " << id << " loss " << loss;
  }
}

}  // namespace
}  // namespace detol
