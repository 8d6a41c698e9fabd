// What the formats of named arrays share, asked without a file.

#include "trainer/data/formats/arrays.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "trainer/data/formats/npy.h"

namespace detol {
namespace {

// Has all arrays of a data set with parts of their own, and keeps which offsets each was opened
// with: none, or those of the training part, which it "finds".
class Parts final : public ArrayBox {
 public:
  bool has(std::string_view name) const override { return name.find("_") != name.npos; }
  Result<Samples> open(std::string_view images, std::string_view, const Offsets* given) override {
    offsets[std::string(images)] = given != nullptr ? *given : Offsets();
    return Samples{.shape = {1, 1, 1}, .offsets = {{5}, {7}}};
  }
  std::map<std::string, Offsets> offsets;
};

TEST(Arrays, OfValidationAndTestAreLessTheOffsetsOfThoseToTrainOn) {
  Parts parts;
  const auto found = open_arrays({}, parts);
  ASSERT_TRUE(found) << found.error().message;
  const Offsets of_training{{5}, {7}};
  EXPECT_EQ(parts.offsets, (std::map<std::string, Offsets>{
                               {"x_train", {}}, {"x_val", of_training}, {"x_test", of_training}}));
}

TEST(Arrays, HaveTheirChannelsWhereALayoutOrAFewOfThemSay) {
  const DataConfig any;
  const auto shape = [](const auto& layout) { return layout->shape; };
  const std::int64_t table[] = {9, 5}, grey[] = {9, 7, 8}, last[] = {9, 7, 8, 3},
                     first[] = {9, 4, 7, 8}, either[] = {9, 3, 8, 3};
  EXPECT_EQ(shape(layout_of(table, true, any)), (Shape{5, 1, 1}));
  EXPECT_FALSE(layout_of(table, true, any)->has_bytes);
  EXPECT_EQ(shape(layout_of(grey, true, any)), (Shape{1, 7, 8}));
  EXPECT_EQ(shape(layout_of(last, true, any)), (Shape{3, 7, 8}));
  EXPECT_TRUE(layout_of(last, true, any)->is_channels_last);
  EXPECT_EQ(shape(layout_of(first, true, any)), (Shape{4, 7, 8}));
  EXPECT_FALSE(layout_of(first, true, any)->is_channels_last);
  EXPECT_FALSE(layout_of(either, true, any));
  DataConfig said;
  said.layout = "hwc";
  EXPECT_EQ(shape(layout_of(either, true, said)), (Shape{3, 3, 8}));
  said.layout = "chw";
  EXPECT_EQ(shape(layout_of(either, true, said)), (Shape{3, 8, 3}));
  said.sequence = true;
  EXPECT_EQ(shape(layout_of(table, true, said)), (Shape{1, 1, 5}));
}

TEST(Arrays, OfLabelsAreAListAndOfTargetsMayHaveColumns) {
  const std::int64_t list[] = {9}, column[] = {9, 1}, matrix[] = {9, 3}, few[] = {8};
  EXPECT_EQ(outputs_in(list, 9, TaskKind::kClassification), 1u);
  EXPECT_EQ(outputs_in(column, 9, TaskKind::kClassification), 1u);
  EXPECT_FALSE(outputs_in(matrix, 9, TaskKind::kClassification));
  EXPECT_EQ(outputs_in(matrix, 9, TaskKind::kRegression), 3u);
  EXPECT_FALSE(outputs_in(few, 9, TaskKind::kRegression));
}

TEST(Arrays, TargetsThatAreNoNumbersOrNoLabelsAreFound) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> good = {0, 1, 1}, odd = {0, 0.5}, bad = {0, 1, infinity};
  EXPECT_FALSE(bad_target(good, TaskKind::kMultiLabel));
  EXPECT_FALSE(bad_target(odd, TaskKind::kRegression));
  EXPECT_EQ(bad_target(odd, TaskKind::kMultiLabel)->at, 1u);
  EXPECT_EQ(bad_target(bad, TaskKind::kRegression)->at, 2u);
}

// Returns the bytes of a number, turned round where the array's are.
template <typename Number>
std::vector<std::uint8_t> raw_of(Number number, bool is_swapped) {
  std::vector<std::uint8_t> raw(sizeof number);
  std::memcpy(raw.data(), &number, sizeof number);
  if (is_swapped) std::ranges::reverse(raw);
  return raw;
}

template <typename Number>
void expect_read_as_it_is(char kind, Number number) {
  for (const bool is_swapped : {false, true}) {
    const NpyArray array{.kind = kind, .bytes = sizeof number, .is_swapped = is_swapped};
    std::vector<float> floats(1);
    std::vector<double> doubles(1);
    to_floats(array, raw_of(number, is_swapped), floats);
    to_doubles(array, raw_of(number, is_swapped), doubles);
    EXPECT_EQ(floats[0], static_cast<float>(number)) << kind << sizeof number;
    EXPECT_EQ(doubles[0], static_cast<double>(number)) << kind << sizeof number;
  }
}

TEST(NpyNumbers, OfEveryKindSizeAndByteOrderAreReadAsTheyAre) {
  expect_read_as_it_is<std::uint8_t>('u', 200);
  expect_read_as_it_is<std::int8_t>('i', -100);
  expect_read_as_it_is<std::uint16_t>('u', 60'000);
  expect_read_as_it_is<std::int16_t>('i', -30'000);
  expect_read_as_it_is<std::uint32_t>('u', 4'000'000'000);
  expect_read_as_it_is<std::int32_t>('i', -2'000'000'000);
  expect_read_as_it_is<std::uint64_t>('u', std::uint64_t{1} << 63);
  expect_read_as_it_is<std::int64_t>('i', -(std::int64_t{1} << 62));
  expect_read_as_it_is<float>('f', -0.1F);
  expect_read_as_it_is<double>('f', 0.1);
}

}  // namespace
}  // namespace detol
