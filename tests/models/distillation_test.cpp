// Networks that learn from what an ensemble says of the training data.

#include "models/distillation.h"

#include <cmath>

#include "tests/models/linear_study.h"
#include "tests/support/in_child.h"

namespace detol {
namespace {

class Distillation : public testing_support::LinearStudy {
 protected:
  // Returns what the training data say once they are taught by this weight for model 9.
  std::vector<float> taught(const event::Model& ensemble, double weight) const {
    const OpenStudy study = opened("lin");
    Retraining work{.study = study,
                    .shared = data(),
                    .candidate = candidate(0),
                    .from = {},
                    .run = {},
                    .kind = ModelKind::kDistilled};
    work.run.storage = storage();
    ModelRecord record = ModelRecord::open(storage(), "lin").value();
    const event::Model model{.model = 9,
                             .kind = ModelKind::kDistilled,
                             .state = ModelState::kTraining,
                             .folder = "models/9"};
    const auto learnt = learn_from(ensemble, weight, work, record, {model});
    EXPECT_TRUE(learnt) << learnt.error().message;
    EXPECT_TRUE(learnt.value_or(false));
    EXPECT_EQ(record.models().value().back().model, 9) << "it is a row from its beginning";
    return work.shared.data->teacher;
  }
};

TEST_F(Distillation, TeachesWhatTheNetworkSaysInPartAndTheLabelInPart) {
  write_study({{}});
  const event::Model teacher = keep_line({.slope = 2}, ModelKind::kRetrained, kOnTraining);
  testing_support::in_child([&] {
    const std::vector<float> targets = taught(teacher, 0.5);
    ASSERT_EQ(targets.size(), 10u);
    const double no = 1 / (1 + std::exp(2.0)), yes = 1 - no;  // of x = -1, and of x = 1
    for (std::size_t i = 0; i < targets.size(); ++i)
      EXPECT_NEAR(targets[i], i % 2 == 0 ? no / 2 : yes / 2 + 0.5, 1e-6) << i;
  });
}

TEST_F(Distillation, AsksOnceAndKeepsTheAnswer) {
  write_study({{}});
  const event::Model teacher = keep_line({.slope = 2}, ModelKind::kRetrained, kOnTraining);
  testing_support::in_child([&] {
    const std::vector<float> first = taught(teacher, 1);
    std::filesystem::remove_all(folder() / "detol.db.d/lin/models/1");
    EXPECT_EQ(taught(teacher, 1), first) << "the network is gone";
    const auto file = folder() / "detol.db.d/lin/models/9/targets.f32";
    EXPECT_EQ(std::filesystem::file_size(file), 40u);
  });
}

TEST_F(Distillation, AsksAgainWhereTheAnswerIsOfOtherData) {
  write_study({{}});
  const event::Model teacher = keep_line({.slope = 2}, ModelKind::kRetrained, kOnTraining);
  testing_support::in_child([&] {
    const std::vector<float> first = taught(teacher, 1);
    testing_support::write_bytes(folder() / "detol.db.d/lin/models/9/targets.f32", "short");
    EXPECT_EQ(taught(teacher, 1), first);
  });
}

}  // namespace
}  // namespace detol
