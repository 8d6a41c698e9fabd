#pragma once

// DataConfig: the data section of a space file.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "encodings/network/picture_fit.h"
#include "encodings/network/task.h"

namespace detol::inline encoding {

// SplitConfig: which samples are held out, beside their share.
struct SplitConfig {
  std::string by = "random";  // random, stratified, group or time
  std::string column = {};    // of a table: whose values make the groups, or are the times
  std::uint64_t seed = 0;     // of the permutation
  int folds = 0;              // of cross-validation; 0: a share is held out
  int fold = 0;               // the one to validate on, from 0
};

// ColumnsConfig: how a table is read. What is not set is found by looking at the file.
struct ColumnsConfig {
  std::string separator = {};  // of cells: one character; empty: found
  std::string decimal = {};    // "." or ","; empty: found
  std::optional<bool> header = {};
  std::vector<std::string> use = {}, drop = {};   // columns; `use` empty: all
  std::map<std::string, std::string> types = {};  // column -> number, category or date
  std::string numbers = "standard";               // or quantile, piecewise
  int bins = 32;                                  // of quantile and piecewise
};

struct DataConfig {
  std::string format;       // a name of formats()
  std::string path;         // empty: --data gives it
  std::string source = {};  // where to get the data, for messages; may be empty
  double validation = 0.1;  // share of the training images held out
  double test = 0.2;        // share of the samples held out as the test set if no file is one
  TaskKind task = TaskKind::kClassification;
  // The other keys belong to some formats only.
  std::vector<std::string> labels = {};  // csv: columns' names, first or last; cifar: fine, coarse
  bool sequence = false;                 // the columns are a sequence of one channel
  std::string test_path = {};            // the test set is all records of another file
  std::string missing_label = "error";   // csv: or drop, the record; class, the word for it is one
  std::string layout = {};  // of the images in an array: chw or hwc; empty: inferred from its sizes
  std::string images = {};  // hdf5: the name of the images; `labels` has that of the labels
  int size = 0;             // of pictures: side of the square that they become; 0: as they are
  int channels = 3;         // of pictures: 1 grey, 3 colour
  PictureFit fit = PictureFit::kCrop;  // of pictures with a size
  SplitConfig split = {};
  ColumnsConfig columns = {};  // csv
};

}  // namespace detol::inline encoding
