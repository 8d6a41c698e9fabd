#include "encodings/common/stem_and_head.h"

#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/table.h"

namespace detol::inline encoding {
namespace {

using nlohmann::json;
using Words = std::string_view;
using enum FieldKind;

struct StemRow {
  Words name;
  std::optional<Activation> activation;  // nullopt: there is no stem
};
constexpr std::array kStems = {StemRow{"conv_bn_relu", Activation::kRelu},
                               StemRow{"conv_bn_silu", Activation::kSilu},
                               StemRow{"none", std::nullopt}};

struct HeadRow {
  Words name;
  LayerKind kind;
  Words layer;
};
constexpr std::array kHeads = {HeadRow{"global_avg_pool_linear", LayerKind::kGlobalAvgPool, "pool"},
                               HeadRow{"flatten_linear", LayerKind::kFlatten, "flatten"}};

template <typename Table>
constexpr auto words_of(const Table& table) {
  std::array<Words, std::size(Table{})> words;
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = table[i].name;
  return words;
}

constexpr auto kStemOps = words_of(kStems);
constexpr std::array kStem = {
    Field{.key = "op", .kind = kWord, .may_be_domain = true, .words = kStemOps},
    Field{.key = "kernel", .kind = kInt, .may_be_domain = true, .low = 1, .high = 31, .odd = true},
    Field{.key = "channels", .kind = kInt, .may_be_domain = true, .low = 1, .high = 16384},
    Field{.key = "stride", .kind = kInt, .may_be_domain = true, .low = 1, .high = 8}};

constexpr auto kHeadOps = words_of(kHeads);
constexpr auto kActivationWords = words_of(kActivations);
constexpr std::array kHead = {
    Field{.key = "op", .kind = kWord, .may_be_domain = true, .words = kHeadOps},
    Field{.key = "hidden", .kind = kInt, .may_be_domain = true, .low = 0, .high = 16384},
    Field{.key = "activation", .kind = kWord, .may_be_domain = true, .words = kActivationWords},
    Field{.key = "dropout", .kind = kNumber, .may_be_domain = true, .low = 0, .high = 0.95}};

}  // namespace

std::span<const std::string_view> activation_words() {
  return kActivationWords;
}

std::span<const Field> stem_fields() {
  return kStem;
}

std::span<const Field> head_fields() {
  return kHead;
}

Activation activation_of(const json& section) {
  return known_row<ActivationRow>(kActivations, section.value("activation", "relu")).function;
}

void add_stem(Path& path, const json& stem) {
  const auto activation = known_row<StemRow>(kStems, stem.value("op", "conv_bn_relu")).activation;
  if (!activation) return;
  path.enter("stem");
  path.conv({.channels = stem.value("channels", std::int64_t{16}),
             .kernel = stem.value("kernel", std::int64_t{3}),
             .stride = stem.value("stride", std::int64_t{1})},
            "conv");
  path.batch_norm("bn");
  path.activate(*activation, "act");
}

void add_head(Path& path, const json& head, int classes) {
  path.enter("head");
  const auto& row = known_row<HeadRow>(kHeads, head.value("op", "global_avg_pool_linear"));
  path.add({.kind = row.kind}, row.layer);
  if (const auto hidden = head.value("hidden", std::int64_t{0}); hidden > 0) {
    path.dense(hidden, true, "hidden");
    path.activate(activation_of(head), "act");
  }
  path.dropout(head.value("dropout", 0.0));
  path.dense(classes, true, "linear");
}

}  // namespace detol::inline encoding
