// Domain: the values of one choice, and their codes.

#include <cmath>
#include <numbers>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "tests/encodings/domains.h"

namespace detol {
namespace {

class EveryDomain : public testing::TestWithParam<Domain> {};

TEST_P(EveryDomain, CodesOfTheUnitIntervalAreItsValues) {
  const Domain& domain = GetParam();
  for (int i = 0; i < 1000; ++i) {
    const double code = domain.code_at(i / 1000.0);
    ASSERT_TRUE(domain.contains(code)) << code;
    const auto again = domain.code_of(domain.value_of(code));
    ASSERT_TRUE(again);
    EXPECT_NEAR(*again, code, 1e-9);
  }
}

TEST_P(EveryDomain, PositionInvertsCode) {
  const Domain& domain = GetParam();
  for (int i = 0; i < 1000; ++i) {
    const double code = domain.code_at(i / 1000.0);
    const double position = domain.position_of(code);
    ASSERT_GE(position, 0);
    ASSERT_LE(position, 1);
    EXPECT_NEAR(domain.code_at(std::min(position, std::nextafter(1.0, 0.0))), code,
                1e-9 * (1 + std::abs(code)));
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryDomain, testing::ValuesIn(kDomains));

TEST(Domain, FiniteOnesGiveEachValueItsTurn) {
  for (const Domain& domain : kDomains) {
    if (std::isinf(domain.cardinality())) continue;
    std::set<double> codes;
    for (int i = 0; i < 10000; ++i) codes.insert(domain.code_at(i / 10000.0));
    EXPECT_EQ(static_cast<double>(codes.size()), domain.cardinality()) << accepted_values(domain);
  }
}

TEST(Domain, OfALogarithmGivesItsEndsTheirFullShare) {
  const Domain domain = domain_of(DomainKind::kInt, 1, 4, 1, true);
  std::map<double, int> counts;
  for (int i = 0; i < 10000; ++i) ++counts[domain.code_at(i / 10000.0)];
  const double all = std::log(4.5 / 0.5);
  for (int x = 1; x <= 4; ++x)
    EXPECT_NEAR(counts[x] / 10000.0, std::log((x + 0.5) / (x - 0.5)) / all, 1e-3) << x;
}

TEST(Domain, CountsItsValues) {
  EXPECT_EQ(kDomains[0].cardinality(), kInfinity);
  EXPECT_EQ(kDomains[2].cardinality(), 11);
  EXPECT_EQ(kDomains[3].cardinality(), 1);
  EXPECT_EQ(kDomains[7].cardinality(), 8);
  EXPECT_EQ(kDomains[9].cardinality(), 3);  // 8, 16, 24
  EXPECT_EQ(kDomains[11].cardinality(), 2);
}

// A near value is drawn; where 16 draws give none, one step up or down, alike.
TEST(Domain, HasAnOrderIfItIsNumericOrSaysSo) {
  for (const Domain& domain : kDomains) {
    const bool is_number = domain.kind == DomainKind::kFloat || domain.kind == DomainKind::kInt;
    EXPECT_EQ(domain.is_numeric(), is_number) << accepted_values(domain);
    EXPECT_EQ(domain.is_ordered(), is_number) << accepted_values(domain);
  }
  Domain sizes = words({std::string("small"), std::string("large")});
  sizes.ordered = true;
  EXPECT_FALSE(sizes.is_numeric());
  EXPECT_TRUE(sizes.is_ordered());
}

TEST(Domain, LogRangesSpreadTheirLogarithms) {
  EXPECT_NEAR(kDomains[1].code_at(0.5), 1e-3, 1e-15);
  EXPECT_NEAR(kDomains[1].code_at(0.25), 1e-4, 1e-16);
}

TEST(Domain, AcceptsValuesOfItsOwnTypeOnly) {
  EXPECT_EQ(kDomains[0].code_of(std::int64_t{1}), 1.0);
  EXPECT_EQ(kDomains[7].code_of(1.0), 1.0);
  EXPECT_FALSE(kDomains[7].code_of(1.5));
  EXPECT_FALSE(kDomains[7].code_of(std::string("1")));
  EXPECT_FALSE(kDomains[7].code_of(true));
  EXPECT_FALSE(kDomains[0].code_of(std::nan("")));
  EXPECT_FALSE(kDomains[11].code_of(std::int64_t{1}));
  EXPECT_EQ(kDomains[13].code_of(32.0), 1.0);
  EXPECT_FALSE(kDomains[13].code_of(std::string("32")));
}

}  // namespace
}  // namespace detol
