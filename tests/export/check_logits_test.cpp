#include <gtest/gtest.h>

#include "tests/export/sample_models.h"

namespace detol {
namespace {

// Five images of 1 x 2 x 2: two to train, one to validate, two to test.
Dataset five_images() {
  Dataset data;
  data.info = {.task = {{1, 2, 2}, 2}, .training = 2, .validation = 1, .test = 2, .fingerprint = 0};
  for (int i = 0; i < 20; ++i) data.images.push_back(static_cast<std::uint8_t>(i));
  data.labels = {0, 1, 0, 1, 0};
  data.mean = {0.5f};
  data.deviation = {0.25f};
  return data;
}

// Its logits are the sum of the normalised pixels, and that times ten.
Model summing_model() {
  NetworkBuilder b({1, 2, 2});
  const NodeId sum = b.add({.kind = LayerKind::kDense, .channels = 2}, {b.input()});
  Model model = testing::model_of(b.build(sum).value());
  model.weights[0].data = {1, 1, 1, 1, 10, 10, 10, 10};
  return model;
}

float expected(float sum_of_bytes) {
  return (sum_of_bytes / 255 - 4 * 0.5f) / 0.25f;
}

TEST(CheckLogits, AreThoseOfTheTestImages) {
  const CheckLogits check = check_logits(summing_model(), five_images()).value();
  EXPECT_EQ(check.count, 2);
  ASSERT_EQ(check.logits.size(), 4u);
  EXPECT_NEAR(check.logits[0], expected(12 + 13 + 14 + 15), 1e-5);
  EXPECT_NEAR(check.logits[3], 10 * expected(16 + 17 + 18 + 19), 1e-4);
}

TEST(CheckLogits, AreOfAtMostAsManyImagesAsAsked) {
  EXPECT_EQ(check_logits(summing_model(), five_images(), 1).value().count, 1);
}

TEST(CheckLogits, NeedTestImages) {
  Dataset data = five_images();
  data.info.test = 0;
  const auto check = check_logits(summing_model(), data);
  ASSERT_FALSE(check);
  EXPECT_EQ(check.error().code, ErrorCode::kExport);
}

TEST(CheckLogits, NeedImagesOfTheNetworksShape) {
  const auto check =
      check_logits(testing::model_of(testing::network_of_everything()), five_images());
  ASSERT_FALSE(check);
  EXPECT_EQ(check.error().message, "the data's images are 1x2x2, the network's 3x9x9");
}

}  // namespace
}  // namespace detol
