#pragma once

// Parameters: the flat buffers of a candidate in the memory of the host, with tensors in oneDNN's
// layouts.

#include <string_view>

#include "trainer/backends/cpu/machine.h"
#include "trainer/backends/program/flat_parameters.h"

namespace detol::inline trainer::cpu {

using program::Parameter;
using program::UpdateNumbers;

class Parameters final : public program::FlatParameters {
 public:
  using FlatParameters::FlatParameters;

  // Returns the tensor `name` of a node, stored in layout `native`: the same extents as `plain`,
  // perhaps padded. Null if the node has no such tensor.
  Parameter* claim(NodeId node, std::string_view name, const Desc& plain, const Desc& native);
  // Claims a tensor of one value per channel.
  Parameter* claim(NodeId node, std::string_view name);

 private:
  void set_to_zero(const Buffer& buffer, std::size_t bytes) const override;
  std::span<const float> read(const Buffer& flat, std::size_t first, std::size_t floats,
                              std::vector<float>& copy) const override;
  void write(const Buffer& flat, std::size_t first, std::size_t floats,
             const std::function<void(std::span<float>)>& fill) const override;
  void add(float* sum, const float* values, std::size_t floats) const override;
  void clip() const override;
  void apply_rule(const UpdateNumbers* now) const override;
  void move_average(const UpdateNumbers* now) const override;
  void swap(float* a, float* b, std::size_t floats) const override;

  // Updates `floats` weights from `first` on.
  void update_range(const UpdateNumbers& now, std::size_t first, std::size_t floats, double lr,
                    bool decays) const;
  void update_by_lars(const UpdateNumbers& now) const;
};

}  // namespace detol::inline trainer::cpu
