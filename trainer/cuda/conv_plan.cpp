// cuDNN's graph API: descriptors with attributes, finalised one after the other. For a convolution
// its heuristics name engines with settings, best first; notes say what an engine does to numbers.

#include "trainer/cuda/conv_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include <cudnn.h>

#include "trainer/cuda/device.h"

namespace detol::cuda {
namespace {

constexpr std::int64_t kX = 1, kY = 2, kW = 3;  // names of the tensors in a graph
constexpr std::int64_t kAlignment = 16;         // bytes
constexpr std::int64_t kMostConfigs = 16;       // of one mode of the heuristics
constexpr std::size_t kMostWays = 6;
constexpr int kMostKnobs = 64;

struct Failed {
  cudnnStatus_t status;
};

void must(cudnnStatus_t status) {
  if (status == CUDNN_STATUS_ALLOC_FAILED) throw std::bad_alloc();
  if (status != CUDNN_STATUS_SUCCESS) throw Failed{status};
}

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

using Extents = std::array<std::int64_t, 4>;  // N C H W, whatever the order in memory

cudnnDataType_t data_type(Type type) {
  return type == Type::kFloat ? CUDNN_DATA_FLOAT : CUDNN_DATA_BFLOAT16;
}

// Channels last.
Descriptor tensor(std::int64_t name, Type type, const Extents& e) {
  const Extents strides = {e[1] * e[2] * e[3], 1, e[1] * e[3], e[1]};
  Descriptor made(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, data_type(type))
      .set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, std::span<const std::int64_t>(e))
      .set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, std::span<const std::int64_t>(strides))
      .set(CUDNN_ATTR_TENSOR_UNIQUE_ID, name)
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kAlignment)
      .finalize();
  return made;
}

Descriptor convolution(const ConvShape& s) {
  using Two = std::array<std::int64_t, 2>;
  const Two padding = {s.above, s.beside}, strides = {s.stride, s.stride};
  const Two dilations = {s.dilation, s.dilation};
  Descriptor made(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  const auto set_two = [&](cudnnBackendAttributeName_t name, const Two& values) {
    made.set(name, CUDNN_TYPE_INT64, std::span<const std::int64_t>(values));
  };
  made.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, std::int64_t{2})
      .set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT)
      .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION);
  set_two(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, padding);
  set_two(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, padding);
  set_two(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, strides);
  set_two(CUDNN_ATTR_CONVOLUTION_DILATIONS, dilations);
  made.finalize();
  return made;
}

// The names of an operation's attributes differ by direction.
struct OperationRow {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t alpha, beta, convolution, x, w, y;
};

// In the order of Direction.
constexpr std::array kOperations = {
    OperationRow{CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
    OperationRow{CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY},
    OperationRow{CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY},
};

// The graph refers to what it is made of: they live together.
struct Graph {
  std::vector<Descriptor> parts;
  const Descriptor& whole() const { return parts.back(); }
};

Graph graph_of(const ConvShape& s) {
  const OperationRow& row = kOperations[static_cast<std::size_t>(s.direction)];
  Graph graph;
  graph.parts.push_back(tensor(kX, s.type, {s.images, s.inputs, s.height, s.width}));
  graph.parts.push_back(
      tensor(kW, s.type, {s.outputs, s.inputs / s.groups, s.kernel_height, s.kernel}));
  graph.parts.push_back(tensor(kY, s.type, {s.images, s.outputs, s.out_height, s.out_width}));
  graph.parts.push_back(convolution(s));
  Descriptor operation(row.type);
  operation.set(row.alpha, CUDNN_TYPE_FLOAT, 1.0F)
      .set(row.beta, CUDNN_TYPE_FLOAT, 0.0F)
      .set(row.x, graph.parts[0])
      .set(row.w, graph.parts[1])
      .set(row.y, graph.parts[2])
      .set(row.convolution, graph.parts[3])
      .finalize();
  graph.parts.push_back(std::move(operation));
  Descriptor whole(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  whole.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, device().cudnn)
      .set(CUDNN_ATTR_OPERATIONGRAPH_OPS, graph.parts.back())
      .finalize();
  graph.parts.push_back(std::move(whole));
  return graph;
}

// An engine with settings.
struct Config {
  Descriptor descriptor;
  std::string name;
  std::vector<cudnnBackendNumericalNote_t> numbers;
  bool compiles = false;  // at run time: a fraction of a second
};

template <typename Note>
std::vector<Note> notes_of(const Descriptor& engine, cudnnBackendAttributeName_t name,
                           cudnnBackendAttributeType_t type, std::size_t most) {
  std::vector<Note> notes(most);
  notes.resize(engine.get(name, type, std::span(notes)));
  return notes;
}

std::string knobs_of(const Descriptor& config) {
  std::vector<Descriptor> choices;
  std::vector<cudnnBackendDescriptor_t> handles;
  for (int i = 0; i < kMostKnobs; ++i) {
    choices.emplace_back(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
    handles.push_back(choices.back().get());
  }
  const std::size_t count = config.get(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                                       CUDNN_TYPE_BACKEND_DESCRIPTOR, std::span(handles));
  std::map<int, std::int64_t> knobs;
  for (std::size_t i = 0; i < count; ++i) {
    cudnnBackendKnobType_t type{};
    std::int64_t value = 0;
    choices[i].get(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, std::span(&type, 1));
    choices[i].get(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, std::span(&value, 1));
    knobs[static_cast<int>(type)] = value;
  }
  std::string text;
  for (const auto& [type, value] : knobs) text += fmt::format(", {}={}", type, value);
  return text;
}

Config described(Descriptor descriptor) {
  Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t handle = engine.get();
  descriptor.get(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, std::span(&handle, 1));
  std::int64_t index = 0;
  engine.get(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, std::span(&index, 1));
  const auto behaviour = notes_of<cudnnBackendBehaviorNote_t>(
      engine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE,
      CUDNN_BEHAVIOR_NOTE_TYPE_COUNT);
  std::string name = fmt::format("engine {}{}", index, knobs_of(descriptor));
  return {std::move(descriptor), std::move(name),
          notes_of<cudnnBackendNumericalNote_t>(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                                CUDNN_TYPE_NUMERICAL_NOTE,
                                                CUDNN_NUMERICAL_NOTE_TYPE_COUNT),
          std::ranges::find(behaviour, CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION) != behaviour.end()};
}

// What one mode of the heuristics says; nothing, if it does not know the graph.
std::vector<Config> configs_of(const Graph& graph, cudnnBackendHeurMode_t mode) {
  std::vector<Config> configs;
  try {
    Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph.whole())
        .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode)
        .finalize();
    std::vector<Descriptor> found;
    std::vector<cudnnBackendDescriptor_t> handles;
    for (std::int64_t i = 0; i < kMostConfigs; ++i) {
      found.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
      handles.push_back(found.back().get());
    }
    const std::size_t count = heuristics.get(CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                             CUDNN_TYPE_BACKEND_DESCRIPTOR, std::span(handles));
    for (std::size_t i = 0; i < count; ++i) configs.push_back(described(std::move(found[i])));
  } catch (const Failed&) {
    // Another mode may know it.
  }
  return configs;
}

bool has(const Config& config, cudnnBackendNumericalNote_t note) {
  return std::ranges::find(config.numbers, note) != config.numbers.end();
}

// Whether its numbers are what is promised. A trial that was interrupted ends with the bits of one
// that was not, whether its ways were timed or not: what differs from run to run serves nobody.
bool may_serve(const ConvShape& s, const Config& config) {
  if (has(config, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC)) return false;
  if (has(config, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION)) return false;
  if (has(config, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13)) return false;
  const bool rounds = has(config, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
  return !rounds || (s.type == Type::kFloat && s.tf32);
}

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

// The same, some images at a time. The weights' gradients of the later ones are made behind the
// scratch memory, and added.
class SplitPlan final : public ConvPlan {
 public:
  struct Part {
    const ConvPlan* plan;
    std::int64_t first;  // image
  };
  SplitPlan(const ConvShape& shape, std::vector<Part> parts)
      : parts_(std::move(parts)),
        type_(shape.type),
        input_bytes_(bytes(shape.inputs * shape.height * shape.width)),
        output_bytes_(bytes(shape.outputs * shape.out_height * shape.out_width)),
        weights_(shape.direction == Direction::kWeights
                     ? shape.outputs * shape.kernel_height * shape.kernel *
                           (shape.inputs / shape.groups)
                     : 0) {
    for (const Part& part : parts_)
      own_scratch_ = std::max(own_scratch_, part.plan->scratch_bytes());
    own_scratch_ = (own_scratch_ + kLine - 1) / kLine * kLine;
  }

  std::size_t scratch_bytes() const override { return own_scratch_ + bytes(weights_); }

  void run(void* x, void* w, void* y, void* scratch) const override {
    std::byte* more = static_cast<std::byte*>(scratch) + own_scratch_;
    for (const Part& part : parts_) {
      const auto first = static_cast<std::size_t>(part.first);
      const bool adds = weights_ > 0 && first > 0;
      part.plan->run(static_cast<std::byte*>(x) + first * input_bytes_, adds ? more : w,
                     static_cast<std::byte*>(y) + first * output_bytes_, scratch);
      if (adds) add(type_, w, more, w, weights_, device().stream);
    }
  }

 private:
  static constexpr std::size_t kLine = 256;
  std::size_t bytes(std::int64_t elements) const {
    return static_cast<std::size_t>(elements) * size_of(type_);
  }
  const std::vector<Part> parts_;
  const Type type_;
  const std::size_t input_bytes_, output_bytes_;  // of an image
  const std::int64_t weights_;                    // elements of their gradient, if that is made
  std::size_t own_scratch_ = 0;
};

// What is known of one shape.
struct Known {
  std::shared_ptr<const Graph> graph;
  std::vector<Config> configs;                             // all, best first, no name twice
  std::map<std::string, std::unique_ptr<ConvPlan>> plans;  // null: it does not work here
};

std::map<std::string, Known>& all_known() {
  static thread_local auto* const kKnown = new std::map<std::string, Known>();
  return *kKnown;
}

Known make_known(const ConvShape& shape) {
  Known known;
  known.graph = std::make_shared<const Graph>(graph_of(shape));
  for (const cudnnBackendHeurMode_t mode :
       {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_INSTANT, CUDNN_HEUR_MODE_FALLBACK}) {
    // INSTANT is asked where A has no answer.
    if (mode == CUDNN_HEUR_MODE_INSTANT && !known.configs.empty()) continue;
    for (Config& config : configs_of(*known.graph, mode)) {
      const auto same = [&](const Config& other) { return other.name == config.name; };
      if (std::ranges::none_of(known.configs, same)) known.configs.push_back(std::move(config));
    }
  }
  // What has to be compiled first comes last: a candidate is to begin at once.
  std::ranges::stable_partition(known.configs, [](const Config& c) { return !c.compiles; });
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
    // The heuristics name engines that then refuse: the next one.
  }
  return known.plans.emplace(config.name, std::move(plan)).first->second.get();
}

}  // namespace

std::string to_text(const ConvShape& s) {
  constexpr std::array kDirections = {"forward", "data", "weights"};
  std::string text =
      fmt::format("conv {} {} {}x{}x{}x{} to {}, window {}x{}",
                  kDirections[static_cast<std::size_t>(s.direction)],
                  s.type == Type::kBfloat16 ? "bf16"
                  : s.tf32                  ? "tf32"
                                            : "fp32",
                  s.images, s.inputs, s.height, s.width, s.outputs, s.kernel_height, s.kernel);
  const auto add = [&](const char* name, std::int64_t is) {
    if (is != 1) text += fmt::format(", {} {}", name, is);
  };
  add("stride", s.stride);
  add("groups", s.groups);
  add("dilation", s.dilation);
  return text;
}

std::vector<std::string> ways_of(const ConvShape& shape) {
  Known& known = known_of(shape);
  std::vector<std::string> ways;
  for (const Config& config : known.configs) {
    if (ways.size() == kMostWays) break;
    if (may_serve(shape, config) && plan_for(known, config) != nullptr) ways.push_back(config.name);
  }
  if (ways.empty()) throw DeviceError(fmt::format("cuda: cuDNN cannot do {}", to_text(shape)));
  return ways;
}

namespace {

const ConvPlan* whole_plan(const ConvShape& shape, const std::string& way,
                           std::size_t most_scratch) {
  Known& known = known_of(shape);
  for (const Config& config : known.configs) {
    if (!way.empty() && config.name != way) continue;
    if (!may_serve(shape, config)) continue;
    const ConvPlan* plan = plan_for(known, config);
    if (plan != nullptr && (!way.empty() || plan->scratch_bytes() <= most_scratch)) return plan;
  }
  return nullptr;
}

// At most so many images at a time; null: that does not fit either.
const ConvPlan* split_plan(const ConvShape& shape, std::int64_t images, std::size_t most_scratch) {
  std::vector<SplitPlan::Part> parts;
  for (std::int64_t first = 0; first < shape.images; first += images) {
    ConvShape part = shape;
    part.images = std::min(images, shape.images - first);
    const ConvPlan* plan = whole_plan(part, {}, most_scratch);
    if (plan == nullptr) return nullptr;
    parts.push_back({plan, first});
  }
  const std::string name = fmt::format("{} at a time in {} bytes", images, most_scratch);
  std::unique_ptr<ConvPlan>& kept = known_of(shape).plans[name];
  if (kept == nullptr) kept = std::make_unique<SplitPlan>(shape, std::move(parts));
  return kept.get();
}

}  // namespace

const ConvPlan* plan_of(const ConvShape& shape, const std::string& way, std::size_t most_scratch) {
  const ConvPlan* plan = whole_plan(shape, way, most_scratch);
  for (std::int64_t parts = 2; plan == nullptr && way.empty() && parts <= shape.images; parts *= 2)
    plan = split_plan(shape, (shape.images + parts - 1) / parts, most_scratch);
  return plan;
}

void forget_plans() {
  all_known().clear();
}

}  // namespace detol::cuda
