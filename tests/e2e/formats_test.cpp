// A search over data of another format than the tiny study's own, and what a wrong path says.

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "core/file.h"
#include "tests/e2e/tiny_study.h"

namespace detol::testing_support {
namespace {

// Writes an IDX file as a NumPy array: the bytes behind the header are the same.
void write_npy(const std::filesystem::path& from, const std::filesystem::path& to,
               const std::string& sizes, std::size_t header) {
  std::string text = "{'descr': '|u1', 'fortran_order': False, 'shape': (" + sizes + "), }\n";
  std::string bytes = "\x93NUMPY\1";
  bytes += '\0';
  bytes += static_cast<char>(text.size());
  bytes += '\0';
  write_bytes(to, bytes + text + read_file(from).value().substr(header));
}

class Formats : public testing::Test {
 protected:
  Formats() {
    const auto data = study_.path() / "data", arrays = study_.path() / "arrays";
    std::filesystem::create_directories(arrays);
    write_npy(data / "train-images-idx3-ubyte", arrays / "x_train.npy", "400, 12, 12", 16);
    write_npy(data / "train-labels-idx1-ubyte", arrays / "y_train.npy", "400,", 8);
    write_npy(data / "t10k-images-idx3-ubyte", arrays / "x_test.npy", "80, 12, 12", 16);
    write_npy(data / "t10k-labels-idx1-ubyte", arrays / "y_test.npy", "80,", 8);
  }

  Ran search(const std::vector<std::string>& more) const {
    std::vector<std::string> words = study_.search_words();
    words.insert(words.end(), more.begin(), more.end());
    return study_.detol(words);
  }

  TinyStudy study_;
};

TEST_F(Formats, ASearchDoesNotDependOnTheFormatOfTheSameImages) {
  ASSERT_EQ(search({"--budget", "2trials"}).code, 0);
  const std::string expected = study_.results();
  std::filesystem::remove(study_.path() / "detol.db");
  for (const auto& entry : std::filesystem::directory_iterator(study_.path())) {
    if (entry.path().filename().string().starts_with("detol")) std::filesystem::remove_all(entry);
  }
  const Ran ran = search({"--budget", "2trials", "--set", "data.format=npy", "--data", "arrays"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(study_.results(), expected);
}

TEST_F(Formats, AWrongPathSaysInOneLineWhatBelongsThere) {
  const struct {
    std::string format, path, says;
  } table[] = {
      {"cifar", "data", "data_batch_1.bin is not there; put all files"},
      {"cifar", "nowhere", "no such folder; name the folder of the CIFAR files"},
      {"npy", "data", "there is no array x_train"},
      {"npy", "tiny.yaml", "name a folder of .npy files, or one .npz file"},
      {"image_folder", "data", "0 folders of classes; there must be one for each class"},
      {"webdataset", "data", "no .tar file to train on; name a tar file"},
      {"webdataset", "tiny.yaml", "tiny.yaml: byte 0: "},
  };
  for (const auto& row : table) {
    const Ran ran = study_.detol({"validate", "--space", "tiny.yaml", "--set",
                                  "data.format=" + row.format, "--data", row.path});
    EXPECT_EQ(ran.code, 3) << row.format << ": " << ran.err;
    EXPECT_NE(ran.err.find(row.says), std::string::npos) << ran.err;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
  }
}

}  // namespace
}  // namespace detol::testing_support
