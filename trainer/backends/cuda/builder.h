#pragma once

// Builder is the program of a network for a device: values of images x positions x padded channels,
// steps that append work to the device's stream; a host_step() (a sum over the ranks by MPI) runs
// on the host and waits for the stream itself. Private to this folder.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "trainer/backends/cuda/conv_plans.h"
#include "trainer/backends/cuda/device.h"
#include "trainer/backends/cuda/matmul.h"
#include "trainer/backends/cuda/parameters.h"
#include "trainer/backends/cuda/sums.h"
#include "trainer/backends/program/program.h"

namespace detol::inline trainer::cuda {

using program::InputGradient;
using program::Layout;
using program::Run;
using program::Step;
using program::StepContext;
using program::Term;
using program::Unary;
using program::Value;

inline constexpr Layout kOfNetwork{0};  // in Builder::type()
inline constexpr Layout kFloats{1};     // in floats, also if that is not: logits

// Returns the channels of a value with their padding.
inline std::int64_t channels_of(const Value& value) {
  return padded(value.shape.channels);
}

// DeviceStream stands for the device's stream among the arguments of a kernel.
struct DeviceStream {
  operator Stream() const { return device().stream; }
};

// TunableConv is a convolution in one direction that several algorithms can compute.
struct TunableConv {
  AlgorithmCandidates candidates;
  ConvShape shape;
};

class Builder final : public program::Program {
 public:
  // Libraries get at most `most_scratch` bytes of scratch memory, which limits their algorithms.
  Builder(const Network& network, const Recipe& recipe, const Placement& placement, RankSums& sums,
          std::size_t most_scratch);

  Type type() const { return type_; }
  Type type_of(const Value& value) const { return value.layout == kFloats ? Type::kFloat : type_; }
  bool tf32() const { return precision_of(recipe()) == PrecisionKind::kTf32; }
  RankSums& sums() const { return sums_; }
  Parameters& parameters() { return parameters_; }
  const Parameters& parameters() const { return parameters_; }

  Value& make_value(NodeId id, bool needs_gradient) {
    return Program::make_value(id, kOfNetwork, needs_gradient);
  }
  // Returns a value as one vector per image, in the order of its channels, rows and columns.
  Value& flattened(Value& value);
  std::int64_t rows(const Value& value) const { return batch() * value.positions(); }
  std::int64_t elements(const Value& value) const { return rows(value) * channels_of(value); }
  Buffer* floats(std::int64_t count) {
    return arena().make_persistent(static_cast<std::size_t>(count) * sizeof(float));
  }

  // Appends a call of a kernel, with the network's type before the arguments and the stream after
  // them, as of Program::call().
  template <typename... Parameters, typename... Arguments>
  void launch(void (*kernel)(Type, Parameters...), const Arguments&... arguments) {
    call(kernel, type_, arguments..., DeviceStream());
  }

  program::Run add(const Value& value, const Buffer* a, const Buffer* b,
                   const Buffer* sum) const override;

  // Returns the scratch buffer of the sums over rows, of at least `bytes`, which is zeroed once.
  Buffer* sums_scratch(std::size_t bytes) { return grown(sums_scratch_, bytes); }
  std::size_t most_scratch() const { return most_scratch_; }

  // Returns the plan of a convolution in one direction: by the study's choice, else by the fixed
  // rule. Errors: kInternal if this cuDNN lacks the chosen algorithm, kInput if none fits in the
  // memory. Throws DeviceError if cuDNN fails.
  Result<const ConvPlan*> plan(const ConvShape& shape);
  // Empty without choices.
  const std::vector<TunableConv>& tunable_convs() const { return tunable_convs_; }

  // Returns the index of a dropout layer; key(index) is its key, drawn anew for each step.
  std::size_t declare_dropout(NodeId node);
  std::span<const NodeId> dropouts() const { return dropouts_; }
  const std::uint64_t* key(std::size_t index) const;
  const StepRow* now() const { return now_->as<StepRow>(); }
  std::uint64_t* keys() const { return keys_->as<std::uint64_t>(); }

  // Plans and allocates the memory, and zeroes what must start as zeros. Throws std::bad_alloc.
  void place();
  std::size_t bytes() const { return arena().bytes(); }

 private:
  std::size_t bytes_of(const Value& value) const override;

  const Type type_;
  RankSums& sums_;
  const std::size_t most_scratch_;
  const AlgorithmChoices* choices_;
  std::vector<TunableConv> tunable_convs_;
  std::shared_ptr<DeviceMemory> memory_;
  Parameters parameters_;
  std::vector<NodeId> dropouts_;
  Buffer *sums_scratch_ = nullptr, *now_ = nullptr, *keys_ = nullptr;
};

}  // namespace detol::inline trainer::cuda
