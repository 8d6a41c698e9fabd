#include "trainer/data/formats/cifar.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "core/file.h"
#include "core/table.h"
#include "core/utf8.h"
#include "trainer/data/formats/files.h"
#include "trainer/data/formats/packed_file.h"

namespace detol::inline trainer {
namespace {

namespace fs = std::filesystem;

constexpr Shape kShape{3, 32, 32};
constexpr std::size_t kPixels = 3072;
constexpr std::size_t kMostLabels = 2;  // bytes before the pixels
constexpr std::size_t kMostNames = 1 << 16;

// Kind is one of the two data sets, with the labels that are read.
struct Kind {
  std::size_t labels;  // bytes in front of the pixels
  std::size_t label;   // which of them is used
  int classes;
  std::string_view names;  // the file of class names
};

constexpr Kind kTen{1, 0, 10, "batches.meta.txt"};
constexpr Kind kFine{2, 1, 100, "fine_label_names.txt"};
constexpr Kind kCoarse{2, 0, 20, "coarse_label_names.txt"};

// Records reads the records of several files, one after the other.
class Records {
 public:
  Records(const Kind& kind, std::vector<fs::path> files) : kind_(kind), files_(std::move(files)) {}

  // Returns false after the last record. Errors (kInput): a file is empty or ends inside a record.
  Result<bool> next(std::span<std::uint8_t> labels, std::span<std::uint8_t> pixels) {
    if (left_ == 0) {
      if (at_ == files_.size()) return false;
      DETOL_TRY(open(files_[at_++]));
    }
    DETOL_TRY(file_->read(labels));
    DETOL_TRY(file_->read(pixels));
    if (--left_ == 0) {
      DETOL_TRY(file_->expect_end());
    }
    return true;
  }

  std::size_t file() const { return at_ - 1; }  // of the last record, from 0

 private:
  Result<void> open(const fs::path& path) {
    DETOL_ASSIGN(PackedFile file, PackedFile::open_unpacked(path));
    const std::uint64_t record = kind_.labels + kPixels;
    left_ = file.largest_size() / record;
    if (left_ * record != file.largest_size() || left_ == 0) {
      return file.error_at(left_ * record,
                           fmt::format("{} bytes; a record has {}, and a file at least one of them",
                                       file.largest_size() - left_ * record, record));
    }
    file_.emplace(std::move(file));
    return {};
  }

  Kind kind_;
  std::vector<fs::path> files_;
  std::size_t at_ = 0;  // the next file
  std::optional<PackedFile> file_;
  std::uint64_t left_ = 0;  // unread records of file_
};

class CifarPixels final : public PixelSource {
 public:
  // firsts: the number of the first sample of every file.
  CifarPixels(const Kind& kind, std::vector<fs::path> files, std::vector<std::size_t> firsts)
      : kind_(kind), files_(files), firsts_(std::move(firsts)), records_(kind, std::move(files)) {}

  Result<void> read(std::span<std::byte> out) override {
    std::array<std::uint8_t, kMostLabels> labels{};
    for (; !out.empty(); out = out.subspan(kPixels)) {
      const std::span<std::uint8_t> pixels(reinterpret_cast<std::uint8_t*>(out.data()), kPixels);
      DETOL_ASSIGN(const bool any, records_.next(std::span(labels).first(kind_.labels), pixels));
      if (!any) return byte_error(files_.back(), 0, "the file became shorter while it was read");
    }
    return {};
  }

  tl::unexpected<Error> label_error(std::size_t sample, std::string_view what) const override {
    std::size_t file = firsts_.size() - 1;
    while (firsts_[file] > sample) --file;
    const std::size_t record = sample - firsts_[file];
    return byte_error(files_[file], record * (kind_.labels + kPixels) + kind_.label, what);
  }

  tl::unexpected<Error> shape_error(std::string_view what) const override {
    return byte_error(files_.front(), 0, what);
  }

 private:
  Kind kind_;
  std::vector<fs::path> files_;
  std::vector<std::size_t> firsts_;
  Records records_;
};

// Reads the labels of all files; their pixels are read later.
Result<Samples> open_part(const Kind& kind, std::vector<fs::path> files) {
  Samples samples{.shape = kShape};
  std::vector<std::size_t> firsts;
  Records records(kind, files);
  std::array<std::uint8_t, kMostLabels> labels{};
  std::array<std::uint8_t, kPixels> pixels{};
  for (;;) {
    DETOL_ASSIGN(const bool any, records.next(std::span(labels).first(kind.labels), pixels));
    if (!any) break;
    if (records.file() == firsts.size()) firsts.push_back(samples.labels.size());
    samples.labels.push_back(labels[kind.label]);
  }
  auto source = std::make_unique<CifarPixels>(kind, std::move(files), std::move(firsts));
  for (std::size_t i = 0; i < samples.labels.size(); ++i) {
    if (samples.labels[i] < kind.classes) continue;
    return source->label_error(i, fmt::format("label {}, but there are {} classes, 0..{}",
                                              samples.labels[i], kind.classes, kind.classes - 1));
  }
  samples.fingerprint = fingerprint_of(samples.labels, kShape);
  samples.pixels = std::move(source);
  return samples;
}

// Returns no names if there is no such file.
Result<std::vector<std::string>> read_names(const fs::path& folder, const Kind& kind) {
  std::vector<std::string> names;
  const fs::path path = folder / kind.names;
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return names;
  DETOL_ASSIGN(const std::string text, read_file(path, kMostNames));
  int line = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string name = text.substr(at, end - at);
    if (name.ends_with('\r')) name.pop_back();
    ++line;
    if (!is_utf8(name))
      return fail(ErrorCode::kInput,
                  fmt::format("{}:{}: the class name {} is not UTF-8; save the file as UTF-8",
                              path.string(), line, in_quotes(name)));
    if (!name.empty()) names.push_back(std::move(name));
    at = end + 1;
  }
  if (names.size() == static_cast<std::size_t>(kind.classes)) return names;
  return fail(ErrorCode::kInput,
              fmt::format("{}: {} class names, but there are {} classes; mend or remove the file",
                          path.string(), names.size(), kind.classes));
}

Result<std::vector<fs::path>> find_all(const fs::path& folder,
                                       std::span<const std::string_view> names) {
  std::vector<fs::path> files;
  for (const std::string_view name : names) {
    auto file = find_packed(folder, name);
    if (!file) {
      return fail(ErrorCode::kInput,
                  fmt::format("{}: {} is not there; put all files of the binary version of CIFAR "
                              "into this folder or name another with --data",
                              folder.string(), name));
    }
    files.push_back(std::move(*file));
  }
  return files;
}

Result<Kind> kind_of(const DataConfig& config, bool is_hundred) {
  const std::string label = config.labels.empty() ? "" : config.labels.front();
  if (!label.empty() && label != "fine" && label != "coarse")
    return fail(ErrorCode::kInput, "data.label: of cifar it is fine or coarse");
  if (is_hundred) return label == "coarse" ? kCoarse : kFine;
  if (label != "coarse") return kTen;
  return fail(ErrorCode::kInput, config.path +
                                     ": data.label: CIFAR-10 has no coarse labels, "
                                     "CIFAR-100 has; leave it out");
}

}  // namespace

Result<Found> open_cifar(const DataConfig& config) {
  constexpr std::string_view kTenFiles[] = {"data_batch_1.bin", "data_batch_2.bin",
                                            "data_batch_3.bin", "data_batch_4.bin",
                                            "data_batch_5.bin", "test_batch.bin"};
  constexpr std::string_view kHundredFiles[] = {"train.bin", "test.bin"};
  const fs::path folder = config.path;
  DETOL_TRY(check_folder(folder, "CIFAR", "www.cs.toronto.edu/~kriz/cifar.html, binary version"));
  const bool is_hundred = find_packed(folder, "train.bin").has_value();
  DETOL_ASSIGN(const Kind kind, kind_of(config, is_hundred));
  const auto names = is_hundred ? std::span<const std::string_view>(kHundredFiles) : kTenFiles;
  DETOL_ASSIGN(std::vector<fs::path> files, find_all(folder, names));
  std::vector<fs::path> test_files{std::move(files.back())};
  files.pop_back();
  DETOL_ASSIGN(Samples training, open_part(kind, std::move(files)));
  DETOL_ASSIGN(Samples test, open_part(kind, std::move(test_files)));
  DETOL_ASSIGN(std::vector<std::string> class_names, read_names(folder, kind));
  return Found{.training = std::move(training),
               .test = std::move(test),
               .class_names = std::move(class_names)};
}

}  // namespace detol::inline trainer
