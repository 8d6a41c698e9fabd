#include "trainer/backends/cpu/machine.h"

#include <omp.h>
#include <sys/mman.h>

#include <new>
#include <string_view>

namespace detol::inline trainer::cpu {
namespace {

// Sixteen times what oneDNN's code generator was measured to take for a primitive: 1 MB over the
// layers of the backend's tests, with AVX2 and with AVX-512.
constexpr std::size_t kMostCodeBytes = std::size_t{16} << 20;

Machine set_up() {
  omp_set_num_threads(1);
  dnnl::set_primitive_cache_capacity(kCachedPrimitives);
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  Machine machine{engine, dnnl::stream(engine), &kAvx512Kernels};
  const auto isa = static_cast<unsigned>(dnnl::get_effective_cpu_isa());
  const auto wide = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
  if ((isa & wide) != wide) {
    machine.kernels = &kBaselineKernels;
    machine.blocked = Tag::nChw8c;
    machine.depthwise = Tag::Goihw8g;
  }
  return machine;
}

}  // namespace

const Machine& machine() {
  static Machine the_machine = set_up();
  return the_machine;
}

Desc floats_desc(const Dims& dims, Tag tag) {
  return Desc(dims, dnnl::memory::data_type::f32, tag);
}

Desc with_extents(Desc padded, const Dims& extents) {
  for (std::size_t i = 0; i < extents.size(); ++i) padded.data.dims[i] = extents[i];
  return padded;
}

bool is_fast(const char* implementation, bool grouped) {
  const std::string_view name = implementation;
  if (name.starts_with("ref")) return false;
  return !(grouped && name.find("gemm") != std::string_view::npos);
}

dnnl::primitive_attr scratch_from_user() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

void require_memory_for_code() {
  void* memory =
      ::mmap(nullptr, kMostCodeBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  ::munmap(memory, kMostCodeBytes);
}

void Call::add(int argument, const Desc& desc, Buffer* buffer) {
  memories_.push_back(dnnl::memory(desc, machine().engine, DNNL_MEMORY_NONE));
  buffers_.push_back(buffer);
  arguments_.push_back({argument, memories_.back().get()});
}

void Call::bind() {
  require_memory_for_code();
  primitive_ = dnnl::primitive(description_.get());
  for (std::size_t i = 0; i < memories_.size(); ++i) {
    memories_[i].set_data_handle(buffers_[i]->data);
  }
}

void Call::run() const {
  const dnnl_status_t status =
      dnnl_primitive_execute(primitive_.get(), machine().stream.get(),
                             static_cast<int>(arguments_.size()), arguments_.data());
  if (status == dnnl_out_of_memory) throw std::bad_alloc();
  dnnl::error::wrap_c_api(status, "a primitive could not be executed");
}

void reorder_now(const Desc& from_desc, const void* from, const Desc& to_desc, void* to) try {
  const Machine& m = machine();
  require_memory_for_code();
  dnnl::memory source(from_desc, m.engine, const_cast<void*>(from));
  dnnl::memory target(to_desc, m.engine, to);
  dnnl::stream stream = m.stream;
  dnnl::reorder(source, target).execute(stream, source, target);
} catch (const dnnl::error& error) {
  if (error.status == dnnl_out_of_memory) throw std::bad_alloc();
  throw;
}

}  // namespace detol::inline trainer::cpu
