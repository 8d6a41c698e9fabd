// The keys of `architecture` under `type: chain`.

#include <array>

#include "encodings/chain/chain.h"
#include "encodings/chain/sequence.h"
#include "encodings/common/ends.h"

namespace detol {
namespace {

using Words = std::string_view;
using enum FieldKind;

constexpr Field kKernel{
    .key = "kernel", .kind = kInt, .may_be_domain = true, .low = 1, .high = 31, .odd = true};
constexpr Field kChannels{
    .key = "channels", .kind = kInt, .may_be_domain = true, .low = 1, .high = 16384};
constexpr Field kStride{.key = "stride", .kind = kInt, .may_be_domain = true, .low = 1, .high = 8};
constexpr Field kDropout{
    .key = "dropout", .kind = kNumber, .may_be_domain = true, .low = 0, .high = 0.95};

constexpr std::array<Words, 2> kActivations = {"relu", "silu"};
constexpr Field kActivation{
    .key = "activation", .kind = kWord, .may_be_domain = true, .words = kActivations};

constexpr std::array<Words, 3> kNorms = {"batch", "layer", "none"};
constexpr std::array<Words, 8> kBlockOps = {"conv",     "residual", "mbconv",   "separable_conv",
                                            "max_pool", "avg_pool", "identity", "dense"};
constexpr std::array kBlock = {
    Field{.key = "op", .kind = kWord, .required = true, .may_be_domain = true, .words = kBlockOps},
    kKernel,
    Field{.key = "dilation", .kind = kInt, .may_be_domain = true, .low = 1, .high = 8},
    Field{.key = "norm", .kind = kWord, .may_be_domain = true, .words = kNorms},
    Field{.key = "expansion", .kind = kInt, .may_be_domain = true, .low = 1, .high = 16},
    Field{.key = "se", .kind = kBool, .may_be_domain = true},
    kActivation,
    kDropout};

constexpr std::array kStage = {
    Field{.key = "repeat", .kind = kInt, .low = 1, .high = 64},
    Field{.key = "depth", .kind = kInt, .may_be_domain = true, .low = 0, .high = 64},
    Field{.key = "block", .kind = kSection, .required = true, .children = kBlock},
    kChannels,
    kStride,
};

}  // namespace

std::span<const Field> chain_schema() {
  static const std::array kChain = {
      Field{.key = "stem", .kind = kSection, .children = stem_fields()},
      Field{.key = "stages", .kind = kList, .children = kStage},
      Field{.key = "layers", .kind = kSection, .children = layers_fields()},
      Field{.key = "head", .kind = kSection, .children = head_fields()}};
  return kChain;
}

}  // namespace detol
