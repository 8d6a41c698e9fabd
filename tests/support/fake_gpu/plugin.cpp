// A GPU backend without a GPU, to be loaded as libdetol_cuda.so is: it trains by the backend
// cpu, and reports two devices. CUDA_VISIBLE_DEVICES chooses among them, by their UUIDs.
//
//   DETOL_FAKE_GPUS=n          n devices; 0: none
//   DETOL_FAKE_GPU_MEMORY=b    bytes of each
//   DETOL_FAKE_GPU_BREAKS=n    from its n-th step on the device is lost in that process
//   DETOL_FAKE_GPU_MARK=file   limits this to the first process that gets there (it creates the
//   file) DETOL_FAKE_GPU_LOG=file    a line for each network: which device compiled it

#include "trainer/backends/cuda/plugin.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <new>
#include <stdexcept>
#include <string>

#include "trainer/backends/cpu/backend.h"

namespace detol {
namespace {

// NOLINTBEGIN(concurrency-mt-unsafe): no thread changes the environment.
long number_of(const char* name, long otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atol(text);
}

std::string text_of(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? "" : text;
}

// NOLINTEND(concurrency-mt-unsafe)

// True for one process of all that share the mark; without one, for all.
bool is_first() {
  const std::string mark = text_of("DETOL_FAKE_GPU_MARK");
  if (mark.empty()) return true;
  const int fd = ::open(mark.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (fd >= 0) ::close(fd);
  return fd >= 0;
}

long g_steps = 0;
bool g_is_broken = false;  // sticky, as an error of a device is

void step() {
  if (++g_steps == number_of("DETOL_FAKE_GPU_BREAKS", -1) && is_first()) g_is_broken = true;
  if (g_is_broken) throw std::runtime_error("cuda: the device is lost");
}

class FakeGpu final : public Executable {
 public:
  explicit FakeGpu(std::unique_ptr<Executable> real) : real_(std::move(real)) {}

  std::span<const Shard> micro_batches() const override { return real_->micro_batches(); }
  std::span<float> images() override { return real_->images(); }
  BatchTargets targets() override { return real_->targets(); }
  BatchResult accumulate(const StepSettings& settings, const Shard& shard) override {
    step();
    return real_->accumulate(settings, shard);
  }
  void update(const StepSettings& settings) override { real_->update(settings); }
  void share_statistics() override { real_->share_statistics(); }
  void share_state() override { real_->share_state(); }
  BatchResult evaluate(std::int64_t count) override { return real_->evaluate(count); }
  std::span<const float> logits() const override { return real_->logits(); }
  TrainingState state() const override { return real_->state(); }
  void set_state(const TrainingState& state) override { real_->set_state(state); }
  std::size_t bytes() const override { return real_->bytes(); }

 private:
  std::unique_ptr<Executable> real_;
};

Result<CudaReport> report() {
  CudaReport report{.devices = {},
                    .driver = "999.1",
                    .runtime = "13.0",
                    .cudnn = "9.19.0",
                    .cublas = "13.1",
                    .nccl = "2.28.9"};
  const std::string visible = text_of("CUDA_VISIBLE_DEVICES");
  const auto memory = static_cast<std::size_t>(number_of("DETOL_FAKE_GPU_MEMORY", 80'000'000'000));
  for (long i = 0; i < number_of("DETOL_FAKE_GPUS", 2); ++i) {
    const std::string uuid = fmt::format("GPU-fake-{}", i);
    if (!visible.empty() && visible.find(uuid) == std::string::npos) continue;
    report.devices.push_back({"Fake GPU", uuid, 9, 0, 132, memory, memory});
  }
  if (report.devices.empty()) return fail(ErrorCode::kUsage, "there is no fake GPU");
  return report;
}

Result<std::unique_ptr<Executable>> compile(const Network& network, const Recipe& recipe,
                                            const Placement& placement) {
  if (g_is_broken) throw std::runtime_error("cuda: the device is lost");
  const std::string log = text_of("DETOL_FAKE_GPU_LOG");
  if (!log.empty()) std::ofstream(log, std::ios::app) << text_of("CUDA_VISIBLE_DEVICES") << '\n';
  Recipe known = recipe;
  known.precision = "fp32";
  DETOL_ASSIGN(auto real, compile_cpu(network, known, placement));
  return std::make_unique<FakeGpu>(std::move(real));
}

// Lists two algorithms, of the same results, for each shape of a convolution.
Result<std::vector<AlgorithmCandidates>> list_algorithms(const Network& network, const Recipe&,
                                                         const Placement&) {
  std::map<std::string, AlgorithmCandidates> shapes;
  for (const Node& node : network.nodes()) {
    if (node.layer.kind != LayerKind::kConv) continue;
    const std::string key =
        fmt::format("fake conv {} window {}", to_text(node.shape), node.layer.kernel);
    shapes[key] = {key, {"slow", "fast"}};
  }
  std::vector<AlgorithmCandidates> all;
  for (auto& [key, candidates] : shapes) all.push_back(std::move(candidates));
  return all;
}

Result<std::vector<TimedShape>> time_algorithms(const Network& network, const Recipe& recipe,
                                                const Placement& placement,
                                                const std::function<void()>& on_progress) {
  DETOL_ASSIGN(const auto open, list_algorithms(network, recipe, placement));
  std::vector<TimedShape> timed;
  for (const AlgorithmCandidates& one : open) {
    if (placement.choices->find(one.key) != nullptr) continue;
    timed.push_back({one.key, "fast", {{"slow", 2e-3}, {"fast", 1e-3}}});
    on_progress();
  }
  return timed;
}

Result<DevicePeaks> peaks(const std::string&) {
  return DevicePeaks{.bytes_per_s = 1e12, .flops_per_s = 1e14};
}

Result<NetworkSeconds> time_network(const Network& network, const Recipe&, int runs) {
  return NetworkSeconds{
      .steps = std::vector<double>(static_cast<std::size_t>(runs), 1e-3),
      .nodes = std::vector<NodeSeconds>(network.nodes().size(), {.forward = 1, .backward = 2})};
}

constexpr CudaPlugin kPlugin = {kCudaStamp,      report, compile,     list_algorithms,
                                time_algorithms, peaks,  time_network};

}  // namespace
}  // namespace detol

extern "C" __attribute__((visibility("default"))) const detol::CudaPlugin* detol_cuda_plugin() {
  return &detol::kPlugin;
}
