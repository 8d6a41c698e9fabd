// Models that are made without any training.

#include "models/untrained_model.h"

#include "models/model_network.h"
#include "tests/models/linear_study.h"

namespace detol {
namespace {

using UntrainedModel = testing_support::LinearStudy;

TEST_F(UntrainedModel, IsNumberedBehindAllOthers) {
  write_study({{}, {}});
  const OpenStudy study = opened("lin");
  keep_line({}, ModelKind::kRetrained, kOnTraining);
  ModelRecord record = ModelRecord::open(storage(), "lin").value();
  const auto model = untrained_model(study, 1, ModelKind::kQuantized, candidate(1), record).value();
  EXPECT_EQ(model.model, 2);
  EXPECT_EQ(model.first, 2);
  EXPECT_EQ(model.trial, 1u);
  EXPECT_EQ(model.kind, ModelKind::kQuantized);
  EXPECT_EQ(model.state, ModelState::kComplete);
  EXPECT_EQ(model.network_params, 2);
  EXPECT_EQ(model.folder, "models/2");
  EXPECT_EQ(model.dataset, to_hex(study.record.data_fingerprint));
}

// "yes" for the last record of a part alone: right for 4 of 5 in validation, and 2 of the test.
TEST_F(UntrainedModel, IsMeasuredOnValidationAndTest) {
  write_study({{}});
  StudyData shared = data();
  const RangeOutputs yes = [](Range range) {
    std::vector<float> outputs(static_cast<std::size_t>(range.count), -1.0F);
    outputs.back() = 1;
    return outputs;
  };
  event::Model model;
  ASSERT_TRUE(measure_model(*shared.data, candidate(0).recipe, yes, model));
  EXPECT_EQ(metric_of(model, "val_accuracy"), 0.8);
  EXPECT_EQ(metric_of(model, "test_accuracy"), 0.4);
  ASSERT_FALSE(model.intervals.empty());
  for (const event::Interval& interval : model.intervals)
    EXPECT_TRUE(interval.metric.starts_with("test_")) << interval.metric;
  shared.data->info.test += shared.data->info.validation;
  shared.data->info.validation = 0;
  event::Model all;
  ASSERT_TRUE(measure_model(*shared.data, candidate(0).recipe, yes, all));
  EXPECT_EQ(metric_of(all, "val_accuracy"), std::nullopt);
}

TEST_F(UntrainedModel, WithoutAnswersIsNotMeasured) {
  write_study({{}});
  const StudyData shared = data();
  event::Model model;
  const RangeOutputs broken = [](Range) -> Result<std::vector<float>> {
    return fail(ErrorCode::kExport, "no device");
  };
  const auto measured = measure_model(*shared.data, candidate(0).recipe, broken, model);
  ASSERT_FALSE(measured);
  EXPECT_EQ(measured.error().message, "no device");
}

TEST_F(UntrainedModel, IsKeptWithOneCheckpointInPlaceOfAnEarlierOne) {
  write_study({{}});
  const event::Model model = keep_line({.slope = 3}, ModelKind::kRetrained, kOnTraining);
  const OpenStudy study = opened("lin");
  {
    ModelRecord record = ModelRecord::open(storage(), "lin").value();
    ASSERT_TRUE(
        keep_model(study, storage(), candidate(0), weights_of({.slope = 4}), model, record));
    EXPECT_EQ(record.models().value().size(), 1u);
  }
  const auto network = network_of(study, data(), storage(), model).value();
  EXPECT_EQ(best_weights(network.checkpoint)[0].data, std::vector<float>{4});
  const std::filesystem::path files = folder() / "detol.db.d" / "lin" / model.folder;
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(files), {}), 1);
}

}  // namespace
}  // namespace detol
