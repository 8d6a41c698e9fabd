#include "tests/support/cuda/state.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include <cuda_runtime_api.h>

namespace detol::emulated {
namespace {

struct State {
  Settings settings;
  std::atomic<cudaError_t> broken = cudaSuccess;
  std::atomic<std::int64_t> mallocs = 0, launches = 0;
};

State& state() {
  static State* const one = [] {
    auto* made = new State();  // never destroyed: memory and streams outlive static objects
    const char* words = std::getenv("DETOL_EMULATED_DEVICE");
    if (words != nullptr) made->settings = settings_from(words);
    return made;
  }();
  return *one;
}

constinit thread_local cudaError_t last_error = cudaSuccess;
constinit thread_local int device = 0;
constinit thread_local bool in_host_function = false;

void read_word(Settings& settings, std::string_view word) {
  const std::size_t colon = word.find(':');
  const std::string_view name = word.substr(0, colon);
  const std::int64_t number =
      colon == std::string_view::npos ? 0 : std::stoll(std::string(word.substr(colon + 1)));
  if (name == "none")
    settings.devices = 0;
  else if (name == "devices")
    settings.devices = static_cast<int>(number);
  else if (name == "memory")
    settings.memory = static_cast<std::size_t>(number);
  else if (name == "malloc")
    settings.failing_malloc = number;
  else if (name == "launch")
    settings.failing_launch = number;
  else if (name == "lost")
    settings.losing_launch = number;
  else if (name == "lazy")
    settings.is_lazy = true;
  else if (name == "hungry")
    settings.hunger = number;
  else if (name == "apart")
    settings.is_apart = true;
  else if (name == "reversed")
    settings.is_reversed = true;
  else
    throw std::invalid_argument("DETOL_EMULATED_DEVICE: unknown word " + std::string(word));
}

}  // namespace

Settings settings_from(std::string_view words) {
  Settings settings;
  while (!words.empty()) {
    const std::size_t comma = words.find(',');
    read_word(settings, words.substr(0, comma));
    words.remove_prefix(comma == std::string_view::npos ? words.size() : comma + 1);
  }
  return settings;
}

const Settings& settings() {
  return state().settings;
}

void set(const Settings& settings) {
  state().settings = settings;
  state().broken = cudaSuccess;
  state().mallocs = state().launches = 0;
  last_error = cudaSuccess;
  device = 0;
}

cudaError_t failed(cudaError_t error) {
  last_error = error;
  return error;
}

cudaError_t entered() {
  if (settings().devices == 0) return failed(cudaErrorNoDevice);
  if (in_host_function) return failed(cudaErrorNotPermitted);
  if (is_broken()) return failed(broken_by());
  return cudaSuccess;
}

void break_device(cudaError_t error, const char* what) {
  cudaError_t whole = cudaSuccess;
  if (state().broken.compare_exchange_strong(whole, error))
    std::fprintf(stderr, "emulated device: %s\n", what);
}

bool is_broken() {
  return broken_by() != cudaSuccess;
}

cudaError_t broken_by() {
  return state().broken;
}

bool may_run() {
  if (is_broken()) return false;
  const std::int64_t launch = ++state().launches;
  if (launch == settings().failing_launch)
    break_device(cudaErrorIllegalAddress, "an illegal address, as was asked for");
  if (launch == settings().losing_launch)
    break_device(cudaErrorDevicesUnavailable, "lost, as was asked for");
  return !is_broken();
}

bool may_allocate() {
  const std::int64_t malloc = ++state().mallocs;
  return settings().failing_malloc == 0 || malloc < settings().failing_malloc;
}

int current_device() {
  return device;
}

std::array<char, 16> uuid_of_device(int number) {
  std::array<char, 16> uuid;
  uuid.fill(static_cast<char>(0xe0 + number));
  if (!settings().is_apart) return uuid;
  static std::atomic<int> asked = 0;
  static thread_local const int thread = ++asked;
  const int owner[] = {getpid(), thread};
  std::memcpy(uuid.data(), owner, sizeof owner);
  return uuid;
}

InHostFunction::InHostFunction() {
  in_host_function = true;
}

InHostFunction::~InHostFunction() {
  in_host_function = false;
}

}  // namespace detol::emulated

using namespace detol::emulated;

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = settings().devices;
  return *count > 0 ? cudaSuccess : failed(cudaErrorNoDevice);
}

cudaError_t cudaGetDevice(int* number) {
  if (settings().devices == 0) return failed(cudaErrorNoDevice);
  *number = device;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int number) {
  if (const cudaError_t error = entered()) return error;
  if (number < 0 || number >= settings().devices) return failed(cudaErrorInvalidDevice);
  device = number;
  return cudaSuccess;
}

cudaError_t cudaPeekAtLastError() {
  return is_broken() ? broken_by() : last_error;
}

// A broken device stays broken.
cudaError_t cudaGetLastError() {
  const cudaError_t error = cudaPeekAtLastError();
  last_error = cudaSuccess;
  return error;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

}  // extern "C"
