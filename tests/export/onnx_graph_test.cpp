// What an exported graph computes, by the definitions of ONNX's operators: of every kind of layer
// what the reference backend computes, of cells and pictures what the loader makes of them, of
// logits labels and probabilities. onnx_runtime_test.cpp asks ONNX Runtime, where that is
// installed.

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "export/formats.h"
#include "export/metadata.h"
#include "export/onnx_interface.h"
#include "export/onnx_table.h"
#include "tests/export/onnx_evaluator.h"
#include "tests/export/picture_model.h"
#include "tests/export/random_model.h"
#include "tests/trainer/picture_writer.h"
#include "trainer/data/formats/picture.h"
#include "trainer/ensemble.h"
#include "trainer/predict.h"

namespace detol {
namespace {

using testing::evaluate;
using testing::model_of;
using testing::OnnxValue;
using testing::OnnxValues;

constexpr auto kStringType = onnx::TensorProto::STRING;
constexpr auto kByteType = onnx::TensorProto::UINT8;

onnx::GraphProto graph_of(const Model& model) {
  onnx::ModelProto proto;
  EXPECT_TRUE(proto.ParseFromString(onnx_bytes(model).value()));
  return proto.graph();
}

OnnxValue matrix_of(std::int64_t columns, const std::vector<double>& numbers) {
  return {.shape = {std::ssize(numbers) / columns, columns}, .numbers = numbers};
}

void expect_near(const std::vector<double>& found, const std::vector<float>& expected,
                 double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << i;
}

// Expects that the model's graph gives the reference backend's outputs of random pixels, from each
// of which the offset of its channel, if it has one, is taken.
void expect_reference(Model model) {
  constexpr std::int64_t kImages = 2;
  model.is_raw = true;
  const Shape& shape = model.network.input_shape();
  const std::int64_t plane = shape.height * shape.width;
  Rng rng(7);
  OnnxValue pixels{.shape = {kImages, shape.channels, shape.height, shape.width}};
  std::vector<float> normalised;
  for (std::int64_t i = 0; i < kImages * shape.elements(); ++i) {
    const auto channel = static_cast<std::size_t>(i / plane % shape.channels);
    const auto pixel = static_cast<float>(rng.uniform());
    const double offset = model.offsets.of_input(channel);
    pixels.numbers.push_back(offset + std::round(double{pixel} * 1024) / 1024);
    normalised.push_back(
        (static_cast<float>(pixels.numbers.back() - offset) - model.mean[channel]) /
        model.deviation[channel]);
  }
  const auto expected = logits_of(model.network, model.weights, normalised, "reference").value();
  const onnx::GraphProto graph = graph_of(model);
  std::vector<double> found =
      evaluate(graph, {{"input", pixels}}).at(graph.output(graph.output_size() - 1).name()).numbers;
  for (std::size_t i = 0; i < found.size(); ++i)
    found[i] -= model.offsets.of_target(i % (found.size() / kImages));
  expect_near(found, expected, 1e-4);
}

TEST(OnnxGraph, ComputesOfEveryKindOfLayerWhatTheReferenceBackendComputes) {
  for (const LayerRow& row : layer_rows()) {
    SCOPED_TRACE(row.name);
    ASSERT_NO_FATAL_FAILURE(expect_reference(model_of(testing::network_with(row.kind))));
  }
  Model everything = model_of(testing::network_of_everything());
  everything.mean = {0.2F, 0.4F, 0.6F};
  everything.deviation = {0.5F, 0.3F, 0.1F};
  ASSERT_NO_FATAL_FAILURE(expect_reference(everything));
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    ASSERT_NO_FATAL_FAILURE(expect_reference(model_of(testing::RandomNetwork(seed).build(), seed)));
  }
}

TEST(OnnxGraph, TakesOffsetsOutOfItsInputsAndPutsThemIntoItsPredictions) {
  Model model = model_of(testing::network_of_everything());
  model.reads_pixels = false;
  model.task = TaskKind::kRegression;
  model.class_names.clear();
  model.offsets.inputs = {1e9, -3e8, 0};
  model.offsets.targets = {4e9, 0, -1e8, 7e7};
  expect_reference(model);
}

// Returns records of a table as its graph takes them, and sets what the encoder makes of them.
OnnxValues drawn_records(const TableEncoder& table, const std::vector<std::string>& names,
                         std::vector<float>& encoded) {
  constexpr std::int64_t kRecords = 100;
  const std::vector<std::string> texts = {"red", "", "dark green", "?", "NaN", "S", "L", "new"};
  const auto words = missing_words();
  const auto columns = static_cast<std::int64_t>(table.columns.size());
  const bool has_one_input = names.size() == 1;
  OnnxValues inputs;
  Rng rng(3);
  for (std::int64_t i = 0; i < kRecords; ++i) {
    std::vector<float> cells(table.columns.size()), record(table.inputs());
    for (std::size_t c = 0; c < cells.size(); ++c) {
      OnnxValue& input = inputs[names[has_one_input ? 0 : c]];
      input.shape = {kRecords, has_one_input ? columns : 1};
      const bool is_date = table.columns[c].kind == ColumnKind::kDate;
      if (table.columns[c].kind == ColumnKind::kCategory) {
        const std::string& text = texts[rng.below(texts.size())];
        const bool misses = std::ranges::find(words, text) != words.end();
        input.type = kStringType;
        input.texts.push_back(text);
        cells[c] = table.columns[c].code_of(misses ? "" : text);
        continue;
      }
      cells[c] = rng.chance(0.2) ? std::numeric_limits<float>::quiet_NaN()
                                 : static_cast<float>(rng.uniform(-3, 9) * (is_date ? 100 : 1));
      input.numbers.push_back(cells[c]);
    }
    table.encode(cells, record);
    encoded.insert(encoded.end(), record.begin(), record.end());
  }
  return inputs;
}

TEST(OnnxGraph, EncodesCellsAsTheTrainerDoes) {
  const auto columns = testing::mixed_table().columns;
  for (const TableEncoder& table :
       {TableEncoder{columns}, TableEncoder{{columns[4], columns[0], columns[1]}},
        TableEncoder{{columns[0]}}, TableEncoder{{columns[3]}}}) {
    const auto names = table_input_names(table, testing::network_of_table(table));
    onnx::GraphProto graph;
    const std::string edge = add_table_inputs(graph, names, table, {});
    std::vector<float> encoded;
    OnnxValues inputs = drawn_records(table, names, encoded);
    expect_near(evaluate(graph, std::move(inputs)).at(edge).numbers, encoded, 1e-6);
  }
}

TEST(OnnxGraph, TakesTheOffsetOutOfTheColumnThatHasOne) {
  const auto columns = testing::mixed_table().columns;
  const TableEncoder table{{columns[0], columns[3]}};
  const auto names = table_input_names(table, testing::network_of_table(table));
  onnx::GraphProto graph;
  const std::string edge = add_table_inputs(graph, names, table, {{1e9, 0}, {}});
  const OnnxValue age{{1, 1}, onnx::TensorProto::DOUBLE, {1e9 + 8}},
      colour{{1, 1}, kStringType, {}, {"red"}};
  const auto found = evaluate(graph, {{names[0], age}, {names[1], colour}}).at(edge).numbers;
  expect_near(found, {(8 - 3) / 2.5F, 0, 1, 0, 0}, 1e-6);
}

void expect_loaders_picture(const PictureForm& form, int height, int width, int channels) {
  testing_support::Pixels picture{height, width, channels};
  Rng rng(static_cast<std::uint64_t>(height * width));
  for (int i = 0; i < height * width * channels; ++i)
    picture.bytes.push_back(static_cast<std::uint8_t>(rng.below(256)));
  const std::string file = testing_support::png_of(picture);
  PictureDecoder decoder(form);
  const Shape shape = decoder.shape_of(bytes_in(file)).value();
  std::vector<std::uint8_t> loaded(static_cast<std::size_t>(shape.elements()));
  ASSERT_TRUE(decoder.decode(bytes_in(file), shape, loaded));
  const onnx::GraphProto graph = testing::picture_model_of({form, shape}).graph();
  const OnnxValue bytes{
      {1, height, width, channels}, kByteType, {picture.bytes.begin(), picture.bytes.end()}};
  const OnnxValue found = evaluate(graph, {{"picture", bytes}}).at(graph.output(0).name());
  ASSERT_EQ(found.numbers.size(), loaded.size());
  for (std::size_t i = 0; i < loaded.size(); ++i)
    ASSERT_EQ(std::round(found.numbers[i] * 255), loaded[i]) << i;
}

TEST(OnnxGraph, PreparesPicturesAsTheLoaderDoes) {
  for (const PictureFitRow& row : picture_fits()) {
    for (const int channels : {1, 3}) {
      for (const int size : {1, 7, 20}) {
        SCOPED_TRACE(std::string(row.name) + " " + std::to_string(size));
        const PictureForm form{.size = size, .fit = row.fit, .channels = channels};
        ASSERT_NO_FATAL_FAILURE(expect_loaders_picture(form, 7, 7, 3));
        ASSERT_NO_FATAL_FAILURE(expect_loaders_picture(form, 1, 50, 4));
        ASSERT_NO_FATAL_FAILURE(expect_loaders_picture(form, 31, 18, 4));
        ASSERT_NO_FATAL_FAILURE(expect_loaders_picture(form, 3, 5, 3));
      }
    }
    ASSERT_NO_FATAL_FAILURE(expect_loaders_picture({.channels = 1}, 9, 14, 4));
  }
}

// Returns a model whose graph need not be written: what add_outputs() looks at.
Model model_with(TaskKind task, std::vector<std::string> classes = {}, double threshold = 0.5) {
  Model model;
  model.task = task;
  model.class_names = std::move(classes);
  model.threshold = threshold;
  return model;
}

OnnxValues outputs_from(const Model& model, std::int64_t outputs,
                        const std::vector<double>& numbers) {
  onnx::GraphProto graph;
  add_outputs(graph, model, outputs);
  const auto members = static_cast<std::int64_t>(std::max<std::size_t>(1, model.shares.size()));
  return evaluate(graph, {{network_output_name(model), matrix_of(outputs * members, numbers)}});
}

// log(3): of 1/4 and 3/4.
TEST(OnnxGraph, GivesClassesTheirNamesAndProbabilities) {
  const double three = std::log(3.0);
  const auto found = outputs_from(model_with(TaskKind::kClassification, {"a", "b", "c"}), 3,
                                  {0, three, 0, 0, 0, std::log(2.0)});
  EXPECT_EQ(found.at("label").texts, (std::vector<std::string>{"b", "c"}));
  expect_near(found.at("probabilities").numbers, {0.2F, 0.6F, 0.2F, 0.25F, 0.25F, 0.5F}, 1e-6);
  const auto numbered = outputs_from(model_with(TaskKind::kClassification), 3, {0, three, 0});
  EXPECT_EQ(numbered.at("label").numbers, std::vector<double>{1});
}

TEST(OnnxGraph, ChoosesTheSecondClassAboveTheThreshold) {
  const double three = std::log(3.0);
  for (const auto& [threshold, label] : {std::pair{0.7, "yes"}, {0.8, "no"}, {0.5, "yes"}}) {
    const auto of_two = outputs_from(
        model_with(TaskKind::kClassification, {"no", "yes"}, threshold), 2, {1, 1 + three});
    EXPECT_EQ(of_two.at("label").texts, std::vector<std::string>{label}) << threshold;
    const auto binary =
        outputs_from(model_with(TaskKind::kBinary, {"no", "yes"}, threshold), 1, {three});
    EXPECT_EQ(binary.at("label").texts, std::vector<std::string>{label}) << threshold;
    expect_near(binary.at("probabilities").numbers, {0.25F, 0.75F}, 1e-6);
    const auto labels =
        outputs_from(model_with(TaskKind::kMultiLabel, {}, threshold), 2, {three, -three});
    EXPECT_EQ(labels.at("label").numbers[0], label == std::string("yes") ? 1 : 0) << threshold;
    EXPECT_EQ(labels.at("label").numbers[1], 0) << threshold;
    expect_near(labels.at("probabilities").numbers, {0.75F, 0.25F}, 1e-6);
  }
}

TEST(OnnxGraph, OfAnEnsembleGivesTheVoteOfItsMembers) {
  for (const TaskKind task : {TaskKind::kClassification, TaskKind::kBinary, TaskKind::kMultiLabel,
                              TaskKind::kRegression}) {
    SCOPED_TRACE(row_of(task).name);
    const std::int64_t outputs = task == TaskKind::kBinary ? 1 : 3;
    Model model = model_with(task);
    model.shares = {0.5F, 0.3F, 0.2F};
    Rng rng(2);
    std::vector<float> numbers;
    for (std::int64_t i = 0; i < 4 * 3 * outputs; ++i)
      numbers.push_back(static_cast<float>(2 * rng.normal()));
    const auto found = outputs_from(model, outputs, {numbers.begin(), numbers.end()});
    expect_near(found.at(output_name(model)).numbers,
                vote(task, model.shares, static_cast<std::size_t>(outputs), numbers), 1e-5);
  }
}

// PyTorch's default, and what layer.h promises; backends, exporter and reader share one constant.
TEST(OnnxGraph, ItsNormsHaveTheEpsilonOfPyTorch) {
  NetworkBuilder builder({2, 3, 3});
  NodeId x = builder.add({.kind = LayerKind::kBatchNorm}, {builder.input()});
  x = builder.add({.kind = LayerKind::kLayerNorm}, {x});
  x = builder.add({.kind = LayerKind::kFlatten}, {x});
  const Model model =
      model_of(builder.build(builder.add({.kind = LayerKind::kDense, .channels = 2}, {x})).value());
  int norms = 0;
  const onnx::GraphProto graph = graph_of(model);
  for (const onnx::NodeProto& node : graph.node()) {
    for (const onnx::AttributeProto& one : node.attribute()) {
      if (one.name() != "epsilon") continue;
      EXPECT_EQ(one.f(), 1e-5F) << node.op_type();
      ++norms;
    }
  }
  EXPECT_EQ(norms, 2);
}

}  // namespace
}  // namespace detol
