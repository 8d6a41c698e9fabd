#pragma once

// OptionReader: reads the options of one implementation, which are words from a space file or a
// --set, as checked numbers. done() reports the first mistake, so that the calls read like a list
// of the options:
//
//   OptionReader options("evolution", settings.options);
//   const std::int64_t population = options.whole("population", 20, 2, 1'000'000);
//   DETOL_TRY(options.done());

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace detol::inline core {

class OptionReader {
 public:
  // `owner` starts every message. REQUIRES: `given` outlives the reader.
  OptionReader(std::string_view owner, const std::map<std::string, std::string>& given)
      : owner_(owner), given_(given) {}

  // Returns a whole number in [low, high]; `fallback` if it is not given or wrong.
  // REQUIRES: `name` is a literal.
  std::int64_t whole(std::string_view name, std::int64_t fallback, std::int64_t low,
                     std::int64_t high);

  // Returns a number in [low, high], such as "0.05" or "5e-2"; otherwise as whole().
  double real(std::string_view name, double fallback, double low, double high);

  // Returns the words between blanks: "evolution local".
  std::vector<std::string> words(std::string_view name, std::string_view fallback);

  // Reports mistakes; called after the last read. Errors (kInput): "asha: min_resource is '0'; it
  // must be a whole number from 1 to 1000000", or an option that was not read, with a did-you-mean.
  Result<void> done() const;

 private:
  // Returns the word given for `name`, or null, and adds `name` to the known options.
  const std::string* word_for(std::string_view name);

  // Stores "evolution: sample is '0'; it must be <accepted>" if it is the first mistake.
  void refuse(std::string_view name, std::string_view word, std::string_view accepted);

  std::string owner_;
  const std::map<std::string, std::string>& given_;
  std::vector<std::string_view> known_;
  std::string mistake_;  // the first one; empty: none
};

}  // namespace detol::inline core
