#include "trainer/backends/cuda/conv_plans.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "trainer/backends/cuda/conv_kernels.h"
#include "trainer/backends/cuda/cudnn_graph.h"
#include "trainer/backends/cuda/device.h"
#include "trainer/backends/cuda/product_plan.h"

namespace detol::inline trainer::cuda {
namespace {

constexpr std::size_t kMostAlgorithms = 6;

class CudnnPlan final : public ConvPlan {
 public:
  CudnnPlan(std::shared_ptr<const Graph> graph, const Descriptor& config)
      : graph_(std::move(graph)), plan_(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
    plan_.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, device().cudnn)
        .set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config)
        .finalize();
    std::int64_t bytes = 0;
    plan_.get(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, std::span(&bytes, 1));
    scratch_bytes_ = static_cast<std::size_t>(bytes);
  }

  std::size_t scratch_bytes() const override { return scratch_bytes_; }

  void run(void* x, void* w, void* y, void* scratch) const override {
    const std::array<std::int64_t, 3> names = {kX, kW, kY};
    const std::array<void*, 3> data = {x, w, y};
    try {
      Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
      pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64,
               std::span<const std::int64_t>(names))
          .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
               std::span<void* const>(data))
          .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, scratch)
          .finalize();
      must(cudnnBackendExecute(device().cudnn, plan_.get(), pack.get()));
    } catch (const Failed& failed) {
      throw DeviceError(
          fmt::format("cuda: a convolution failed: {}", cudnnGetErrorString(failed.status)));
    }
  }

 private:
  std::shared_ptr<const Graph> graph_;
  Descriptor plan_;
  std::size_t scratch_bytes_ = 0;
};

// KernelPlan runs a kernel of ours.
class KernelPlan final : public ConvPlan {
 public:
  KernelPlan(const ConvKernel& kernel, const ConvShape& shape) : kernel_(kernel), shape_(shape) {}
  std::size_t scratch_bytes() const override { return kernel_.scratch_bytes(shape_); }
  void run(void* x, void* w, void* y, void* scratch) const override {
    kernel_.run(shape_, x, w, y, scratch, device().stream);
  }

 private:
  const ConvKernel& kernel_;
  const ConvShape shape_;
};

// SplitPlan runs a convolution on some images at a time. The weights' gradients of later slices are
// written behind the scratch memory, and added to that of the first.
class SplitPlan final : public ConvPlan {
 public:
  struct Slice {
    const ConvPlan* plan;
    std::int64_t first;  // image
  };
  SplitPlan(const ConvShape& shape, std::vector<Slice> slices)
      : slices_(std::move(slices)),
        type_(shape.type),
        input_bytes_(bytes(shape.inputs * shape.height * shape.width)),
        output_bytes_(bytes(shape.outputs * shape.out_height * shape.out_width)),
        weights_(shape.direction == Direction::kWeights
                     ? shape.outputs * shape.kernel_height * shape.kernel *
                           (shape.inputs / shape.groups)
                     : 0) {
    for (const Slice& slice : slices_)
      own_scratch_ = std::max(own_scratch_, slice.plan->scratch_bytes());
    own_scratch_ = (own_scratch_ + kLine - 1) / kLine * kLine;
  }

  std::size_t scratch_bytes() const override { return own_scratch_ + bytes(weights_); }

  void run(void* x, void* w, void* y, void* scratch) const override {
    std::byte* more = static_cast<std::byte*>(scratch) + own_scratch_;
    for (const Slice& slice : slices_) {
      const auto first = static_cast<std::size_t>(slice.first);
      const bool adds = weights_ > 0 && first > 0;
      slice.plan->run(static_cast<std::byte*>(x) + first * input_bytes_, adds ? more : w,
                      static_cast<std::byte*>(y) + first * output_bytes_, scratch);
      if (adds) add(type_, w, more, w, weights_, device().stream);
    }
  }

 private:
  static constexpr std::size_t kLine = 256;
  std::size_t bytes(std::int64_t elements) const {
    return static_cast<std::size_t>(elements) * size_of(type_);
  }
  const std::vector<Slice> slices_;
  const Type type_;
  const std::size_t input_bytes_, output_bytes_;  // of an image
  const std::int64_t weights_;                    // elements of their gradient; else 0
  std::size_t own_scratch_ = 0;
};

// Known caches the plans of one shape.
struct Known {
  std::vector<std::string> kernels;  // the names of ours that support it; they come before cuDNN's
  std::shared_ptr<const Graph> graph;
  std::vector<Config> configs;                             // all, best first, no name twice
  std::map<std::string, std::unique_ptr<ConvPlan>> plans;  // null: cuDNN refused it
};

std::map<std::string, Known>& all_known() {
  static thread_local auto* const kKnown = new std::map<std::string, Known>();
  return *kKnown;
}

Known make_known(const ConvShape& shape) {
  Known known;
  for (const ConvKernel* kernel : {&kDepthwiseKernel, &kTileKernel}) {
    if (!kernel->supports(shape)) continue;
    known.kernels.emplace_back(kernel->name);
    known.plans.emplace(kernel->name, std::make_unique<KernelPlan>(*kernel, shape));
  }
  if (auto product = make_product_plan(shape)) {
    known.kernels.emplace_back("product");
    known.plans.emplace("product", std::move(product));
  }
  known.graph = std::make_shared<const Graph>(graph_of(shape));
  known.configs = configs_of(*known.graph);
  return known;
}

Known& known_of(const ConvShape& shape) {
  const std::string key = to_text(shape);
  const auto found = all_known().find(key);
  if (found != all_known().end()) return found->second;
  try {
    return all_known().emplace(key, make_known(shape)).first->second;
  } catch (const Failed& failed) {
    throw DeviceError(fmt::format("cuda: cuDNN, {}: {}", key, cudnnGetErrorString(failed.status)));
  }
}

const ConvPlan* plan_for(Known& known, const Config& config) {
  const auto found = known.plans.find(config.name);
  if (found != known.plans.end()) return found->second.get();
  std::unique_ptr<ConvPlan> plan;
  try {
    plan = std::make_unique<CudnnPlan>(known.graph, config.descriptor);
  } catch (const Failed&) {
    // The heuristics list engines that then refuse; the caller tries the next.
  }
  return known.plans.emplace(config.name, std::move(plan)).first->second.get();
}

}  // namespace

std::vector<std::string> algorithms_of(const ConvShape& shape) {
  Known& known = known_of(shape);
  std::vector<std::string> algorithms = known.kernels;
  for (const Config& config : known.configs) {
    if (algorithms.size() == kMostAlgorithms) break;
    if (may_serve(shape, config) && plan_for(known, config) != nullptr)
      algorithms.push_back(config.name);
  }
  if (algorithms.empty())
    throw DeviceError(fmt::format("cuda: cuDNN cannot do {}", to_text(shape)));
  return algorithms;
}

namespace {

const ConvPlan* whole_plan(const ConvShape& shape, const std::string& algorithm,
                           std::size_t most_scratch) {
  Known& known = known_of(shape);
  for (const std::string& name : known.kernels) {
    const ConvPlan* plan = known.plans.at(name).get();
    if (algorithm.empty() ? plan->scratch_bytes() <= most_scratch : algorithm == name) return plan;
  }
  for (const Config& config : known.configs) {
    if (!algorithm.empty() && config.name != algorithm) continue;
    if (!may_serve(shape, config)) continue;
    const ConvPlan* plan = plan_for(known, config);
    if (plan != nullptr && (!algorithm.empty() || plan->scratch_bytes() <= most_scratch))
      return plan;
  }
  return nullptr;
}

// Returns a plan for at most `images` images at a time; null if that does not fit either.
const ConvPlan* split_plan(const ConvShape& shape, std::int64_t images, std::size_t most_scratch) {
  std::vector<SplitPlan::Slice> slices;
  for (std::int64_t first = 0; first < shape.images; first += images) {
    ConvShape slice = shape;
    slice.images = std::min(images, shape.images - first);
    const ConvPlan* plan = whole_plan(slice, {}, most_scratch);
    if (plan == nullptr) return nullptr;
    slices.push_back({plan, first});
  }
  const std::string name = fmt::format("{} at a time in {} bytes", images, most_scratch);
  std::unique_ptr<ConvPlan>& kept = known_of(shape).plans[name];
  if (kept == nullptr) kept = std::make_unique<SplitPlan>(shape, std::move(slices));
  return kept.get();
}

}  // namespace

const ConvPlan* plan_of(const ConvShape& shape, const std::string& algorithm,
                        std::size_t most_scratch) {
  const ConvPlan* plan = whole_plan(shape, algorithm, most_scratch);
  for (std::int64_t slices = 2; plan == nullptr && algorithm.empty() && slices <= shape.images;
       slices *= 2)
    plan = split_plan(shape, (shape.images + slices - 1) / slices, most_scratch);
  return plan;
}

}  // namespace detol::inline trainer::cuda
