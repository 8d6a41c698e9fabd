// New data for a trained network are prepared as its training data were.

#include "trainer/data/formats/inputs.h"

#include <algorithm>
#include <fstream>
#include <functional>

#include <gtest/gtest.h>

#include "tests/support/idx_writer.h"
#include "tests/support/temp_folder.h"
#include "tests/trainer/picture_writer.h"
#include "trainer/data/augment.h"
#include "trainer/data/formats/formats.h"
#include "trainer/predict.h"

namespace detol {
namespace {

using testing_support::plain;
using testing_support::png_of;
using testing_support::write_bytes;

class NewInputs : public ::testing::Test {
 protected:
  std::filesystem::path path(const std::string& name) const { return folder_.path() / name; }
  std::filesystem::path write(const std::string& name, const std::string& bytes) const {
    write_bytes(path(name), bytes);
    return path(name);
  }

  // Forty records of three columns and a label, whose cells `order` puts in place.
  static std::string forty(const std::function<std::string(const std::vector<std::string>&)>& order,
                           bool has_header = true) {
    std::string text = has_header ? order({"size", "colour", "age", "kind"}) + "\n" : "";
    for (int i = 0; i < 40; ++i) {
      text += order({std::to_string(i % 10), i % 3 == 0 ? "red" : "blue",
                     i % 4 == 0 ? "?" : std::to_string(i), i % 2 == 0 ? "even" : "odd"}) +
              "\n";
    }
    return text;
  }
  static std::string as_it_was(const std::vector<std::string>& cells) {
    return cells[0] + "," + cells[1] + "," + cells[2] + "," + cells[3];
  }

  Preprocessing trained_on(const std::string& text, const ColumnsConfig& columns = {}) const {
    const std::string file = write("training.csv", text).string();
    const DataConfig config{.format = "csv", .path = file, .columns = columns};
    return preprocessing_of(load_dataset(config).value());
  }

  // Returns what the network reads of all inputs, `most` at a time.
  static std::vector<float> read(const std::filesystem::path& path, const Preprocessing& data,
                                 std::int64_t most = 7) {
    const auto reader = open_inputs(path, data);
    EXPECT_TRUE(reader) << reader.error().message;
    if (!reader) return {};
    std::vector<float> all;
    for (;;) {
      const auto inputs = (*reader)->next(most);
      EXPECT_TRUE(inputs) << inputs.error().message;
      if (!inputs || inputs->count() == 0) return all;
      EXPECT_LE(inputs->count(), most);
      const auto images = normalised_images(inputs->data, {0, inputs->count()});
      all.insert(all.end(), images.begin(), images.end());
    }
  }

  static std::string refusal(const std::filesystem::path& path, const Preprocessing& data) {
    const auto reader = open_inputs(path, data);
    if (!reader) return reader.error().message;
    const auto inputs = (*reader)->next(1000);
    return inputs ? "none" : inputs.error().message;
  }

  testing_support::TempFolder folder_;
};

TEST_F(NewInputs, OfATableAreFoundByTheNamesOfTheirColumns) {
  const Preprocessing data = trained_on(forty(as_it_was));
  const std::vector<float> expected = read(path("training.csv"), data);
  ASSERT_EQ(expected.size(), 40 * data.table->inputs());
  const auto permuted =
      write("permuted.csv",
            forty([](const auto& cells) { return cells[2] + ";" + cells[1] + ";x;" + cells[0]; }));
  EXPECT_EQ(read(permuted, data), expected) << "no label, another order and separator";
}

TEST_F(NewInputs, OfATableAreThoseThatItWasTrainedOn) {
  const Preprocessing data = trained_on(forty(as_it_was));
  const Dataset loaded =
      load_dataset({.format = "csv", .path = path("training.csv").string()}).value();
  std::vector<float> trained = normalised_images(loaded, {0, 40});
  std::vector<float> read = this->read(path("training.csv"), data);
  // The training data are permuted; the sums of the columns are not.
  std::ranges::sort(trained);
  std::ranges::sort(read);
  EXPECT_EQ(read, trained);
}

TEST_F(NewInputs, OfATableWithoutAHeaderAreFoundByTheirPlaces) {
  const Preprocessing data = trained_on(forty(as_it_was, false));
  const auto expected = read(path("training.csv"), data);
  const auto alone = write(
      "alone.csv",
      forty([](const auto& cells) { return cells[0] + "," + cells[1] + "," + cells[2]; }, false));
  EXPECT_EQ(read(alone, data), expected);
  EXPECT_NE(refusal(write("few.csv", "1,red\n"), data).find("few.csv:1:1: 2 columns"),
            std::string::npos);
}

TEST_F(NewInputs, OfATableHaveItsNamelessColumns) {
  const auto table = [](const std::string& header, bool has_index, const char* separator = ",") {
    std::string text = header + "\n";
    for (int i = 0; i < 40; ++i)
      text += (has_index ? std::to_string(i) + separator : "") + std::to_string(i % 7) + separator +
              (i % 2 == 0 ? "p" : "q") + "\n";
    return text;
  };
  for (const ColumnsConfig& columns : {ColumnsConfig{}, {.types = {{"column_1", "number"}}}}) {
    const Preprocessing data = trained_on(table(",a,y", true), columns);
    const auto expected = read(path("training.csv"), data);
    ASSERT_EQ(expected.size(), 40 * data.table->inputs());
    EXPECT_EQ(read(write("marked.csv", "\xef\xbb\xbf" + table(",a,y", true)), data), expected);
    EXPECT_EQ(read(write("quoted.csv", table("\"\" , \" a \",y", true)), data), expected);
    EXPECT_EQ(read(write("other.csv", table(";a;y", true, ";")), data), expected);
  }
  const Preprocessing dropped = trained_on(table(",a,y", true));
  const auto expected = read(path("training.csv"), dropped);
  EXPECT_EQ(read(write("without.csv", table("a,y", false)), dropped), expected);
  EXPECT_NE(refusal(write("bad.csv", table(",b,y", true)), dropped)
                .find("bad.csv:1:1: unknown column 'a'; known: column_1, b, y"),
            std::string::npos)
      << refusal(path("bad.csv"), dropped);
}

TEST_F(NewInputs, OfATableHaveTheNamesOfItsRepeatedColumns) {
  std::string text = "age,age,y\n";
  for (int i = 0; i < 40; ++i)
    text += std::to_string(i % 7) + "," + std::to_string(i % 5) + (i % 2 == 0 ? ",p\n" : ",q\n");
  const Preprocessing data = trained_on(text);
  EXPECT_EQ(data.table->columns[1].name, "age.1");
  EXPECT_EQ(read(write("one.csv", "y,age,age\np,1.5,2\n"), data),
            read(write("two.csv", "age.1,age\n2,1.5\n"), data));
}

TEST_F(NewInputs, OfATableAreWrittenAsItWas) {
  const auto table = [](const std::function<std::string(int)>& record) {
    std::string text;
    for (int i = 0; i < 40; ++i) text += record(i) + (i % 2 == 0 ? "p\n" : "q\n");
    return text;
  };
  const std::string carets = table([](int i) { return std::to_string(i * 7 % 9) + ".5^x;y^"; });
  const Preprocessing caret = trained_on("a^b^y\n" + carets, {.separator = "^"});
  EXPECT_EQ(read(path("training.csv"), caret).size(), 40 * caret.table->inputs());
  const std::string commas =
      table([](int i) { return "\"" + std::to_string(i * 7 % 9) + ",25\","; });
  const Preprocessing decimal = trained_on("a,y\n" + commas, {.decimal = ","});
  const auto expected = read(path("training.csv"), decimal);
  EXPECT_EQ(expected.size(), 40u);
  EXPECT_EQ(read(write("points.csv", "a\n0.25\n"), decimal)[0], expected[0]);
  const Preprocessing headless = trained_on("1.5,2\n" + commas, {.decimal = ",", .header = false});
  EXPECT_EQ(read(write("records.csv", ",2\n\"1,5\",3\n"), headless).size(), 2u)
      << "an empty cell is not the name of a column";
}

TEST_F(NewInputs, OfATableFromBeforeItsDialectWasKeptAreLookedAt) {
  Preprocessing data = trained_on(forty(as_it_was));
  const auto expected = read(path("training.csv"), data);
  auto older = std::make_shared<TableEncoder>(*data.table);
  older->dialect.reset();
  data.table = older;
  EXPECT_EQ(read(path("training.csv"), data), expected);
}

TEST_F(NewInputs, OfATableMayHaveCategoriesThatAreNew) {
  const Preprocessing data = trained_on(forty(as_it_was));
  const auto inputs = read(write("new.csv", "age,colour,size\n,green,1\n"), data);
  const std::size_t at = data.table->columns[0].inputs();
  EXPECT_EQ(inputs[at], 0);
  EXPECT_EQ(inputs[at + 1], 0);
}

TEST_F(NewInputs, OfATableSayWhichCategoriesAreNew) {
  const Preprocessing data = trained_on(forty(as_it_was));
  const auto said_of = [&](const std::string& colours) {
    const auto file = write("new.csv", "age,colour,size\n" + colours);
    testing::internal::CaptureStderr();
    read(file, data, 2);
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(said_of("1,red,1\n2,blue,1\n"), "");
  const std::string news = said_of("1,red,1\n2,Red,1\n3,green,1\n4,,1\n5,blue,1\n");
  EXPECT_NE(news.find("new.csv: column 'colour': 3 of 5 records have a value that the records to "
                      "train on do not have (the first is 'Red')"),
            std::string::npos)
      << news;
  EXPECT_NE(said_of("1,red,1\n2,?,1\n").find("1 of 2 records"), std::string::npos);
  EXPECT_NE(said_of("1,red,1\n2,?,1\n").find("(an empty cell)"), std::string::npos);
}

TEST_F(NewInputs, OfATableMayMissACategoryByAnyWordForIt) {
  const Preprocessing data = trained_on(forty([](const auto& cells) {
    return cells[0] + "," + (cells[2] == "?" ? "" : cells[1]) + "," + cells[2] + "," + cells[3];
  }));
  const auto of = [&](const std::string& word) {
    return read(write("missing.csv", "size,colour,age\n1," + word + ",2\n"), data);
  };
  EXPECT_EQ(of("?"), of("\"\""));
  EXPECT_EQ(of("NA"), of("?"));
  EXPECT_NE(of("green"), of("?"));
}

// Only the 13th tells that the day comes first; the new file has none after the 12th.
TEST_F(NewInputs, OfATableHaveTheOrderOfItsDates) {
  std::string text = "when,y\n";
  for (int i = 1; i <= 20; ++i) text += std::to_string(i) + "/2/2024," + (i % 2 ? "a\n" : "b\n");
  const Preprocessing data = trained_on(text);
  const auto reader = open_inputs(write("new.csv", "when\n1/2/2024\n2/2/2024\n"), data).value();
  const Inputs inputs = reader->next(2).value();
  EXPECT_EQ(inputs.data.values_of(0)[0] + data.offsets.of_input(0), 19754) << "1 February 2024";
  EXPECT_EQ(inputs.data.values_of(1)[0] + data.offsets.of_input(0), 19755);
}

TEST_F(NewInputs, OfATableThatAreWrongAreNamedByTheirPlace) {
  const Preprocessing data = trained_on(forty(as_it_was));
  EXPECT_NE(refusal(write("bad.csv", "size,colour,age\n1,red,2\n1,red,old\n"), data)
                .find("bad.csv:3:7: 'old' is not a finite number"),
            std::string::npos);
  EXPECT_NE(refusal(write("less.csv", "size,color,age\n1,red,2\n"), data)
                .find("less.csv:1:1: unknown column 'colour'; did you mean 'color'?"),
            std::string::npos);
  EXPECT_NE(refusal(write("empty.csv", ""), data).find("the file is empty"), std::string::npos);
  EXPECT_NE(refusal(path("gone.csv"), data).find("there is no such file"), std::string::npos);
  EXPECT_NE(refusal(folder_.path(), data).find("name a CSV file"), std::string::npos);
}

TEST_F(NewInputs, OfPicturesAreFoundInAllFoldersAndGivenTheSameForm) {
  Preprocessing data;
  data.task = {.input = {3, 4, 4}, .classes = 2};
  data.mean.assign(3, 0);
  data.deviation.assign(3, 1);
  data.pictures = PictureForm{.size = 4};
  std::filesystem::create_directories(path("photos/b"));
  write("photos/b/2.png", png_of(plain(9, 5, {255, 0, 0})));
  write("photos/1.png", png_of(plain(4, 4, {0, 51, 0})));
  write("photos/readme.txt", "no picture");
  const auto images = read(path("photos"), data, 1);
  ASSERT_EQ(images.size(), 2u * 48);
  EXPECT_FLOAT_EQ(images[16], 0.2F) << "green of 1.png";
  EXPECT_FLOAT_EQ(images[48], 1) << "red of b/2.png";
  const auto reader = open_inputs(path("photos"), data).value();
  EXPECT_EQ(reader->next(5).value().names, (std::vector<std::string>{"1.png", "b/2.png"}));
  EXPECT_EQ(read(path("photos/1.png"), data).size(), 48u);
  write("photos/damaged.png", png_of(plain(9, 5, {255, 0, 0})).substr(0, 60));
  EXPECT_NE(refusal(path("photos"), data).find("damaged.png"), std::string::npos);
}

std::string npy(const std::string& type, const std::string& sizes, const std::string& data) {
  const std::string header =
      "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + sizes + "), }\n";
  return std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(header.size()) + '\0' + header +
         data;
}

TEST_F(NewInputs, OfArraysMayHaveTheirChannelsFirstOrLast) {
  Preprocessing data;
  data.task = {.input = {2, 3, 3}, .classes = 2};
  data.mean.assign(2, 0);
  data.deviation.assign(2, 1);
  std::string last, first(2 * 18, '\0');
  for (int i = 0; i < 2 * 18; ++i) last += static_cast<char>(i);
  for (int image = 0; image < 2; ++image) {
    for (int at = 0; at < 18; ++at)
      first[static_cast<std::size_t>(18 * image + at % 2 * 9 + at / 2)] =
          last[static_cast<std::size_t>(18 * image + at)];
  }
  const auto expected = read(write("first.npy", npy("|u1", "2, 2, 3, 3", first)), data, 1);
  EXPECT_EQ(read(write("last.npy", npy("|u1", "2, 3, 3, 2", last)), data), expected);
  const auto one = read(write("one.npy", npy("|u1", "3, 3, 2", last.substr(0, 18))), data);
  EXPECT_TRUE(std::ranges::equal(one, std::span(expected).first(18)));
  EXPECT_NE(refusal(write("other.npy", npy("|u1", "4, 4", last.substr(0, 16))), data)
                .find("an array of 4 x 4; the network reads images of"),
            std::string::npos);
  EXPECT_NE(refusal(write("cut.npy", npy("|u1", "2, 3, 3, 2", last.substr(1))), data).find("cut"),
            std::string::npos);
  EXPECT_NE(refusal(write("long.npy", npy("<i4", "1, 2, 3, 3", std::string(72, '\0'))), data)
                .find("not of bytes"),
            std::string::npos);
}

TEST_F(NewInputs, OfIdxFilesAreImagesOfOneChannel) {
  Preprocessing data;
  data.task = {.input = {1, 12, 12}, .classes = 4};
  data.mean = {0};
  data.deviation = {1};
  testing_support::write_idx(path("idx"));
  const auto images = read(path("idx") / "t10k-images-idx3-ubyte", data, 100);
  EXPECT_GT(images.size(), 144u);
  EXPECT_EQ(images.size() % 144, 0u);
}

}  // namespace
}  // namespace detol
