#pragma once

// Descriptor: an object of cuDNN's graph API as the emulated one has it: attributes that a table
// allows, set before it is finalised and read after. What it refers to must live as long as it is
// used. Not thread-safe.

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
  // What the emulation made itself lives with whoever refers to it: an engine of a configuration.
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
  // Null: it is not there any more, or never was.
  std::shared_ptr<const Descriptor> descriptor(cudnnBackendAttributeName_t name) const;

  template <typename Value>
  void put(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t value_type,
           const std::vector<Value>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    attributes[name] = {value_type, std::ssize(values), {bytes.begin(), bytes.end()}, {}};
  }
  void put(cudnnBackendAttributeName_t name, std::shared_ptr<const Descriptor> made);
};

// Why a call is refused; cudnnGetLastErrorString says it.
cudnnStatus_t refused(cudnnStatus_t status, const char* why);

// Null: nobody made it, or it was destroyed.
std::shared_ptr<Descriptor> find_descriptor(const void* handle);

// Whether what was set makes sense, by type; what can be read after it is added.
cudnnStatus_t finalize(Descriptor& descriptor);

}  // namespace detol::emulated

struct cudnnContext {
  cudaStream_t stream = nullptr;
};
