// The safetensors format itself: what its reader refuses, and that it costs no more than the file.

#include "export/safetensors.h"

#include <cstring>

#include <gtest/gtest.h>

#include "core/rng.h"

namespace detol {
namespace {

// Returns a file of the header's length, the header, and `data` bytes of zeros.
std::string file_of(const std::string& header, std::size_t data) {
  const std::uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + header +
         std::string(data, '\0');
}

struct Case {
  const char* name;
  std::string file;
  const char* words;
  friend void PrintTo(const Case& tested, std::ostream* out) { *out << tested.name; }
};

std::vector<Case> damaged_files() {
  const auto tensor = [](const std::string& fields, std::size_t data = 8) {
    return file_of("{\"a\":{" + fields + "}}", data);
  };
  const std::string good = R"("dtype":"F32","shape":[2],"data_offsets":[0,8])";
  return {
      {"Empty", "", "too short"},
      {"ShorterThanItsLength", std::string(7, '\0'), "too short"},
      {"HeaderBeyondTheFile", std::string("\x10\0\0\0\0\0\0\0{}", 10), "header's length is 16"},
      {"HugeHeader", std::string(8, '\xff') + "{}", "header's length is 18446744073709551615"},
      {"NoJson", file_of("hello", 0), "not JSON"},
      {"NoObject", file_of("[]", 0), "a list where none belongs"},
      {"TextBehindTheHeader", file_of("{}x", 0), "not JSON"},
      {"DataWithoutTensor", file_of("{}", 4), "4 bytes follow the last tensor"},
      {"ValueThatIsNoTensor", file_of(R"({"a":5})", 0), "'a' has a number"},
      {"NullTensor", file_of(R"({"a":null})", 0), "'a' has null"},
      {"MetadataThatIsNoText", file_of(R"({"__metadata__":{"k":1}})", 0), "'k' has a number"},
      {"MetadataThatIsAList", file_of(R"({"__metadata__":[]})", 0), "a list where none"},
      {"MetadataTwice", file_of(R"({"__metadata__":{},"__metadata__":{}})", 0),
       "stands there twice"},
      {"MetadataKeyTwice", file_of(R"({"__metadata__":{"k":"1","k":"2"}})", 0), "'k' stands there"},
      {"TensorTwice", file_of("{\"a\":{" + good + "},\"a\":{" + good + "}}", 8),
       "'a' stands there"},
      {"FieldTwice", tensor(good + R"(,"dtype":"F32")"), "'dtype' stands there twice"},
      {"UnknownField", tensor(good + R"(,"stride":[1])"), "tensor 'a' has the unknown field"},
      {"NoShape", tensor(R"("dtype":"F32","data_offsets":[0,8])"), "has not all of dtype"},
      {"UnknownDtype", tensor(R"("dtype":"F31","shape":[2],"data_offsets":[0,8])"), "'F31'"},
      {"DtypeAsNumber", tensor(R"("dtype":32,"shape":[2],"data_offsets":[0,8])"), "a number"},
      {"NegativeExtent", tensor(R"("dtype":"F32","shape":[-2],"data_offsets":[0,8])"), "negative"},
      {"BrokenExtent", tensor(R"("dtype":"F32","shape":[2.5],"data_offsets":[0,8])"), "no integer"},
      {"NestedShape", tensor(R"("dtype":"F32","shape":[[2]],"data_offsets":[0,8])"), "a list"},
      {"ShapeWithText", tensor(R"("dtype":"F32","shape":["2"],"data_offsets":[0,8])"), "a text"},
      {"ShapeThatOverflows",
       tensor(R"("dtype":"F32","shape":[1099511627776,1099511627776],"data_offsets":[0,8])"),
       "impossible shape"},
      {"HugeExtent",
       tensor(R"("dtype":"F32","shape":[0,18446744073709551615],"data_offsets":[0,0])"),
       "impossible shape"},
      {"OneOffset", tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0])"), "not two offsets"},
      {"OffsetsReversed", tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,-8])"), "negative"},
      {"OffsetsOfAnotherShape", tensor(R"("dtype":"F32","shape":[1],"data_offsets":[0,8])"),
       "its shape asks for 4 bytes"},
      {"OffsetsBeyondTheFile", tensor(good, 4), "it was cut"},
      {"Hole", tensor(R"("dtype":"F32","shape":[1],"data_offsets":[4,8])"), "starts at byte 4"},
      {"Overlap",
       file_of("{\"a\":{" + good + R"(},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
               12),
       "tensor 'b' starts at byte 4 of the data, the one before it ends at 8"},
      {"DeepJson", file_of("{\"a\":" + std::string(100000, '['), 0), "a list where none belongs"},
      {"DeepObjects",
       file_of(
           [] {
             std::string deep;
             for (int i = 0; i < 100000; ++i) deep += "{\"dtype\":";
             return deep;
           }(),
           0),
       "an object where none belongs"},
      {"NameWithLines", file_of("{\"a\\n\\nb\":1}", 0), R"('a\n\nb' has a number)"},
  };
}

class DamagedSafetensors : public ::testing::TestWithParam<Case> {};

TEST_P(DamagedSafetensors, AreErrorsOfOneLine) {
  const auto read = parse_safetensors(GetParam().file);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kInput);
  EXPECT_NE(read.error().message.find(GetParam().words), std::string::npos) << read.error().message;
  EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
  EXPECT_LT(read.error().message.size(), 300u);
}

INSTANTIATE_TEST_SUITE_P(All, DamagedSafetensors, ::testing::ValuesIn(damaged_files()),
                         [](const auto& tested) { return std::string(tested.param.name); });

SafeTensors two_tensors() {
  static constexpr std::string_view kData = "abcdefghijklmnop";
  return {{{"key", "a \"text\""}, {"other", "\u00e9"}},
          {{"weight", "F32", {1, 3}, kData.substr(0, 12)}, {"bias", "U8", {4}, kData.substr(12)}}};
}

TEST(Safetensors, GiveBackWhatWasWritten) {
  const std::string file = safetensors_file(two_tensors()).value();
  const SafeTensors read = parse_safetensors(file).value();
  EXPECT_EQ(read.metadata, two_tensors().metadata);
  ASSERT_EQ(read.tensors.size(), 2u);
  EXPECT_EQ(read.tensors[0].name, "weight");
  EXPECT_EQ(read.tensors[0].shape, (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(read.tensors[0].bytes, "abcdefghijkl");
  EXPECT_EQ(read.tensors[1].dtype, "U8");
  EXPECT_EQ(read.tensors[1].bytes, "mnop");
}

TEST(Safetensors, StartTheirDataAtAMultipleOfEight) {
  const std::string file = safetensors_file(two_tensors()).value();
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  EXPECT_EQ(length % 8, 0u);
  EXPECT_EQ(file[8], '{');
  EXPECT_EQ(file.substr(8 + length), "abcdefghijklmnop");
}

TEST(Safetensors, TakeTensorsInAnyOrderOfTheHeader) {
  const std::string header = R"({"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]},)"
                             R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                             R"("empty":{"dtype":"F32","shape":[0,5],"data_offsets":[3,3]}})";
  const std::string file = file_of(header + "  ", 3);
  const SafeTensors read = parse_safetensors(file).value();
  ASSERT_EQ(read.tensors.size(), 3u);
  EXPECT_EQ(read.tensors[0].name, "a");
}

TEST(Safetensors, WithDamagedHeadersAreReadOrErrors) {
  const std::string file = safetensors_file(two_tensors()).value();
  Rng rng(3);
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = file;
    for (std::uint64_t flips = 1 + rng.below(3); flips > 0; --flips)
      damaged[rng.below(damaged.size())] = static_cast<char>(rng.below(256));
    if (rng.chance(0.3)) damaged.resize(rng.below(damaged.size()));
    const auto read = parse_safetensors(damaged);
    EXPECT_TRUE(read || read.error().message.find('\n') == std::string::npos);
  }
}

TEST(Safetensors, RefuseToWriteAHeaderThatNobodyMayRead) {
  SafeTensors contents = two_tensors();
  contents.metadata["key"] = std::string(std::size_t{9} << 20, 'x');
  const auto file = safetensors_file(contents);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::kExport);
}

}  // namespace
}  // namespace detol
