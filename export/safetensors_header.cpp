#include "export/safetensors_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/table.h"

namespace detol::inline exporting {
namespace {

using nlohmann::json;

constexpr std::string_view kMetadata = "__metadata__";
constexpr std::array<std::string_view, 3> kFields = {"dtype", "shape", "data_offsets"};

// Events: the parser's callbacks, in the order of the text. Returning false ends it.
class Events final : public nlohmann::json_sax<json> {
 public:
  SafetensorsHeader header;
  std::string error;  // about the first invalid event

  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("a truth value"); }
  bool number_integer(number_integer_t) override { return unexpected("a negative number"); }
  bool number_float(number_float_t, const string_t&) override {
    return unexpected("a number that is no integer");
  }
  bool binary(binary_t&) override { return unexpected("bytes"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (!in_list_) return unexpected("a number");
    numbers_.push_back(value);
    return true;
  }

  bool string(string_t& value) override {
    if (in_list_) return unexpected("a text");
    if (place_ == Place::kInMetadata) {
      header.metadata[key_] = std::move(value);
      return true;
    }
    if (place_ != Place::kInTensor || key_ != "dtype") return unexpected("a text");
    header.tensors.back().dtype = std::move(value);
    return true;
  }

  bool start_object(std::size_t) override {
    if (in_list_) return unexpected("an object");
    if (place_ == Place::kOutside) {
      place_ = Place::kTop;
      return true;
    }
    if (place_ != Place::kTop) return unexpected("an object");
    place_ = key_ == kMetadata ? Place::kInMetadata : Place::kInTensor;
    if (place_ == Place::kInTensor)
      header.tensors.push_back({.name = key_, .dtype = {}, .shape = {}});
    fields_.clear();
    return true;
  }

  bool key(string_t& word) override {
    key_ = std::move(word);
    if (place_ == Place::kTop) return is_new(names_);
    if (place_ == Place::kInMetadata)
      return !header.metadata.contains(key_) || refuse(in_quotes(key_) + " stands there twice");
    if (std::find(kFields.begin(), kFields.end(), key_) == kFields.end())
      return refuse(fmt::format("tensor {} has the unknown field {}",
                                in_quotes(header.tensors.back().name), in_quotes(key_)));
    return is_new(fields_);
  }

  bool end_object() override {
    if (place_ == Place::kInTensor && fields_.size() != kFields.size()) {
      return refuse(fmt::format("tensor {} has not all of dtype, shape and data_offsets",
                                in_quotes(header.tensors.back().name)));
    }
    place_ = place_ == Place::kTop ? Place::kOutside : Place::kTop;
    return true;
  }

  bool start_array(std::size_t) override {
    const bool belongs = place_ == Place::kInTensor && !in_list_ && key_ != "dtype";
    if (!belongs) return unexpected("a list");
    in_list_ = true;
    return true;
  }

  bool end_array() override {
    in_list_ = false;
    TensorEntry& tensor = header.tensors.back();
    std::vector<std::uint64_t> numbers = std::exchange(numbers_, {});
    if (key_ == "shape") {
      tensor.shape = std::move(numbers);
      return true;
    }
    if (numbers.size() != 2)
      return refuse(fmt::format("tensor {} has not two offsets", in_quotes(tensor.name)));
    tensor.begin = numbers[0];
    tensor.end = numbers[1];
    return true;
  }

  bool parse_error(std::size_t at, const std::string&, const json::exception&) override {
    return refuse(fmt::format("it is not JSON from byte {} on", at));
  }

 private:
  enum class Place { kOutside, kTop, kInMetadata, kInTensor };

  bool refuse(std::string why) {
    error = std::move(why);
    return false;
  }
  bool unexpected(std::string_view what) {
    return refuse(fmt::format("{} has {} where none belongs", in_quotes(key_), what));
  }
  bool is_new(std::set<std::string>& known) {
    return known.insert(key_).second || refuse(in_quotes(key_) + " stands there twice");
  }

  Place place_ = Place::kOutside;
  bool in_list_ = false;
  std::string key_;
  std::set<std::string> names_, fields_;
  std::vector<std::uint64_t> numbers_;
};

}  // namespace

Result<SafetensorsHeader> parse_safetensors_header(std::string_view text) {
  Events events;
  if (json::sax_parse(text, &events)) return std::move(events.header);
  return fail(ErrorCode::kInput, "its header: " + events.error);
}

}  // namespace detol::inline exporting
