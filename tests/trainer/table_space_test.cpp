#include "trainer/data/formats/table_space.h"

#include <string>

#include <gtest/gtest.h>

#include "core/file.h"
#include "encodings/study/ready_spaces.h"
#include "encodings/study/study_config.h"
#include "tests/support/temp_folder.h"

namespace detol {
namespace {

class SpaceOfTable : public testing::Test {
 protected:
  // Writes a table of 40 records and returns its path; `label` is a function of the record's
  // number.
  template <typename Label>
  std::filesystem::path write(Label label) const {
    std::string text = "size,id,kind\n";
    for (int i = 0; i < 40; ++i) text += std::to_string(i * i) + ",7," + label(i) + "\n";
    const std::filesystem::path path = folder_.path() / "my table.csv";
    EXPECT_TRUE(write_file_durably(path, text));
    return path;
  }

  // Returns what the space file says, which must be a whole one.
  static StudyConfig config_of(const TableSpace& space) {
    const std::string ready = read_file(find_space(space.ready)).value();
    const auto config = load_study_config(made_of(ready, space), "made.yaml");
    EXPECT_TRUE(config) << config.error().message;
    return config.value_or(StudyConfig{});
  }

  testing_support::TempFolder folder_;
};

TEST_F(SpaceOfTable, TakesFewNumbersForClassesAndManyForNumbers) {
  const auto few = write([](int i) { return std::to_string(i % 3); });
  const TableSpace classes = space_of_table(few, {}, false).value();
  EXPECT_EQ(classes.ready, "table");
  EXPECT_NE(classes.data_section.find("has 3 different numbers, taken as classes"),
            std::string::npos);
  EXPECT_EQ(space_of_table(few, {}, true)->ready, "table_regression");
  const auto many = write([](int i) { return std::to_string(i); });
  EXPECT_EQ(config_of(space_of_table(many, {}, false).value()).data.task, TaskKind::kRegression);
}

TEST_F(SpaceOfTable, SaysWhichStudyLabelAndColumns) {
  const auto path = write([](int i) { return i % 2 == 0 ? "even" : "odd"; });
  const StudyConfig config = config_of(space_of_table(path, "kind", false).value());
  EXPECT_EQ(config.study, "my-table");
  EXPECT_EQ(config.data.path, path.string());
  EXPECT_EQ(config.data.labels, std::vector<std::string>{"kind"});
  EXPECT_EQ(config.data.columns.drop, std::vector<std::string>{"id"});  // always 7
}

TEST_F(SpaceOfTable, CannotPredictATextAsANumber) {
  const auto space = space_of_table(write([](int) { return "text"; }), "kind", true);
  ASSERT_FALSE(space);
  EXPECT_EQ(space.error().code, ErrorCode::kInput);
  EXPECT_FALSE(space_of_table(folder_.path() / "none.csv", {}, false));
}

TEST(NameOfStudy, IsOneThatAStudyCanHave) {
  for (const char* name : {"houses", "my table (1)", "-x", "", "_"})
    EXPECT_TRUE(is_study_name(name_of_study(name))) << name;
  EXPECT_EQ(name_of_study("houses"), "houses");
}

}  // namespace
}  // namespace detol
