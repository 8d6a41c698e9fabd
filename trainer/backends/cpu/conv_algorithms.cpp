// Chooses our own kernels or oneDNN's direct convolution, direction by direction.

#include "trainer/backends/cpu/conv.h"

namespace detol::inline trainer::onednn {
namespace {

const std::string kDirect = "direct";

// Returns oneDNN's convolution if it takes input, output and weights in our kernels' layouts. Where
// the rule prefers it in all directions, it must have them all.
std::optional<DirectConv> exchangeable(const Builder& b, const Unit& unit,
                                       const OwnConvTraits& traits) {
  DirectConv choice = conv_between(b, unit, b.node(unit.node).layer, traits.in, kBlocked);
  const ConvPrimitives& all = choice.primitives;
  if (!all.forward || choice.conv.w != traits.native) return std::nullopt;
  if (traits.rule.none() && !(all.weights && all.data)) return std::nullopt;
  return choice;
}

}  // namespace

Result<ConvAlgorithms> choose_algorithms(Builder& b, const Unit& unit,
                                         const OwnConvTraits& traits) {
  const OwnDirections& rule = traits.rule;
  if (!b.has_choices() && (rule.all() || rule.none())) return ConvAlgorithms{rule, {}};
  ConvAlgorithms algorithms{rule, exchangeable(b, unit, traits)};
  if (!algorithms.direct) return rule.none() ? algorithms : ConvAlgorithms{};
  const auto choose = [&](Pass pass, bool has_other, bool& is_own) -> Result<void> {
    if (!has_other) {
      is_own = true;
      return {};
    }
    if (!b.has_choices()) return {};
    std::vector<std::string> names = {traits.own, kDirect};
    if (!is_own) std::swap(names[0], names[1]);
    DETOL_ASSIGN(const std::string algorithm,
                 b.choose_algorithm(unit.node, traits.kind, pass, names));
    is_own = algorithm == traits.own;
    return {};
  };
  const ConvPrimitives& direct = algorithms.direct->primitives;
  const bool goes_back = b.value(b.node(unit.node).inputs[0]).needs_gradient;
  DETOL_TRY(choose(Pass::kForward, true, algorithms.own.forward));
  DETOL_TRY(choose(Pass::kWeights, direct.weights.has_value(), algorithms.own.weights));
  if (goes_back)
    DETOL_TRY(choose(Pass::kData, direct.data.has_value(), algorithms.own.data));
  else
    algorithms.own.data = algorithms.own.forward;  // unused: x needs no gradient
  return algorithms;
}

void write_directions(Builder& b, const ConvAlgorithms& algorithms, const OwnConv& own, Value& x,
                      Value& y) {
  DirectConv direct;
  if (algorithms.direct) {
    direct = *algorithms.direct;
    direct.conv.weight = &own.weight->weight;
    direct.conv.weight_gradient = &own.weight->gradient;
    direct.conv.offset = own.offset != nullptr ? &own.offset->weight : nullptr;
    direct.conv.offset_gradient = own.offset != nullptr ? &own.offset->gradient : nullptr;
  }
  const auto is_of = [&b](Pass pass, bool is_own) {
    b.begin(pass);
    return is_own;
  };
  if (is_of(Pass::kForward, algorithms.own.forward))
    own.forward(x.data, y.data);
  else
    write_forward(b, direct.conv, direct.primitives, x, y);
  b.on_backward([=, &b, &x, &y] {
    Buffer* g = b.gradient(y);
    if (x.needs_gradient) {
      Buffer* dx = b.add_gradient(x);
      if (is_of(Pass::kData, algorithms.own.data))
        own.data(g, dx);
      else
        write_backward_data(b, direct.conv, direct.primitives, g, dx);
    }
    if (is_of(Pass::kWeights, algorithms.own.weights))
      own.weights(g, x.data);
    else
      write_backward_weights(b, direct.conv, direct.primitives, g, x);
  });
}

}  // namespace detol::inline trainer::onednn
