#include "surrogate/cholesky.h"

#include <limits>

#include <gtest/gtest.h>

#include "core/rng.h"
#include "tests/surrogate/random_matrix.h"

namespace detol {
namespace {

using Dense = std::vector<std::vector<double>>;  // lower triangle, by rows

// Returns the factor by the textbook algorithm, one element after the other.
Dense textbook(const RandomCovariance& covariance, const std::vector<std::size_t>& points,
               double noise) {
  Dense l;
  for (std::size_t i = 0; i < points.size(); ++i) {
    l.emplace_back(i + 1);
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = covariance(points[i], points[j]) + (i == j ? noise : 0.0);
      for (std::size_t k = 0; k < j; ++k) sum -= l[i][k] * l[j][k];
      l[i][j] = i == j ? std::sqrt(sum) : sum / l[j][j];
    }
  }
  return l;
}

std::vector<double> normals(std::size_t n, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<double> numbers;
  for (std::size_t i = 0; i < n; ++i) numbers.push_back(rng.normal());
  return numbers;
}

// Appends the points [first, last) of the covariance.
void grow(Cholesky& factor, const RandomCovariance& covariance, std::size_t first, std::size_t last,
          double noise) {
  for (std::size_t i = first; i < last; ++i) {
    std::vector<double> k;
    for (std::size_t j = 0; j < i; ++j) k.push_back(covariance(i, j));
    ASSERT_TRUE(factor.append(k, covariance(i, i) + noise));
  }
}

Cholesky grown(const RandomCovariance& covariance, std::size_t n, double noise) {
  Cholesky factor;
  grow(factor, covariance, 0, n, noise);
  return factor;
}

void expect_equal(const Cholesky& a, const Cholesky& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_TRUE(std::ranges::equal(a.row(i), b.row(i))) << "row " << i;
}

double largest_difference(const Cholesky& factor, const Dense& reference) {
  double largest = factor.size() == reference.size() ? 0 : 1;
  for (std::size_t i = 0; i < reference.size(); ++i)
    for (std::size_t j = 0; j <= i; ++j)
      largest = std::max(largest, std::abs(factor.row(i)[j] - reference[i][j]));
  return largest;
}

// Returns the largest element of L b - x, or of L^T b - x.
double residual(const Cholesky& factor, const std::vector<double>& b, const std::vector<double>& x,
                bool transposed) {
  const std::size_t n = factor.size(), columns = b.size() / n;
  double largest = 0;
  for (std::size_t c = 0; c < columns; ++c) {
    std::vector<double> product(n);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j <= i; ++j)
        product[transposed ? j : i] += factor.row(i)[j] * b[(transposed ? i : j) * columns + c];
    for (std::size_t i = 0; i < n; ++i)
      largest = std::max(largest, std::abs(product[i] - x[i * columns + c]));
  }
  return largest;
}

constexpr double kNoise = 1e-4;

TEST(Cholesky, IsTheFactorOfWhatWasAppended) {
  const RandomCovariance covariance(67, 1);
  std::vector<std::size_t> points(67);
  for (std::size_t i = 0; i < points.size(); ++i) points[i] = i;
  EXPECT_LT(largest_difference(grown(covariance, 67, kNoise), textbook(covariance, points, kNoise)),
            1e-10);
}

// Takes 2,000 random steps (the seed is printed) and compares with the dense factor of `points`.
TEST(Cholesky, StaysTheDenseFactorThroughAppendsPopsAndFactorisations) {
  constexpr std::uint64_t kSeed = 20;
  const RandomCovariance covariance(400, kSeed);
  Rng rng(kSeed);
  Cholesky factor;
  std::vector<std::size_t> points;
  for (int step = 0; step < 2000; ++step) {
    const double draw = rng.uniform();
    if (draw < 0.75 || points.empty()) {
      const std::size_t next = rng.below(400);
      ASSERT_TRUE(factor.append(covariance.row(next, points), 1 + kNoise));
      points.push_back(next);
    } else if (draw < 0.99) {
      points.resize(points.size() - rng.below(std::min<std::size_t>(points.size(), 5) + 1));
      factor.truncate(points.size());
    } else {
      std::vector<double> matrix;
      for (const std::size_t i : points)
        for (const std::size_t j : points) matrix.push_back(covariance(i, j));
      for (std::size_t i = 0; i < points.size(); ++i) matrix[i * (points.size() + 1)] += kNoise;
      ASSERT_TRUE(factor.factorise(matrix, points.size()));
    }
    if (step % 250 == 249) {
      ASSERT_LT(largest_difference(factor, textbook(covariance, points, kNoise)), 1e-8)
          << "step " << step << ", seed " << kSeed;
    }
  }
}

TEST(Cholesky, ARowIsTheSameToTheLastBitHoweverTheRowsWereGrouped) {
  const RandomCovariance covariance(50, 3);
  const Cholesky once = grown(covariance, 50, kNoise);
  for (std::size_t cut = 0; cut < 50; ++cut) {
    Cholesky again = grown(covariance, 50, kNoise);
    again.truncate(cut);
    grow(again, covariance, cut, 50, kNoise);
    expect_equal(once, again);
  }
}

TEST(Cholesky, AnAppendedRowForgetsWhatStoodInItsPlace) {
  const RandomCovariance covariance(40, 4);
  Cholesky factor = grown(covariance, 19, kNoise);
  for (std::size_t i = 19; i < 30; ++i)
    ASSERT_TRUE(factor.append(std::vector<double>(i, 1e-3), 1 + kNoise));
  factor.truncate(19);
  grow(factor, covariance, 19, 40, kNoise);
  expect_equal(factor, grown(covariance, 40, kNoise));
}

TEST(Cholesky, FactorisesAsItAppends) {
  const RandomCovariance covariance(300, 6);
  Cholesky factor;
  ASSERT_TRUE(factor.factorise(covariance.matrix(300, kNoise), 300));
  const Cholesky appended = grown(covariance, 300, kNoise);
  for (std::size_t i = 0; i < 300; ++i)
    for (std::size_t j = 0; j <= i; ++j) ASSERT_NEAR(factor.row(i)[j], appended.row(i)[j], 1e-9);
}

TEST(Cholesky, ReadsTheLowerTriangleOnly) {
  const RandomCovariance covariance(30, 7);
  std::vector<double> matrix = covariance.matrix(30, kNoise);
  Cholesky whole, lower;
  ASSERT_TRUE(whole.factorise(matrix, 30));
  for (std::size_t i = 0; i < 30; ++i)
    for (std::size_t j = i + 1; j < 30; ++j)
      matrix[i * 30 + j] = std::numeric_limits<double>::quiet_NaN();
  ASSERT_TRUE(lower.factorise(matrix, 30));
  expect_equal(whole, lower);
}

TEST(Cholesky, SolvesAtEverySize) {
  const RandomCovariance covariance(40, 8);
  for (std::size_t n = 1; n <= 40; ++n) {
    const Cholesky factor = grown(covariance, n, kNoise);
    const std::vector<double> x = normals(n, n);
    std::vector<double> forward = x, backward = x;
    factor.solve(forward);
    factor.solve_transposed(backward);
    EXPECT_LT(residual(factor, forward, x, false), 1e-10) << n;
    EXPECT_LT(residual(factor, backward, x, true), 1e-10) << n;
  }
}

TEST(Cholesky, SolvesNoRightHandSideAtAll) {
  const Cholesky factor = grown(RandomCovariance(20, 3), 20, 0.1);
  std::vector<double> none;
  factor.solve(none, 0);
  EXPECT_TRUE(none.empty());
}

TEST(Cholesky, SolvesManyRightHandSides) {
  const RandomCovariance covariance(300, 9);
  for (const std::size_t n : {1, 7, 128, 129, 300}) {
    const Cholesky factor = grown(covariance, n, kNoise);
    for (const std::size_t columns : {1, 3, 20}) {
      const std::vector<double> x = normals(n * columns, n);
      std::vector<double> forward = x;
      factor.solve(forward, columns);
      EXPECT_LT(residual(factor, forward, x, false), 1e-9) << n << " x " << columns;
    }
  }
}

TEST(Cholesky, TakesFiftyExactCopiesWithNoiseOfTenToTheMinusTen) {
  constexpr double kLittle = 1e-10;
  const RandomCovariance covariance(30, 10);
  Cholesky factor = grown(covariance, 8, kLittle);
  std::vector<std::size_t> points = {0, 1, 2, 3, 4, 5, 6, 7};
  for (int copy = 0; copy < 50; ++copy) {
    ASSERT_TRUE(factor.append(covariance.row(3, points), 1 + kLittle));
    points.push_back(3);
  }
  std::vector<double> x(points.size(), 1.0);
  factor.solve(x);
  for (const double number : x) EXPECT_TRUE(std::isfinite(number));
  EXPECT_LT(residual(factor, x, std::vector<double>(points.size(), 1.0), false), 1e-9);
}

TEST(Cholesky, RefusesACopyWithoutNoiseAndStaysAsItWas) {
  const RandomCovariance covariance(30, 11);
  Cholesky factor = grown(covariance, 21, kNoise);
  // Its covariances equal row 4, noise included: it is linearly dependent to the last bit.
  std::vector<double> copy =
      covariance.row(4, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20});
  copy[4] += kNoise;
  EXPECT_FALSE(factor.append(copy, 1 + kNoise));
  expect_equal(factor, grown(covariance, 21, kNoise));
  grow(factor, covariance, 21, 30, kNoise);
  expect_equal(factor, grown(covariance, 30, kNoise));
}

TEST(Cholesky, RefusesWhatIsNotFiniteAndStaysAsItWas) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const RandomCovariance covariance(30, 12);
  Cholesky factor = grown(covariance, 21, kNoise);
  EXPECT_FALSE(factor.append(std::vector<double>(21, kNan), 1));
  EXPECT_FALSE(factor.append(std::vector<double>(21, 0.0), kNan));
  EXPECT_FALSE(
      factor.append(std::vector<double>(21, 0.0), std::numeric_limits<double>::infinity()));
  std::vector<double> b(21, 1.0);
  factor.solve_transposed(b);
  EXPECT_LT(residual(factor, b, std::vector<double>(21, 1.0), true), 1e-10);
  grow(factor, covariance, 21, 30, kNoise);
  expect_equal(factor, grown(covariance, 30, kNoise));
}

TEST(Cholesky, IsEmptyAfterAMatrixThatIsNotPositiveDefinite) {
  Cholesky factor = grown(RandomCovariance(5, 13), 5, kNoise);
  EXPECT_FALSE(factor.factorise(std::vector<double>{1, 1, 1, 1}, 2));
  EXPECT_EQ(factor.size(), 0u);
  EXPECT_FALSE(factor.factorise(std::vector<double>{1, 2, 2, 1}, 2));
  EXPECT_TRUE(factor.append({}, 4));
  EXPECT_EQ(factor.row(0)[0], 2);
}

// A smooth kernel with little noise: many eigenvalues are no larger than the noise.
TEST(Cholesky, ReproducesANearlySingularMatrix) {
  constexpr double kLittle = 1e-10;
  const RandomCovariance covariance(200, 14);
  const Cholesky factor = grown(covariance, 200, kLittle);
  for (std::size_t i = 0; i < 200; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k <= j; ++k) sum += factor.row(i)[k] * factor.row(j)[k];
      ASSERT_NEAR(sum, covariance(i, j) + (i == j ? kLittle : 0), 1e-13);
    }
}

TEST(Cholesky, KnowsItsDeterminant) {
  Cholesky factor;
  ASSERT_TRUE(factor.factorise(std::vector<double>{4, 0, 2, 10}, 2));
  EXPECT_NEAR(factor.log_determinant(), std::log(36.0), 1e-14);
  EXPECT_EQ(Cholesky().log_determinant(), 0);
}

TEST(Cholesky, HoldsLittleMoreThanHalfTheMatrix) {
  Cholesky factor;
  for (const std::size_t n : {100, 500, 1000}) {
    while (factor.size() < n)
      ASSERT_TRUE(factor.append(std::vector<double>(factor.size(), 0.0), 1));
    EXPECT_LE(static_cast<double>(factor.bytes()), 1.3 * 8 * static_cast<double>(n * n) / 2);
  }
  factor.truncate(0);
  EXPECT_LT(factor.bytes(), 10000u);
}

TEST(Cholesky, GrowingMovesNoRow) {
  Cholesky factor = grown(RandomCovariance(20, 15), 20, kNoise);
  const double* const row = factor.row(10).data();
  for (std::size_t i = 20; i < 200; ++i) ASSERT_TRUE(factor.append(std::vector<double>(i, 0.0), 1));
  EXPECT_EQ(factor.row(10).data(), row);
}

TEST(Cholesky, TheLastEntryAloneIsThatOfTheWholeSolve) {
  const RandomCovariance covariance(40, 5);
  for (std::size_t n = 1; n <= 40; ++n) {
    const Cholesky factor = grown(covariance, n, 1e-3);
    const std::vector<double> b = normals(n, n);
    std::vector<double> solved = b;
    factor.solve(solved);
    EXPECT_EQ(factor.solve_last(std::span(solved).first(n - 1), b.back()), solved.back());
  }
}

}  // namespace
}  // namespace detol
