#include "trainer/backends/cuda/load.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace detol::inline trainer {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibrary = "libdetol_cuda.so";
constexpr const char* kDriver = "libcuda.so.1";

// Returns the reason why dlopen() failed.
std::string why_not_loaded() {
  const char* reason = dlerror();  // NOLINT(concurrency-mt-unsafe): glibc's is safe
  return reason != nullptr ? reason : "no reason given";
}

// Returns the folder of this program.
fs::path own_folder() {
  std::error_code ignored;
  return fs::read_symlink("/proc/self/exe", ignored).parent_path();
}

// Returns the path of the library; empty if there is none.
fs::path library_path() {
  const char* named = std::getenv("DETOL_CUDA_LIBRARY");  // NOLINT(concurrency-mt-unsafe)
  if (named != nullptr && *named != '\0') return named;
  std::error_code ignored;
  for (const fs::path& folder : {own_folder(), own_folder() / "../lib/detol"}) {
    if (fs::exists(folder / kLibrary, ignored)) return folder / kLibrary;
  }
  return {};
}

// Returns CMake's reason for not building the library or, if it was built, where it is missing.
std::string why_not_built() {
  constexpr std::string_view kMissing = DETOL_CUDA_MISSING;
  if (!kMissing.empty()) return std::string(kMissing);
  return fmt::format("{} lies neither beside the program nor in ../lib/detol", kLibrary);
}

// Returns an error unless the driver has a device for this process: without one the library is not
// loaded.
Result<void> find_device() {
  void* driver = dlopen(kDriver, RTLD_LAZY | RTLD_LOCAL);
  if (driver == nullptr)
    return fail(ErrorCode::kUsage,
                fmt::format("there is no NVIDIA driver on this machine ({} is missing)", kDriver));
  const auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
  const auto count = reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuDeviceGetCount"));
  if (init == nullptr || count == nullptr)
    return fail(ErrorCode::kUsage, fmt::format("{} is no NVIDIA driver", kDriver));
  constexpr int kNoDevice = 100;  // CUDA_ERROR_NO_DEVICE
  int devices = 0;
  const int status = init(0);
  if (status != 0 && status != kNoDevice)
    return fail(ErrorCode::kUsage,
                fmt::format("the NVIDIA driver does not start (error {}); see nvidia-smi", status));
  if (status == kNoDevice || count(&devices) != 0 || devices == 0)
    return fail(ErrorCode::kUsage,
                "the NVIDIA driver has no device for this process "
                "(CUDA_VISIBLE_DEVICES may hide it)");
  return {};
}

Result<const CudaPlugin*> load() {
  const fs::path path = library_path();
  if (path.empty())
    return fail(ErrorCode::kUsage,
                fmt::format("this build has no GPU backend ({})", why_not_built()));
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  if (std::getenv("DETOL_CUDA_LIBRARY") == nullptr) DETOL_TRY(find_device());
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return fail(ErrorCode::kUsage,
                fmt::format("the GPU backend cannot be loaded: {}", why_not_loaded()));
  using Entry = const CudaPlugin* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(library, kCudaEntry));
  const CudaPlugin* plugin = entry != nullptr ? entry() : nullptr;
  if (plugin == nullptr || std::string_view(plugin->stamp) != kCudaStamp)
    return fail(ErrorCode::kUsage,
                fmt::format("{} is of another build of detol; build both together", path.string()));
  return plugin;
}

}  // namespace

Result<const CudaPlugin*> cuda_plugin() {
  static const Result<const CudaPlugin*> kLoaded = load();
  return kLoaded;
}

bool has_cuda_library() {
  return !library_path().empty();
}

Result<CudaReport> cuda_report() {
  DETOL_ASSIGN(const CudaPlugin* plugin, cuda_plugin());
  return plugin->report();
}

std::string why_not_cudnn() {
  static const std::string kReason = [] {
    const Result<CudaReport> report = cuda_report();
    return report ? std::string() : report.error().message;
  }();
  return kReason;
}

Result<std::unique_ptr<Executable>> compile_cudnn(const Network& network, const Recipe& recipe,
                                                  const Placement& placement) {
  DETOL_ASSIGN(const CudaPlugin* plugin, cuda_plugin());
  return plugin->compile(network, recipe, placement);
}

Result<std::vector<AlgorithmCandidates>> list_algorithms_cudnn(const Network& network,
                                                               const Recipe& recipe,
                                                               const Placement& placement) {
  DETOL_ASSIGN(const CudaPlugin* plugin, cuda_plugin());
  return plugin->list_algorithms(network, recipe, placement);
}

Result<std::vector<TimedShape>> time_algorithms_cudnn(const Network& network, const Recipe& recipe,
                                                      const Placement& placement,
                                                      const std::function<void()>& on_progress) {
  DETOL_ASSIGN(const CudaPlugin* plugin, cuda_plugin());
  return plugin->time_algorithms(network, recipe, placement, on_progress);
}

}  // namespace detol::inline trainer
