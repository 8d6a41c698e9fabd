#include "trainer/backends/cpu/builder.h"

#include <algorithm>

#include "trainer/backends/cpu/relayout.h"

namespace detol::inline trainer::onednn {

Builder::Builder(const Network& network, const Recipe& recipe, const Placement& placement)
    : network_(network),
      recipe_(recipe),
      group_(*placement.group),
      micro_batches_(micro_batches_of(recipe.batch_size, placement)),
      largest_batch_(largest_micro_batch(recipe.batch_size, placement)),
      choices_(placement.choices),
      parameters_(network, recipe) {
  values_.resize(network_.nodes().size());
}

Value& Builder::make_value(NodeId id, Layout layout, bool needs_gradient) {
  Value& value = storage_.emplace_back();
  value.shape = node(id).shape;
  value.layout = layout;
  value.needs_gradient = needs_gradient;
  value.data = floats_buffer(floats(value));
  values_[id] = &value;
  return value;
}

Value& Builder::value(NodeId id, Layout layout) {
  Value& made = *values_[id];
  if (made.layout == layout) return made;
  const auto known = conversions_.find(&made);
  return known != conversions_.end() ? *known->second : convert(made, layout);
}

void Builder::view_value(NodeId id, Value& of) {
  values_[id] = &view(of, node(id).shape, Layout::kPlain);
}

Value& Builder::view(Value& of, const Shape& shape, Layout layout) {
  Value& value = storage_.emplace_back(of);
  value.shape = shape;
  value.layout = layout;
  on_backward([this, &of, &value] {
    for (Buffer* term : value.gradients) pass_gradient(of, term);
  });
  return value;
}

// Adds the value in another layout: a vector of whole registers is the same in both, others are
// copied.
Value& Builder::convert(Value& from, Layout layout) {
  const bool vector = from.shape.height * from.shape.width == 1;
  if (vector && from.shape.channels % machine().lanes() == 0) {
    return *(conversions_[&from] = &view(from, from.shape, layout));
  }
  Value& to = storage_.emplace_back(from);
  conversions_[&from] = &to;
  to.layout = layout;
  to.data = floats_buffer(floats(to));
  const Relayout copy{batch(), from.shape, machine().lanes()};
  const auto converter = layout == Layout::kPlain ? to_plain : to_blocked;
  const auto back = layout == Layout::kPlain ? to_blocked : to_plain;
  step({from.data, to.data}, [=, x = from.data, y = to.data](const StepContext&) {
    converter(copy, x->as<float>(), y->as<float>());
  });
  if (!from.needs_gradient) return to;
  on_backward([=, this, &from, &to] {
    Buffer* g = gradient(to);
    Buffer* dx = add_gradient(from);
    step({g, dx}, [=](const StepContext&) { back(copy, g->as<float>(), dx->as<float>()); });
  });
  return to;
}

std::size_t Builder::floats(const Value& value) const {
  const Shape& s = value.shape;
  const bool blocked = value.layout == Layout::kBlocked;
  const std::int64_t channels = blocked ? machine().padded(s.channels) : s.channels;
  // Kernels over flat plain tensors work in whole registers, too.
  const std::int64_t elements = batch() * channels * s.height * s.width;
  return static_cast<std::size_t>(machine().padded(elements));
}

Extent Builder::extent(const Value& value) const {
  const Shape& s = value.shape;
  return {batch(), machine().padded(s.channels) / machine().lanes(), s.height, s.width};
}

Desc Builder::desc(const Shape& s, Layout layout) const {
  const bool blocked = layout == Layout::kBlocked;
  const std::int64_t channels = blocked ? machine().padded(s.channels) : s.channels;
  return floats_desc({batch(), channels, s.height, s.width},
                     blocked ? machine().blocked : Tag::nchw);
}

void Builder::step(const std::vector<Buffer*>& uses, Run run) {
  for (Buffer* buffer : uses) arena_.use(buffer, static_cast<int>(steps_.size()));
  steps_.push_back({node_, pass_, std::move(run)});
}

void Builder::step(std::unique_ptr<Call> call) {
  step(call->buffers(), [call = call.get()](const StepContext&) { call->run(); });
  calls_.push_back(std::move(call));
}

std::vector<Buffer*> Builder::gradient_terms(Value& value, std::size_t most) {
  std::vector<Buffer*>& terms = value.gradients;
  while (terms.size() > most) {
    const Buffer *a = terms[terms.size() - 2], *b = terms.back();
    Buffer* sum = arena_.make_over(terms[terms.size() - 2]);
    const auto add = machine().kernels->add;
    const std::size_t count = floats(value);
    step({terms[terms.size() - 2], terms.back(), sum},
         [=](const StepContext&) { add(a->as<float>(), b->as<float>(), sum->as<float>(), count); });
    terms.pop_back();
    terms.back() = sum;
  }
  return terms;
}

Buffer* Builder::gradient(Value& value) {
  return gradient_terms(value, 1).front();
}

Buffer* Builder::add_gradient(Value& value) {
  make_room(value);
  value.gradients.push_back(floats_buffer(floats(value)));
  return value.gradients.back();
}

void Builder::pass_gradient(Value& value, Buffer* term) {
  if (!value.needs_gradient) return;
  make_room(value);
  value.gradients.push_back(term);
}

// Adds up more than two terms of a gradient, so that few are live at a time, however many readers
// the value has. Two are left for steps that can read two.
void Builder::make_room(Value& value) {
  if (value.gradients.size() > 2) gradient_terms(value, 1);
}

Buffer* Builder::scratch(std::size_t bytes) {
  if (scratch_ == nullptr) scratch_ = arena_.make_persistent(0);
  scratch_->bytes = std::max(scratch_->bytes, (bytes + 63) / 64 * 64);
  return scratch_;
}

void Builder::lower_backward() {
  while (!backward_.empty()) {
    const Lower lower = std::move(backward_.back());
    backward_.pop_back();
    begin(lower.node);
    lower.write();
    for (Parameter* written : lower.gradients) written->ready = size();
  }
}

std::size_t Builder::plan() {
  parameters_.reserve(arena_, micro_batches_.size() > 1);
  return arena_.plan();
}

void Builder::place() {
  parameters_.reserve(arena_, micro_batches_.size() > 1);
  arena_.place();
  parameters_.bind();
  for (const std::unique_ptr<Call>& call : calls_) call->bind();
}

void write_reorder(Builder& builder, const Desc& from, Buffer* source, const Desc& to,
                   Buffer* target) {
  const dnnl::engine& engine = machine().engine;
  auto call = make_call<dnnl::reorder>(builder, {engine, from, engine, to, scratch_from_user()});
  call->add(DNNL_ARG_FROM, from, source);
  call->add(DNNL_ARG_TO, to, target);
  builder.step(std::move(call));
}

void Builder::run(Pass pass, const StepContext& context) const {
  for (const Step& step : steps_) {
    if (pass == Pass::kAll || step.pass == pass) step.run(context);
  }
}

void Builder::run(std::size_t first, std::size_t end, const StepContext& context) const {
  for (std::size_t i = first; i < end; ++i) steps_[i].run(context);
}

}  // namespace detol::inline trainer::onednn
