#pragma once

// Domain: one free choice of a study, by its path name (`lr`,
// `architecture.stages[0].block.op`), with its range and the condition under which
// it exists at all. A value type.
//
// Every value of a domain has a code, the double that genomes store:
//   float  the number itself            bool         0 or 1
//   int    the number itself            categorical  the index of the choice

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "encodings/space/value.h"

namespace detol::inline encoding {

enum class DomainKind { kFloat, kInt, kCategorical, kBool };

// When: the domain is active only where `parent` is active and has one of these values.
struct When {
  std::string parent;         // full name of another domain of the space
  std::vector<Value> values;  // at least one
};

struct Domain {
  std::string name;
  DomainKind kind = DomainKind::kFloat;
  double low = 0;   // float, int: inclusive
  double high = 0;  // float, int: inclusive
  double step = 0;  // float: grid from low, 0 = continuous; int: at least 1
  bool log = false;
  bool ordered = false;        // categorical: neighbours in the list are similar
  std::vector<Value> choices;  // categorical
  std::optional<When> when;

  bool is_numeric() const;  // float or int
  bool is_ordered() const;  // numeric or an ordered categorical: the distance of two values counts

  // Counts the values; infinity for a continuous float.
  double cardinality() const;

  // Returns the code at position u in [0, 1): equal slices of u give equal shares of the
  // values (of their logarithms where `log`).
  double code_at(double u) const;

  // Returns the inverse of code_at, the middle of the code's slice, in [0, 1].
  double position_of(double code) const;

  // True if `code` is one of this domain's values.
  bool contains(double code) const;

  Value value_of(double code) const;  // REQUIRES: contains(code)

  // Accepts 1 for 1.0, "1" never for 1, and the number 3.1 for the text 3.10, as which earlier
  // versions recorded it.
  std::optional<double> code_of(const Value& value) const;
};

// Describes the accepted values in a message: "sgd, adamw", "0.0001 to 0.1", "true or false".
std::string accepted_values(const Domain& domain);

}  // namespace detol::inline encoding
