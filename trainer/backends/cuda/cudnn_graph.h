#pragma once

// Graph: a convolution as a graph of one operation in cuDNN's graph API; Config: an engine that
// cuDNN's heuristics list for it. Errors of cuDNN are thrown as Failed. Private to this folder;
// included only by files that use cuDNN.

#include <algorithm>
#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <cudnn.h>

#include "trainer/backends/cuda/conv_shape.h"

namespace detol::inline trainer::cuda {

inline constexpr std::int64_t kX = 1, kY = 2, kW = 3;  // names of the tensors in a graph

struct Failed {
  cudnnStatus_t status;
};

// Throws Failed, or std::bad_alloc, unless `status` is success.
void must(cudnnStatus_t status);

// Descriptor owns one object of the graph API.
class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type) {
    must(cudnnBackendCreateDescriptor(type, &handle_));
  }
  ~Descriptor() {
    if (handle_ != nullptr) cudnnBackendDestroyDescriptor(handle_);
  }
  Descriptor(Descriptor&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }

  cudnnBackendDescriptor_t get() const { return handle_; }

  template <typename Value>
  Descriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                  std::span<const Value> values) {
    must(cudnnBackendSetAttribute(handle_, name, type, std::ssize(values), values.data()));
    return *this;
  }
  template <typename Value>
  Descriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                  const Value& value) {
    return set(name, type, std::span<const Value>(&value, 1));
  }
  Descriptor& set(cudnnBackendAttributeName_t name, const Descriptor& other) {
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, other.handle_);
  }
  Descriptor& set(cudnnBackendAttributeName_t name, std::int64_t value) {
    return set(name, CUDNN_TYPE_INT64, value);
  }
  Descriptor& finalize() {
    must(cudnnBackendFinalize(handle_));
    return *this;
  }

  // Reads at most out.size() values, and returns their number.
  template <typename Value>
  std::size_t get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                  std::span<Value> out) const {
    std::int64_t count = 0;
    must(cudnnBackendGetAttribute(handle_, name, type, std::ssize(out), &count, out.data()));
    return std::min(out.size(), static_cast<std::size_t>(count));
  }

 private:
  cudnnBackendDescriptor_t handle_ = nullptr;
};

// Graph owns an operation graph, its last descriptor, and the descriptors that this refers to.
struct Graph {
  std::vector<Descriptor> descriptors;
  const Descriptor& whole() const { return descriptors.back(); }
};

Graph graph_of(const ConvShape& shape);

// Config is an engine with its settings.
struct Config {
  Descriptor descriptor;
  std::string name;
  std::vector<cudnnBackendNumericalNote_t> numbers;
  bool compiles = false;  // at run time: a fraction of a second
};

// Returns the configurations that cuDNN lists, best first, no name twice; those that are compiled
// at run time come last.
std::vector<Config> configs_of(const Graph& graph);

// Returns whether the engine is deterministic and keeps the precision of the shape. A resumed trial
// must end with the bits of an uninterrupted one, whether its algorithms were timed or not.
bool may_serve(const ConvShape& shape, const Config& config);

}  // namespace detol::inline trainer::cuda
