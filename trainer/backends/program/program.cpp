#include "trainer/backends/program/program.h"

#include <algorithm>

#include "trainer/backends/loss.h"

namespace detol::inline trainer::program {

Program::Program(const Network& network, const Recipe& recipe, const Placement& placement,
                 FlatParameters& parameters, std::size_t line)
    : network_(network),
      recipe_(recipe),
      group_(*placement.group),
      micro_batches_(micro_batches_of(recipe.batch_size, placement)),
      largest_batch_(largest_micro_batch(recipe.batch_size, placement)),
      line_(line),
      parameters_(parameters),
      arena_(line),
      values_(network.nodes().size()) {}

Value& Program::new_value(const Shape& shape, Layout layout, bool needs_gradient) {
  Value& value = storage_.emplace_back();
  value.shape = shape;
  value.layout = layout;
  value.needs_gradient = needs_gradient;
  value.data = arena_.make(bytes_of(value));
  return value;
}

Value& Program::make_value(NodeId id, Layout layout, bool needs_gradient) {
  return *(values_[id] = &new_value(node(id).shape, layout, needs_gradient));
}

bool Program::needs_gradient(const Unit& unit) const {
  return std::ranges::any_of(node(unit.node).inputs,
                             [&](NodeId input) { return value(input).needs_gradient; });
}

Value& Program::view(Value& of, const Shape& shape, Layout layout) {
  Value& value = storage_.emplace_back(of);
  value.shape = shape;
  value.layout = layout;
  on_backward([this, &of, &value] {
    for (Buffer* term : value.gradients) pass_gradient(of, term);
  });
  return value;
}

Inputs Program::make_inputs(Layout layout, std::int64_t outputs) {
  const auto images = static_cast<std::size_t>(batch());
  const std::size_t targets =
      takes_labels(training_loss_of(recipe_)) ? 1 : images * static_cast<std::size_t>(outputs);
  const Inputs inputs{.images = make_value(0, layout, false).data,
                      .labels = arena_.make_persistent(images * sizeof(std::int32_t)),
                      .targets = arena_.make_persistent(targets * sizeof(float)),
                      .mixes = arena_.make_persistent(images * sizeof(MixedLabel))};
  arena_.use(inputs.images, -1);
  arena_.use(inputs.images, Arena::kAlways);
  return inputs;
}

void Program::append(const std::vector<Buffer*>& uses, bool on_host, Run run) {
  for (Buffer* buffer : uses) arena_.use(buffer, static_cast<int>(steps_.size()));
  steps_.push_back({node_, on_host, std::move(run)});
}

void Program::on_gradients(Value& y, std::vector<InputGradient> inputs,
                           std::function<void(Buffer* g)> own) {
  std::erase_if(inputs, [](const InputGradient& one) { return !one.input->needs_gradient; });
  if (inputs.empty() && !own) return;
  on_backward([this, &y, inputs = std::move(inputs), own = std::move(own)] {
    Buffer* g = gradient(y);
    if (own) own(g);
    write_gradients(g, inputs);
  });
}

void Program::on_gradient_of_terms(
    Value& y, Value& x, std::function<void(Buffer* g, Buffer* other, Buffer* dx)> write) {
  if (!x.needs_gradient) return;
  on_backward([this, &y, &x, write = std::move(write)] {
    const std::vector<Buffer*> terms = gradient_terms(y, 2);
    Buffer* dx = arena_.make_over(terms[0]);
    pass_gradient(x, dx);
    write(terms[0], terms.size() > 1 ? terms[1] : nullptr, dx);
  });
}

void Program::unary(const Unit& unit, Value& x, const Unary& layer) {
  Value& y = make_value(unit.node, x.layout, x.needs_gradient);
  layer.forward(x.data, y.data);
  const Term term = layer.backward ? layer.term : Term::kSame;
  on_gradients(y, {{.input = &x, .term = term, .write = layer.backward}});
}

void Program::write_gradients(Buffer* g, std::span<const InputGradient> inputs) {
  for (const InputGradient& one : inputs) {
    if (one.term == Term::kSame) {
      pass_gradient(*one.input, g);
    } else if (one.term == Term::kNew) {
      one.write(g, add_gradient(*one.input));
    } else {
      Buffer* dx = arena_.make_over(g);
      pass_gradient(*one.input, dx);
      one.write(g, dx);
    }
  }
}

void Program::on_norm_gradients(NormGradients norm) {
  on_backward([this, norm = std::move(norm)] {
    const std::vector<Buffer*> terms = gradient_terms(*norm.y, 2);
    Buffer* other = terms.size() > 1 ? terms[1] : nullptr;
    const bool reads_output = norm.addend != nullptr && norm.relu;
    const bool is_masked = other != nullptr || reads_output;
    Buffer* g = is_masked ? arena_.make_over(terms[0]) : terms[0];
    std::vector<Buffer*> uses = terms;
    uses.insert(uses.end(), {norm.x->data, g});
    if (reads_output) uses.push_back(norm.y->data);
    norm.sums(uses, terms[0], other, is_masked ? g : nullptr);
    if (norm.addend != nullptr) pass_gradient(*norm.addend, g);
    if (!norm.x->needs_gradient) return;
    Buffer* dx = arena_.make_over(g);
    pass_gradient(*norm.x, dx);
    norm.input(g, is_masked, dx);
  });
}

std::vector<Buffer*> Program::gradient_terms(Value& value, std::size_t most) {
  std::vector<Buffer*>& terms = value.gradients;
  while (terms.size() > most) {
    Buffer *a = terms[terms.size() - 2], *b = terms.back();
    Buffer* sum = arena_.make_over(a);
    step({a, b, sum}, add(value, a, b, sum));
    terms.pop_back();
    terms.back() = sum;
  }
  return terms;
}

Buffer* Program::add_gradient(Value& value) {
  make_room(value);
  value.gradients.push_back(arena_.make(bytes_of(value)));
  return value.gradients.back();
}

void Program::pass_gradient(Value& value, Buffer* term) {
  if (!value.needs_gradient) return;
  make_room(value);
  value.gradients.push_back(term);
}

// Adds up more than two terms of a gradient, so that few are live at a time, however many readers
// the value has. Two are left for steps that can read two.
void Program::make_room(Value& value) {
  if (value.gradients.size() > 2) gradient_terms(value, 1);
}

Buffer* Program::constant(std::vector<float> values) {
  if (values.empty()) return nullptr;
  Buffer* buffer = arena_.make_persistent(values.size() * sizeof(float));
  constants_.emplace_back(buffer, std::move(values));
  return buffer;
}

Buffer* Program::grown(Buffer*& buffer, std::size_t bytes) {
  if (buffer == nullptr) buffer = arena_.make_persistent(0);
  buffer->bytes = std::max(buffer->bytes, (bytes + line_ - 1) / line_ * line_);
  return buffer;
}

void Program::lower_backward() {
  while (!backward_.empty()) {
    const Lower lower = std::move(backward_.back());
    backward_.pop_back();
    begin(lower.node);
    lower.write();
    for (Parameter* written : lower.gradients) written->ready = size();
  }
}

void lower_add(Program& p, const Unit& unit) {
  const std::vector<NodeId>& inputs = p.node(unit.node).inputs;
  const Layout layout = p.value(inputs[0]).layout;
  std::vector<InputGradient> gradients;
  for (const NodeId input : inputs)
    gradients.push_back({.input = &p.value(input, layout), .term = Term::kSame});
  Value& y = p.make_value(unit.node, layout, p.needs_gradient(unit));
  Buffer* left = gradients[0].input->data;
  for (std::size_t i = 1; i < gradients.size(); ++i) {
    Buffer* right = gradients[i].input->data;
    p.step({left, right, y.data}, p.add(y, left, right, y.data));
    left = y.data;
  }
  p.on_gradients(y, std::move(gradients));
}

}  // namespace detol::inline trainer::program
