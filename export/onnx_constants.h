#pragma once

// OnnxConstants: the constants of an ONNX graph from an untrusted file, by name. Private to this
// folder.

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "trainer/backends/norm_constants.h"

namespace detol::inline exporting {

inline constexpr int kOnnxOpset = 13;
inline constexpr int kOnnxNormOpset = 17;  // for networks with layer norm, which 13 lacks
inline constexpr auto kOnnxEpsilon = static_cast<float>(kNormEpsilon);

// Permutations of N x C x H x W to N x H x W x C and back.
inline const std::vector<std::int64_t> kToChannelsLast = {0, 2, 3, 1};
inline const std::vector<std::int64_t> kToChannelsFirst = {0, 3, 1, 2};

class OnnxConstants {
 public:
  // Collects the constants. `graph` outlives this. Errors (kInput): a name occurs twice, numbers
  // are in another file.
  static Result<OnnxConstants> of(const onnx::GraphProto& graph);

  // Return a constant's value. Errors (kInput): there is no such constant, or it is not of that
  // kind.
  Result<std::vector<std::int64_t>> shape(const std::string& name) const;
  Result<std::vector<std::int64_t>> integers(const std::string& name) const;  // of one dimension
  Result<std::vector<std::uint8_t>> bytes(const std::string& name,
                                          const std::vector<std::int64_t>& shape) const;
  // Of integers of 8 or 32 bits.
  Result<std::vector<float>> integers_as_floats(const std::string& name) const;
  Result<double> scalar(const std::string& name) const;
  Result<std::vector<float>> floats(const std::string& name,
                                    const std::vector<std::int64_t>& shape) const;

  // Returns a constant for a layer. Each may be taken once, so that a small file cannot need much
  // memory.
  Result<const onnx::TensorProto*> take(const std::string& name);

 private:
  Result<const onnx::TensorProto*> find(const std::string& name) const;

  std::map<std::string_view, const onnx::TensorProto*> by_name_;
  std::set<std::string_view> taken_;
};

// Returns the floats of a constant of that shape. Errors (kInput): another shape, type or length.
Result<std::vector<float>> floats_of(const onnx::TensorProto& constant,
                                     const std::vector<std::int64_t>& shape);

}  // namespace detol::inline exporting
