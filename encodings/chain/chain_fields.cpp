// The keys of `architecture` under `type: chain`.

#include <array>

#include "encodings/chain/chain.h"
#include "encodings/chain/sequence.h"
#include "encodings/common/stem_and_head.h"

namespace detol::inline encoding {
namespace {

using enum FieldKind;

constexpr Field kKernel{
    .key = "kernel", .kind = kInt, .may_be_domain = true, .low = 1, .high = 31, .odd = true};
constexpr Field kChannels{
    .key = "channels", .kind = kInt, .may_be_domain = true, .low = 1, .high = 16384};
constexpr Field kStride{.key = "stride", .kind = kInt, .may_be_domain = true, .low = 1, .high = 8};
constexpr Field kDropout{
    .key = "dropout", .kind = kNumber, .may_be_domain = true, .low = 0, .high = 0.95};

std::span<const Field> block_fields() {
  static const std::array kBlock = {
      Field{.key = "op",
            .kind = kWord,
            .required = true,
            .may_be_domain = true,
            .words = block_operations()},
      kKernel,
      Field{.key = "dilation", .kind = kInt, .may_be_domain = true, .low = 1, .high = 8},
      Field{.key = "norm", .kind = kWord, .may_be_domain = true, .words = block_norms()},
      Field{.key = "expansion", .kind = kInt, .may_be_domain = true, .low = 1, .high = 16},
      Field{.key = "heads", .kind = kInt, .may_be_domain = true, .low = 1, .high = 128},
      Field{.key = "key_heads", .kind = kInt, .may_be_domain = true, .low = 1, .high = 128},
      Field{.key = "causal", .kind = kBool, .may_be_domain = true},
      Field{.key = "rotary", .kind = kBool, .may_be_domain = true},
      Field{.key = "gated", .kind = kBool, .may_be_domain = true},
      Field{.key = "se", .kind = kBool, .may_be_domain = true},
      Field{.key = "activation", .kind = kWord, .may_be_domain = true, .words = activation_words()},
      kDropout};
  return kBlock;
}

std::span<const Field> stage_fields() {
  static const std::array kStage = {
      Field{.key = "repeat", .kind = kInt, .low = 1, .high = 64},
      Field{.key = "depth", .kind = kInt, .may_be_domain = true, .low = 0, .high = 64},
      Field{.key = "block", .kind = kSection, .required = true, .children = block_fields()},
      kChannels,
      kStride,
  };
  return kStage;
}

}  // namespace

std::span<const Field> chain_schema() {
  static const std::array kChain = {
      Field{.key = "stem", .kind = kSection, .children = stem_fields()},
      Field{.key = "stages", .kind = kList, .children = stage_fields()},
      Field{.key = "layers", .kind = kSection, .children = layers_fields()},
      Field{.key = "head", .kind = kSection, .children = head_fields()}};
  return kChain;
}

}  // namespace detol::inline encoding
