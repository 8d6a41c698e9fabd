// Our exporter and our reader could be wrong in the same way: ONNX Runtime, where python3 has it,
// must compute from every kind of layer what the reference backend computes, and prepare pictures
// as the loader does, to the bit.

#include "export/onnx_runtime.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "export/formats.h"
#include "export/onnx_table.h"
#include "export/read_model.h"
#include "tests/export/picture_model.h"
#include "tests/export/python_cases.h"
#include "tests/support/temp_folder.h"
#include "tests/trainer/picture_writer.h"
#include "trainer/data/formats/picture.h"

namespace detol {
namespace {

using testing::run_python;
using testing::write_floats;

// Writes a graph that prepares a picture, the picture's bytes, and what the loader makes of them.
void write_picture_case(const std::filesystem::path& stem, const PictureForm& form,
                        const testing_support::Pixels& picture) {
  const std::string file = testing_support::png_of(picture);
  PictureDecoder decoder(form);
  const Shape shape = decoder.shape_of(bytes_in(file)).value();
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(shape.elements()));
  ASSERT_TRUE(decoder.decode(bytes_in(file), shape, bytes));
  std::vector<float> expected;
  for (const std::uint8_t byte : bytes) expected.push_back(static_cast<float>(byte) / 255);
  const auto model = testing::picture_model_of({form, shape});
  std::ofstream(stem.string() + ".onnx", std::ios::binary) << model.SerializeAsString();
  std::ofstream(stem.string() + ".bytes", std::ios::binary)
      .write(reinterpret_cast<const char*>(picture.bytes.data()),
             static_cast<std::streamsize>(picture.bytes.size()));
  std::ofstream(stem.string() + ".shape")
      << "1 " << picture.height << ' ' << picture.width << ' ' << picture.channels;
  write_floats(stem.string() + ".logits", expected);
}

testing_support::Pixels noise_of(int height, int width, int channels) {
  testing_support::Pixels picture{height, width, channels};
  Rng rng(static_cast<std::uint64_t>(height * width));
  for (int i = 0; i < height * width * channels; ++i)
    picture.bytes.push_back(static_cast<std::uint8_t>(rng.uniform(0, 256)));
  return picture;
}

// Returns the text of a cell for its column's input, and sets what the encoder reads.
nlohmann::json drawn_cell(const TableColumn& column, Rng& rng, float& cell) {
  if (column.kind != ColumnKind::kCategory) {
    if (rng.chance(0.2)) {
      cell = std::numeric_limits<float>::quiet_NaN();
      return nullptr;
    }
    cell = static_cast<float>(rng.uniform(-3, 9) * (column.kind == ColumnKind::kDate ? 100 : 1));
    return cell;
  }
  static const std::vector<std::string> kTexts = {"red", "",  "dark green", "?",
                                                  "NaN", "S", "L",          "never seen"};
  const std::string text = kTexts[rng.below(kTexts.size())];
  const auto words = missing_words();
  const bool is_missing = std::ranges::find(words, text) != words.end();
  cell = column.code_of(is_missing ? "" : text);
  return text;
}

// Writes a table's model, drawn cells, and the reference backend's logits for what the encoder
// makes of them.
void write_table_case(const std::filesystem::path& stem, const TableEncoder& table) {
  constexpr std::size_t kRecords = 200;
  Model model = testing::model_of(testing::network_of_table(table));
  testing::set_table(model, table);
  Rng rng(3);
  std::vector<std::vector<nlohmann::json>> texts(table.columns.size());
  nlohmann::json all_numbers = nlohmann::json::array();
  std::vector<float> inputs(kRecords * table.inputs());
  for (std::size_t i = 0; i < kRecords; ++i) {
    std::vector<float> cells(table.columns.size());
    for (std::size_t c = 0; c < cells.size(); ++c) {
      texts[c].push_back(drawn_cell(table.columns[c], rng, cells[c]));
      all_numbers.push_back(texts[c].back());
    }
    table.encode(cells, std::span(inputs).subspan(i * table.inputs(), table.inputs()));
  }
  nlohmann::json feeds;
  const std::vector<std::string> names = table_input_names(table, model.network);
  for (std::size_t c = 0; c < names.size(); ++c) feeds[names[c]] = texts[c];
  if (names == std::vector<std::string>{"input"}) feeds["input"] = all_numbers;
  std::ofstream(stem.string() + ".cells") << feeds;
  ASSERT_TRUE(exporters().front().write(model, stem.string() + ".onnx"));
  write_floats(stem.string() + ".logits",
               logits_of(model.network, model.weights, inputs, "reference").value());
}

TEST(OnnxRuntime, EncodesCellsAsTheTrainerDoesAndNamesTheClasses) {
  const testing_support::TempFolder folder;
  const TableEncoder mixed = testing::mixed_table();
  write_table_case(folder.path() / "mixed", mixed);
  write_table_case(folder.path() / "numbers",
                   {.columns = {mixed.columns[4], mixed.columns[0], mixed.columns[1]}});
  write_table_case(folder.path() / "standard", {.columns = {mixed.columns[0]}});
  write_table_case(folder.path() / "category", {.columns = {mixed.columns[3]}});
  const auto code = run_python("run_onnx.py", folder.path());
  if (!code) GTEST_SKIP() << "python3 has no onnxruntime: nothing has run these graphs";
  EXPECT_EQ(*code, 0);
}

// Returns models whose files take a table's cells, bytes and numbers, with drawn checks.
std::vector<Model> checked_models() {
  const TableEncoder mixed = testing::mixed_table();
  Model of_table = testing::model_of(testing::network_of_table(mixed));
  testing::set_table(of_table, mixed);
  Model of_bytes = testing::model_of(testing::network_of_everything());
  Model of_numbers = testing::model_of(testing::network_of_everything());
  of_numbers.reads_pixels = false;
  std::vector<Model> models = {of_table, of_bytes, of_numbers};
  for (Model& model : models) {
    const Preprocessing data{
        .mean = model.mean, .deviation = model.deviation, .table = model.table};
    model.check = check_logits(model, data).value();
  }
  return models;
}

TEST(OnnxRuntime, IsAJudgeOfVerification) {
  const testing_support::TempFolder folder;
  const auto path = folder.path() / "model.onnx";
  for (Model& model : checked_models()) {
    ASSERT_TRUE(exporters().front().write(model, path));
    const auto verified = exporters().front().verify(model, path);
    EXPECT_TRUE(verified) << verified.error().message;
    const auto logits = onnx_runtime_logits(model, path);
    ASSERT_TRUE(logits) << logits.error().message;
    if (!*logits) GTEST_SKIP() << "python3 has no onnxruntime";
    EXPECT_TRUE(compare_logits(*model.check, **logits));
    model.check->logits[3] += 1;
    EXPECT_FALSE(compare_logits(*model.check, **logits));
  }
  std::ofstream(path, std::ios::trunc) << "no model";
  const auto refused = onnx_runtime_logits(checked_models().front(), path);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message.find("ONNX Runtime cannot run it: "), 0u);
  EXPECT_EQ(refused.error().message.find('\n'), std::string::npos);
}

// Returns models of data with offsets: a table with a column for each input, one of numbers alone,
// numbers of an array, and an ensemble; their targets have offsets, too.
std::vector<Model> models_with_offsets() {
  const TableEncoder mixed = testing::mixed_table();
  TableColumn plain = mixed.columns[0];
  plain.marks_missing = false;
  std::vector<Model> models;
  for (const TableEncoder& table :
       {mixed, TableEncoder{{mixed.columns[0], mixed.columns[1]}}, TableEncoder{{plain}}}) {
    Model& model = models.emplace_back(testing::model_of(testing::network_of_table(table)));
    testing::set_table(model, table);
    if (table.is_linear()) model.mean = {3}, model.deviation = {2.5F};
    model.offsets.inputs.assign(table.columns.size(), 0);
    model.offsets.inputs.front() = 1'700'000'000;
  }
  models.push_back(testing::model_of(testing::network_of_everything()));
  models.back().offsets.inputs = {1e9, -3e8, 0};
  models.push_back(testing::ensemble_of(TaskKind::kRegression, 2));
  for (Model& model : models) {
    model.reads_pixels = false;
    model.task = TaskKind::kRegression;
    model.class_names.clear();
    model.offsets.targets.assign(static_cast<std::size_t>(outputs_of(model)), 4e9);
    Preprocessing data;
    data.mean = model.mean;
    data.deviation = model.deviation;
    data.table = model.table;
    data.offsets = model.offsets;
    model.check = check_logits(model, data).value();
  }
  return models;
}

TEST(OnnxRuntime, NumbersThatAreCloseTogetherAreTakenAndGivenAsDoubles) {
  const testing_support::TempFolder folder;
  const auto path = folder.path() / "model.onnx";
  for (const bool is_raw : {false, true}) {
    for (Model& model : models_with_offsets()) {
      model.is_raw = is_raw;
      const auto written = exporters().front().write(model, path);
      ASSERT_TRUE(written) << written.error().message;
      const auto verified = exporters().front().verify(model, path);
      EXPECT_TRUE(verified) << verified.error().message;
      const Model read = read_model(path).value();
      EXPECT_EQ(read.offsets, model.offsets);
      const auto logits = onnx_runtime_logits(model, path);
      ASSERT_TRUE(logits) << logits.error().message;
      if (!*logits) GTEST_SKIP() << "python3 has no onnxruntime";
      EXPECT_TRUE(compare_logits(*model.check, **logits));
    }
  }
}

TEST(OnnxRuntime, PreparesPicturesAsTheLoaderDoes) {
  const testing_support::TempFolder folder;
  int number = 0;
  for (const PictureFitRow& row : picture_fits()) {
    for (const int channels : {1, 3}) {
      for (const int size : {1, 7, 32}) {
        const PictureForm form{.size = size, .fit = row.fit, .channels = channels};
        for (const auto& [height, width] :
             {std::pair{7, 7}, {1, 90}, {31, 20}, {64, 101}, {3, 5}, {200, 333}})
          write_picture_case(folder.path() / std::to_string(number++), form,
                             noise_of(height, width, height < 10 ? 3 : 4));
      }
      write_picture_case(folder.path() / std::to_string(number++), {.channels = channels},
                         noise_of(9, 14, 4));
    }
  }
  const auto code = run_python("run_onnx.py", folder.path());
  if (!code) GTEST_SKIP() << "python3 has no onnxruntime: nothing has run these graphs";
  EXPECT_EQ(*code, 0);
}

TEST(OnnxRuntime, ComputesWhatTheReferenceBackendComputes) {
  const testing_support::TempFolder folder;
  for (const LayerRow& row : layer_rows()) {
    testing::write_case(folder.path() / row.name,
                        testing::model_of(testing::network_with(row.kind)), "onnx");
  }
  Model everything = testing::model_of(testing::network_of_everything());
  everything.mean = {0.2f, 0.4f, 0.6f};
  everything.deviation = {0.5f, 0.3f, 0.1f};
  testing::write_case(folder.path() / "everything", everything, "onnx");
  const auto code = run_python("run_onnx.py", folder.path());
  if (!code) GTEST_SKIP() << "python3 has no onnxruntime: only detol has read these files";
  EXPECT_EQ(*code, 0);
}

}  // namespace
}  // namespace detol
