#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include <cudnn.h>
#include <gtest/gtest.h>

#include "tests/support/cuda/convolution.h"
#include "tests/support/cuda/emulated.h"

namespace detol::emulated {
namespace {

using Four = std::array<std::int64_t, 4>;
using Two = std::array<std::int64_t, 2>;

class Object {
 public:
  explicit Object(cudnnBackendDescriptorType_t type) {
    EXPECT_EQ(cudnnBackendCreateDescriptor(type, &handle_), CUDNN_STATUS_SUCCESS);
  }
  ~Object() { cudnnBackendDestroyDescriptor(handle_); }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  template <typename Value>
  cudnnStatus_t set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                    const Value& value) {
    return cudnnBackendSetAttribute(handle_, name, type, 1, &value);
  }
  template <std::size_t size>
  cudnnStatus_t set(cudnnBackendAttributeName_t name, const std::array<std::int64_t, size>& all) {
    return cudnnBackendSetAttribute(handle_, name, CUDNN_TYPE_INT64, size, all.data());
  }
  cudnnStatus_t set(cudnnBackendAttributeName_t name, const Object& other) {
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, other.handle_);
  }
  cudnnStatus_t finalize() { return cudnnBackendFinalize(handle_); }
  cudnnBackendDescriptor_t handle() const { return handle_; }

 private:
  cudnnBackendDescriptor_t handle_ = nullptr;
};

std::unique_ptr<Object> tensor(std::int64_t name, const Four& extents, bool channels_last = true) {
  const auto& e = extents;
  auto made = std::make_unique<Object>(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  made->set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  made->set(CUDNN_ATTR_TENSOR_DIMENSIONS, extents);
  made->set(CUDNN_ATTR_TENSOR_STRIDES, channels_last
                                           ? Four{e[1] * e[2] * e[3], 1, e[1] * e[3], e[1]}
                                           : Four{e[1] * e[2] * e[3], e[2] * e[3], e[3], 1});
  made->set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, name);
  made->set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, std::int64_t{16});
  EXPECT_EQ(made->finalize(), CUDNN_STATUS_SUCCESS);
  return made;
}

// A forward convolution of 3 x 3 and stride 2, in two groups, up to its plan.
class Forward {
 public:
  static constexpr Four kX = {2, 4, 5, 6}, kW = {6, 2, 3, 3}, kY = {2, 6, 3, 3};

  explicit Forward(const Four& y_extents = kY, bool channels_last = true)
      : x(tensor(1, kX, channels_last)), w(tensor(2, kW)), y(tensor(3, y_extents)) {
    convolution.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, std::int64_t{2});
    convolution.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    convolution.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
                    CUDNN_CROSS_CORRELATION);
    convolution.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, Two{1, 1});
    convolution.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, Two{1, 1});
    convolution.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, Two{2, 2});
    convolution.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, Two{1, 1});
    EXPECT_EQ(convolution.finalize(), CUDNN_STATUS_SUCCESS);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1.0F);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 0.0F);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, *x);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, *w);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, *y);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, convolution);
  }

  // Sets up the plan with the engine of that index.
  void plan_by(cudnnHandle_t handle, std::int64_t index) {
    EXPECT_EQ(operation.finalize(), CUDNN_STATUS_SUCCESS);
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle);
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
    EXPECT_EQ(graph.finalize(), CUDNN_STATUS_SUCCESS);
    engine.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph);
    engine.set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, index);
    EXPECT_EQ(engine.finalize(), CUDNN_STATUS_SUCCESS);
    config.set(CUDNN_ATTR_ENGINECFG_ENGINE, engine);
    EXPECT_EQ(config.finalize(), CUDNN_STATUS_SUCCESS);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
  }

  std::unique_ptr<Object> x, w, y;
  Object convolution{CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR};
  Object operation{CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR};
  Object graph{CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR};
  Object engine{CUDNN_BACKEND_ENGINE_DESCRIPTOR};
  Object config{CUDNN_BACKEND_ENGINECFG_DESCRIPTOR};
  Object plan{CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR};
};

std::vector<float> noise(std::int64_t count, unsigned seed) {
  std::minstd_rand random(seed);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(random() % 2001) / 1000 - 1;
  return values;
}

class Cudnn : public Emulated {
 protected:
  Cudnn() {
    EXPECT_EQ(cudnnCreate(&handle_), CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(cudnnSetStream(handle_, stream_), CUDNN_STATUS_SUCCESS);
  }
  ~Cudnn() override { cudnnDestroy(handle_); }

  cudnnStatus_t execute(const Object& plan, const std::array<const void*, 3>& data,
                        const void* workspace = nullptr) {
    Object pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, std::array<std::int64_t, 3>{1, 2, 3});
    cudnnBackendSetAttribute(pack.handle(), CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS,
                             CUDNN_TYPE_VOID_PTR, 3, data.data());
    pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
    EXPECT_EQ(pack.finalize(), CUDNN_STATUS_SUCCESS);
    return cudnnBackendExecute(handle_, plan.handle(), pack.handle());
  }

  cudnnHandle_t handle_ = nullptr;
};

// The expected values follow the formula directly.
TEST(Convolution, IsThatOfAPlainLoopInAllDirections) {
  const Convolution c = {.images = 2,
                         .inputs = 4,
                         .height = 5,
                         .width = 6,
                         .outputs = 6,
                         .out_height = 3,
                         .out_width = 3,
                         .kernel_height = 3,
                         .kernel_width = 3,
                         .groups = 2,
                         .above = 1,
                         .beside = 1,
                         .stride_down = 2,
                         .stride_right = 2};
  const auto x = noise(c.x_elements(), 1), w = noise(c.w_elements(), 2),
             y = noise(c.y_elements(), 3);
  std::vector<double> dx(x.size()), dw(w.size()), out(y.size());
  for (std::int64_t n = 0; n < 2; ++n)
    for (std::int64_t p = 0; p < 3; ++p)
      for (std::int64_t q = 0; q < 3; ++q)
        for (std::int64_t k = 0; k < 6; ++k)
          for (std::int64_t tap = 0; tap < 9; ++tap)
            for (std::int64_t i = 0; i < 2; ++i) {
              const std::int64_t h = 2 * p + tap / 3 - 1, v = 2 * q + tap % 3 - 1;
              if (h < 0 || h >= 5 || v < 0 || v >= 6) continue;
              const auto at_x = static_cast<std::size_t>(((n * 5 + h) * 6 + v) * 4 + k / 3 * 2 + i);
              const auto at_w = static_cast<std::size_t>((k * 9 + tap) * 2 + i);
              const auto at_y = static_cast<std::size_t>(((n * 3 + p) * 3 + q) * 6 + k);
              out[at_y] += double{x[at_x]} * w[at_w];
              dx[at_x] += double{y[at_y]} * w[at_w];
              dw[at_w] += double{y[at_y]} * x[at_x];
            }
  const auto is = [&](Direction direction, const std::vector<double>& wanted) {
    auto a = x, b = w, g = y;
    Convolution asked = c;
    asked.direction = direction;
    convolve(asked, a.data(), b.data(), g.data());
    const auto& got = direction == Direction::kForward ? g : direction == Direction::kData ? a : b;
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-6);
  };
  is(Direction::kForward, out);
  is(Direction::kData, dx);
  is(Direction::kFilter, dw);
}

TEST(Convolution, RoundsAsTheDeviceDoes) {
  EXPECT_EQ(to_bfloat16(1.0F), 0x3f80);
  EXPECT_EQ(to_bfloat16(1.00390625F), 0x3f80);  // half way, to even
  EXPECT_EQ(to_bfloat16(1.01171875F), 0x3f82);
  EXPECT_EQ(from_bfloat16(0x3f81), 1.0078125F);
  EXPECT_EQ(to_tf32(1.0F + 1.0F / 4096), 1.0F);
  EXPECT_EQ(to_tf32(1.0F + 3.0F / 4096), 1.0F + 1.0F / 1024);
}

TEST_F(Cudnn, RunsAPlan) {
  Forward forward;
  forward.plan_by(handle_, 0);
  ASSERT_EQ(forward.plan.finalize(), CUDNN_STATUS_SUCCESS);
  const OnDevice<float> x(noise(240, 1)), w(noise(108, 2)), y(std::vector<float>(108));
  EXPECT_EQ(execute(forward.plan, {x.data(), w.data(), y.data()}), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_NE(y.read()[17], 0);
}

TEST_F(Cudnn, RefusesAPlanOfAnEngineThatRefuses) {
  Forward forward;
  forward.plan_by(handle_, 5);
  EXPECT_EQ(forward.plan.finalize(), CUDNN_STATUS_NOT_SUPPORTED);
}

TEST_F(Cudnn, RefusesWhatIsNotFinalised) {
  Forward forward;
  EXPECT_EQ(forward.graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, forward.operation),
            CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
  forward.plan_by(handle_, 0);
  EXPECT_EQ(execute(forward.plan, {}), CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
}

TEST_F(Cudnn, RefusesToChangeWhatIsFinal) {
  EXPECT_EQ(
      tensor(1, {1, 1, 1, 1})->set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, std::int64_t{2}),
      CUDNN_STATUS_BAD_PARAM);
}

TEST_F(Cudnn, RefusesAttributesOfOthersAndOfOtherTypes) {
  Object object(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  EXPECT_EQ(object.set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, std::int64_t{0}),
            CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(object.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT32, 0),
            CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
  EXPECT_EQ(object.finalize(), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(Cudnn, RefusesShapesAndLayoutsThatAreNoConvolutions) {
  EXPECT_EQ(Forward({2, 6, 3, 4}).operation.finalize(), CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
  EXPECT_EQ(Forward(Forward::kY, false).operation.finalize(), CUDNN_STATUS_NOT_SUPPORTED_LAYOUT);
}

TEST_F(Cudnn, RefusesPointersThatAreNotAlignedOrTooShort) {
  Forward forward;
  forward.plan_by(handle_, 0);
  ASSERT_EQ(forward.plan.finalize(), CUDNN_STATUS_SUCCESS);
  const OnDevice<float> x(noise(244, 1)), w(noise(108, 2)), y(std::vector<float>(107));
  EXPECT_EQ(execute(forward.plan, {x.data() + 1, w.data(), y.data()}),
            CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER);
  EXPECT_EQ(execute(forward.plan, {x.data(), w.data(), y.data()}), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(Cudnn, SpoilsTheWorkspaceThatItAsksFor) {
  Forward forward;
  forward.plan_by(handle_, 1);
  ASSERT_EQ(forward.plan.finalize(), CUDNN_STATUS_SUCCESS);
  std::int64_t bytes = 0;
  EXPECT_EQ(
      cudnnBackendGetAttribute(forward.plan.handle(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                               CUDNN_TYPE_INT64, 1, nullptr, &bytes),
      CUDNN_STATUS_SUCCESS);
  const OnDevice<float> x(noise(240, 1)), w(noise(108, 2)), y(std::vector<float>(108));
  EXPECT_EQ(execute(forward.plan, {x.data(), w.data(), y.data()}), CUDNN_STATUS_BAD_PARAM);
  const OnDevice<char> workspace(std::vector<char>(static_cast<std::size_t>(bytes)));
  EXPECT_EQ(execute(forward.plan, {x.data(), w.data(), y.data()}, workspace.data()),
            CUDNN_STATUS_SUCCESS);
  EXPECT_NE(workspace.read()[0], 0);
}

TEST_F(Cudnn, ExecutesWhatWasCapturedWhenItIsLaunched) {
  Forward forward;
  forward.plan_by(handle_, 0);
  ASSERT_EQ(forward.plan.finalize(), CUDNN_STATUS_SUCCESS);
  const OnDevice<float> x(noise(240, 1)), w(noise(108, 2)), y(std::vector<float>(108));
  EXPECT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  EXPECT_EQ(execute(forward.plan, {x.data(), w.data(), y.data()}), CUDNN_STATUS_SUCCESS);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
  EXPECT_EQ(y.read()[17], 0);
  cudaGraphExec_t runnable = nullptr;
  EXPECT_EQ(cudaGraphInstantiate(&runnable, graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(runnable, stream_), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_NE(y.read()[17], 0);
  cudaGraphExecDestroy(runnable);
  cudaGraphDestroy(graph);
}

// The caller creates the descriptors, and the call fills them.
TEST_F(Cudnn, HasHeuristicsThatNameEngines) {
  Forward forward;
  forward.plan_by(handle_, 0);
  Object heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, forward.graph);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, CUDNN_HEUR_MODE_A);
  ASSERT_EQ(heuristics.finalize(), CUDNN_STATUS_SUCCESS);
  const Object first(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR),
      second(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  std::array<cudnnBackendDescriptor_t, 2> configs = {first.handle(), second.handle()};
  std::int64_t count = 0;
  EXPECT_EQ(cudnnBackendGetAttribute(heuristics.handle(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                     CUDNN_TYPE_BACKEND_DESCRIPTOR, 2, &count, configs.data()),
            CUDNN_STATUS_SUCCESS);
  EXPECT_GE(count, 3);
  const Object engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t place = engine.handle();
  EXPECT_EQ(cudnnBackendGetAttribute(second.handle(), CUDNN_ATTR_ENGINECFG_ENGINE,
                                     CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, nullptr, &place),
            CUDNN_STATUS_SUCCESS);
  cudnnBackendNumericalNote_t note{};
  EXPECT_EQ(cudnnBackendGetAttribute(engine.handle(), CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                     CUDNN_TYPE_NUMERICAL_NOTE, 1, &count, &note),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(note, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
}

}  // namespace
}  // namespace detol::emulated
