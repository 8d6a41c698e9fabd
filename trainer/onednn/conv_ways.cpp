// Our own kernels or oneDNN's direct convolution, direction by direction.

#include "trainer/onednn/conv.h"

namespace detol::onednn {
namespace {

const std::string kDirect = "direct";

// oneDNN's convolution, if it takes input, output and weights as our kernels do; in all directions
// where it is the rule's.
std::optional<ConvChoice> exchangeable(const Builder& b, const Unit& unit,
                                       const ConvQuestion& question) {
  ConvChoice choice = conv_between(b, unit, b.node(unit.node).layer, question.in, Layout::kBlocked);
  const ConvPrimitives& all = choice.primitives;
  if (!all.forward || choice.conv.w != question.native) return std::nullopt;
  if (!question.rule_is_own && !(all.weights && all.data)) return std::nullopt;
  return choice;
}

}  // namespace

Result<ConvWays> choose_ways(Builder& b, const Unit& unit, const ConvQuestion& question) {
  const bool rule = question.rule_is_own;
  ConvWays ways{rule, rule, rule, {}};
  if (!b.has_choices()) return ways;
  ways.direct = exchangeable(b, unit, question);
  if (!ways.direct) return ways;
  const std::string &first = rule ? question.own : kDirect, &last = rule ? kDirect : question.own;
  const auto ask = [&](Pass pass, bool has_other, bool& is_own) -> Result<void> {
    if (!has_other) return {};
    DETOL_ASSIGN(const std::string way, b.way_of(unit.node, question.kind, pass, {first, last}));
    is_own = way == question.own;
    return {};
  };
  const ConvPrimitives& direct = ways.direct->primitives;
  const bool goes_back = b.value(b.node(unit.node).inputs[0]).needs_gradient;
  DETOL_TRY(ask(Pass::kForward, true, ways.forward));
  DETOL_TRY(ask(Pass::kWeights, direct.weights.has_value(), ways.weights));
  DETOL_TRY(ask(Pass::kData, goes_back && direct.data, ways.data));
  if (!goes_back) ways.data = ways.forward;  // nobody asks for it
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
  if (is_of(Pass::kForward, ways.forward))
    own.forward(x.data, y.data);
  else
    write_forward(b, direct.conv, direct.primitives, x, y);
  b.on_backward([=, &b, &x, &y] {
    Buffer* g = b.gradient(y);
    if (x.needs_gradient) {
      Buffer* dx = b.add_gradient(x);
      if (is_of(Pass::kData, ways.data))
        own.data(g, dx);
      else
        write_backward_data(b, direct.conv, direct.primitives, g, dx);
    }
    if (is_of(Pass::kWeights, ways.weights))
      own.weights(g, x.data);
    else
      write_backward_weights(b, direct.conv, direct.primitives, g, x);
  });
}

}  // namespace detol::onednn
