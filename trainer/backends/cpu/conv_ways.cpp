// Our own kernels or oneDNN's direct convolution, direction by direction.

#include "trainer/backends/cpu/conv.h"

namespace detol::onednn {
namespace {

const std::string kDirect = "direct";

// oneDNN's convolution, if it takes input, output and weights as our kernels do; in all directions
// where all are the rule's.
std::optional<ConvChoice> exchangeable(const Builder& b, const Unit& unit,
                                       const ConvQuestion& question) {
  ConvChoice choice = conv_between(b, unit, b.node(unit.node).layer, question.in, Layout::kBlocked);
  const ConvPrimitives& all = choice.primitives;
  if (!all.forward || choice.conv.w != question.native) return std::nullopt;
  if (question.rule.none() && !(all.weights && all.data)) return std::nullopt;
  return choice;
}

}  // namespace

Result<ConvWays> choose_ways(Builder& b, const Unit& unit, const ConvQuestion& question) {
  const OwnDirections& rule = question.rule;
  if (!b.has_choices() && (rule.all() || rule.none())) return ConvWays{rule, {}};
  ConvWays ways{rule, exchangeable(b, unit, question)};
  if (!ways.direct) return rule.none() ? ways : ConvWays{};
  const auto ask = [&](Pass pass, bool has_other, bool& is_own) -> Result<void> {
    if (!has_other) {
      is_own = true;
      return {};
    }
    if (!b.has_choices()) return {};
    std::vector<std::string> names = {question.own, kDirect};
    if (!is_own) std::swap(names[0], names[1]);
    DETOL_ASSIGN(const std::string way, b.way_of(unit.node, question.kind, pass, names));
    is_own = way == question.own;
    return {};
  };
  const ConvPrimitives& direct = ways.direct->primitives;
  const bool goes_back = b.value(b.node(unit.node).inputs[0]).needs_gradient;
  DETOL_TRY(ask(Pass::kForward, true, ways.own.forward));
  DETOL_TRY(ask(Pass::kWeights, direct.weights.has_value(), ways.own.weights));
  if (goes_back)
    DETOL_TRY(ask(Pass::kData, direct.data.has_value(), ways.own.data));
  else
    ways.own.data = ways.own.forward;  // nobody asks for it
  return ways;
}

void write_directions(Builder& b, const ConvWays& ways, const OwnConv& own, Value& x, Value& y) {
  ConvChoice direct;
  if (ways.direct) {
    direct = *ways.direct;
    direct.conv.weight = &own.weight->weight;
    direct.conv.weight_gradient = &own.weight->gradient;
    direct.conv.offset = own.offset != nullptr ? &own.offset->weight : nullptr;
    direct.conv.offset_gradient = own.offset != nullptr ? &own.offset->gradient : nullptr;
  }
  const auto is_of = [&b](Pass pass, bool is_own) {
    b.begin(pass);
    return is_own;
  };
  if (is_of(Pass::kForward, ways.own.forward))
    own.forward(x.data, y.data);
  else
    write_forward(b, direct.conv, direct.primitives, x, y);
  b.on_backward([=, &b, &x, &y] {
    Buffer* g = b.gradient(y);
    if (x.needs_gradient) {
      Buffer* dx = b.add_gradient(x);
      if (is_of(Pass::kData, ways.own.data))
        own.data(g, dx);
      else
        write_backward_data(b, direct.conv, direct.primitives, g, dx);
    }
    if (is_of(Pass::kWeights, ways.own.weights))
      own.weights(g, x.data);
    else
      write_backward_weights(b, direct.conv, direct.primitives, g, x);
  });
}

}  // namespace detol::onednn
