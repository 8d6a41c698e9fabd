#pragma once

// RecordNumbers: whether the numbers of a column number its records, as an index does that pandas
// wrote into the file. Such a column tells nothing of new records, and of these whatever the file
// is sorted by.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace detol::inline trainer {

class RecordNumbers {
 public:
  // Takes the column's next number; `is_new`: no cell before is known to have it. Numbers that
  // repeat are not kept.
  void add(double number, bool is_new);

  // Moves the number that was taken last to the front: it is that of the first line, of which it is
  // known late that it is a record.
  void move_last_to_front();

  bool has_fractions() const { return has_fractions_; }

  // Returns whether these are different whole numbers, one for each of the records.
  bool are_distinct(std::int64_t records) const;

  // Returns whether they count the records one by one, in their order.
  bool count_up(std::int64_t records) const;

  // Returns whether they are the numbers of records whatever the column is called: distinct, and so
  // dense that more than half of the numbers between the least and the largest are there, or a
  // tenth where they grow from record to record.
  bool are_dense(std::int64_t records) const;

  // Returns the number of the first cell; nullopt if there is none.
  std::optional<double> first() const { return first_; }

 private:
  bool grow() const;

  std::optional<double> first_;
  bool has_fractions_ = false, is_out_ = false;
  std::vector<double> numbers_;  // all, until one repeats or is not whole
};

// Returns whether a name is one that people give to the numbers of records: id, customer_id,
// PassengerId, No, "Unnamed: 0".
bool sounds_like_an_id(std::string_view name);

// Returns the remark on a column of that name whose numbers number the records; empty: they do not,
// or the records are too few to tell.
std::string remark_on_numbers(const RecordNumbers& numbers, std::string_view name,
                              std::int64_t records);

}  // namespace detol::inline trainer
