#include "encodings/space/value.h"

#include <fmt/format.h>

namespace detol::inline encoding {

std::string to_text(const Value& value) {
  struct {
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(std::int64_t i) const { return fmt::format("{}", i); }
    std::string operator()(double d) const { return fmt::format("{}", d); }
    std::string operator()(const std::string& s) const { return s; }
  } writer;
  return std::visit(writer, value);
}

}  // namespace detol::inline encoding
