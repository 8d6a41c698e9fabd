// Which channels of a model go, and what is left.

#include "models/pruning.h"

#include "encodings/network/canonical.h"
#include "export/architecture_text.h"
#include "tests/models/tiny_trial.h"
#include "tests/support/in_child.h"

namespace detol {
namespace {

TEST(PruningText, IsAQuantityAndAFraction) {
  EXPECT_EQ(pruning_terms_from("flops=0.5")->quantity, PrunedQuantity::kFlops);
  EXPECT_EQ(pruning_terms_from("params=0.25")->fraction, 0.25);
  EXPECT_EQ(pruning_terms_from("latency=0.75")->quantity, PrunedQuantity::kLatency);
  for (const char* text : {"", "flops", "flops=", "flops=0", "flops=1", "flops=1.5", "flops=0.5x",
                           "=0.5", "layers=0.5", "flops=-0.5"})
    EXPECT_EQ(pruning_terms_from(text).error().code, ErrorCode::kUsage) << text;
}

TEST(PruningText, IsKeptAsTheSettingsOfTheModel) {
  PruningTerms terms{.importance = &importances().front()};
  const std::string name(importances().front().name);
  EXPECT_EQ(settings_of(terms), R"({"to":"flops","fraction":0.5,"importance":")" + name + R"("})");
  terms.quantity = PrunedQuantity::kLatency;
  terms.latency_batch = 8;
  EXPECT_EQ(settings_of(terms),
            R"({"to":"latency","fraction":0.5,"importance":")" + name + R"(","batch":8})");
}

class PrunedTrial : public testing_support::TinyTrial {
 protected:
  void SetUp() override {
    TinyTrial::SetUp();
    save(checkpoint_of(1));
  }

  // Prunes the trial for model 1, and returns it; it and the work's network are equal.
  Result<event::Model> prune(const std::string& text, event::Model model) const {
    const OpenStudy study = opened("tiny");
    Retraining work{.study = study,
                    .shared = load_study_data(study).value(),
                    .candidate = candidate_,
                    .from = {},
                    .run = {},
                    .kind = ModelKind::kPruned};
    work.run.storage = storage();
    const TrainedNetwork parent =
        trained_network(study, work.shared, storage(), trial_numbered(study, 0).value()).value();
    PruningTerms terms = pruning_terms_from(text).value();
    terms.importance = &importances().front();
    const auto done = prune_for(parent, terms, work, model);
    if (!done) return tl::unexpected(done.error());
    EXPECT_TRUE(*done);
    EXPECT_EQ(model.flops, work.candidate.cost.flops);
    EXPECT_EQ(model.network_params, work.candidate.cost.params);
    EXPECT_EQ(canonical_hash(network_from_text(model.architecture).value()),
              work.candidate.arch_hash);
    return model;
  }

  const event::Model new_model_ = {.model = 1, .folder = "models/1"};
};

TEST_F(PrunedTrial, HasAsMuchLeftAsWasAskedFor) {
  testing_support::in_child([&] {
    const event::Model flops = prune("flops=0.5", new_model_).value();
    EXPECT_LE(*flops.flops, candidate_.cost.flops / 2);
    EXPECT_GT(*flops.flops, candidate_.cost.flops / 8);
    event::Model other = new_model_;
    other.folder = "models/2";
    const event::Model params = prune("params=0.8", other).value();
    EXPECT_LE(static_cast<double>(*params.network_params),
              0.8 * static_cast<double>(candidate_.cost.params));
  });
}

TEST_F(PrunedTrial, GoesOnWithTheNetworkOfAnEarlierCommand) {
  testing_support::in_child([&] {
    const event::Model first = prune("flops=0.5", new_model_).value();
    const event::Model again = prune("flops=0.9", first).value();
    EXPECT_EQ(again.flops, first.flops);
    EXPECT_EQ(again.architecture, first.architecture);
  });
}

TEST_F(PrunedTrial, IsRefusedIfSoLittleCannotBeLeft) {
  testing_support::in_child([&] {
    const auto refused = prune("flops=0.000001", new_model_);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kEmpty) << refused.error().message;
  });
}

}  // namespace
}  // namespace detol
