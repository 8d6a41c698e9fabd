// An exported file reads back as what was exported, and no content of a file breaks a reader.

#include "export/read_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "core/file.h"
#include "encodings/network/canonical.h"
#include "export/formats.h"
#include "tests/export/random_model.h"
#include "tests/support/temp_folder.h"
#include "trainer/predict.h"

namespace detol {
namespace {

using testing::model_of;
using testing::network_of_everything;

struct Form {
  const char* name;
  Result<std::string> (*write)(const Model&);
  Result<Model> (*read)(std::string_view);
  Result<void> (*compare)(std::string_view, const Model&);
};

// Every format that carries weights.
constexpr std::array kForms = {
    Form{"onnx", onnx_bytes, read_onnx, compare_onnx},
    Form{"safetensors", safetensors_bytes, read_safetensors, compare_safetensors}};

// Gives the model random pixels and its logits for them, to be checked against.
void add_check(Model& model) {
  const Shape& shape = model.network.input_shape();
  CheckLogits check{"two random images", 2, {}, {}};
  Rng rng(5);
  std::vector<float> images;
  for (std::int64_t i = 0; i < 2 * shape.elements(); ++i) {
    const auto pixel = static_cast<float>(rng.uniform());
    check.pixels.push_back(pixel);
    images.push_back(4 * pixel - 1);  // mean 0.25 and deviation 0.25, as below
  }
  std::ranges::fill(model.mean, 0.25f);
  std::ranges::fill(model.deviation, 0.25f);
  check.logits = logits_of(model.network, model.weights, images, "reference").value();
  model.check = check;
}

class Forms : public ::testing::TestWithParam<Form> {
 protected:
  static std::string bytes_of(const Model& model) { return GetParam().write(model).value(); }

  // Returns whether the bytes are read as a model; an error must be one line.
  static bool survives(const std::string& bytes) {
    const Result<Model> read = GetParam().read(bytes);
    if (read) return true;
    EXPECT_EQ(read.error().code, ErrorCode::kInput);
    EXPECT_EQ(read.error().message.find('\n'), std::string::npos) << read.error().message;
    EXPECT_LT(read.error().message.size(), 400u) << read.error().message;
    return false;
  }
};

TEST_P(Forms, GiveBackRandomNetworksWithTheirNamesWeightsAndLogits) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    Model model = model_of(testing::RandomNetwork(seed).build(), seed);
    add_check(model);
    const std::string bytes = bytes_of(model);
    const Result<Model> read = GetParam().read(bytes);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(canonical_hash(read->network), canonical_hash(model.network));
    const Result<void> compared = GetParam().compare(bytes, model);
    EXPECT_TRUE(compared) << compared.error().message;
    const Result<void> again = GetParam().compare(bytes_of(*read), model);
    EXPECT_TRUE(again) << again.error().message;
  }
}

TEST_P(Forms, GiveBackEverythingThatIsKnownAboutTheModel) {
  const Model model = model_of(network_of_everything());
  const Model read = GetParam().read(bytes_of(model)).value();
  EXPECT_EQ(read.mean, model.mean);
  EXPECT_EQ(read.deviation, model.deviation);
  EXPECT_EQ(read.class_names, model.class_names);
  EXPECT_EQ(read.properties, model.properties);
  ASSERT_EQ(read.metrics.size(), 1u);
  EXPECT_EQ(read.metrics[0].value, 0.91);
  auto parameters = model.parameters;
  std::ranges::sort(parameters);
  EXPECT_EQ(read.parameters, parameters);
}

// Models whose inputs are prepared by the file.
std::vector<Model> prepared_models() {
  const TableEncoder table = testing::mixed_table();
  Model of_table = model_of(testing::network_of_table(table));
  testing::set_table(of_table, table);
  Model of_pictures = model_of(testing::network_with_outputs(3));
  of_pictures.pictures = PictureForm{.size = 4, .fit = PictureFit::kPad};
  of_pictures.class_names.clear();
  Model of_two = model_of(testing::network_with_outputs(1));
  of_two.task = TaskKind::kBinary;
  of_two.class_names = {"no", "yes"};
  Model of_labels = model_of(testing::network_with_outputs(3));
  of_labels.task = TaskKind::kMultiLabel;
  of_labels.reads_pixels = false;
  const Model of_levels = model_of(testing::network_with(LayerKind::kQuantize));
  return {of_table, of_levels, of_pictures, of_two, of_labels};
}

TEST_P(Forms, GiveBackHowInputsArePrepared) {
  for (const Model& model : prepared_models()) {
    const std::string bytes = bytes_of(model);
    const Result<Model> read = GetParam().read(bytes);
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_EQ(read->table != nullptr, model.table != nullptr);
    EXPECT_TRUE(!model.table || *read->table == *model.table);
    EXPECT_EQ(read->pictures.has_value(), model.pictures.has_value());
    EXPECT_EQ(read->reads_pixels, model.reads_pixels);
    EXPECT_EQ(read->task, model.task);
    const Result<void> compared = GetParam().compare(bytes, model);
    EXPECT_TRUE(compared) << compared.error().message;
  }
}

TEST_P(Forms, SurviveFlippedBitsOfPreparedInputs) {
  Rng rng(11);
  for (const Model& model : prepared_models()) {
    const std::string bytes = bytes_of(model);
    for (int i = 0; i < 300; ++i) {
      std::string flipped = bytes;
      flipped[rng.below(bytes.size())] ^= static_cast<char>(1 << rng.below(8));
      survives(flipped);
    }
  }
}

TEST_P(Forms, NoticeAnotherBitInAnyTensor) {
  const Model model = model_of(network_of_everything());
  for (std::size_t i = 0; i < model.weights.size(); ++i) {
    Model other = model;
    other.weights[i].data.back() *= 1 + 1e-6f;
    const Result<void> compared = GetParam().compare(bytes_of(other), model);
    ASSERT_FALSE(compared);
    EXPECT_NE(compared.error().message.find(model.weights[i].name), std::string::npos);
    EXPECT_NE(compared.error().message.find(
                  fmt::format("element {} is", model.weights[i].data.size() - 1)),
              std::string::npos)
        << compared.error().message;
  }
}

TEST_P(Forms, NoticeAnotherNetworkOfTheSameTensors) {
  const auto network = [](std::int64_t stride) {
    NetworkBuilder b({1, 6, 6});
    const Layer conv{.kind = LayerKind::kConv, .channels = 3, .kernel = 3, .stride = stride};
    return b.build(b.add({.kind = LayerKind::kGlobalAvgPool}, {b.add(conv, {b.input()}, "c")}))
        .value();
  };
  const auto compared = GetParam().compare(bytes_of(model_of(network(1))), model_of(network(2)));
  ASSERT_FALSE(compared);
  EXPECT_NE(compared.error().message.find("its network"), std::string::npos);
}

TEST_P(Forms, NoticeOtherMetadata) {
  Model model = model_of(network_of_everything());
  const std::string bytes = bytes_of(model);
  model.class_names[0] = "shirt";
  const auto compared = GetParam().compare(bytes, model);
  ASSERT_FALSE(compared);
  EXPECT_NE(compared.error().message.find("detol.classes"), std::string::npos);
}

TEST_P(Forms, NoticeMetadataThatTheModelHasNot) {
  Model model = model_of(network_of_everything());
  model.properties["note"] = "of another model";
  const std::string bytes = bytes_of(model);
  model.properties.erase("note");
  EXPECT_FALSE(GetParam().compare(bytes, model));
}

TEST_P(Forms, NoticeOtherLogits) {
  Model model = model_of(network_of_everything());
  add_check(model);
  model.check->logits[5] += 1;
  const auto compared = GetParam().compare(bytes_of(model), model);
  ASSERT_FALSE(compared);
  EXPECT_NE(compared.error().message.find("image 1 gives"), std::string::npos)
      << compared.error().message;
}

TEST_P(Forms, AreReadFromAFileByWhatIsInIt) {
  const testing_support::TempFolder folder;
  const Model model = model_of(network_of_everything());
  ASSERT_TRUE(write_file_durably(folder.path() / "model", bytes_of(model)));
  const Result<Model> read = read_model(folder.path() / "model");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(canonical_hash(read->network), canonical_hash(model.network));
}

TEST_P(Forms, ThatAreCutAnywhereAreErrors) {
  const std::string bytes = bytes_of(model_of(network_of_everything()));
  for (std::size_t length = 0; length < bytes.size(); length += 1 + length / 64)
    EXPECT_FALSE(survives(bytes.substr(0, length))) << length;
}

TEST_P(Forms, WithFlippedBitsAreReadOrErrors) {
  const std::string bytes = bytes_of(model_of(network_of_everything()));
  Rng rng(11);
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = bytes;
    for (std::uint64_t flips = 1 + rng.below(4); flips > 0; --flips)
      damaged[rng.below(damaged.size())] ^= static_cast<char>(1u << rng.below(8));
    survives(damaged);
  }
}

TEST_P(Forms, OfAnyBytesAreReadOrErrors) {
  Rng rng(12);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(rng.below(200), '\0');
    for (char& byte : bytes) byte = static_cast<char>(rng.below(256));
    EXPECT_FALSE(survives(bytes));
  }
}

INSTANTIATE_TEST_SUITE_P(All, Forms, ::testing::ValuesIn(kForms),
                         [](const auto& form) { return std::string(form.param.name); });

}  // namespace
}  // namespace detol
