#include "trainer/backends/cpu/builder.h"

#include <algorithm>

#include "trainer/backends/cpu/relayout.h"

namespace detol::inline trainer::cpu {

Builder::Builder(const Network& network, const Recipe& recipe, const Placement& placement)
    : Program(network, recipe, placement, parameters_, /*line=*/64), parameters_(network, recipe) {}

Value& Builder::value(NodeId id, Layout layout) {
  Value& made = value(id);
  if (made.layout == layout) return made;
  const auto known = conversions_.find(&made);
  return known != conversions_.end() ? *known->second : convert(made, layout);
}

// Adds the value in another layout: a vector of whole registers is the same in both, others are
// copied.
Value& Builder::convert(Value& from, Layout layout) {
  const bool vector = from.shape.height * from.shape.width == 1;
  if (vector && from.shape.channels % machine().lanes() == 0) {
    return *(conversions_[&from] = &view(from, from.shape, layout));
  }
  Value& to = new_value(from);
  conversions_[&from] = &to;
  to.layout = layout;
  to.data = floats_buffer(floats(to));
  const Relayout copy{batch(), from.shape, machine().lanes()};
  call(layout == kPlain ? to_plain : to_blocked, copy, from.data, to.data);
  const auto back = [=, this](Buffer* g, Buffer* dx) {
    call(layout == kPlain ? to_blocked : to_plain, copy, g, dx);
  };
  on_gradients(to, {{.input = &from, .write = back}});
  return to;
}

std::size_t Builder::floats(const Shape& s, Layout layout) const {
  const bool blocked = layout == kBlocked;
  const std::int64_t channels = blocked ? machine().padded(s.channels) : s.channels;
  // Kernels over flat plain tensors work in whole registers, too.
  const std::int64_t elements = batch() * channels * s.height * s.width;
  return static_cast<std::size_t>(machine().padded(elements));
}

Extent Builder::extent(const Shape& s) const {
  return {batch(), machine().padded(s.channels) / machine().lanes(), s.height, s.width};
}

Desc Builder::desc(const Shape& s, Layout layout) const {
  const bool blocked = layout == kBlocked;
  const std::int64_t channels = blocked ? machine().padded(s.channels) : s.channels;
  return floats_desc({batch(), channels, s.height, s.width},
                     blocked ? machine().blocked : Tag::nchw);
}

void Builder::step(std::unique_ptr<Call> call) {
  step(call->buffers(), [call = call.get()](const StepContext&) { call->run(); });
  calls_.push_back(std::move(call));
}

program::Run Builder::add(const Value& value, const Buffer* a, const Buffer* b,
                          const Buffer* sum) const {
  return [=, run = kernels().add, count = floats(value)](const StepContext&) {
    run(a->as<float>(), b->as<float>(), sum->as<float>(), count);
  };
}

void Builder::plan() {
  parameters_.reserve(arena(), micro_batches().size() > 1);
  arena().plan();
}

void Builder::place() {
  parameters_.reserve(arena(), micro_batches().size() > 1);
  arena().place();
  parameters_.bind();
  write_constants([](const Buffer& buffer, std::span<const float> values) {
    std::ranges::copy(values, buffer.as<float>());
  });
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

void Builder::run(std::size_t first, std::size_t end, const StepContext& context) const {
  for (std::size_t i = first; i < end; ++i) steps()[i].run(context);
}

}  // namespace detol::inline trainer::cpu
