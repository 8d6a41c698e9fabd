#include "search/hill_valley.h"

#include <cmath>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "search/basins.h"
#include "search/gp_refit.h"

namespace detol {
namespace {

Space two_squares() {
  return SpaceBuilder()
      .add_categorical("kind", {"a", "b"})
      .add_float("x", 0, 1)
      .add_float("y", 0, 1)
      .build()
      .value();
}

Genome point(double x, double y, double kind = 0) {
  return two_squares().at(std::vector{(kind + 0.5) / 2, x, y});
}

// A model of sixty values of a function of x and y.
class HillValley : public testing::Test {
 protected:
  void learn(const std::function<double(double x, double y)>& f) {
    GpRefits refits("gp", options_, Rng(1));
    Rng rng(2);
    for (int i = 0; i < 60; ++i) {
      const Genome genome = space_.sample(rng);
      model_.append(features_->of(genome), std::vector{f(genome.number("x"), genome.number("y"))});
      refits.advance(model_);
    }
    model_.fantasize({});
  }

  bool are_one_basin(const Genome& a, const Genome& b) const {
    return is_one_basin(space_, *features_, model_, a, b);
  }

 private:
  const Space space_ = two_squares();
  const GpOptions options_ = gp_options({}).value();
  const std::shared_ptr<const Features> features_ = std::make_shared<const Features>(space_);
  GpModel model_{features_, 1, 1, features_->empty_points()};
};

TEST_F(HillValley, AValleyAlongAChoiceOfNoInfluenceIsOneBasin) {
  learn([](double x, double) { return std::pow(x - 0.4, 2); });
  EXPECT_TRUE(are_one_basin(point(0.5, 0.05), point(0.4, 0.95)));
  EXPECT_TRUE(are_one_basin(point(0.4, 0.95), point(0.5, 0.05)));
}

TEST_F(HillValley, ARidgeParts) {
  learn([](double x, double) { return std::cos(4 * M_PI * x); });  // lowest at 1/4 and 3/4
  EXPECT_FALSE(are_one_basin(point(0.25, 0.5), point(0.75, 0.5)));
  EXPECT_TRUE(are_one_basin(point(0.15, 0.5), point(0.35, 0.5)));
}

TEST_F(HillValley, CategoriesPart) {
  learn([](double x, double) { return std::pow(x - 0.4, 2); });
  EXPECT_FALSE(are_one_basin(point(0.4, 0.5, 0), point(0.4, 0.5, 1)));
}

// Of eight numbers that differ by 0.1 each the distance is 0.1, as of one.
TEST(Basins, TheDistanceDoesNotGrowWithTheNumberOfChoices) {
  for (const int count : {1, 8}) {
    SpaceBuilder builder;
    for (int i = 0; i < count; ++i) builder.add_float("x" + std::to_string(i), 0, 1);
    const Space space = builder.build().value();
    const auto all = [&](double x) {
      return space.at(std::vector<double>(static_cast<std::size_t>(count), x));
    };
    EXPECT_TRUE(is_within(0.11, space, all(0.4), all(0.5))) << count;
    EXPECT_FALSE(is_within(0.09, space, all(0.4), all(0.5))) << count;
  }
}

// 1/4 for the word and 1 for the number, of two choices: sqrt(0.625) = 0.79.
TEST(Basins, AChoiceThatOnlyOneHasIsAsFarAsARangeIsWide) {
  const Space space = SpaceBuilder()
                          .add_categorical("opt", {"sgd", "adamw"})
                          .add_float("momentum", 0, 1, {.when = {"opt", {"sgd"}}})
                          .build()
                          .value();
  const Genome sgd = space.at(std::vector{0.2, 0.5}), adamw = space.at(std::vector{0.8, 0.5});
  EXPECT_TRUE(is_within(0.8, space, sgd, adamw));
  EXPECT_FALSE(is_within(0.78, space, sgd, adamw));
  EXPECT_FALSE(is_within(0.78, space, adamw, sgd));
}

}  // namespace
}  // namespace detol
