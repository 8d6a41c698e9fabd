#pragma once

// Domains of every kind, for the contracts that each of them keeps.

#include <limits>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "encodings/space/space.h"

namespace detol {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

inline Domain domain_of(DomainKind kind, double low, double high, double step = 0,
                        bool log = false) {
  Domain domain;
  domain.name = "x";
  domain.kind = kind;
  domain.low = low;
  domain.high = high;
  domain.step = step;
  domain.log = log;
  return domain;
}

inline Domain words(std::vector<Value> choices) {
  Domain domain;
  domain.name = "w";
  domain.kind = DomainKind::kCategorical;
  domain.choices = std::move(choices);
  return domain;
}

inline void PrintTo(const Domain& domain, std::ostream* out) {
  *out << domain.name << " " << accepted_values(domain);
}

// Every kind of domain; the contract tests below hold for each.
inline const std::vector<Domain> kDomains = {
    domain_of(DomainKind::kFloat, -2, 5),
    domain_of(DomainKind::kFloat, 1e-5, 1e-1, 0, true),
    domain_of(DomainKind::kFloat, 0, 1, 0.1),
    domain_of(DomainKind::kFloat, 0.3, 0.35, 0.1),
    domain_of(DomainKind::kFloat, 0, 0.3, 0.05),
    domain_of(DomainKind::kFloat, 0.1, 0.8, 0.7, true),
    domain_of(DomainKind::kFloat, 3, 3),
    domain_of(DomainKind::kInt, -3, 4, 1),
    domain_of(DomainKind::kInt, 1, 64, 1, true),
    domain_of(DomainKind::kInt, 8, 30, 8),
    domain_of(DomainKind::kInt, 7, 7, 1),
    domain_of(DomainKind::kBool, 0, 0),
    words({std::string("sgd"), std::string("adamw"), std::string("lion")}),
    words({std::int64_t{16}, std::int64_t{32}}),
};

}  // namespace detol
