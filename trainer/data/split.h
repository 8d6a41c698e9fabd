#pragma once

// The choice of the samples that are held out for validation and for the test. It depends only on
// the number of samples, the split section of the space file, and the keys of the samples.
//
//   random      a permutation, of which the last are held out
//   stratified  the same, in an order in which every class is spread evenly, so that any part has
//               each class in its share, to within one sample
//   group       whole groups, in a random order: none is in two parts
//   time        the newest are held out; of equal times, those that stand later in the file
//
// With folds, the validation part is one of so many parts of equal size (cross-validation).

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/result.h"
#include "encodings/study/study_config.h"

namespace detol::inline trainer {

// SplitAssignment: the position of each sample of the training files in the data set. The splits
// follow each other: training, validation, test.
struct SplitAssignment {
  std::int64_t training = 0, validation = 0, test = 0;
  std::vector<std::int64_t> position;  // of sample i of the training files
};

// SeparateSplitSizes: the numbers of samples of splits with separate files; the others are taken
// from the training files.
struct SeparateSplitSizes {
  std::optional<std::int64_t> validation, test;
};

// SplitKeys: what the split goes by, one entry for each sample; only the one that is needed.
struct SplitKeys {
  std::vector<std::int32_t> classes = {};  // stratified
  std::vector<std::int32_t> groups = {};   // group: equal numbers are one group
  std::vector<double> times = {};          // time
};

// Returns the fingerprint of data that are split so: unchanged where the split is by a permutation
// from the constant seed, as it was before there were other ways.
std::uint64_t with_split(std::uint64_t fingerprint, const SplitConfig& split);

// Returns classes for a stratified split by a number: its tenths, by rank.
std::vector<std::int32_t> tenths_of(std::span<const float> targets, std::size_t outputs);

// Holds out round(samples * data.split.test) samples first, then data.split.validation of the rest;
// of groups as many whole ones as come nearest. Errors (kInput): a split would be empty; folds
// of data whose validation split has files of its own. REQUIRES: the keys that config.split.by
// needs.
Result<SplitAssignment> split_samples(const DataConfig& config, std::int64_t samples,
                                      const SeparateSplitSizes& separate,
                                      const SplitKeys& keys = {});

// Returns the first class from 0 to `classes` - 1 that has no sample in the training split.
// REQUIRES: 0 <= label < classes.
std::optional<int> class_without_images(const SplitAssignment& assignment,
                                        std::span<const std::int32_t> labels, int classes);

}  // namespace detol::inline trainer
