// What a backend holds to train a network, found by going through a step of the training without
// any numbers: forward layer by layer, then back. A layer's output lives until its last reader has
// run, on the way back too where that needs it; its gradient from its last reader to the layer
// itself:
//
//   conv, dense, norms, scale  read their inputs again
//   ReLU                       its output, unless a norm before it can make that again
//   SiLU, sigmoid              its input
//   max pooling, dropout       which inputs came through: as much again as their output
//   others                     nothing
//
// An element-wise layer's gradient overwrites the one it came from; a sum hands its own to all its
// terms; of a value that many read, at most three terms of the gradient live at a time. Channels
// are padded to 16; a dense layer reads a vector without that padding, any other layer on
// an image with it, so that a value may be there in both layouts.
//
// A chain of x, y = conv(x), z = norm(y): x and y until the way back has passed them, z until its
// readers are done; then dz, which becomes dy, and dx beside dy.
//
// Price: linear in the layers, but for a sort.

#include "encodings/footprint.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "encodings/layouts.h"
#include "encodings/lives.h"

namespace detol {
namespace {

using enum LayerKind;

// Tensors that live side by side do not fill their memory without gaps.
constexpr double kGaps = 1.25;

class StepThrough {
 public:
  StepThrough(const Network& network, const Recipe& recipe)
      : network_(network), images_(static_cast<double>(recipe.batch_size)) {
    for (const Node& node : network.nodes()) {
      for (NodeId input : node.inputs) ++readers_[input];
      if (node.layer.kind == kMaxPool) ++pools_[node.inputs.front()];
    }
  }

  double peak() {
    for (NodeId id = 0; id < network_.nodes().size(); ++id) forward(id);
    Value& logits = value_of(network_.nodes().size() - 1, true);
    lives_.use(logits.data);
    if (logits.needs_gradient) lives_.use(add_term(logits));
    lives_.next_step();
    for (; !operations_.empty(); operations_.pop_back()) backward(operations_.back());
    lives_.use(values_.front().data);  // the next batch's images are there before this one's end
    lives_.use(logits.data);
    return lives_.peak();
  }

 private:
  using Tensor = Lives::Tensor;

  struct Value {
    Shape shape;
    double floats = 0;  // of an image
    bool is_plain = false;
    bool needs_gradient = true;
    Tensor data = 0;
    std::vector<Tensor> terms = {};  // of its gradient
    Value* other = nullptr;          // in the other layout
  };

  // How the gradient of an input comes from the output's.
  enum class Way { kNew, kOver, kPassed };

  struct Operation {
    std::vector<Value*> inputs;
    Value* output = nullptr;
    Way way = Way::kNew;
    std::vector<Tensor> kept = {};     // for the way back
    std::vector<double> passing = {};  // tensors of the way back alone
  };

  Tensor make(double floats_of_one) { return lives_.make(images_ * floats_of_one); }

  Value& add_value(const Shape& shape, bool is_plain, bool needs_gradient) {
    const double floats = is_plain ? static_cast<double>(shape.elements()) : blocked_floats(shape);
    return values_.emplace_back(Value{.shape = shape,
                                      .floats = floats,
                                      .is_plain = is_plain,
                                      .needs_gradient = needs_gradient,
                                      .data = make(floats)});
  }

  // In that layout; a vector of whole registers is the same in both.
  Value& value_of(NodeId id, bool plain) {
    Value& value = *of_node_[id];
    const bool is_vector = value.shape.height * value.shape.width == 1;
    if (value.is_plain == plain || (is_vector && value.shape.channels % 16 == 0)) return value;
    if (value.other != nullptr) return *value.other;
    value.other = &add_value(value.shape, plain, value.needs_gradient);
    run({.inputs = {&value}, .output = value.other});
    return *value.other;
  }

  void run(Operation operation) {
    for (const Value* input : operation.inputs) lives_.use(input->data);
    lives_.use(operation.output->data);
    lives_.use(operation.kept);
    lives_.next_step();
    operations_.push_back(std::move(operation));
  }

  bool is_relu(NodeId id) const {
    const Layer& layer = network_.nodes()[id].layer;
    return layer.kind == kActivation && layer.activation == Activation::kRelu;
  }

  bool reads_plain(const Node& node) {
    const Layer& layer = node.layer;
    if (layer.kind == kDense || layer.kind == kFlatten) return true;
    const Value& in = *of_node_[node.inputs.front()];
    if (layer.kind == kConv)
      return may_be_product(layer, in.shape) ||
             (in.is_plain && !in.needs_gradient && in.shape.channels <= kImageChannels);
    if (layer.kind == kActivation || layer.kind == kAdd) return in.is_plain;
    return layer.kind == kConcat && std::ranges::all_of(node.inputs, [&](NodeId input) {
             return of_node_[input]->is_plain;
           });
  }

  void forward(NodeId id) {
    const Node& node = network_.nodes()[id];
    if (id == 0) {
      of_node_.push_back(&add_value(node.shape, true, false));
      return lives_.use(of_node_.front()->data);
    }
    Operation op;
    const bool plain = reads_plain(node);
    bool needs = !parameters_of(node.layer, network_.input_shapes(id)).empty();
    for (NodeId input : node.inputs) {
      op.inputs.push_back(&value_of(input, plain));
      needs = needs || op.inputs.back()->needs_gradient;
    }
    if (is_same_bytes(id)) return of_node_.push_back(&view(*op.inputs.front(), node.shape));
    const bool is_product = may_be_product(node.layer, op.inputs.front()->shape);
    if (is_product) op.kept.push_back(value_of(node.inputs.front(), false).data);
    op.output = &add_value(node.shape, plain && (node.layer.kind != kConv || is_product), needs);
    of_node_.push_back(op.output);
    keep(id, op);
    run(std::move(op));
    if (is_product) of_node_.back() = &value_of(id, false);  // either way, and no way back
  }

  // A ReLU that pooling takes in, or a tensor as a vector.
  bool is_same_bytes(NodeId id) {
    return network_.nodes()[id].layer.kind == kFlatten ||
           (is_relu(id) && pools_[id] == 1 && readers_[id] == 1);
  }

  Value& view(Value& of, const Shape& shape) {
    Value& value = values_.emplace_back(of);
    value.shape = shape;
    value.other = nullptr;
    operations_.push_back({.inputs = {&of}, .output = &value, .way = Way::kPassed});
    return value;
  }

  void keep(NodeId id, Operation& op) {
    const Node& node = network_.nodes()[id];
    const Value& in = *op.inputs.front();
    const Shape& shape = in.shape;
    switch (node.layer.kind) {
      case kConv:
        keep_weights(node.layer, shape, op);
        [[fallthrough]];
      case kDense:
        op.kept.push_back(in.data);
        break;
      case kLayerNorm:
        op.kept.push_back(make(static_cast<double>(2 * shape.height * shape.width)));
        [[fallthrough]];
      case kBatchNorm:
        op.kept.push_back(in.data);
        op.way = Way::kOver;
        break;
      case kActivation:
        keep_activation(id, op);
        break;
      case kMaxPool:
        op.kept.push_back(make(blocked_floats(node.shape)));
        break;
      case kDropout:
        op.kept.push_back(make(blocked_floats(node.shape)));
        op.way = Way::kOver;
        break;
      case kAdd:
        op.way = Way::kPassed;
        break;
      case kScale:
        for (const Value* input : op.inputs) op.kept.push_back(input->data);
        break;
      default:
        break;
    }
  }

  void keep_activation(NodeId id, Operation& op) {
    const NodeId input = network_.nodes()[id].inputs.front();
    if (!is_relu(id)) return op.kept.push_back(op.inputs.front()->data);
    op.way = Way::kOver;
    const bool is_made_again =
        network_.nodes()[input].layer.kind == kBatchNorm && readers_[input] == 1;
    if (!is_made_again) op.kept.push_back(op.output->data);
  }

  void keep_weights(const Layer& layer, const Shape& in, Operation& op) {
    if (is_depthwise(layer, in)) return;
    const double weights = dense_weights(layer, in);
    if (is_spread(layer, in)) {
      op.kept.push_back(lives_.make(weights));
      op.passing = {weights, weights};
    }
    op.passing.push_back(weights);
  }

  Tensor sum_of_terms(Value& value) {
    while (value.terms.size() > 1) {
      const Tensor last = value.terms.back();
      value.terms.pop_back();
      const Tensor sum = lives_.make_over(value.terms.back());
      lives_.use({value.terms.back(), last, sum});
      lives_.next_step();
      value.terms.back() = sum;
    }
    return value.terms.front();
  }

  void add_term(Value& value, Tensor term) {
    if (value.terms.size() > 2) sum_of_terms(value);
    value.terms.push_back(term);
  }
  Tensor add_term(Value& value) {
    add_term(value, make(value.floats));
    return value.terms.back();
  }

  void backward(const Operation& op) {
    if (op.output->terms.empty()) return;
    const Tensor gradient = sum_of_terms(*op.output);
    std::vector<Tensor> used = op.kept;
    used.push_back(gradient);
    for (double floats : op.passing) used.push_back(lives_.make(floats));
    for (Value* input : op.inputs) {
      if (input->needs_gradient) used.push_back(add_gradient(*input, op, gradient));
    }
    lives_.use(used);
    lives_.next_step();
  }

  Tensor add_gradient(Value& input, const Operation& op, Tensor gradient) {
    if (op.way == Way::kNew) return add_term(input);
    add_term(input, op.way == Way::kPassed ? gradient : lives_.make_over(gradient));
    return input.terms.back();
  }

  const Network& network_;
  const double images_;
  std::map<NodeId, int> readers_, pools_;
  Lives lives_;
  std::deque<Value> values_;
  std::vector<Value*> of_node_;
  std::vector<Operation> operations_;
};

// Of weights, gradients, moments, the averaged weights; what a group keeps back or has under way.
double copies_of(const Recipe& recipe) {
  const int waiting = recipe.staleness > 0 ? recipe.staleness + 1 : 0;
  const int kept_back = recipe.compression == "none" ? 0 : 1;
  return 2 + moments_of(recipe) + (recipe.ema > 0 ? 1 : 0) + waiting + kept_back;
}

}  // namespace

double training_floats(const Network& network, const Recipe& recipe) {
  double parameters = 0, statistics = 0, scratch = 0;
  for (NodeId id = 1; id < network.nodes().size(); ++id) {
    const Node& node = network.nodes()[id];
    const std::vector<Shape> inputs = network.input_shapes(id);
    for (const ParameterSpec& spec : parameters_of(node.layer, inputs))
      parameters += parameter_floats(node.layer, spec);
    if (node.layer.kind == kBatchNorm)
      statistics += 4 * static_cast<double>(padded(node.shape.channels));
    scratch = std::max(scratch, scratch_of(node.layer, inputs.front(), node.shape));
  }
  const double answers = static_cast<double>(recipe.batch_size) *
                         (3 + static_cast<double>(network.output().shape.elements()));
  return copies_of(recipe) * parameters + statistics + scratch + answers +
         kGaps * StepThrough(network, recipe).peak();
}

}  // namespace detol
