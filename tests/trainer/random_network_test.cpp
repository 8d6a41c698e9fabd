// Fast backends against the reference in double on random graphs: shortcuts from anywhere to
// anywhere, values with many readers, layers in orders that no encoding would choose.

#include "tests/trainer/random_network.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/trainer/samples.h"
#include "tests/trainer/tested_backends.h"
#include "trainer/backends/reference/reference.h"

namespace detol {
namespace {

double largest(std::span<const float> values) {
  double most = 0;
  for (float value : values) most = std::max(most, std::abs(double{value}));
  return most;
}

TEST(FastBackends, AgreeOnRandomNetworks) {
  Recipe recipe;
  recipe.batch_size = 3;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    const Network network = RandomNetwork(seed).build();
    const auto reference = make_reference<double>(network, recipe);
    const auto compiled = fastest_tested().compile(network, recipe, {});
    ASSERT_TRUE(compiled.has_value()) << compiled.error().message;
    const auto& tested = *compiled;
    const Weights start = lived_in_weights(network, seed);
    for (Executable* executable : {static_cast<Executable*>(reference.get()), tested.get()}) {
      executable->set_state({start, {}});
      fill_batch(*executable, 3, seed);
      executable->train_step({.lr = 0.001, .step = 1, .seed = seed});
    }
    // The tolerance is wide, for an input of ReLU may fall on the other side of zero; a wrong
    // gradient differs by far more.
    EXPECT_LE(apart(tested->state().weights, reference->state().weights, start), 1e-2);
    tested->evaluate(3);
    reference->evaluate(3);
    const double scale = 1 + largest(reference->logits());
    for (std::size_t i = 0; i < reference->logits().size(); ++i) {
      ASSERT_NEAR(tested->logits()[i], reference->logits()[i], 1e-4 * scale);
    }
  }
}

}  // namespace
}  // namespace detol
