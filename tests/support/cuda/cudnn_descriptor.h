#pragma once

// Descriptor: an object of the emulated cuDNN's graph API: attributes that a table allows, set
// before it is finalised and read after. The descriptors that it refers to must outlive its use.
// Not thread-safe.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include <cudnn.h>

namespace detol::emulated {

struct Descriptor;

struct Attribute {
  cudnnBackendAttributeType_t type = CUDNN_TYPE_INT64;
  std::int64_t count = 0;
  std::vector<std::byte> bytes;
  std::vector<std::weak_ptr<const Descriptor>> descriptors;  // of CUDNN_TYPE_BACKEND_DESCRIPTOR
};

struct Descriptor {
  cudnnBackendDescriptorType_t type = CUDNN_BACKEND_TENSOR_DESCRIPTOR;
  bool is_final = false;
  std::map<cudnnBackendAttributeName_t, Attribute> attributes;
  // Keeps alive the descriptors that the emulation made, such as the engine of a configuration.
  std::vector<std::shared_ptr<const Descriptor>> owned;

  bool has(cudnnBackendAttributeName_t name) const { return attributes.contains(name); }
  template <typename Value>
  std::vector<Value> all(cudnnBackendAttributeName_t name) const {
    const auto found = attributes.find(name);
    if (found == attributes.end()) return {};
    std::vector<Value> values(static_cast<std::size_t>(found->second.count));
    std::memcpy(values.data(), found->second.bytes.data(), found->second.bytes.size());
    return values;
  }
  // REQUIRES: has(name).
  template <typename Value>
  Value one(cudnnBackendAttributeName_t name) const {
    return all<Value>(name).front();
  }
  // Returns null if the descriptor was destroyed, or the attribute was never set.
  std::shared_ptr<const Descriptor> descriptor(cudnnBackendAttributeName_t name) const;

  template <typename Value>
  void put(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t value_type,
           const std::vector<Value>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    attributes[name] = {value_type, std::ssize(values), {bytes.begin(), bytes.end()}, {}};
  }
  void put(cudnnBackendAttributeName_t name, std::shared_ptr<const Descriptor> made);
};

// Stores `why` for cudnnGetLastErrorString, and returns `status`.
cudnnStatus_t refused(cudnnStatus_t status, const char* why);

// Returns null if the handle was never created, or was destroyed.
std::shared_ptr<Descriptor> find_descriptor(const void* handle);

// Checks the attributes, by type, and adds those that can be read from now on.
cudnnStatus_t finalize(Descriptor& descriptor);

}  // namespace detol::emulated

struct cudnnContext {
  cudaStream_t stream = nullptr;
};
