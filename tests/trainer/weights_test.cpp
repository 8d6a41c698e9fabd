#include "trainer/backends/weights.h"

#include <cmath>

#include <gtest/gtest.h>

#include "bench/networks.h"
#include "tests/trainer/samples.h"
#include "trainer/backends/dropout.h"

namespace detol {
namespace {

TEST(InitialWeights, DependOnTheSeedAlone) {
  const Network network = make_resnet({});
  const Weights one = initial_weights(network, 1), again = initial_weights(network, 1);
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_EQ(one[i].data, again[i].data);
  EXPECT_NE(one[0].data, initial_weights(network, 2)[0].data);
}

TEST(InitialWeights, AreHeNormalByFanIn) {
  for (const Tensor& tensor : initial_weights(make_resnet({}), 3)) {
    if (!tensor.name.ends_with(".weight") || tensor.data.size() < 4000) continue;
    double square = 0;
    for (float value : tensor.data) square += double{value} * double{value};
    const double fan_in =
        static_cast<double>(tensor.data.size()) / static_cast<double>(tensor.shape.front());
    EXPECT_NEAR(square / static_cast<double>(tensor.data.size()), 2 / fan_in, 0.2 / fan_in);
  }
}

TEST(InitialWeights, StartBatchNormAtTheIdentity) {
  for (const Tensor& tensor : initial_weights(composite(4), 3)) {
    const bool is_one = tensor.name.ends_with(".gamma") || tensor.name.ends_with(".running_var");
    if (tensor.name.ends_with(".weight")) continue;
    EXPECT_EQ(tensor.data, std::vector<float>(tensor.data.size(), is_one ? 1.0f : 0.0f));
  }
}

TEST(ZerosLike, HoldsTheTrainableTensorsAlone) {
  const Network network = composite(4);
  std::size_t next = 0;
  const Weights zeros = zeros_like(network);
  for (const NetworkParameter& parameter : network.parameters()) {
    if (!parameter.spec.trainable) continue;
    EXPECT_EQ(zeros[next].name, parameter.name);
    EXPECT_EQ(zeros[next++].shape, parameter.spec.shape);
  }
  EXPECT_EQ(next, zeros.size());
}

TEST(DropoutMask, DropsAboutItsRateAndKeepsTheMean) {
  std::vector<float> mask(11 * 9091);
  draw_dropout_mask({1, 2, 3}, 0.25, {11, 1, 9091}, mask);
  const auto dropped = std::count(mask.begin(), mask.end(), 0.0f);
  EXPECT_NEAR(static_cast<double>(dropped) / 100001, 0.25, 0.01);
  EXPECT_FLOAT_EQ(*std::max_element(mask.begin(), mask.end()), 1 / 0.75f);
}

TEST(DropoutMask, DiffersByStepAndNode) {
  std::vector<float> mask(64), other(64);
  draw_dropout_mask({1, 2, 3}, 0.5, {16, 2, 2}, mask);
  draw_dropout_mask({1, 3, 3}, 0.5, {16, 2, 2}, other);
  EXPECT_NE(mask, other);
  draw_dropout_mask({1, 2, 4}, 0.5, {16, 2, 2}, other);
  EXPECT_NE(mask, other);
}

}  // namespace
}  // namespace detol
