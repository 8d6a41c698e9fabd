#pragma once

// InputReader: reads what a trained network is to answer for: rows of a CSV file, pictures in files
// and folders, or an array, prepared as the network's training data were. No labels are needed:
// other columns of a file are passed over.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "trainer/data/preprocessing.h"

namespace detol::inline trainer {

// Inputs: some inputs as a data set without labels, and what each is called: its path, or its
// number in its file, from 1.
struct Inputs {
  Dataset data;
  std::vector<std::string> names;

  std::int64_t count() const { return static_cast<std::int64_t>(names.size()); }
};

// Not thread-safe.
class InputReader {
 public:
  virtual ~InputReader() = default;

  // Returns the next inputs, at most `most` of them; none at the end. Errors (kInput): a file
  // cannot be read or is damaged; a cell is not of its column's kind, with file:line:column.
  virtual Result<Inputs> next(std::int64_t most) = 0;
};

// Opens a file or a folder of pictures. Errors (kInput): it is not there; it holds other data than
// the network was trained on; a table's column is missing.
Result<std::unique_ptr<InputReader>> open_inputs(const std::filesystem::path& path,
                                                 const Preprocessing& data);

// The same of a file without a name of its own, such as one in memory, that is a picture or is not.
Result<std::unique_ptr<InputReader>> open_inputs(const std::filesystem::path& path, bool is_picture,
                                                 const Preprocessing& data);

// Reads the records of a table, whose columns are found by name, in any order, where the first line
// has the names; a file without a header has the columns of the one to train on, or the network's
// alone, in their order.
Result<std::unique_ptr<InputReader>> open_csv_inputs(const std::filesystem::path& path,
                                                     const Preprocessing& data);

// Reads one .npy array or IDX file of images (maybe .gz): N x H x W x C or N x C x H x W, one
// picture as H x W x C, rows of numbers as N x numbers.
Result<std::unique_ptr<InputReader>> open_array_inputs(const std::filesystem::path& path,
                                                       const Preprocessing& data);

}  // namespace detol::inline trainer
