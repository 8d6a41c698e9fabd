// What a study's networks become: files for other tools, answers over HTTP, parents of models.

#include <algorithm>

#include "models/model_files.h"
#include "models/parent_model.h"
#include "models/prediction_server.h"
#include "studies/best_trial.h"
#include "tests/models/linear_study.h"

namespace detol {
namespace {

using Words = std::vector<std::string>;

class WrittenNetwork : public testing_support::LinearStudy {
 protected:
  Result<std::vector<WrittenFile>> write(const FileRequest& request) const {
    const OpenStudy study = open_study(storage(), "lin").value();
    return write_trials(study, storage(), trials_called(study, "best").value(), request);
  }
  Result<Words> labels_of(const std::string& body) const {
    DETOL_ASSIGN(const Predictor predictor, open_predictor({.model = "lin", .storage = storage()}));
    DETOL_ASSIGN(const Rows rows, answer_body(predictor, body));
    Words labels;
    for (std::size_t i = 0; i < rows.rows.size(); ++i)
      labels.push_back(std::get<std::string>(cell(rows, i, "label")));
    return labels;
  }
  std::string refusal_of(const std::string& body) const {
    const auto labels = labels_of(body);
    return labels ? "" : labels.error().message;
  }
};

TEST_F(WrittenNetwork, IsInEveryFormatOfThisMachineWithACard) {
  write_study({{}});
  const auto files = write({.to = "all", .folder = path("out"), .verifies = true});
  ASSERT_TRUE(files) << files.error().message;
  Words names;
  for (const WrittenFile& file : *files) {
    names.push_back(file.format);
    EXPECT_EQ(std::filesystem::file_size(file.path), file.bytes) << file.path;
    EXPECT_TRUE(file.path.filename().string().starts_with("lin-trial0.")) << file.path;
  }
  for (const char* format : {"onnx", "safetensors", "json", "pytorch", "card"})
    EXPECT_NE(std::ranges::find(names, format), names.end()) << format;
}

TEST_F(WrittenNetwork, IsNotWrittenWhereItsFolderCannotBe) {
  write_study({{}});
  testing_support::write_bytes(path("file"), "");
  const auto files = write({.to = "json", .folder = path("file") + "/out"});
  ASSERT_FALSE(files);
  EXPECT_EQ(files.error().code, ErrorCode::kExport);
}

TEST_F(WrittenNetwork, IsRoundedToEightBitsOnce) {
  write_study({{.slope = 2}});
  const OpenStudy study = open_study(storage(), "lin").value();
  StudyData shared = load_study_data(study).value();
  const ParentModel parent = parent_of(study, storage(), {}, shared).value();
  EXPECT_EQ(parent.network.trial, 0u);
  EXPECT_EQ(parent.model, 0);
  EXPECT_EQ(parent.trained_on, kOnTraining);
  ModelRecord record = ModelRecord::open(storage(), "lin").value();
  const auto model = quantize(study, storage(), shared, parent, 5, record);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->kind, ModelKind::kQuantized);
  EXPECT_TRUE(metric_of(*model, "test_accuracy"));
  const auto again = parent_of(study, storage(), {.model = "1"}, shared);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().message, "model 1 is in eight bits; take what it was made of");
}

// Of the test part, all with x from 0.5 on are "yes", and 0.61 is the probability of x = 0.45.
TEST_F(WrittenNetwork, IsTestedByTheThresholdThatIsAskedFor) {
  write_study({{}});
  const OpenStudy study = open_study(storage(), "lin").value();
  const StudyData shared = load_study_data(study).value();
  const TrainedNetwork network =
      trained_network(study, shared, storage(), trial_numbered(study, 0).value()).value();
  const auto accuracy = [&](const ThresholdRequest& request) {
    const auto score = score_at(request, network, shared, kOnTraining, "cpu");
    EXPECT_TRUE(score) << score.error().message;
    return score ? metric_of(score->measured, "test_accuracy") : std::nullopt;
  };
  EXPECT_EQ(accuracy({}), 3.0 / 5);
  EXPECT_EQ(accuracy({.value = 0.61}), 1.0);
  EXPECT_FALSE(score_at({.metric = "f1"}, network, shared, kOnValidationToo, "cpu"));
}

TEST_F(WrittenNetwork, AnswersACsvFileAndRowsOfJsonAlike) {
  write_study({{}});
  EXPECT_EQ(labels_of("x\n-1\n1\n"), (Words{"no", "yes"}));
  EXPECT_EQ(labels_of(R"([{"x": -1}, {"x": 1, "more": "is ignored"}])"), (Words{"no", "yes"}));
  EXPECT_EQ(labels_of("  {\"x\": 1}"), Words{"yes"});
}

TEST_F(WrittenNetwork, SaysWhatIsWrongWithABody) {
  write_study({{}});
  EXPECT_EQ(refusal_of(R"({"y": 1})"), R"(a row has no "x")");
  EXPECT_EQ(refusal_of("[1]"), "a row must be a JSON object");
  EXPECT_EQ(refusal_of(R"({"x": [1]})"), "a row's values must be numbers, texts or null");
  EXPECT_TRUE(refusal_of("{\"x\": ").starts_with("the body")) << refusal_of("{\"x\": ");
  EXPECT_TRUE(refusal_of("y\n1\n").starts_with("the body")) << refusal_of("y\n1\n");
}

}  // namespace
}  // namespace detol
