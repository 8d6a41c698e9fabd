#pragma once

// The promise of every reader of untrusted bytes: they are read, or refused in one line.

#include <stdexcept>
#include <string>
#include <string_view>

#include "core/result.h"

namespace detol::fuzz {

struct BrokenPromise : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws BrokenPromise unless `is_kept`.
void promise(bool is_kept, const std::string& what);

// Throws BrokenPromise unless the error has this code and is one short line of printable UTF-8.
void promise_one_line(const Error& error, ErrorCode code);

}  // namespace detol::fuzz
