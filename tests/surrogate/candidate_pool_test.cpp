#include "surrogate/candidate_pool.h"

#include <gtest/gtest.h>

#include "core/rng.h"
#include "tests/surrogate/random_matrix.h"

namespace detol {
namespace {

constexpr double kNoise = 1e-3;
constexpr std::size_t kCandidates = 37;
constexpr std::size_t kMost = 90;  // the most observations

// Observations are the points [0, kMost) of the covariance, candidates the points from kMost on.
struct Process {
  RandomCovariance covariance{kMost + kCandidates, 1};
  std::vector<double> y;
  Cholesky factor;
  CandidatePool pool{kCandidates};

  Process() {
    Rng rng(2);
    for (std::size_t i = 0; i < kMost; ++i)
      y.push_back(covariance(i, kMost) + std::sqrt(kNoise) * rng.normal());
  }

  std::vector<double> kernel(std::size_t observation) const {
    std::vector<double> row;
    for (std::size_t c = 0; c < kCandidates; ++c) row.push_back(covariance(observation, kMost + c));
    return row;
  }

  // Returns the kernels of the first n observations, row-major.
  std::vector<double> kernels(std::size_t n) const {
    std::vector<double> rows;
    for (std::size_t i = 0; i < n; ++i)
      for (const double k : kernel(i)) rows.push_back(k);
    return rows;
  }

  std::vector<double> z() const {
    const std::span<const double> told = std::span(y).first(factor.size());
    return solved({told.begin(), told.end()});
  }
  std::vector<double> o() const { return solved(std::vector<double>(factor.size(), 1.0)); }

  std::vector<double> solved(std::vector<double> b) const {
    factor.solve(b);
    return b;
  }

  void grow(std::size_t n) {
    while (factor.size() < n) {
      const std::size_t i = factor.size();
      std::vector<double> k;
      for (std::size_t j = 0; j < i; ++j) k.push_back(covariance(i, j));
      ASSERT_TRUE(factor.append(k, 1 + kNoise));
      pool.append(factor.row(i), kernel(i), z().back(), o().back());
    }
  }

  void shrink(std::size_t n) {
    factor.truncate(n);
    pool.truncate(n);
  }
};

struct Sums {
  std::vector<double> with_z, with_o, squares;
  friend bool operator==(const Sums& a, const Sums& b) = default;
};

Sums sums(const CandidatePool& pool) {
  const auto copy = [](std::span<const double> s) {
    return std::vector<double>(s.begin(), s.end());
  };
  return {copy(pool.with_z()), copy(pool.with_o()), copy(pool.squares())};
}

Sums solved_directly(const Process& process) {
  const std::size_t n = process.factor.size();
  const std::vector<double> z = process.z(), o = process.o();
  Sums result;
  for (std::size_t c = 0; c < kCandidates; ++c) {
    std::vector<double> v(n);
    for (std::size_t i = 0; i < n; ++i) v[i] = process.covariance(i, kMost + c);
    process.factor.solve(v);
    double with_z = 0, with_o = 0, squares = 0;
    for (std::size_t i = 0; i < n; ++i) {
      with_z += v[i] * z[i];
      with_o += v[i] * o[i];
      squares += v[i] * v[i];
    }
    result.with_z.push_back(with_z);
    result.with_o.push_back(with_o);
    result.squares.push_back(squares);
  }
  return result;
}

double difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

void expect_near(const Sums& a, const Sums& b, double tolerance) {
  EXPECT_LT(difference(a.with_z, b.with_z), tolerance);
  EXPECT_LT(difference(a.with_o, b.with_o), tolerance);
  EXPECT_LT(difference(a.squares, b.squares), tolerance);
}

TEST(CandidatePool, HasTheSumsOfDirectSolves) {
  Process process;
  for (const std::size_t n : {1, 8, 9, 50, 90}) {
    process.grow(n);
    EXPECT_EQ(process.pool.observations(), n);
    expect_near(sums(process.pool), solved_directly(process), 1e-5);
  }
}

TEST(CandidatePool, AssignsWhatAppendsBuild) {
  Process process;
  process.grow(90);
  CandidatePool pool(kCandidates);
  pool.assign(process.factor, process.kernels(90), process.z(), process.o());
  EXPECT_EQ(pool.observations(), 90u);
  expect_near(sums(pool), sums(process.pool), 1e-5);
}

TEST(CandidatePool, AssigningForgetsWhatWasThere) {
  Process process;
  process.grow(90);
  const std::vector<double> kernels = process.kernels(20);
  process.factor.truncate(20);
  CandidatePool fresh(kCandidates);
  for (CandidatePool* pool : {&fresh, &process.pool})
    pool->assign(process.factor, kernels, process.z(), process.o());
  EXPECT_EQ(sums(fresh), sums(process.pool));
}

TEST(CandidatePool, PopsToTheLastBit) {
  Process process;
  process.grow(45);
  const Sums before = sums(process.pool);
  process.grow(90);
  const Sums after = sums(process.pool);
  process.shrink(45);
  EXPECT_EQ(sums(process.pool), before);
  process.grow(90);
  EXPECT_EQ(sums(process.pool), after);
}

TEST(CandidatePool, PopsToTheLastBitBehindAnAssignment) {
  Process process;
  process.grow(30);
  process.pool.assign(process.factor, process.kernels(30), process.z(), process.o());
  const Sums before = sums(process.pool);
  process.grow(35);
  process.shrink(30);
  EXPECT_EQ(sums(process.pool), before);
}

TEST(CandidatePool, IsEmptyAgainWhenAllArePopped) {
  Process process;
  process.grow(10);
  process.shrink(0);
  EXPECT_EQ(sums(process.pool), sums(CandidatePool(kCandidates)));
}

TEST(CandidatePool, ReplacedOutcomesAreAsIfTheyHadAlwaysBeenThose) {
  Process process, other;
  for (double& y : other.y) y = 2 * y - 1;
  process.grow(60);
  other.grow(60);
  process.pool.replace_outcomes(other.z());
  EXPECT_EQ(sums(process.pool), sums(other.pool));
  for (auto* one : {&process, &other}) {
    one->y = other.y;
    one->shrink(50);
  }
  EXPECT_EQ(sums(process.pool), sums(other.pool));
}

TEST(CandidatePool, HoldsLittleMoreThanV) {
  Process process;
  process.grow(90);
  EXPECT_LT(static_cast<double>(process.pool.bytes()), 1.3 * 4 * 90 * kCandidates + 4096);
}

}  // namespace
}  // namespace detol
