#include <gtest/gtest.h>

#include "tests/support/idx_writer.h"
#include "tests/support/temp_folder.h"
#include "tests/trainer/damage.h"
#include "tests/trainer/picture_writer.h"
#include "trainer/data/dataset.h"
#include "trainer/data/formats/formats.h"

namespace detol {
namespace {

using namespace testing_support;

class WebDataset : public testing::Test {
 protected:
  // Samples first..first + 9; number i has the colour 10 i and the label i % 2.
  static std::vector<TarMember> ten(int first = 0) {
    std::vector<TarMember> members;
    for (int i = first; i < first + 10; ++i) {
      const auto colour = static_cast<std::uint8_t>(10 * i);
      const std::string name = "part/" + std::to_string(1000 + i);
      const TarMember label{name + ".cls", std::to_string(i % 2) + "\n"};
      if (i % 3 != 0) members.push_back(label);
      members.push_back(
          {name + ".png",
           png_of(plain(8, 8, {colour, colour, static_cast<std::uint8_t>(colour / 2)}))});
      if (i % 3 == 0) members.push_back(label);
      members.push_back({name + ".json", "{}"});
    }
    return members;
  }

  std::filesystem::path path(const std::string& name) const { return folder_.path() / name; }
  DataConfig config(const std::string& name = "") const {
    const auto at = name.empty() ? folder_.path() : path(name);
    return {.format = "webdataset", .path = at.string(), .validation = 0.2};
  }

  TempFolder folder_;
};

TEST_F(WebDataset, ASampleIsAPictureAndItsLabel) {
  write_tar(path("train-0.tar"), ten());
  write_tar(path("train-1.tar.gz"), ten(10));
  write_tar(path("test-0.tar"), ten());
  const auto data = load_dataset(config());
  ASSERT_TRUE(data) << data.error().message;
  EXPECT_EQ(data->info.task.input, (Shape{3, 8, 8}));
  EXPECT_EQ(data->info.training, 16);
  EXPECT_EQ(data->info.validation, 4);
  EXPECT_EQ(data->info.test, 10);
  for (std::int64_t i = 0; i < 30; ++i)
    EXPECT_EQ(data->labels[static_cast<std::size_t>(i)], data->image(i)[0] / 10 % 2);
  EXPECT_EQ(inspect_dataset(config())->fingerprint, data->info.fingerprint);
}

TEST_F(WebDataset, LabelsOfOtherPicturesAreSaidToBePassedOver) {
  std::vector<TarMember> members = ten();
  members.push_back({"part/2000.webp", "no picture"});
  members.push_back({"part/2000.cls", "1\n"});
  write_tar(path("all.tar"), members);
  const DatasetInfo info = inspect_dataset(config("all.tar")).value();
  EXPECT_EQ(info.remarks,
            (std::vector<std::string>{"1 label without a .jpg, .jpeg or .png file passed over"}));
}

TEST_F(WebDataset, OneShardMayBeAll) {
  write_tar(path("all.tar"), ten());
  const DatasetInfo info = inspect_dataset(config("all.tar")).value();
  EXPECT_EQ(info.training, 6);
  EXPECT_EQ(info.validation, 2);
  EXPECT_EQ(info.test, 2);
}

TEST_F(WebDataset, AnArchiveThatUnpacksWithoutEndIsRefused) {
  std::vector<TarMember> members = ten();
  members.push_back({"padding", std::string(std::size_t{90} << 20, '\0')});
  write_tar(path("all.tar.gz"), members);
  expect_words(load_dataset(config("all.tar.gz")),
               {"all.tar.gz: ", "it unpacks to more than 100 times its bytes"});
  write_tar(path("all.tar"), members);
  EXPECT_TRUE(load_dataset(config("all.tar"))) << "its bytes are there";
}

TEST_F(WebDataset, AnArchiveThatClimbsOutIsRefused) {
  for (const std::string name : {"/etc/passwd", "../up.png", "a/../../b.png", "a/.."}) {
    std::vector<TarMember> members = ten();
    members.push_back({name, "x"});
    write_tar(path("all.tar"), members);
    expect_words(load_dataset(config("all.tar")),
                 {"all.tar: byte 30720: '" + name + "': its name leads out", "relative names"});
    EXPECT_FALSE(inspect_dataset(config("all.tar")));
  }
  std::vector<TarMember> members = ten();
  members.push_back({"link.png", "", "/etc/passwd"});
  write_tar(path("all.tar"), members);
  expect_words(load_dataset(config("all.tar")), {"all.tar: byte 30720: 'link.png': a link"});
}

TEST_F(WebDataset, NothingIsWrittenToDisk) {
  write_tar(path("all.tar"), ten());
  ASSERT_TRUE(load_dataset(config("all.tar")));
  const std::filesystem::directory_iterator begin(folder_.path()), end;
  EXPECT_EQ(std::distance(begin, end), 1);
}

TEST_F(WebDataset, WhatIsWrongIsSaidWithItsMember) {
  const struct {
    std::string name, bytes;
    std::vector<std::string> words;
  } table[] = {
      {"9.jpg", "x", {"'9.jpg': there is no .cls beside it"}},
      {"9.cls", "one", {"'9.cls': the label 'one'; it must be a whole number"}},
      {"9.cls", "-1", {"'9.cls': the label '-1'"}},
      {"part/1003.cls", "1", {"'part/1003.cls': a second one of this sample"}},
  };
  for (const auto& row : table) {
    std::vector<TarMember> members = ten();
    members.push_back({row.name, row.bytes});
    write_tar(path("all.tar"), members);
    expect_words(load_dataset(config("all.tar")), row.words);
    expect_words(load_dataset(config("all.tar")), {"all.tar: byte 30720: "});
  }
  std::vector<TarMember> members = ten();
  members.back() = {"9.png", "x"};
  members.push_back({"9.cls", "1"});
  write_tar(path("all.tar"), members);
  expect_words(load_dataset(config("all.tar")), {"'9.png': neither a JPEG nor a PNG file"});
  write_tar(path("all.tar"), {{"a.txt", "x"}});
  expect_words(load_dataset(config("all.tar")), {"all.tar: byte 0: there is no picture in it"});
  std::filesystem::remove(path("all.tar"));
  expect_words(load_dataset(config()), {"no .tar file to train on", "--data"});
}

TEST_F(WebDataset, SurvivesEveryCutAndEveryFlippedBit) {
  write_tar(path("train.tar"), ten());
  const std::vector<TarMember> sample = {{"1.cls", "1"}, {"1.png", png_of(plain(8, 8, {9, 8, 7}))}};
  write_tar(path("test.tar"), sample);
  survive_every_cut(config(), path("test.tar"), 2048 + 512);
  survive_flipped_bits(config(), path("test.tar"), 2048);
  std::filesystem::remove(path("test.tar"));
  write_tar(path("test.tar.gz"), sample);
  survive_every_cut(config(), path("test.tar.gz"));
  survive_flipped_bits(config(), path("test.tar.gz"));
}

}  // namespace
}  // namespace detol
