#include "trainer/backends/attention.h"

namespace detol::inline trainer {

std::vector<float> rotary_table(const Attention& a) {
  std::vector<float> table;
  for (const bool is_sine : {false, true}) {
    for (std::int64_t at = 0; a.rotary && at < a.positions; ++at) {
      for (std::int64_t pair = 0; pair < a.width / 2; ++pair) {
        const double angle = rotary_angle(at, pair, a.width);
        table.push_back(static_cast<float>(is_sine ? std::sin(angle) : std::cos(angle)));
      }
    }
  }
  return table;
}

}  // namespace detol::inline trainer
