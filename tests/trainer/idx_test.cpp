#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include <gtest/gtest.h>

#include "core/file.h"
#include "tests/support/idx_writer.h"
#include "tests/support/temp_folder.h"
#include "trainer/data/dataset.h"
#include "trainer/data/formats/formats.h"

namespace detol {
namespace {

using testing_support::TempFolder;
using testing_support::write_bytes;
using testing_support::write_idx;

const std::string kTrainImages = "train-images-idx3-ubyte";
const std::string kTrainLabels = "train-labels-idx1-ubyte";
const std::string kTestImages = "t10k-images-idx3-ubyte";
const std::string kTestLabels = "t10k-labels-idx1-ubyte";

DataConfig config_of(const std::filesystem::path& folder, double validation = 0.1) {
  return {.format = "idx", .path = folder.string(), .validation = validation};
}

void pack(const std::filesystem::path& folder, const std::string& name) {
  const std::string bytes = read_file(folder / name).value();
  gzFile file = gzopen((folder / (name + ".gz")).c_str(), "wb");
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
  std::filesystem::remove(folder / name);
}

void edit(const std::filesystem::path& path, const std::function<void(std::string&)>& change) {
  std::string bytes = read_file(path).value();
  change(bytes);
  write_bytes(path, bytes);
}

TEST(Idx, AStratifiedSplitHoldsOutTheSameShareOfEveryClass) {
  const TempFolder folder;
  write_idx(folder.path());
  DataConfig config = config_of(folder.path());
  const std::uint64_t plain = load_dataset(config)->info.fingerprint;
  config.split.by = "stratified";
  const Dataset data = load_dataset(config).value();
  std::vector<int> held_out(4), all(4);
  for (std::int64_t i = 0; i < data.info.training + data.info.validation; ++i) {
    const auto label = static_cast<std::size_t>(data.labels[static_cast<std::size_t>(i)]);
    ++all[label];
    held_out[label] += i >= data.info.training ? 1 : 0;
  }
  for (std::size_t label = 0; label < 4; ++label)
    EXPECT_NEAR(held_out[label], all[label] / 10.0, 1);
  EXPECT_NE(data.info.fingerprint, plain);
  EXPECT_EQ(inspect_dataset(config)->fingerprint, data.info.fingerprint);
}

TEST(Idx, TheSeedAndTheFoldOfASplitArePartOfTheFingerprint) {
  const TempFolder folder;
  write_idx(folder.path());
  DataConfig config = config_of(folder.path());
  std::set<std::uint64_t> seen{load_dataset(config)->info.fingerprint};
  config.split.seed = 1;
  seen.insert(load_dataset(config)->info.fingerprint);
  config.split.folds = 4;
  seen.insert(load_dataset(config)->info.fingerprint);
  config.split.fold = 3;
  seen.insert(load_dataset(config)->info.fingerprint);
  EXPECT_EQ(seen.size(), 4u);
}

TEST(Idx, ReadsEveryImageOnceWithItsOwnLabel) {
  const TempFolder folder;
  write_idx(folder.path());
  const Dataset data = load_dataset(config_of(folder.path())).value();

  EXPECT_EQ(data.info.task.input, (Shape{1, 12, 12}));
  EXPECT_EQ(data.info.task.classes, 4);
  EXPECT_EQ(data.info.training, 360);
  EXPECT_EQ(data.info.validation, 40);
  EXPECT_EQ(data.info.test, 80);
  std::multiset<std::string> expected, found;
  for (const auto& [images, labels] :
       {std::pair{kTrainImages, kTrainLabels}, std::pair{kTestImages, kTestLabels}}) {
    const std::string pixels = read_file(folder.path() / images).value().substr(16);
    const std::string names = read_file(folder.path() / labels).value().substr(8);
    for (std::size_t i = 0; i < names.size(); ++i) {
      expected.insert(pixels.substr(i * 144, 144) + names[i]);
    }
  }
  for (std::int64_t i = 0; i < 480; ++i) {
    std::string image(data.image(i).begin(), data.image(i).end());
    found.insert(image + static_cast<char>(data.labels[static_cast<std::size_t>(i)]));
  }
  EXPECT_EQ(found, expected);
}

TEST(Idx, TheTestPartIsT10kInItsOrder) {
  const TempFolder folder;
  write_idx(folder.path());
  const Dataset data = load_dataset(config_of(folder.path())).value();
  const std::string pixels = read_file(folder.path() / kTestImages).value().substr(16);
  const std::string kept(data.images.end() - 80L * 144, data.images.end());
  EXPECT_EQ(kept, pixels);
}

TEST(Idx, TheSplitIsTheSameEveryTimeAndNotTheFilesOrder) {
  const TempFolder folder;
  write_idx(folder.path());
  const Dataset once = load_dataset(config_of(folder.path())).value();
  const Dataset again = load_dataset(config_of(folder.path())).value();
  EXPECT_EQ(once.images, again.images);
  EXPECT_EQ(once.info.fingerprint, again.info.fingerprint);
  const std::string in_order = read_file(folder.path() / kTrainImages).value().substr(16);
  EXPECT_NE(std::string(once.images.begin(), once.images.begin() + 400L * 144), in_order);
}

TEST(Idx, MeanAndDeviationAreOfTheTrainingImagesAlone) {
  const TempFolder folder;
  write_idx(folder.path());
  const Dataset data = load_dataset(config_of(folder.path(), 0.5)).value();
  double sum = 0, squares = 0;
  for (std::int64_t i = 0; i < 200; ++i) {
    for (double pixel : data.image(i)) sum += pixel / 255, squares += pixel * pixel / 255 / 255;
  }
  const double mean = sum / (200 * 144);
  EXPECT_NEAR(data.mean.at(0), mean, 1e-6);
  EXPECT_NEAR(data.deviation.at(0), std::sqrt(squares / (200 * 144) - mean * mean), 1e-6);
}

TEST(Idx, PackedAndDottedFilesGiveTheSameDataAndFingerprint) {
  const TempFolder plain, packed, dotted;
  for (const auto* folder : {&plain, &packed, &dotted}) write_idx(folder->path());
  for (const auto& name : {kTrainImages, kTrainLabels, kTestImages, kTestLabels}) {
    pack(packed.path(), name);
    std::string other = name;
    other.replace(other.find("-idx"), 1, ".");
    std::filesystem::rename(dotted.path() / name, dotted.path() / other);
  }
  const Dataset expected = load_dataset(config_of(plain.path())).value();
  for (const auto* folder : {&packed, &dotted}) {
    const Dataset data = load_dataset(config_of(folder->path())).value();
    EXPECT_EQ(data.images, expected.images);
    EXPECT_EQ(data.labels, expected.labels);
    EXPECT_EQ(data.info.fingerprint, expected.info.fingerprint);
  }
}

TEST(Idx, InspectingFindsWhatLoadingFinds) {
  const TempFolder folder;
  write_idx(folder.path(), {.classes = 3, .training = 90});
  const DatasetInfo loaded = load_dataset(config_of(folder.path())).value().info;
  const DatasetInfo seen = inspect_dataset(config_of(folder.path())).value();
  EXPECT_EQ(seen.fingerprint, loaded.fingerprint);
  EXPECT_EQ(seen.task.input, loaded.task.input);
  EXPECT_EQ(seen.task.classes, loaded.task.classes);
  EXPECT_EQ(seen.training, loaded.training);
  EXPECT_EQ(seen.validation, loaded.validation);
  EXPECT_EQ(seen.test, loaded.test);
}

TEST(Idx, TheFingerprintSeesEveryFileAndTheSplit) {
  const TempFolder folder;
  write_idx(folder.path());
  std::set<std::uint64_t> seen{inspect_dataset(config_of(folder.path())).value().fingerprint,
                               inspect_dataset(config_of(folder.path(), 0.2)).value().fingerprint};
  for (const auto& name : {kTrainImages, kTestImages, kTrainLabels, kTestLabels}) {
    edit(folder.path() / name, [](std::string& bytes) { bytes.back() ^= 1; });
    seen.insert(inspect_dataset(config_of(folder.path())).value().fingerprint);
  }
  EXPECT_EQ(seen.size(), 6u);
}

// Fault is a way to damage the data, and the words that the message must have.
struct Fault {
  std::string name;
  std::function<void(const std::filesystem::path&)> make;
  std::vector<std::string> words;
};

std::vector<Fault> faults() {
  const auto cut = [](const std::string& name, std::size_t keep) {
    return [=](const std::filesystem::path& folder) {
      std::filesystem::resize_file(folder / name, keep);
    };
  };
  const auto change = [](const std::string& name, std::size_t at, char value) {
    return [=](const std::filesystem::path& folder) {
      edit(folder / name, [&](std::string& bytes) { bytes[at] = value; });
    };
  };
  const auto packed = [](const std::string& name, const std::function<void(std::string&)>& damage) {
    return [=](const std::filesystem::path& folder) {
      pack(folder, name);
      edit(folder / (name + ".gz"), damage);
    };
  };
  return {
      {"missing_folder",
       [](const auto& f) { std::filesystem::remove_all(f); },
       {"no such folder", "--data"}},
      {"missing_file",
       [](const auto& f) { std::filesystem::remove(f / kTestLabels); },
       {"t10k-labels-idx1-ubyte", "--data"}},
      {"empty_file", cut(kTrainImages, 0), {kTrainImages, "byte 0", "too early"}},
      {"cut_magic", cut(kTrainLabels, 3), {kTrainLabels, "byte 3", "too early"}},
      {"cut_header", cut(kTrainImages, 14), {kTrainImages, "byte 14", "too early"}},
      {"cut_pixels", cut(kTrainImages, 5000), {kTrainImages, "byte 4", "at most 4984"}},
      {"cut_labels", cut(kTestLabels, 50), {kTestLabels, "byte 4", "at most 42"}},
      {"wrong_magic", change(kTrainImages, 3, 1), {kTrainImages, "byte 0", "0x00000803"}},
      {"huge_size", change(kTrainImages, 4, 0x7f), {kTrainImages, "byte 4", "at most"}},
      {"zero_size", change(kTestImages, 11, 0), {kTestImages, "byte 8", "a size is 0"}},
      {"count_mismatch",
       [](const auto& f) {
         edit(f / kTestLabels, [](std::string& bytes) { bytes[7]--, bytes.pop_back(); });
       },
       {kTestImages, "byte 4", "80 images", "79 labels"}},
      {"trailing_pixels",
       [](const auto& f) { edit(f / kTestImages, [](std::string& b) { b += "xy"; }); },
       {kTestImages, "byte 11536", "2 bytes follow"}},
      {"trailing_labels",
       [](const auto& f) { edit(f / kTrainLabels, [](std::string& b) { b += "x"; }); },
       {kTrainLabels, "byte 408", "1 bytes follow"}},
      {"other_shape",
       [](const auto& f) {
         write_bytes(f / kTestImages, testing_support::idx_images({.side = 9}, 80, 1));
       },
       {kTestImages, "byte 8", "1x9x9", "1x12x12"}},
      {"stray_test_label", change(kTestLabels, 20, 9), {kTestLabels, "byte 20", "label 9"}},
      {"stray_training_label",
       change(kTrainLabels, 30, 77),
       {kTrainLabels, "byte 30", "label 77", "class 4"}},
      {"missing_class",
       [](const auto& f) {
         edit(f / kTrainLabels,
              [](std::string& bytes) { std::replace(bytes.begin() + 8, bytes.end(), '\1', '\0'); });
       },
       {kTrainLabels, "class 1 has no image"}},
      {"one_class",
       [](const auto& f) {
         edit(f / kTrainLabels,
              [](std::string& bytes) { std::fill(bytes.begin() + 8, bytes.end(), '\0'); });
       },
       {kTrainLabels, "byte 8", "nothing to tell apart"}},
      {"file_for_a_folder",
       [](const auto& f) {
         std::filesystem::remove_all(f);
         write_bytes(f, "I am a file");
       },
       {"not a folder", "--data"}},
      {"folder_for_a_file",
       [](const auto& f) {
         std::filesystem::remove(f / kTrainLabels);
         std::filesystem::create_directory(f / kTrainLabels);
       },
       {kTrainLabels, "is a folder"}},
      {"constant_pixels",
       [](const auto& f) {
         edit(f / kTrainImages, [](std::string& b) { std::fill(b.begin() + 16, b.end(), '\7'); });
       },
       {"nothing to learn"}},
      {"packed_cut",
       packed(kTrainImages, [](std::string& b) { b.resize(b.size() / 2); }),
       {kTrainImages + ".gz", "byte "}},
      {"packed_flipped",
       packed(kTrainImages, [](std::string& b) { b[b.size() / 2] ^= 0x10; }),
       {kTrainImages + ".gz", "byte "}},
      {"packed_checksum",
       packed(kTestImages, [](std::string& b) { b[b.size() - 6] ^= 1; }),
       {kTestImages + ".gz", "damaged"}},
      {"packed_trailing",
       packed(kTestLabels, [](std::string& b) { b += "tail"; }),
       {kTestLabels + ".gz", "byte "}},
  };
}

class IdxFault : public testing::TestWithParam<Fault> {};

TEST_P(IdxFault, IsRefusedNamingFilePlaceAndRemedy) {
  const TempFolder folder;
  const auto data = folder.path() / "data";
  write_idx(data);
  GetParam().make(data);
  const auto loaded = load_dataset(config_of(data));
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::kInput);
  for (const std::string& word : GetParam().words) {
    EXPECT_NE(loaded.error().message.find(word), std::string::npos) << loaded.error().message;
  }
  EXPECT_EQ(loaded.error().message.find('\n'), std::string::npos);
  EXPECT_FALSE(inspect_dataset(config_of(data))) << "only loading notices it";
}

INSTANTIATE_TEST_SUITE_P(All, IdxFault, testing::ValuesIn(faults()),
                         [](const auto& fault) { return fault.param.name; });

TEST(Idx, EveryLengthOfATruncatedFileIsRefused) {
  const TempFolder folder;
  write_idx(folder.path(), {.classes = 2, .training = 20, .test = 4, .side = 6});
  pack(folder.path(), kTrainLabels);
  for (const auto& name : {kTestImages, kTrainLabels + ".gz"}) {
    const std::string whole = read_file(folder.path() / name).value();
    for (std::size_t length = 0; length < whole.size(); ++length) {
      write_bytes(folder.path() / name, std::string_view(whole).substr(0, length));
      EXPECT_FALSE(inspect_dataset(config_of(folder.path()))) << name << " of " << length;
    }
    write_bytes(folder.path() / name, whole);
  }
  EXPECT_TRUE(inspect_dataset(config_of(folder.path())));
}

TEST(Idx, EveryFlippedBitOfAHeaderIsRefused) {
  const TempFolder folder;
  write_idx(folder.path(), {.classes = 2, .training = 20, .test = 4, .side = 6});
  for (const auto& name : {kTrainImages, kTrainLabels, kTestImages, kTestLabels}) {
    const std::size_t header = name.find("images") != std::string::npos ? 16 : 8;
    for (std::size_t bit = 0; bit < 8 * header; ++bit) {
      const auto flip = [&](std::string& bytes) {
        bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
      };
      edit(folder.path() / name, flip);
      EXPECT_FALSE(inspect_dataset(config_of(folder.path()))) << name << " bit " << bit;
      edit(folder.path() / name, flip);
    }
  }
  EXPECT_TRUE(inspect_dataset(config_of(folder.path())));
}

TEST(Idx, AnUnknownFormatIsRefusedWithTheKnownOnes) {
  const auto loaded = load_dataset({.format = "idxx", .path = "nowhere"});
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().message.find("did you mean 'idx'"), std::string::npos);
}

}  // namespace
}  // namespace detol
