// A graph is built from descriptors: each gets its attributes and is finalised before another
// refers to it. The numerical notes of an engine tell how it rounds.

#include "trainer/backends/cuda/cudnn_graph.h"

#include <fmt/format.h>

#include <array>
#include <map>

#include "trainer/backends/cuda/device.h"

namespace detol::inline trainer::cuda {
namespace {

constexpr std::int64_t kTensorAlignment = 16;  // bytes
constexpr std::int64_t kMostConfigs = 16;      // of one mode of the heuristics
constexpr int kMostKnobs = 64;

using Extents = std::array<std::int64_t, 4>;  // N C H W, whatever the order in memory

cudnnDataType_t cudnn_type(Type type) {
  return type == Type::kFloat ? CUDNN_DATA_FLOAT : CUDNN_DATA_BFLOAT16;
}

// Returns the descriptor of a tensor whose channels are last in memory.
Descriptor tensor(std::int64_t name, Type type, const Extents& e) {
  const Extents strides = {e[1] * e[2] * e[3], 1, e[1] * e[3], e[1]};
  Descriptor made(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, cudnn_type(type))
      .set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, std::span<const std::int64_t>(e))
      .set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, std::span<const std::int64_t>(strides))
      .set(CUDNN_ATTR_TENSOR_UNIQUE_ID, name)
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kTensorAlignment)
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

// OperationRow holds the names of an operation's attributes, which differ by direction.
struct OperationRow {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t alpha, beta, convolution, x, w, y;
};

// kOperations is in the order of Direction.
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

// Returns the configurations that one mode of the heuristics lists; none if it fails.
std::vector<Config> configs_by(const Graph& graph, cudnnBackendHeurMode_t mode) {
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
    // Another mode may have some.
  }
  return configs;
}

bool has(const Config& config, cudnnBackendNumericalNote_t note) {
  return std::ranges::find(config.numbers, note) != config.numbers.end();
}

}  // namespace

void must(cudnnStatus_t status) {
  if (status == CUDNN_STATUS_ALLOC_FAILED) throw std::bad_alloc();
  if (status != CUDNN_STATUS_SUCCESS) throw Failed{status};
}

Graph graph_of(const ConvShape& s) {
  const OperationRow& row = kOperations[static_cast<std::size_t>(s.direction)];
  Graph graph;
  graph.descriptors.push_back(tensor(kX, s.type, {s.images, s.inputs, s.height, s.width}));
  graph.descriptors.push_back(
      tensor(kW, s.type, {s.outputs, s.inputs / s.groups, s.kernel_height, s.kernel}));
  graph.descriptors.push_back(tensor(kY, s.type, {s.images, s.outputs, s.out_height, s.out_width}));
  graph.descriptors.push_back(convolution(s));
  Descriptor operation(row.type);
  operation.set(row.alpha, CUDNN_TYPE_FLOAT, 1.0F)
      .set(row.beta, CUDNN_TYPE_FLOAT, 0.0F)
      .set(row.x, graph.descriptors[0])
      .set(row.w, graph.descriptors[1])
      .set(row.y, graph.descriptors[2])
      .set(row.convolution, graph.descriptors[3])
      .finalize();
  graph.descriptors.push_back(std::move(operation));
  Descriptor whole(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  whole.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, device().cudnn)
      .set(CUDNN_ATTR_OPERATIONGRAPH_OPS, graph.descriptors.back())
      .finalize();
  graph.descriptors.push_back(std::move(whole));
  return graph;
}

std::vector<Config> configs_of(const Graph& graph) {
  std::vector<Config> configs;
  for (const cudnnBackendHeurMode_t mode :
       {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_INSTANT, CUDNN_HEUR_MODE_FALLBACK}) {
    // INSTANT is used only if A lists nothing.
    if (mode == CUDNN_HEUR_MODE_INSTANT && !configs.empty()) continue;
    for (Config& config : configs_by(graph, mode)) {
      const auto same = [&](const Config& other) { return other.name == config.name; };
      if (std::ranges::none_of(configs, same)) configs.push_back(std::move(config));
    }
  }
  // Engines that are compiled at run time would delay a candidate's start.
  std::stable_partition(configs.begin(), configs.end(),
                        [](const Config& c) { return !c.compiles; });
  return configs;
}

bool may_serve(const ConvShape& s, const Config& config) {
  if (has(config, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC)) return false;
  if (has(config, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION)) return false;
  if (has(config, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13)) return false;
  if (has(config, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS)) return false;
  // Tensor cores round floats to TF32, though the descriptor asks for products of floats.
  return s.type != Type::kFloat || s.tf32 || !has(config, CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
}

}  // namespace detol::inline trainer::cuda
