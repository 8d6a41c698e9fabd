#include "encodings/common/ends.h"

#include <array>
#include <nlohmann/json.hpp>

namespace detol {
namespace {

using nlohmann::json;
using Words = std::string_view;
using enum FieldKind;

constexpr std::array<Words, 3> kStemOps = {"conv_bn_relu", "conv_bn_silu", "none"};
constexpr std::array kStem = {
    Field{.key = "op", .kind = kWord, .may_be_domain = true, .words = kStemOps},
    Field{.key = "kernel", .kind = kInt, .may_be_domain = true, .low = 1, .high = 31, .odd = true},
    Field{.key = "channels", .kind = kInt, .may_be_domain = true, .low = 1, .high = 16384},
    Field{.key = "stride", .kind = kInt, .may_be_domain = true, .low = 1, .high = 8}};

constexpr std::array<Words, 2> kHeadOps = {"global_avg_pool_linear", "flatten_linear"};
constexpr std::array<Words, 2> kActivations = {"relu", "silu"};
constexpr std::array kHead = {
    Field{.key = "op", .kind = kWord, .may_be_domain = true, .words = kHeadOps},
    Field{.key = "hidden", .kind = kInt, .may_be_domain = true, .low = 0, .high = 16384},
    Field{.key = "activation", .kind = kWord, .may_be_domain = true, .words = kActivations},
    Field{.key = "dropout", .kind = kNumber, .may_be_domain = true, .low = 0, .high = 0.95}};

}  // namespace

std::span<const Field> stem_fields() {
  return kStem;
}

std::span<const Field> head_fields() {
  return kHead;
}

Activation activation_of(const json& section) {
  return section.value("activation", "relu") == "silu" ? Activation::kSilu : Activation::kRelu;
}

void add_stem(Path& path, const json& stem) {
  const std::string op = stem.value("op", "conv_bn_relu");
  if (op == "none") return;
  path.enter("stem");
  path.conv({.channels = stem.value("channels", std::int64_t{16}),
             .kernel = stem.value("kernel", std::int64_t{3}),
             .stride = stem.value("stride", std::int64_t{1})},
            "conv");
  path.batch_norm("bn");
  path.activate(op == "conv_bn_silu" ? Activation::kSilu : Activation::kRelu, "act");
}

void add_head(Path& path, const json& head, int classes) {
  path.enter("head");
  const bool pools = head.value("op", "global_avg_pool_linear") == "global_avg_pool_linear";
  path.add({.kind = pools ? LayerKind::kGlobalAvgPool : LayerKind::kFlatten},
           pools ? "pool" : "flatten");
  if (const auto hidden = head.value("hidden", std::int64_t{0}); hidden > 0) {
    path.dense(hidden, true, "hidden");
    path.activate(activation_of(head), "act");
  }
  path.dropout(head.value("dropout", 0.0));
  path.dense(classes, true, "linear");
}

}  // namespace detol
