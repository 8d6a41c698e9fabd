#include "surrogate/features.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace detol {
namespace {

// Returns a space of a log range, a categorical, and a number that is active for one category.
Space space() {
  return SpaceBuilder()
      .add_float("lr", 1e-4, 1, {.log = true})
      .add_categorical("optimizer", {"sgd", "adam"})
      .add_float("momentum", 0, 1, {.when = {"optimizer", {std::string("sgd")}}})
      .build()
      .value();
}

Genome genome(double lr, double momentum) {
  const std::vector<std::pair<std::string, Value>> choices = {
      {"lr", lr}, {"optimizer", std::string("sgd")}, {"momentum", momentum}};
  return space().genome(choices).value();
}

TEST(Features, OfALogRangeAreEvenInItsLogarithm) {
  const Features features(space());
  EXPECT_NEAR(features.of(genome(1e-4, 0.5)).numbers[0], 0, 1e-12);
  EXPECT_NEAR(features.of(genome(1e-2, 0.5)).numbers[0], 0.5, 1e-12);
  EXPECT_NEAR(features.of(genome(1, 0.5)).numbers[0], 1, 1e-12);
}

TEST(Features, OfANumberThatIsOffAreTheSameForAllGenomesAndUnlikeAnyThatIsOn) {
  const Features features(space());
  const std::vector<std::pair<std::string, Value>> choices = {{"lr", 1e-2},
                                                              {"optimizer", std::string("adam")}};
  const Point off = features.of(space().genome(choices).value());
  for (double momentum : {0.0, 0.5, 1.0}) {
    const Point on = features.of(genome(1e-2, momentum));
    double square = 0;
    for (std::size_t i = 0; i < on.numbers.size(); ++i)
      square += std::pow(on.numbers[i] - off.numbers[i], 2);
    EXPECT_NEAR(square, 2, 1e-12) << momentum;  // a unit circle, one unit above it
  }
}

TEST(Features, OfFidelitiesAreEvenInTheirLogarithmsAlsoBelowAnEpoch) {
  const Features features(space(), 9.0);
  const auto column = [&](double epochs) {
    return features.of(genome(1e-2, 0.5), epochs).numbers.back();
  };
  for (const double epochs : {1.0 / 9, 1.0 / 3, 1.0})
    EXPECT_NEAR(column(3 * epochs) - column(epochs), column(9) - column(3), 1e-12) << epochs;
  EXPECT_LT(column(3), column(9));
}

TEST(Features, OfACategoryThatIsOffAreUnlikeAllOfItsWords) {
  const Space with_decay =
      SpaceBuilder()
          .add_categorical("optimizer", {"sgd", "adam"})
          .add_categorical("decay", {"none", "coupled"}, {.when = {"optimizer", {"adam"}}})
          .build()
          .value();
  const Features features(with_decay);
  const auto decay_of = [&](double optimizer, double decay) {
    return features.of(with_decay.at(std::vector{optimizer, decay})).categories[1];
  };
  const int off = decay_of(0.2, 0.2);
  EXPECT_EQ(decay_of(0.2, 0.8), off);
  EXPECT_NE(decay_of(0.8, 0.2), off);
  EXPECT_NE(decay_of(0.8, 0.8), off);
  EXPECT_NE(decay_of(0.8, 0.2), decay_of(0.8, 0.8));
}

// What a source does not know is the same for all its points.
TEST(Features, RestrictedToSomeChoicesDoNotTellTheOthersApart) {
  const Features features(space());
  const std::vector<bool> kept = {true, true, false};
  const Point one = features.restricted(features.of(genome(1e-2, 0.2)), kept);
  const Point other = features.restricted(features.of(genome(1e-2, 0.9)), kept);
  EXPECT_EQ(one.numbers, other.numbers);
  EXPECT_EQ(one.numbers[0], features.of(genome(1e-2, 0.2)).numbers[0]);
  EXPECT_EQ(one.categories, features.of(genome(1e-2, 0.2)).categories);
  const std::vector<bool> none(3, false);
  EXPECT_EQ(features.restricted(one, none).numbers,
            features.restricted(features.of(genome(1, 0.5)), none).numbers);
  EXPECT_EQ(features.restricted(one, none).categories, std::vector<int>{-1});
}

// Differentiates the sum over the columns i of (1 + i) times the column.
TEST(Features, SlopesByPositionAreFiniteDifferences) {
  const Features features(space());
  std::vector<double> by_column;
  for (std::size_t i = 0; i < features.number_columns(); ++i)
    by_column.push_back(1 + static_cast<double>(i));
  const auto value = [&](double lr, double momentum) {
    const Point point = features.of(genome(lr, momentum));
    double sum = 0;
    for (std::size_t i = 0; i < point.numbers.size(); ++i) sum += by_column[i] * point.numbers[i];
    return sum;
  };
  const double step = 1e-6, lr = 1e-2, wider = lr * std::pow(1e4, step);
  const std::vector<double> slopes = features.by_position(genome(lr, 0.3), by_column);
  EXPECT_NEAR(slopes[0], (value(wider, 0.3) - value(lr, 0.3)) / step, 1e-4);
  EXPECT_EQ(slopes[1], 0);
  EXPECT_NEAR(slopes[2], (value(lr, 0.3 + step) - value(lr, 0.3 - step)) / (2 * step), 1e-4);
}

}  // namespace
}  // namespace detol
