#pragma once

// Genome: an assignment of the active choices of a space: what a searcher proposes,
// what the ledger stores, what an encoding decodes. A value type; cheap to copy.

#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "encodings/space/domain.h"

namespace detol::inline encoding {

class Genome {
 public:
  Genome() = default;

  // `codes` has one entry per domain, NaN where the domain is inactive.
  // REQUIRES: as many codes as domains. Space::genome() checks them.
  Genome(std::shared_ptr<const std::vector<Domain>> domains, std::vector<double> codes)
      : domains_(std::move(domains)), codes_(std::move(codes)) {}

  // These find a value by its name. A name that the space lacks, or a domain that has another type
  // or is not active, throws std::invalid_argument with a sentence, in every build: a typo must not
  // read as a value. number() of a domain that is not active is NaN.
  double number(std::string_view name) const;     // float, int, or a categorical of numbers
  std::string text(std::string_view name) const;  // a categorical of strings
  bool flag(std::string_view name) const;         // bool
  Value value(std::string_view name) const;

  bool is_active(std::string_view name) const;  // false for an unknown name too

  // These find a value by its position in Space::domains().
  std::span<const double> codes() const { return codes_; }
  bool is_active(std::size_t index) const { return codes_[index] == codes_[index]; }
  Value value(std::size_t index) const { return (*domains_)[index].value_of(codes_[index]); }

  // Returns the active choices, in the space's order.
  std::vector<std::pair<std::string, Value>> assignments() const;

  friend bool operator==(const Genome& a, const Genome& b);

 private:
  std::size_t index_of(std::string_view name) const;

  std::shared_ptr<const std::vector<Domain>> domains_;
  std::vector<double> codes_;
};

}  // namespace detol::inline encoding
