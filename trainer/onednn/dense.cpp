// Dense layers over plain vectors, as three inner-product primitives.

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "trainer/onednn/lower.h"

namespace detol::onednn {
namespace {

using Forward = dnnl::inner_product_forward;
using BackwardData = dnnl::inner_product_backward_data;
using BackwardWeights = dnnl::inner_product_backward_weights;

struct Dense {
  Desc x, y, w, bias;  // w: chosen by the forward primitive
  std::optional<Forward::primitive_desc> forward;
  std::optional<BackwardData::primitive_desc> data;
  std::optional<BackwardWeights::primitive_desc> weights;
  Parameter *weight = nullptr, *offset = nullptr;
};

template <typename PrimitiveDesc>
std::optional<PrimitiveDesc> fast(PrimitiveDesc found) {
  if (!found || !choose_fast(found, false)) return std::nullopt;
  return found;
}

// False unless all three directions are fast with weights laid out as `tag` says.
bool find_primitives(Dense& d, const Dims& extents, Tag tag) {
  const dnnl::engine& engine = machine().engine;
  const dnnl::primitive_attr scratch = scratch_from_user();
  const Desc open(extents, dnnl::memory::data_type::f32, tag);
  const auto kind = dnnl::prop_kind::forward_training;
  d.forward = fast(Forward::primitive_desc({kind, d.x, open, d.bias, d.y}, scratch, engine, true));
  if (!d.forward) return false;
  d.w = d.forward->weights_desc();
  d.data = fast(BackwardData::primitive_desc({d.x, open, d.y}, scratch, engine, *d.forward, true));
  d.weights = fast(
      BackwardWeights::primitive_desc({d.x, d.w, d.bias, d.y}, scratch, engine, *d.forward, true));
  return d.data && d.weights;
}

// By a fixed rule, d with its primitives: the layout that oneDNN likes. A general matrix product
// likes its weights transposed no better, but the way back would copy them to the other order in
// every step: it gets the plain order.
std::optional<Tag> find_by_rule(Dense& d, const Dims& extents) {
  const bool found = find_primitives(d, extents, Tag::any);
  if (found && d.w != floats_desc(extents, Tag::ba)) return Tag::any;
  if (find_primitives(d, extents, Tag::ab)) return Tag::ab;
  if (found && find_primitives(d, extents, Tag::any)) return Tag::any;
  return std::nullopt;
}

// A layout of the weights.
struct DenseWay {
  std::string name;
  Tag tag = Tag::any;
};

// Those in which all directions are fast, the rule's first.
std::vector<DenseWay> ways_of(Dense d, const Dims& extents, Tag rule) {
  std::vector<DenseWay> ways;
  for (const Tag tag : {rule, Tag::ab, Tag::ba}) {
    if (!find_primitives(d, extents, tag)) continue;
    const bool is_plain = d.w == floats_desc(extents, Tag::ab);
    const bool is_transposed = d.w == floats_desc(extents, Tag::ba);
    const std::string name = is_plain ? "ab" : is_transposed ? "ba" : "blocked";
    if (std::ranges::find(ways, name, &DenseWay::name) == ways.end()) ways.push_back({name, tag});
  }
  return ways;
}

// By the study's choice, else by the rule. False: there is no fast way.
Result<bool> choose_primitives(Builder& b, NodeId node, Dense& d, const Dims& extents) {
  const std::optional<Tag> rule = find_by_rule(d, extents);
  if (!rule || !b.has_choices()) return rule.has_value();
  const std::vector<DenseWay> ways = ways_of(d, extents, *rule);
  std::vector<std::string> names;
  for (const DenseWay& way : ways) names.push_back(way.name);
  if (names.size() < 2) return true;
  DETOL_ASSIGN(const std::string chosen, b.way_of(node, "dense", Pass::kAll, std::move(names)));
  return find_primitives(d, extents, std::ranges::find(ways, chosen, &DenseWay::name)->tag);
}

void write_forward(Builder& b, const Dense& d, Value& x, Value& y) {
  auto call = make_call<Forward>(b, *d.forward);
  call->add(DNNL_ARG_SRC, d.x, x.data);
  call->add(DNNL_ARG_WEIGHTS, d.w, &d.weight->weight);
  if (d.offset != nullptr) call->add(DNNL_ARG_BIAS, d.bias, &d.offset->weight);
  call->add(DNNL_ARG_DST, d.y, y.data);
  b.step(std::move(call));
}

void write_backward_data(Builder& b, const Dense& d, Buffer* g, Buffer* dx) {
  const Desc wanted = d.data->weights_desc();
  Buffer* weight = &d.weight->weight;
  if (wanted != d.w) {
    weight = b.arena().make(wanted.get_size());
    write_reorder(b, d.w, &d.weight->weight, wanted, weight);
  }
  auto call = make_call<BackwardData>(b, *d.data);
  call->add(DNNL_ARG_DIFF_DST, d.y, g);
  call->add(DNNL_ARG_WEIGHTS, wanted, weight);
  call->add(DNNL_ARG_DIFF_SRC, d.x, dx);
  b.step(std::move(call));
}

void write_backward_weights(Builder& b, const Dense& d, Buffer* g, Value& x) {
  auto call = make_call<BackwardWeights>(b, *d.weights);
  call->add(DNNL_ARG_SRC, d.x, x.data);
  call->add(DNNL_ARG_DIFF_DST, d.y, g);
  call->add(DNNL_ARG_DIFF_WEIGHTS, d.w, &d.weight->gradient);
  if (d.offset != nullptr) call->add(DNNL_ARG_DIFF_BIAS, d.bias, &d.offset->gradient);
  b.step(std::move(call));
}

}  // namespace

Result<void> lower_dense(Builder& b, const Unit& unit) {
  const Layer& layer = b.node(unit.node).layer;
  Value& x = b.value(b.node(unit.node).inputs[0], Layout::kPlain);
  Value& y = b.make_value(unit.node, Layout::kPlain, true);
  const Dims extents = {layer.channels, x.shape.elements()};
  Dense d;
  d.x = floats_desc({b.batch(), extents[1]}, Tag::ab);
  d.y = floats_desc({b.batch(), extents[0]}, Tag::ab);
  d.bias = layer.bias ? floats_desc({extents[0]}, Tag::a) : Desc();
  DETOL_ASSIGN(const bool is_fast, choose_primitives(b, unit.node, d, extents));
  if (!is_fast) {
    return fail(ErrorCode::kInput,
                fmt::format("dense: onednn has no fast implementation of {} x {}; train with the "
                            "backend 'reference'",
                            extents[0], extents[1]));
  }
  d.weight = b.parameters().claim(unit.node, "weight", floats_desc(extents, Tag::ab), d.w);
  d.offset = layer.bias ? b.parameters().claim(unit.node, "bias") : nullptr;
  write_forward(b, d, x, y);
  b.on_backward([=, &b, &x, &y] {
    Buffer* g = b.gradient(y);
    if (x.needs_gradient) write_backward_data(b, d, g, b.add_gradient(x));
    write_backward_weights(b, d, g, x);
  });
  return {};
}

}  // namespace detol::onednn
