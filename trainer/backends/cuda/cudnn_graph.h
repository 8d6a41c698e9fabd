#pragma once

// CudnnGraph: a convolution as a graph of one operation in cuDNN's graph API, and the engines that
// its heuristics name for it. What cuDNN refuses is thrown as Failed. Private to this folder; seen
// by those alone that include cuDNN.

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

// Throws Failed, or std::bad_alloc.
void must(cudnnStatus_t status);

// One object of the graph API.
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

  // At most out.size() values; returns how many there are of them.
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

// The graph refers to what it is made of: they live together.
struct Graph {
  std::vector<Descriptor> descriptors;
  const Descriptor& whole() const { return descriptors.back(); }
};

Graph graph_of(const ConvShape& shape);

// An engine with settings.
struct Config {
  Descriptor descriptor;
  std::string name;
  std::vector<cudnnBackendNumericalNote_t> numbers;
  bool compiles = false;  // at run time: a fraction of a second
};

// All that cuDNN names, best first, no name twice; what has to be compiled first comes last.
std::vector<Config> configs_of(const Graph& graph);

// Whether its numbers are what is promised. A trial that was interrupted ends with the bits of one
// that was not, whether its algorithms were timed or not: what differs from run to run serves
// nobody.
bool may_serve(const ConvShape& shape, const Config& config);

}  // namespace detol::inline trainer::cuda
