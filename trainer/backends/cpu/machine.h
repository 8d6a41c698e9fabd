#pragma once

// Machine: the CPU backend's settings for this process and processor. Private to this folder,
// like every header in it except backend.h.

#include <oneapi/dnnl/dnnl.hpp>

#include "trainer/backends/arena.h"
#include "trainer/backends/cpu/kernels.h"

namespace detol::inline trainer::cpu {

using Desc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;
using Tag = dnnl::memory::format_tag;

// One thread: candidates are trained side by side, one process per core, and two of those are
// 2-4x faster than one with two threads. The supervisor sets OMP_WAIT_POLICY=passive for workers.
struct Machine {
  dnnl::engine engine;
  dnnl::stream stream;
  const Kernels* kernels = nullptr;
  Tag blocked = Tag::nChw16c;     // of activations: one register of channels at a position
  Tag depthwise = Tag::Goihw16g;  // of depthwise weights

  std::int64_t lanes() const { return kernels->lanes; }
  std::int64_t padded(std::int64_t channels) const {
    return (channels + lanes() - 1) / lanes() * lanes();
  }
};

// Compiled primitives in the cache, of about 15 KB each: those of the last hundred candidates.
constexpr int kCachedPrimitives = 4096;

// Returns the machine; the first call sets up threads, primitive cache and instruction set.
const Machine& machine();
inline const Kernels& kernels() {
  return *machine().kernels;
}

Desc floats_desc(const Dims& dims, Tag tag);

// Returns a description of the same bytes in which only these extents hold values; the rest is
// padding.
Desc with_extents(Desc padded, const Dims& extents);

// Returns false for oneDNN's fallback implementations, which are 10 to 1000 times slower.
bool is_fast(const char* implementation, bool grouped);

// Moves to the first implementation that is fast; returns false if there is none. REQUIRES: the
// operation descriptor of `candidate` is alive, as next_impl() reads it.
template <typename PrimitiveDesc>
bool choose_fast(PrimitiveDesc& candidate, bool grouped) {
  while (!is_fast(candidate.impl_info_str(), grouped)) {
    if (!candidate.next_impl()) return false;
  }
  return true;
}

// Returns the attribute by which a primitive takes its scratch memory from the arena.
dnnl::primitive_attr scratch_from_user();

// Call: a primitive with its arguments. Its description is enough to plan memory; bind() compiles
// the primitive once, and run() constructs no objects.
class Call {
 public:
  explicit Call(const dnnl::primitive_desc_base& description) : description_(description) {}
  void add(int argument, const Desc& desc, Buffer* buffer);
  // Compiles the primitive and sets its buffers. REQUIRES: the arena was placed. Throws
  // std::bad_alloc.
  void bind();
  void run() const;
  const std::vector<Buffer*>& buffers() const { return buffers_; }

 private:
  dnnl::primitive_desc_base description_;
  dnnl::primitive primitive_;
  std::vector<dnnl::memory> memories_;
  std::vector<Buffer*> buffers_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

// Throws std::bad_alloc if the process cannot allocate as much as the code of any primitive takes:
// oneDNN writes the code without checking that its allocation succeeded.
void require_memory_for_code();

// Copies between two layouts of the same tensor, outside a step, without rounding.
void reorder_now(const Desc& from_desc, const void* from, const Desc& to_desc, void* to);

}  // namespace detol::inline trainer::cpu
