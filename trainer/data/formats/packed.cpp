#include "trainer/data/formats/packed.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/hash.h"
#include "core/json_numbers.h"
#include "core/json_text.h"
#include "core/mapped_file.h"
#include "core/table.h"
#include "core/utf8.h"
#include "trainer/data/data_sample.h"
#include "trainer/data/formats/arrays.h"
#include "trainer/data/formats/packed_layout.h"
#include "trainer/data/preprocessing.h"
#include "trainer/data/statistics.h"

namespace detol::inline trainer {
namespace {

using nlohmann::json;

constexpr std::int64_t kLargestExtent = std::int64_t{1} << 20;  // of each dimension

// Reader reads a mapped file front to back; sizes and offsets are checked against the file's
// length.
class Reader {
 public:
  Reader(const std::filesystem::path& path, MappedFile file)
      : path_(path), file_(std::move(file)) {}

  Result<Packed> read() {
    DETOL_TRY(check_head());
    DETOL_TRY(read_header());
    DETOL_TRY(check_sizes());
    DETOL_TRY(read_tables());
    DETOL_TRY(check_blocks());
    data_.mapped.blocks = file_.share(head_bytes_);
    return Packed{std::move(data_), validation_};
  }

 private:
  tl::unexpected<Error> error_at(std::uint64_t offset, std::string_view what) const {
    return fail(ErrorCode::kInput,
                fmt::format("{}: byte {}: {}; copy the file or pack the data again", path_.string(),
                            offset, what));
  }

  std::span<const std::byte> bytes() const { return file_.bytes(); }

  std::uint64_t number_at(std::size_t at) const {
    std::uint64_t number = 0;
    std::memcpy(&number, &bytes()[at], sizeof number);
    return number;
  }

  std::string_view text_at(std::size_t at, std::size_t length) const {
    return {reinterpret_cast<const char*>(bytes().data()) + at, length};
  }

  Result<void> check_head() {
    const std::size_t known = std::min(bytes().size(), packed::kMagic.size());
    if (known == 0 || text_at(0, known) != packed::kMagic.substr(0, known))
      return error_at(0, "this is no file of `detol data pack`");
    if (bytes().size() < packed::kPage) return error_at(bytes().size(), "the file is cut");
    const char version = text_at(known, 1).front();
    if (version != packed::kVersion && version != packed::kVersionWithOffsets) {
      return error_at(known, fmt::format("format version {}, this detol reads {}",
                                         in_quotes({&version, 1}), packed::kVersionWithOffsets));
    }
    may_have_offsets_ = version == packed::kVersionWithOffsets;
    const std::uint64_t size = number_at(packed::kHeadBytesAt);
    if (size % packed::kPage != 0 || size == 0)
      return error_at(packed::kHeadBytesAt, fmt::format("a head of {} bytes is damaged", size));
    if (size > bytes().size()) {
      return error_at(bytes().size(), fmt::format("the file ends within its head of {} bytes, or "
                                                  "byte {} is damaged",
                                                  size, packed::kHeadBytesAt));
    }
    head_bytes_ = size;
    const auto checked = bytes().subspan(packed::kLengthAt, size - packed::kLengthAt);
    if (hash64(checked) == number_at(packed::kHeadSumAt)) return {};
    return error_at(packed::kHeadSumAt, "the checksum of the head is wrong");
  }

  Result<void> read_header() {
    const std::uint64_t length = number_at(packed::kLengthAt);
    if (length > head_bytes_ - packed::kHeaderAt)
      return error_at(packed::kLengthAt, "the header is longer than the head");
    tables_at_ = packed::kHeaderAt + length;
    const auto header =
        parse_json(text_at(packed::kHeaderAt, length), "the header", {.bytes = length});
    if (!header) return error_at(packed::kHeaderAt, header.error().message);
    try {
      take(*header);
      return {};
    } catch (const json::exception& error) {
      return error_at(packed::kHeaderAt,
                      fmt::format("in the header, {}", printable_excerpt(error.what())));
    }
  }

  // Reads the header's fields. Throws json's exceptions.
  void take(const json& header) {
    DatasetInfo& info = data_.info;
    const json& shape = header.at("shape");
    info.task.input = {whole_number<std::int64_t>(shape.at(0)),
                       whole_number<std::int64_t>(shape.at(1)),
                       whole_number<std::int64_t>(shape.at(2))};
    const TaskRow* task = find_row(tasks(), header.at("task").get_ref<const std::string&>());
    has_task_ = task != nullptr && task->kind != TaskKind::kBinary;
    if (has_task_) info.task.kind = task->kind;
    info.task.classes = whole_number<int>(header.at("classes"));
    info.training = whole_number<std::int64_t>(header.at("training"));
    info.validation = whole_number<std::int64_t>(header.at("validation"));
    info.test = whole_number<std::int64_t>(header.at("test"));
    validation_ = header.at("split");
    const auto& digits = header.at("fingerprint").get_ref<const std::string&>();
    std::from_chars(digits.data(), digits.data() + digits.size(), info.fingerprint, 16);
    data_.class_names = header.at("class_names").get<std::vector<std::string>>();
    data_.mapped.has_bytes = header.at("pixels") == "u8";
    if (header.contains("pictures")) {
      if (const auto form = pictures_from(header.at("pictures"))) data_.pictures = *form;
    }
    data_.offsets = {header.value("offsets", std::vector<double>()),
                     header.value("target_offsets", std::vector<double>())};
    data_.mapped.block_bytes = whole_number<std::uint64_t>(header.at("block_bytes"));
    data_.mapped.block_images = whole_number<std::uint64_t>(header.at("block_images"));
  }

  // No product below overflows: every factor was compared with a bound or the file's size before.
  Result<void> check_sizes() {
    const DatasetInfo& info = data_.info;
    const Shape& shape = info.task.input;
    for (const std::int64_t extent : {shape.channels, shape.height, shape.width}) {
      if (extent < 1 || extent > kLargestExtent) return impossible("shape");
    }
    if (!has_task_) return impossible("task");
    if (info.task.classes < 1 || std::cmp_greater(info.task.classes, head_bytes_))
      return impossible("number of classes");
    if (!data_.class_names.empty() &&
        std::cmp_not_equal(data_.class_names.size(), info.task.classes))
      return impossible("number of class names");
    const auto& [inputs, targets] = data_.offsets;
    const auto is_finite = [](double x) { return std::isfinite(x); };
    const bool fit = (inputs.empty() || std::cmp_equal(inputs.size(), shape.channels)) &&
                     (targets.empty() || std::cmp_equal(targets.size(), info.task.classes));
    const bool has_any = !inputs.empty() || !targets.empty();
    if (has_any != may_have_offsets_ || !fit || !std::ranges::all_of(inputs, is_finite) ||
        !std::ranges::all_of(targets, is_finite))
      return impossible("list of offsets");
    const auto most = static_cast<std::int64_t>(bytes().size());
    for (const std::int64_t count : {info.training - 1, info.validation, info.test}) {
      if (count < 0 || count >= most) return impossible("number of images");
    }
    const MappedPixels& mapped = data_.mapped;
    const std::uint64_t image_bytes =
        static_cast<std::uint64_t>(shape.elements()) * (mapped.has_bytes ? 1 : sizeof(float));
    if (mapped.block_bytes % packed::kPage != 0 || mapped.block_images == 0 ||
        mapped.block_images > mapped.block_bytes / image_bytes)
      return impossible("block");
    images_ = static_cast<std::size_t>(info.training + info.validation + info.test);
    blocks_ = (images_ - 1) / mapped.block_images + 1;
    const std::uint64_t room = bytes().size() - head_bytes_;
    if (blocks_ > room / mapped.block_bytes) {
      return error_at(bytes().size(), fmt::format("the file ends in block {} of {}",
                                                  room / mapped.block_bytes + 1, blocks_));
    }
    if (blocks_ * mapped.block_bytes == room) return {};
    return error_at(head_bytes_ + blocks_ * mapped.block_bytes, "bytes follow the data");
  }

  tl::unexpected<Error> impossible(std::string_view what) const {
    return error_at(packed::kHeaderAt, fmt::format("in the header, the {} is impossible", what));
  }

  Result<void> read_tables() {
    const auto channels = static_cast<std::size_t>(data_.info.task.input.channels);
    std::size_t at = tables_at_;
    const bool labelled = has_labels(data_.info.task.kind);
    const auto outputs = static_cast<std::size_t>(labelled ? 1 : data_.info.task.classes);
    const std::size_t room = (head_bytes_ - at) / sizeof(float);  // a label has as many bytes
    const std::size_t others = 2 * channels + 2 * blocks_;
    if (others > room || images_ > (room - others) / outputs)
      return error_at(at, "the head is too short for its tables");
    const auto take_table = [&](auto& table, std::size_t count) {
      table.resize(count);
      std::memcpy(table.data(), &bytes()[at], count * sizeof table[0]);
      at += count * sizeof table[0];
    };
    take_table(data_.mean, channels);
    take_table(data_.deviation, channels);
    DETOL_TRY(check_statistics());
    const std::size_t targets_at = at;
    if (labelled)
      take_table(data_.labels, images_);
    else
      take_table(data_.targets, images_ * outputs);
    sums_at_ = at;
    return labelled ? check_labels(targets_at) : check_targets(targets_at);
  }

  Result<void> check_labels(std::size_t labels_at) const {
    for (std::size_t i = 0; i < images_; ++i) {
      const std::int32_t label = data_.labels[i];
      if (label >= 0 && label < data_.info.task.classes) continue;
      return error_at(labels_at + i * sizeof label,
                      fmt::format("label {} of {} classes", label, data_.info.task.classes));
    }
    return {};
  }

  Result<void> check_targets(std::size_t targets_at) const {
    const std::vector<double> targets(data_.targets.begin(), data_.targets.end());
    const auto bad = bad_target(targets, data_.info.task.kind);
    if (!bad) return {};
    return error_at(targets_at + bad->at * sizeof(float), bad->what);
  }

  Result<void> check_statistics() const {
    const auto is_finite = [](float x) { return std::isfinite(x); };
    if (std::ranges::all_of(data_.mean, is_finite) &&
        std::ranges::all_of(data_.deviation, [&](float x) { return is_finite(x) && x > 0; }))
      return {};
    return error_at(tables_at_, "mean and deviation are not those of pixels");
  }

  Result<void> check_blocks() const {
    const std::size_t size = data_.mapped.block_bytes;
    for (std::size_t i = 0; i < blocks_; ++i) {
      const std::size_t at = head_bytes_ + i * size;
      if (hash64(bytes().subspan(at, size)) == number_at(sums_at_ + i * sizeof(std::uint64_t)))
        continue;
      return error_at(at, fmt::format("the checksum of block {} of {} is wrong", i + 1, blocks_));
    }
    return {};
  }

  const std::filesystem::path& path_;
  MappedFile file_;
  std::size_t head_bytes_ = 0;
  std::size_t tables_at_ = 0;
  std::size_t sums_at_ = 0;
  std::size_t images_ = 0;
  std::size_t blocks_ = 0;
  Dataset data_;
  bool may_have_offsets_ = false;  // by the version
  bool has_task_ = false;          // the header names a task that can be packed
  double validation_ = 0;
};

// Returns whether data packed for one task can train another: a classification also a binary task.
bool suits(TaskKind packed, TaskKind wanted) {
  return packed == wanted || (packed == TaskKind::kClassification && has_labels(wanted));
}

}  // namespace

Result<Packed> read_packed(const std::filesystem::path& path) {
  DETOL_ASSIGN(MappedFile file, MappedFile::open(path));
  return Reader(path, std::move(file)).read();
}

Result<Dataset> load_packed(const DataConfig& config) {
  DETOL_ASSIGN(Packed packed, read_packed(config.path));
  const TaskKind task = packed.data.info.task.kind;
  if (!suits(task, config.task)) {
    return fail(ErrorCode::kInput,
                fmt::format("{0}: packed for data.task {1}, but the study says {2}; say data.task: "
                            "{1}, or pack the data again",
                            config.path, row_of(task).name, row_of(config.task).name));
  }
  if (packed.validation == config.validation) return std::move(packed.data);
  return fail(ErrorCode::kInput,
              fmt::format("{0}: packed with data.split.validation {1}, but the study says {2}; say "
                          "data.split.validation: {1}, or pack the data again",
                          config.path, packed.validation, config.validation));
}

Result<DatasetInfo> inspect_packed(const DataConfig& config) {
  DETOL_ASSIGN(Dataset data, load_packed(config));
  if (config.task == TaskKind::kRegression) {
    DETOL_TRY(fill_target_statistics(data, config.path));
  }
  data.info.sample = sample_of(data);
  return data.info;
}

}  // namespace detol::inline trainer
