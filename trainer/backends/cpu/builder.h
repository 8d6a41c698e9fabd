#pragma once

// Builder is the program of a network for one core of a processor: values in plain or blocked
// layouts, steps of our own kernels and of oneDNN's primitives.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "trainer/backends/cpu/machine.h"
#include "trainer/backends/cpu/parameters.h"
#include "trainer/backends/program/program.h"

namespace detol::inline trainer::cpu {

using program::InputGradient;
using program::Layout;
using program::StepContext;
using program::Term;
using program::Unary;
using program::Value;

inline constexpr Layout kPlain{0};    // N x C x H x W
inline constexpr Layout kBlocked{1};  // N x C/lanes x H x W x lanes

class Builder final : public program::Program {
 public:
  Builder(const Network& network, const Recipe& recipe, const Placement& placement);

  Parameters& parameters() { return parameters_; }
  const Parameters& parameters() const { return parameters_; }

  using Program::value;
  Value& value(NodeId id, Layout layout) override;

  std::size_t floats(const Shape& shape, Layout layout) const;
  std::size_t floats(const Value& value) const { return floats(value.shape, value.layout); }
  Extent extent(const Shape& shape) const;  // blocked
  Extent extent(const Value& value) const { return extent(value.shape); }
  Desc desc(const Shape& shape, Layout layout) const;  // blocked: channels padded
  Buffer* floats_buffer(std::size_t floats) { return arena().make(floats * sizeof(float)); }

  program::Run add(const Value& value, const Buffer* a, const Buffer* b,
                   const Buffer* sum) const override;

  using Program::step;
  // Appends a primitive, which touches its arguments.
  void step(std::unique_ptr<Call> call);

  // Finds the bytes that place() would allocate, arena().bytes(); allocates none. REQUIRES: called
  // once, instead of place().
  void plan();
  // Gives every buffer its memory, compiles the primitives, zeroes the parameters. Throws
  // std::bad_alloc.
  void place();
  // Runs steps [first, end).
  void run(std::size_t first, std::size_t end, const StepContext& context) const;

 private:
  std::size_t bytes_of(const Value& value) const override { return floats(value) * sizeof(float); }
  Value& convert(Value& from, Layout layout);

  Parameters parameters_;
  std::map<const Value*, Value*> conversions_;  // to the other layout
  std::vector<std::unique_ptr<Call>> calls_;
};

// Returns a call of the primitive, with its scratch memory.
template <typename Primitive>
std::unique_ptr<Call> make_call(Builder& builder,
                                const typename Primitive::primitive_desc& description) {
  auto call = std::make_unique<Call>(description);
  const Desc scratch = description.scratchpad_desc();
  if (scratch.get_size() == 0) return call;
  call->add(DNNL_ARG_SCRATCHPAD, scratch, builder.scratch(scratch.get_size()));
  return call;
}

// Appends a copy between two layouts of one tensor.
void write_reorder(Builder& builder, const Desc& from, Buffer* source, const Desc& to,
                   Buffer* target);

}  // namespace detol::inline trainer::cpu
