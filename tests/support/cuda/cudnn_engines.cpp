// The checks of the emulated cuDNN's descriptors, by type, and the table of its engines.

#include "tests/support/cuda/cudnn_engines.h"

#include <algorithm>
#include <array>
#include <bit>

#include "tests/support/cuda/state.h"

namespace detol::emulated {
namespace {

using Numbers = std::vector<std::int64_t>;
using Reference = std::shared_ptr<const Descriptor>;

std::int64_t size_of(cudnnDataType_t type) {
  return type == CUDNN_DATA_FLOAT ? 4 : type == CUDNN_DATA_BFLOAT16 ? 2 : 0;
}

bool all_above(const Numbers& values, std::int64_t least) {
  return std::ranges::all_of(values, [&](std::int64_t value) { return value > least; });
}

cudnnStatus_t finalize_tensor(const Descriptor& tensor) {
  const auto extents = tensor.all<std::int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
  const auto strides = tensor.all<std::int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
  const auto alignment = tensor.one<std::int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
  const auto bytes = size_of(tensor.one<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE));
  if (bytes == 0)
    return refused(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE, "floats and bfloat16 are emulated");
  if (extents.size() != strides.size() || !all_above(extents, 0) || !all_above(strides, 0))
    return refused(CUDNN_STATUS_BAD_PARAM, "extents and strides that are no tensor's");
  if (alignment < bytes || !std::has_single_bit(static_cast<std::uint64_t>(alignment)))
    return refused(CUDNN_STATUS_BAD_PARAM, "an alignment that is none");
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finalize_convolution(const Descriptor& convolution) {
  const auto count =
      static_cast<std::size_t>(convolution.one<std::int64_t>(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS));
  const auto least = [&](cudnnBackendAttributeName_t name, std::int64_t bound) {
    const auto values = convolution.all<std::int64_t>(name);
    return values.size() == count && all_above(values, bound - 1);
  };
  if (!least(CUDNN_ATTR_CONVOLUTION_DILATIONS, 1) ||
      !least(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, 1) ||
      !least(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, 0) ||
      !least(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, 0))
    return refused(CUDNN_STATUS_BAD_PARAM, "steps or paddings that are no convolution's");
  return CUDNN_STATUS_SUCCESS;
}

// The names of an operation's attributes differ by direction.
struct OperationRow {
  cudnnBackendDescriptorType_t type;
  Direction direction;
  cudnnBackendAttributeName_t alpha, beta, convolution, x, w, y;
};

constexpr std::array kOperations = {
    OperationRow{CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, Direction::kForward,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y},
    OperationRow{CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR, Direction::kData,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY},
    OperationRow{CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR, Direction::kFilter,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                 CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY},
};

const OperationRow* row_of(cudnnBackendDescriptorType_t type) {
  const auto* found = std::ranges::find(kOperations, type, &OperationRow::type);
  return found == kOperations.end() ? nullptr : found;
}

// Returns the extents N C H W of a channels-last tensor without gaps; of others, none.
Numbers extents_of(const Descriptor& tensor) {
  auto e = tensor.all<std::int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
  if (e.size() != 4) return {};
  const Numbers packed = {e[1] * e[2] * e[3], 1, e[1] * e[3], e[1]};
  return tensor.all<std::int64_t>(CUDNN_ATTR_TENSOR_STRIDES) == packed ? e : Numbers{};
}

// Fills in `c`, but for its types. False: the shapes do not fit.
bool describe(Convolution& c, const Descriptor& convolution, const Numbers& x, const Numbers& w,
              const Numbers& y) {
  const auto dilations = convolution.all<std::int64_t>(CUDNN_ATTR_CONVOLUTION_DILATIONS);
  const auto strides = convolution.all<std::int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
  const auto before = convolution.all<std::int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
  const auto after = convolution.all<std::int64_t>(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
  if (dilations.size() != 2) return false;
  c.images = x[0], c.inputs = x[1], c.height = x[2], c.width = x[3];
  c.outputs = y[1], c.out_height = y[2], c.out_width = y[3];
  c.kernel_height = w[2], c.kernel_width = w[3];
  c.above = before[0], c.beside = before[1];
  c.stride_down = strides[0], c.stride_right = strides[1];
  c.dilation_down = dilations[0], c.dilation_right = dilations[1];
  if (x[1] % w[1] != 0) return false;
  c.groups = x[1] / w[1];
  const auto fits = [&](std::size_t i) {
    const std::int64_t span = x[i + 2] + before[i] + after[i] - dilations[i] * (w[i + 2] - 1) - 1;
    return span >= 0 && y[i + 2] == span / strides[i] + 1;
  };
  return x[0] == y[0] && w[0] == y[1] && w[0] % c.groups == 0 && fits(0) && fits(1);
}

cudnnStatus_t types_of(Convolution& c, const Descriptor& convolution, const Reference& x,
                       const Reference& w, const Reference& y) {
  const auto type = [](const Reference& of) {
    return of->one<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
  };
  c.type = type(x) == CUDNN_DATA_FLOAT ? Number::kFloat : Number::kBfloat16;
  if (type(x) != type(w) || type(x) != type(y) ||
      convolution.one<cudnnDataType_t>(CUDNN_ATTR_CONVOLUTION_COMP_TYPE) != CUDNN_DATA_FLOAT)
    return refused(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE, "types that do not go together");
  if (convolution.one<cudnnConvolutionMode_t>(CUDNN_ATTR_CONVOLUTION_CONV_MODE) !=
      CUDNN_CROSS_CORRELATION)
    return refused(CUDNN_STATUS_NOT_SUPPORTED, "cross-correlation alone is emulated");
  return CUDNN_STATUS_SUCCESS;
}

bool is_tensor(const Reference& one) {
  return one != nullptr && one->type == CUDNN_BACKEND_TENSOR_DESCRIPTOR;
}

cudnnStatus_t read_operation(const Descriptor& from, const OperationRow& row, Operation& to) {
  const Reference x = from.descriptor(row.x), w = from.descriptor(row.w),
                  y = from.descriptor(row.y), convolution = from.descriptor(row.convolution);
  if (!is_tensor(x) || !is_tensor(w) || !is_tensor(y) || convolution == nullptr ||
      convolution->type != CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR)
    return refused(CUDNN_STATUS_BAD_PARAM, "a part of an operation is of another type, or gone");
  if (from.one<float>(row.alpha) != 1 || from.one<float>(row.beta) != 0)
    return refused(CUDNN_STATUS_NOT_SUPPORTED, "alpha 1 and beta 0 are emulated");
  const Numbers x_is = extents_of(*x), w_is = extents_of(*w), y_is = extents_of(*y);
  if (x_is.empty() || w_is.empty() || y_is.empty())
    return refused(CUDNN_STATUS_NOT_SUPPORTED_LAYOUT, "a tensor that is not channels last");
  if (!describe(to.convolution, *convolution, x_is, w_is, y_is))
    return refused(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "shapes that are no convolution's");
  to.convolution.direction = row.direction;
  const auto number = [](const Reference& of, cudnnBackendAttributeName_t name) {
    return of->one<std::int64_t>(name);
  };
  to.x = number(x, CUDNN_ATTR_TENSOR_UNIQUE_ID);
  to.w = number(w, CUDNN_ATTR_TENSOR_UNIQUE_ID);
  to.y = number(y, CUDNN_ATTR_TENSOR_UNIQUE_ID);
  to.x_alignment = number(x, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
  to.w_alignment = number(w, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
  to.y_alignment = number(y, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
  if (to.x == to.w || to.x == to.y || to.w == to.y)
    return refused(CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES, "two tensors of one name");
  return types_of(to.convolution, *convolution, x, w, y);
}

cudnnStatus_t finalize_operation(const Descriptor& descriptor) {
  Operation ignored;
  return read_operation(descriptor, *row_of(descriptor.type), ignored);
}

cudnnStatus_t finalize_graph(Descriptor& graph) {
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
  if (operation_of(graph, status) == nullptr) return status;
  graph.put(CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, CUDNN_TYPE_INT64,
            Numbers{std::ssize(engines())});
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finalize_engine(Descriptor& engine) {
  const EngineRow* row = find_engine(engine.one<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
  if (row == nullptr) return refused(CUDNN_STATUS_NOT_SUPPORTED, "an engine that is not there");
  engine.put(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, row->numbers);
  engine.put(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE, row->behaviour);
  return CUDNN_STATUS_SUCCESS;
}

Reference knob_of(std::int64_t tile) {
  auto knob = std::make_shared<Descriptor>();
  knob->type = CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR;
  knob->put(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE,
            std::vector{CUDNN_KNOB_TYPE_TILE_SIZE});
  knob->put(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, Numbers{tile});
  knob->is_final = true;
  return knob;
}

// `tile` is the value of the knob; 0: there is none.
Reference config_of(const Reference& graph, const EngineRow& row, std::int64_t tile) {
  auto engine = std::make_shared<Descriptor>();
  engine->type = CUDNN_BACKEND_ENGINE_DESCRIPTOR;
  // Not owned: the graph has to outlive the users of the engine.
  engine->attributes[CUDNN_ATTR_ENGINE_OPERATION_GRAPH] = {
      CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, {}, {graph}};
  engine->put(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, Numbers{row.index});
  engine->is_final = finalize_engine(*engine) == CUDNN_STATUS_SUCCESS;
  auto config = std::make_shared<Descriptor>();
  config->type = CUDNN_BACKEND_ENGINECFG_DESCRIPTOR;
  config->put(CUDNN_ATTR_ENGINECFG_ENGINE, engine);
  if (tile != 0) config->put(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, knob_of(tile));
  config->is_final = true;
  return config;
}

cudnnStatus_t finalize_heuristics(Descriptor& heuristics) {
  const Reference graph = heuristics.descriptor(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  if (graph == nullptr || graph->type != CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR)
    return refused(CUDNN_STATUS_BAD_PARAM, "heuristics without a graph");
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
  const auto operation = operation_of(*graph, status);
  if (operation == nullptr) return status;
  const bool is_fallback = heuristics.one<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE) ==
                           CUDNN_HEUR_MODE_FALLBACK;
  for (const EngineRow& row : engines()) {
    if ((row.index == 0) != is_fallback) continue;
    if (operation->convolution.type == Number::kBfloat16 && !row.takes_bfloat16) continue;
    for (const std::int64_t tile : row.tiles.empty() ? Numbers{0} : row.tiles)
      heuristics.put(CUDNN_ATTR_ENGINEHEUR_RESULTS, config_of(graph, row, tile));
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finalize_config(const Descriptor& config) {
  const Reference engine = config.descriptor(CUDNN_ATTR_ENGINECFG_ENGINE);
  return engine != nullptr && engine->type == CUDNN_BACKEND_ENGINE_DESCRIPTOR
             ? CUDNN_STATUS_SUCCESS
             : refused(CUDNN_STATUS_BAD_PARAM, "a configuration without an engine");
}

// Follows configuration, engine and graph, all of which must still exist.
cudnnStatus_t finalize_plan(Descriptor& plan) {
  const Reference config = plan.descriptor(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  const Reference engine =
      config != nullptr ? config->descriptor(CUDNN_ATTR_ENGINECFG_ENGINE) : nullptr;
  const Reference graph =
      engine != nullptr ? engine->descriptor(CUDNN_ATTR_ENGINE_OPERATION_GRAPH) : nullptr;
  if (graph == nullptr)
    return refused(CUDNN_STATUS_BAD_PARAM, "a plan whose configuration or graph is gone");
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
  const auto operation = operation_of(*graph, status);
  if (operation == nullptr) return status;
  const EngineRow& row = *find_engine(engine->one<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
  if (row.refuses) return refused(CUDNN_STATUS_NOT_SUPPORTED, "an engine that refuses");
  plan.put(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64,
           Numbers{row.workspace + settings().hunger * operation->convolution.images});
  // A plan stays valid without its configuration, but not without its graph.
  plan.owned = {config, engine};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finalize_pack(const Descriptor& pack) {
  auto names = pack.all<std::int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto pointers = pack.all<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  std::ranges::sort(names);
  if (names.size() != pointers.size() || std::ranges::adjacent_find(names) != names.end())
    return refused(CUDNN_STATUS_BAD_PARAM, "names and pointers that do not go together");
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

const std::vector<EngineRow>& engines() {
  static const std::vector<EngineRow> all = {
      {.index = 34,
       .summary = "rounds floats to TF32, which the note on tensor cores alone says",
       .numbers = {CUDNN_NUMERICAL_NOTE_TENSOR_CORE},
       .takes_bfloat16 = false},
      {.index = 2,
       .summary = "another result each time",
       .numbers = {CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}},
      {.index = 57,
       .summary = "is compiled at run time",
       .behaviour = {CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION},
       .sums_in_single = true},
      {.index = 5, .summary = "refuses when it comes to it", .refuses = true},
      {.index = 1,
       .summary = "has a knob, and needs workspace",
       .workspace = 3000,
       .tiles = {3, 4}},
      {.index = 0, .summary = "the fallback, which can do everything"},
  };
  return all;
}

const EngineRow* find_engine(std::int64_t index) {
  const auto found = std::ranges::find(engines(), index, &EngineRow::index);
  return found == engines().end() ? nullptr : &*found;
}

std::unique_ptr<Operation> operation_of(const Descriptor& graph, cudnnStatus_t& status) {
  const Reference operation = graph.descriptor(CUDNN_ATTR_OPERATIONGRAPH_OPS);
  const OperationRow* row = operation != nullptr ? row_of(operation->type) : nullptr;
  if (row == nullptr) {
    status = refused(CUDNN_STATUS_BAD_PARAM, "a graph whose operation is gone, or is none");
    return nullptr;
  }
  auto made = std::make_unique<Operation>();
  status = read_operation(*operation, *row, *made);
  return status == CUDNN_STATUS_SUCCESS ? std::move(made) : nullptr;
}

cudnnStatus_t finalize(Descriptor& descriptor) {
  switch (descriptor.type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      return finalize_tensor(descriptor);
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
      return finalize_convolution(descriptor);
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      return finalize_graph(descriptor);
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
      return finalize_heuristics(descriptor);
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR:
      return finalize_engine(descriptor);
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR:
      return finalize_config(descriptor);
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
      return finalize_plan(descriptor);
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR:
      return finalize_pack(descriptor);
    case CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR:
      return CUDNN_STATUS_SUCCESS;
    default:
      return finalize_operation(descriptor);
  }
}

}  // namespace detol::emulated
