#include "encodings/encoding.h"

#include <array>

#include "encodings/chain.h"

namespace detol {

std::span<const EncodingRow> encodings() {
  static const std::array kEncodings = {
      EncodingRow{"chain", "a stem, stages of equal blocks and a head, one after another",
                  chain_schema(), nullptr, decode_chain},
  };
  return kEncodings;
}

}  // namespace detol
