// What a study writes about its data, so that its networks can be used without them.

#include "trainer/data/preprocessing.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "tests/support/temp_folder.h"

namespace detol {
namespace {

TableEncoder table() {
  TableColumn number, date, category;
  number.name = "a \"number\"";
  number.encoding = NumberEncoding::kPiecewise;
  number.mean = 0.1F;
  number.deviation = 1e-7F;
  number.knots = {-3.4e38F, 0, 1e-30F};
  number.fill = 5;
  number.marks_missing = true;
  date.name = "born";
  date.kind = ColumnKind::kDate;
  date.is_day_first = true;
  category.name = "colour";
  category.kind = ColumnKind::kCategory;
  category.categories = {"red", "", "blau \xc3\xa4"};
  category.pools_rare = true;
  return {.columns = {number, date, category}, .dialect = TableDialect{'^', ',', false}};
}

Preprocessing of_table() {
  Preprocessing of;
  of.fingerprint = 0xfedcba9876543210;
  of.task = {.input = {static_cast<std::int64_t>(table().inputs()), 1, 1},
             .classes = 2,
             .kind = TaskKind::kRegression};
  of.has_bytes = false;
  of.mean.assign(table().inputs(), 0);
  of.deviation.assign(table().inputs(), 1);
  of.table = std::make_shared<TableEncoder>(table());
  of.class_names = {"price", "age"};
  of.target_mean = {1, 2};
  of.target_deviation = {0.3F, 4};
  return of;
}

Preprocessing of_pictures() {
  Preprocessing of;
  of.task = {.input = {3, 32, 32}, .classes = 10};
  of.mean = {0.1F, 0.2F, 0.3F};
  of.deviation = {0.4F, 0.5F, 0.6F};
  of.pictures = PictureForm{.size = 32, .fit = PictureFit::kPad, .channels = 3};
  return of;
}

void expect_equal(const Preprocessing& found, const Preprocessing& of) {
  EXPECT_EQ(found.fingerprint, of.fingerprint);
  EXPECT_EQ(found.task.input, of.task.input);
  EXPECT_EQ(found.task.classes, of.task.classes);
  EXPECT_EQ(found.task.kind, of.task.kind);
  EXPECT_EQ(found.has_bytes, of.has_bytes);
  EXPECT_EQ(found.mean, of.mean);
  EXPECT_EQ(found.deviation, of.deviation);
  EXPECT_EQ(found.class_names, of.class_names);
  EXPECT_EQ(found.offsets, of.offsets);
  EXPECT_EQ(found.target_mean, of.target_mean);
  EXPECT_EQ(found.target_deviation, of.target_deviation);
  ASSERT_EQ(found.table != nullptr, of.table != nullptr);
  EXPECT_TRUE(!of.table || *found.table == *of.table);
  ASSERT_EQ(found.pictures.has_value(), of.pictures.has_value());
  if (of.pictures) {
    EXPECT_EQ(found.pictures->size, of.pictures->size);
    EXPECT_EQ(found.pictures->fit, of.pictures->fit);
    EXPECT_EQ(found.pictures->channels, of.pictures->channels);
  }
}

class PreprocessingFile : public ::testing::Test {
 protected:
  std::filesystem::path path() const { return folder_.path() / kPreprocessingFile; }
  nlohmann::json json() const {
    std::ifstream file(path());
    return nlohmann::json::parse(file);
  }
  void write(const nlohmann::json& json) const { std::ofstream(path()) << json; }

  testing_support::TempFolder folder_;
};

TEST_F(PreprocessingFile, GivesBackWhatWasWrittenToTheBit) {
  for (const Preprocessing& of : {of_table(), of_pictures()}) {
    std::filesystem::remove(path());
    ASSERT_TRUE(write_preprocessing(path(), of));
    const auto found = read_preprocessing(path());
    ASSERT_TRUE(found) << found.error().message;
    expect_equal(*found, of);
  }
}

Preprocessing with_offsets() {
  Preprocessing of = of_table();
  of.offsets = {.inputs = {1'700'000'029, 19783.1234567890123, 0}, .targets = {0, 1e-12 + 4e9}};
  return of;
}

TEST_F(PreprocessingFile, KeepsOffsetsInDoubleAndSaysThatItHasThem) {
  ASSERT_TRUE(write_preprocessing(path(), with_offsets()));
  EXPECT_EQ(json()["detol"], "preprocessing 2") << "what knows no offsets must not read it";
  expect_equal(read_preprocessing(path()).value(), with_offsets());
}

TEST_F(PreprocessingFile, WithoutOffsetsIsAsItEverWas) {
  ASSERT_TRUE(write_preprocessing(path(), of_table()));
  EXPECT_EQ(json()["detol"], "preprocessing 1");
  EXPECT_FALSE(json().contains("offsets"));
  EXPECT_FALSE(json().contains("target_offsets"));
}

TEST_F(PreprocessingFile, OffsetsOfOtherColumnsAreRefused) {
  ASSERT_TRUE(write_preprocessing(path(), with_offsets()));
  const nlohmann::json right = json();
  for (const char* key : {"offsets", "target_offsets"}) {
    nlohmann::json wrong = right;
    wrong[key].push_back(1.0);
    write(wrong);
    EXPECT_FALSE(read_preprocessing(path())) << key;
    wrong[key] = "none";
    write(wrong);
    EXPECT_FALSE(read_preprocessing(path())) << key;
  }
}

TEST_F(PreprocessingFile, FromBeforeThereWereDialectsIsRead) {
  ASSERT_TRUE(write_preprocessing(path(), of_table()));
  nlohmann::json older = json();
  older.erase("dialect");
  write(older);
  EXPECT_EQ(read_preprocessing(path()).value().table->dialect, std::nullopt);
}

TEST_F(PreprocessingFile, IsNeverReplaced) {
  ASSERT_TRUE(write_preprocessing(path(), of_table()));
  ASSERT_TRUE(write_preprocessing(path(), of_pictures()));
  expect_equal(read_preprocessing(path()).value(), of_table());
}

TEST_F(PreprocessingFile, LosesWhatAKilledWriterLeftBesideIt) {
  const std::filesystem::path left = path().string() + ".tmp-0123abcd";
  for (int i = 0; i < 2; ++i) {  // with and without the file
    std::ofstream(left) << "half";
    ASSERT_TRUE(write_preprocessing(path(), of_table()));
    EXPECT_FALSE(std::filesystem::exists(left));
  }
  expect_equal(read_preprocessing(path()).value(), of_table());
}

TEST_F(PreprocessingFile, ThatIsNestedDeeperThanTheStackIsRefused) {
  const std::string bomb = std::string(200'000, '[') + std::string(200'000, ']');
  for (const std::string& text : {bomb, std::string(200'000, '['),
                                  R"({"detol": "preprocessing 1", "table": )" + bomb + "}"}) {
    std::ofstream(path()) << text;
    const auto found = read_preprocessing(path());
    ASSERT_FALSE(found);
    EXPECT_NE(found.error().message.find("not a file that detol wrote"), std::string::npos);
  }
}

TEST_F(PreprocessingFile, ThatIsDamagedIsRefusedInOneLineWithItsPath) {
  ASSERT_TRUE(write_preprocessing(path(), of_table()));
  const nlohmann::json good = json();
  const auto refuses = [&](const std::function<void(nlohmann::json&)>& damage) {
    nlohmann::json bad = good;
    damage(bad);
    write(bad);
    const auto found = read_preprocessing(path());
    if (found) return false;
    EXPECT_EQ(found.error().message.find(path().string()), 0u);
    EXPECT_EQ(found.error().message.find('\n'), std::string::npos);
    return true;
  };
  for (const auto& [key, value] : good.items())
    EXPECT_TRUE(key == "table" || key == "dialect" || refuses([&](auto& all) { all.erase(key); }))
        << key;
  EXPECT_TRUE(refuses([](auto& all) { all["mean"].push_back(1); }));
  EXPECT_TRUE(refuses([](auto& all) { all["deviation"][0] = 0; }));
  EXPECT_TRUE(refuses([](auto& all) { all["deviation"][0] = "1"; }));
  EXPECT_TRUE(refuses([](auto& all) { all["input"][0] = 1e300; }));
  EXPECT_TRUE(refuses([](auto& all) { all["table"][0]["knots"] = {2, 1}; }));
  EXPECT_TRUE(refuses([](auto& all) { all["table"][0]["deviation"] = -1; }));
  EXPECT_TRUE(refuses([](auto& all) { all["table"][0]["kind"] = "picture"; }));
  EXPECT_TRUE(refuses([](auto& all) { all["table"][1]["name"] = all["table"][0]["name"]; }));
  EXPECT_TRUE(refuses([](auto& all) { all["table"][2]["categories"] = {"red", "red", "x"}; }));
  EXPECT_TRUE(refuses([](auto& all) { all["table"] = nlohmann::json::array(); }));
  EXPECT_TRUE(refuses([](auto& all) { all["dialect"]["separator"] = ""; }));
  EXPECT_TRUE(refuses([](auto& all) { all["dialect"]["decimal"] = ";"; }));
  EXPECT_TRUE(refuses([](auto& all) { all["dialect"].erase("header"); }));
  EXPECT_TRUE(refuses([](auto& all) { all["pictures"] = {{"size", 5000}}; }));
  write("no object");
  EXPECT_FALSE(read_preprocessing(path()));
}

}  // namespace
}  // namespace detol
