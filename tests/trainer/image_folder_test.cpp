#include <set>

#include <gtest/gtest.h>

#include "tests/support/idx_writer.h"
#include "tests/support/temp_folder.h"
#include "tests/trainer/damage.h"
#include "tests/trainer/picture_writer.h"
#include "trainer/data/dataset.h"
#include "trainer/data/formats/formats.h"
#include "trainer/data/formats/picture_survey.h"

namespace detol {
namespace {

using namespace testing_support;

class ImageFolder : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories((folder_.path() / name).parent_path());
    write_bytes(folder_.path() / name, bytes);
  }

  // Writes two classes, dark and light, of ten 8 x 8 pictures each.
  void write_parts(const std::vector<std::string>& parts) const {
    for (const std::string& part : parts) {
      for (int i = 0; i < 10; ++i) {
        const auto dark = static_cast<std::uint8_t>(5 * i),
                   light = static_cast<std::uint8_t>(200 + i);
        write(part + "dark/" + std::to_string(i) + ".jpg",
              jpeg_of(plain(8, 8, {dark, dark, dark})));
        write(part + "light/" + std::to_string(i) + ".png", png_of(plain(8, 8, {light, light, 0})));
      }
    }
  }

  std::filesystem::path path(const std::string& name) const { return folder_.path() / name; }
  DataConfig config() const {
    return {.format = "image_folder", .path = folder_.path().string(), .validation = 0.2};
  }

  TempFolder folder_;
};

TEST_F(ImageFolder, FoldersAreClassesInTheirOrder) {
  write_parts({"train/", "test/"});
  write("train/dark/.hidden.jpg", "no picture");
  write("train/dark/notes.txt", "no picture");
  const auto data = load_dataset(config());
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_EQ(data->info.task.input, (Shape{3, 8, 8}));
  EXPECT_EQ(data->class_names, (std::vector<std::string>{"dark", "light"}));
  EXPECT_EQ(data->info.training, 16);
  EXPECT_EQ(data->info.validation, 4);
  EXPECT_EQ(data->info.test, 20);
  for (std::int64_t i = 0; i < 40; ++i)
    EXPECT_EQ(data->labels[static_cast<std::size_t>(i)], data->image(i)[0] >= 200 ? 1 : 0);
  EXPECT_EQ(inspect_dataset(config())->fingerprint, data->info.fingerprint);
}

TEST_F(ImageFolder, PartsWithoutAFolderAreTakenOfTheOthers) {
  write_parts({"train/", "val/"});
  const DatasetInfo info = inspect_dataset(config()).value();
  EXPECT_EQ(info.training, 16);
  EXPECT_EQ(info.validation, 20);
  EXPECT_EQ(info.test, 4);
  std::filesystem::remove_all(path("val"));
  std::filesystem::rename(path("train/dark"), path("dark"));
  std::filesystem::rename(path("train/light"), path("light"));
  std::filesystem::remove(path("train"));
  EXPECT_EQ(inspect_dataset(config())->training, 13);
}

TEST_F(ImageFolder, FoldersLieAsPeopleHaveThem) {
  for (int i = 0; i < 5; ++i) {
    const auto value = static_cast<std::uint8_t>(5 * i);
    write("Train/dark/a/deep/" + std::to_string(i) + ".JPG", jpeg_of(plain(8, 8, {value})));
    write("Train/dark/" + std::to_string(i) + ".Png", png_of(plain(8, 8, {value})));
    write("Train/light/b/" + std::to_string(i) + ".JPEG", jpeg_of(plain(8, 8, {200})));
    write("VALID/light/" + std::to_string(i) + ".png", png_of(plain(8, 8, {200})));
    write("Testing/dark/" + std::to_string(i) + ".png", png_of(plain(8, 8, {value})));
  }
  for (const std::string litter :
       {".DS_Store", "Train/.cache/1.jpg", "Train/dark/Thumbs.db", "Train/dark/.hidden/1.jpg",
        "Train/dark/a/._1.jpg", "Train/__MACOSX/dark/1.jpg", "Train/light/desktop.ini"})
    write(litter, "no picture");
  const auto data = load_dataset(config());
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_EQ(data->class_names, (std::vector<std::string>{"dark", "light"}));
  EXPECT_EQ(data->info.training, 15);
  EXPECT_EQ(data->info.validation, 5);
  EXPECT_EQ(data->info.test, 5);
}

TEST_F(ImageFolder, ASurveyCountsWhatIsThere) {
  write_parts({"train/"});
  write("train/light/clear.png", png_of(plain(20, 5, {9, 9, 9, 9})));
  write("train/light/turned.png", with_exif(png_of(plain(3, 40, {9})), exif_of(6, true)));
  write("train/dark/broken.jpg", "GIF89a");
  write("train/dark/notes.txt", "no picture");
  write("test/light/1.png", png_of(plain(8, 8, {9})));
  const auto survey = survey_pictures(folder_.path());
  ASSERT_TRUE(survey) << survey.error().message;
  EXPECT_EQ(survey->classes[0].training, 11);
  EXPECT_EQ(survey->classes[1].training, 12);
  EXPECT_EQ(survey->classes[1].test, 1);
  EXPECT_EQ(survey->kinds, (std::map<std::string, std::int64_t>{
                               {"colour JPEG", 10}, {"colour PNG", 11}, {"grey PNG", 2}}));
  EXPECT_EQ(survey->least_height, 8);
  EXPECT_EQ(survey->most_height, 40);
  EXPECT_EQ(survey->least_width, 3);
  EXPECT_EQ(survey->most_width, 8);
  EXPECT_EQ(survey->turned, 1);
  EXPECT_EQ(survey->with_alpha, 1);
  ASSERT_EQ(survey->unreadable.size(), 1u);
  EXPECT_NE(survey->unreadable[0].find("broken.jpg: neither a JPEG nor"), std::string::npos);
  EXPECT_EQ(survey->passed_over, std::vector<std::string>{path("train/dark/notes.txt").string()});
}

TEST_F(ImageFolder, FilesThatAreNoPicturesAreSaidToBePassedOver) {
  write_parts({"train/"});
  EXPECT_TRUE(inspect_dataset(config())->remarks.empty());
  write("train/dark/a.webp", "no picture");
  write("train/dark/b.gif", "no picture");
  const auto remarks = inspect_dataset(config())->remarks;
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_EQ(remarks[0],
            "2 other files passed over (a.webp, b.gif): pictures are .jpg, .jpeg and "
            ".png files");
}

TEST_F(ImageFolder, AFolderInAFolderIsNamed) {
  write_parts({"flowers/"});
  expect_words(load_dataset(config()), {"1 folders of classes", "if they are in 'flowers', name"});
}

TEST_F(ImageFolder, PicturesOfOtherKindsBecomeTheSame) {
  write_parts({""});
  write("dark/grey.jpg", jpeg_of(plain(8, 8, {100})));
  write("dark/grey.png", png_of(plain(8, 8, {100})));
  write("light/full.png", png_of(plain(8, 8, {200, 150, 100, 255})));
  write("light/clear_grey.png", png_of(plain(8, 8, {0, 0})));
  DataConfig data = config();
  const auto colour = load_dataset(data);
  ASSERT_TRUE(colour) << colour.error().message;
  std::multiset<std::vector<int>> seen;
  for (std::int64_t i = 0; i < 24; ++i)
    seen.insert({colour->image(i)[0], colour->image(i)[64], colour->image(i)[128]});
  EXPECT_EQ(seen.count({100, 100, 100}), 2u);
  EXPECT_EQ(seen.count({200, 150, 100}), 1u);
  EXPECT_EQ(seen.count({255, 255, 255}), 1u);
  data.channels = 1;
  const Dataset grey = load_dataset(data).value();
  EXPECT_EQ(grey.info.task.input, (Shape{1, 8, 8}));
  std::multiset<int> values;
  for (std::int64_t i = 0; i < 24; ++i) values.insert(grey.image(i)[0]);
  EXPECT_EQ(values.count(159), 1u);  // 0.299 x 200 + 0.587 x 150 + 0.114 x 100
}

TEST_F(ImageFolder, PicturesOfDifferentSizesNeedASize) {
  write_parts({""});
  write("dark/wide.jpg", jpeg_of(plain(16, 60, {10, 20, 30})));
  write("light/tall.png", png_of(plain(9, 5, {210, 220, 230})));
  expect_words(
      load_dataset(config()),
      {"dark/wide.jpg: 16 x 60 pixels, but the first picture has 8 x 8; the sides of all have "
       "5 to 60 pixels; say with data.size how large all are to be made, for example "
       "data.size: 64"});
  DataConfig data = config();
  data.size = 6;
  const auto loaded = load_dataset(data);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(loaded->info.task.input, (Shape{3, 6, 6}));
  for (std::int64_t i = 0; i < 22; ++i) {
    const auto image = loaded->image(i);
    for (std::size_t n = 0; n < image.size(); ++n)
      EXPECT_NEAR(image[n], image[n / 36 * 36], 2) << "a plain picture stays plain";
  }
}

TEST_F(ImageFolder, WhatIsWrongIsSaidWithItsFile) {
  write_parts({"train/", "test/"});
  const std::string good = read_file(path("train/dark/3.jpg")).value();
  const struct {
    std::string name, bytes;
    std::vector<std::string> words;
  } table[] = {
      {"train/dark/3.jpg", "GIF89a", {"train/dark/3.jpg: neither a JPEG nor a PNG", "fix"}},
      {"train/dark/3.jpg", good.substr(0, good.size() / 2), {"train/dark/3.jpg: "}},
      {"test/light/7.png", "\x89PNG\r\n\x1a\n", {"test/light/7.png: "}},
      {"test/grey/1.png", png_of(plain(8, 8, {1})), {"test/grey: no class of this name"}},
      {"train/none/readme", "", {"train/none: the class has no image"}},
  };
  for (const auto& row : table) {
    const bool is_new = !std::filesystem::exists(path(row.name));
    const std::string before = is_new ? "" : read_file(path(row.name)).value();
    write(row.name, row.bytes);
    expect_words(load_dataset(config()), row.words);
    EXPECT_FALSE(inspect_dataset(config()));
    write(row.name, before);
    if (is_new) std::filesystem::remove_all(path(row.name).parent_path());
  }
  std::filesystem::remove_all(path("train/light"));
  expect_words(load_dataset(config()), {"train: 1 folders of classes"});
}

TEST_F(ImageFolder, AConstantChannelKeepsItsScale) {
  for (int i = 0; i < 10; ++i) {
    const auto dark = static_cast<std::uint8_t>(5 * i), light = static_cast<std::uint8_t>(200 + i);
    write("dark/" + std::to_string(i) + ".png", png_of(plain(8, 8, {dark, dark, 255})));
    write("light/" + std::to_string(i) + ".png", png_of(plain(8, 8, {light, dark, 255})));
  }
  const auto data = load_dataset(config());
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_EQ(data->mean[2], 1);
  EXPECT_EQ(data->deviation[2], 1);
  EXPECT_TRUE(inspect_dataset(config()));
}

TEST_F(ImageFolder, PicturesOfOneColourAreRefusedBeforeTheTraining) {
  for (int i = 0; i < 10; ++i) {
    write("dark/" + std::to_string(i) + ".png", png_of(plain(8, 8, {7, 8, 9})));
    write("light/" + std::to_string(i) + ".png", png_of(plain(8, 8, {7, 8, 9})));
  }
  const auto seen = inspect_dataset(config());
  ASSERT_FALSE(seen);
  EXPECT_EQ(seen.error().message, config().path +
                                      ": all images to train on are of one colour: there is "
                                      "nothing to learn; check the images");
  expect_words(load_dataset(config()), {"of one colour"});
}

TEST_F(ImageFolder, AClassWhoseNameIsNotUtf8IsRefused) {
  write_parts({""});
  write("K\xe4se/1.png", png_of(plain(8, 8, {7, 8, 9})));
  expect_words(load_dataset(config()),
               {config().path, "'K\\xe4se', a class, is not UTF-8; rename it"});
  EXPECT_FALSE(inspect_dataset(config()));
}

TEST_F(ImageFolder, SurvivesEveryCutAndEveryFlippedBit) {
  for (const std::string name : {"a/1", "a/2", "a/3", "b/1", "b/2", "b/3", "a/4", "b/4"})
    write(name + ".png", png_of(plain(8, 8, {static_cast<std::uint8_t>(name[0]), 0, 9})));
  write("a/1.jpg", jpeg_of(plain(8, 8, {40})));
  DataConfig data = config();
  for (const int size : {0, 4}) {
    data.size = size;
    for (const std::string name : {"a/1.jpg", "b/2.png"}) {
      survive_every_cut(data, path(name), read_file(path(name))->size() - 12);
      survive_flipped_bits(data, path(name));
    }
  }
}

}  // namespace
}  // namespace detol
