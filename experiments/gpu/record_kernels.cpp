// Records every kernel that a program runs, those of CUDA graphs too, in a few percent of its time.
// CUDA loads this library into programs whose environment has CUDA_INJECTION64_PATH=its path; at
// their end it writes the last 6,000 kernels to RECORD_KERNELS, a line each: start and end in
// nanoseconds, grid, name. `pack` builds it, `run --only kernels` reads what it writes. (CUPTI,
// "Activity API".)

#include <cupti.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

namespace {

constexpr std::size_t kBuffer = 8 << 20;  // bytes
constexpr std::size_t kMostWritten = 6000;

struct Kernel {
  std::uint64_t start_ns, end_ns;
  int grid[3];
  std::string name;
};

std::mutex mutex;
std::vector<Kernel> kernels;

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, kBuffer));
  *bytes = kBuffer;
  *most_records = 0;
}

void CUPTIAPI take_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                          std::size_t bytes) {
  const std::lock_guard lock(mutex);
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, bytes, &record) == CUPTI_SUCCESS) {
    if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) continue;
    const auto* kernel = reinterpret_cast<CUpti_ActivityKernel9*>(record);
    kernels.push_back(
        {kernel->start, kernel->end, {kernel->gridX, kernel->gridY, kernel->gridZ}, kernel->name});
  }
  std::free(buffer);
}

void write_kernels() {
  cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  const char* path = std::getenv("RECORD_KERNELS");
  const std::lock_guard lock(mutex);
  if (path == nullptr || kernels.empty()) return;
  std::FILE* file = std::fopen(path, "w");
  if (file == nullptr) return;
  std::ranges::sort(kernels, {}, &Kernel::start_ns);
  for (std::size_t i = kernels.size() - std::min(kernels.size(), kMostWritten); i < kernels.size();
       ++i) {
    const Kernel& one = kernels[i];
    std::fprintf(file, "%llu\t%llu\t%d,%d,%d\t%s\n", static_cast<unsigned long long>(one.start_ns),
                 static_cast<unsigned long long>(one.end_ns), one.grid[0], one.grid[1], one.grid[2],
                 one.name.c_str());
  }
  std::fclose(file);
}

}  // namespace

extern "C" int InitializeInjection() {
  cuptiActivityRegisterCallbacks(give_buffer, take_buffer);
  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  std::atexit(write_kernels);
  return 1;
}
