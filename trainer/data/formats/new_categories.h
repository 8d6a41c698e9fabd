#pragma once

// NewCategories: what a file has in columns of categories that the training records had not. A
// network takes such a cell for none of the categories it knows, or for one of the rare ones where
// these share an input; then nothing is new to it. Not safe to call from several threads.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/data/table_encoder.h"

namespace detol::inline trainer {

class NewCategories {
 public:
  // Counts cells of the column with that text; an empty text is a missing cell.
  void see(const TableColumn& column, std::string_view text, std::int64_t cells = 1);

  // Returns a sentence for each column that had any, given how many records there were.
  std::vector<std::string> remarks(std::int64_t records) const;

 private:
  struct Seen {
    std::int64_t cells = 0;
    std::string first;
  };
  std::map<std::string, Seen> seen_;  // by the column's name
};

}  // namespace detol::inline trainer
