#include "trainer/data/formats/webdataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <unordered_map>

#include "core/table.h"
#include "trainer/data/formats/archive.h"
#include "trainer/data/formats/files.h"
#include "trainer/data/formats/picture.h"

namespace detol::inline trainer {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLargestMember = std::size_t{1} << 28;
constexpr std::size_t kLongestLabel = 64;
constexpr std::string_view kMendShard = "mend or leave out that sample";

// Place is the position of a sample, for messages.
struct Place {
  std::size_t shard = 0;
  std::uint64_t offset = 0;
  std::string name;
};

struct Member {
  std::string sample;  // the name up to the first dot after the last slash
  std::string_view ending;
};

Member member_of(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  const std::size_t dot = name.find('.', slash == std::string_view::npos ? 0 : slash + 1);
  if (dot == std::string_view::npos) return {std::string(name), {}};
  return {std::string(name.substr(0, dot)), name.substr(dot)};
}

// Pictures reads the pictures of all shards, one after the other.
class Pictures {
 public:
  explicit Pictures(std::vector<fs::path> shards) : shards_(std::move(shards)) {}

  // Returns the bytes of the next picture.
  Result<std::string> next() {
    for (;;) {
      if (!reader_) {
        if (at_ == shards_.size())
          return byte_error(shards_.back(), 0, "the file became shorter while it was read");
        DETOL_ASSIGN(ArchiveReader reader, ArchiveReader::open(shards_[at_++], ArchiveKind::kTar));
        reader_.emplace(std::move(reader));
      }
      DETOL_ASSIGN(const auto name, reader_->next());
      if (!name) {
        reader_.reset();
      } else if (is_picture(*name)) {
        return reader_->read(kLargestMember);
      }
    }
  }

 private:
  std::vector<fs::path> shards_;
  std::size_t at_ = 0;  // the next shard
  std::optional<ArchiveReader> reader_;
};

class ShardPixels final : public PixelSource {
 public:
  ShardPixels(const std::vector<fs::path>& shards, std::vector<Place> places, const Shape& shape,
              const DataConfig& config)
      : shards_(shards),
        places_(std::move(places)),
        shape_(shape),
        pictures_(shards),
        decoders_(form_of(config)) {}

  Result<void> read(std::span<std::byte> out) override {
    const std::size_t count = out.size() / static_cast<std::size_t>(shape_.elements());
    std::vector<std::string> files(count);
    for (std::string& file : files) {
      DETOL_ASSIGN(file, pictures_.next());
    }
    const auto failure =
        decoders_.decode(files, shape_, {reinterpret_cast<std::uint8_t*>(out.data()), out.size()});
    if (failure) return decode_error(at_ + failure->file, failure->error);
    at_ += count;
    return {};
  }

  tl::unexpected<Error> label_error(std::size_t sample, std::string_view what) const override {
    const Place& place = places_[sample];
    return byte_error(shards_[place.shard], place.offset,
                      fmt::format("{}: {}", in_quotes(place.name), what), kMendShard);
  }

  tl::unexpected<Error> shape_error(std::string_view what) const override {
    return label_error(0, what);
  }

 private:
  tl::unexpected<Error> decode_error(std::size_t sample, const PictureError& error) const {
    if (!error.has_other_size) return label_error(sample, error.what);
    const Place& place = places_[sample];
    return byte_error(shards_[place.shard], place.offset,
                      fmt::format("{}: {}", in_quotes(place.name), error.what), kSayASize);
  }

  std::vector<fs::path> shards_;
  std::vector<Place> places_;
  Shape shape_;
  Pictures pictures_;
  PictureDecoders decoders_;
  std::size_t at_ = 0;  // the next sample
};

// Listing finds, in one pass over the shards, all pictures and their labels.
class Listing {
 public:
  Listing(const std::vector<fs::path>& shards, const DataConfig& config)
      : shards_(shards), config_(config), decoder_(form_of(config)) {}

  Result<Samples> read() {
    for (std::size_t shard = 0; shard < shards_.size(); ++shard) {
      DETOL_TRY(read_shard(shard));
    }
    if (places_.empty()) {
      return byte_error(shards_.front(), 0, "there is no picture in it",
                        "a sample is NAME.jpg or NAME.png with NAME.cls");
    }
    const std::uint64_t fingerprint = fingerprint_of(labels_, *shape_);
    std::vector<std::string> remarks;
    if (without_picture_ > 0)
      remarks.push_back(fmt::format("{} label{} without a .jpg, .jpeg or .png file passed over",
                                    without_picture_, without_picture_ == 1 ? "" : "s"));
    return Samples{
        .shape = *shape_,
        .labels = std::move(labels_),
        .fingerprint = fingerprint,
        .pixels = std::make_unique<ShardPixels>(shards_, std::move(places_), *shape_, config_),
        .remarks = std::move(remarks)};
  }

 private:
  Result<void> read_shard(std::size_t shard) {
    DETOL_ASSIGN(ArchiveReader reader, ArchiveReader::open(shards_[shard], ArchiveKind::kTar));
    const std::size_t first = places_.size();
    std::unordered_map<std::string, std::int32_t> labels;
    std::unordered_map<std::string, std::size_t> pictures;
    for (;;) {
      DETOL_ASSIGN(const auto name, reader.next());
      if (!name) break;
      const Member member = member_of(*name);
      const bool is_label = member.ending == ".cls";
      if (!is_label && !is_picture(*name)) continue;
      const bool is_new = is_label ? !labels.contains(member.sample)
                                   : pictures.emplace(member.sample, places_.size()).second;
      if (!is_new) return reader.error("a second one of this sample", kMendShard);
      if (is_label) {
        DETOL_ASSIGN(labels[member.sample], read_label(reader));
      } else {
        DETOL_TRY(take_picture(reader, shard, *name));
      }
    }
    without_picture_ += labels.size() - std::min(labels.size(), pictures.size());
    labels_.resize(places_.size());
    for (std::size_t i = first; i < places_.size(); ++i) {
      const auto label = labels.find(member_of(places_[i].name).sample);
      if (label == labels.end()) return no_label(places_[i]);
      labels_[i] = label->second;
    }
    return {};
  }

  Result<std::int32_t> read_label(ArchiveReader& reader) const {
    DETOL_ASSIGN(const std::string text, reader.read(kLongestLabel));
    std::int32_t label = -1;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), label);
    const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
    const bool is_number = wrong == std::errc() && rest.find_first_not_of(" \r\n") == rest.npos;
    if (is_number && label >= 0 && label < std::numeric_limits<std::int32_t>::max()) return label;
    return reader.error(
        fmt::format("the label {}; it must be a whole number from 0", in_quotes(text)), kMendShard);
  }

  Result<void> take_picture(ArchiveReader& reader, std::size_t shard, std::string name) {
    if (!shape_) {
      DETOL_ASSIGN(const std::string file, reader.read(kLargestMember));
      const auto shape = decoder_.shape_of(bytes_in(file));
      if (!shape) return reader.error(shape.error(), kMendShard);
      shape_ = *shape;
    }
    places_.push_back({shard, reader.offset(), std::move(name)});
    return {};
  }

  tl::unexpected<Error> no_label(const Place& place) const {
    return byte_error(shards_[place.shard], place.offset,
                      fmt::format("{}: there is no .cls beside it", in_quotes(place.name)),
                      kMendShard);
  }

  const std::vector<fs::path>& shards_;
  const DataConfig& config_;
  PictureDecoder decoder_;  // for the first picture's header
  std::vector<Place> places_;
  std::vector<std::int32_t> labels_;
  std::optional<Shape> shape_;
  std::size_t without_picture_ = 0;  // labels
};

struct Shards {
  std::vector<fs::path> training = {}, validation = {}, test = {};
};

Result<Shards> shards_of(const DataConfig& config) {
  std::error_code error;
  if (fs::is_regular_file(config.path, error)) return Shards{.training = {config.path}};
  DETOL_TRY(check_folder(config.path, "tar", "made with webdataset's ShardWriter, or tar"));
  std::vector<fs::path> paths;
  fs::directory_iterator at(config.path, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.ends_with(".tar") || name.ends_with(".tar.gz") || name.ends_with(".tgz"))
      paths.push_back(at->path());
  }
  std::ranges::sort(paths);
  Shards shards;
  for (const fs::path& path : paths) {
    const std::string name = path.filename().string();
    auto& split = name.starts_with("val")    ? shards.validation
                  : name.starts_with("test") ? shards.test
                                             : shards.training;
    split.push_back(path);
  }
  if (!error && !shards.training.empty()) return shards;
  return fail(ErrorCode::kInput,
              fmt::format("{}: {}; name a tar file, or a folder of them, with data.path or --data",
                          config.path, error ? error.message() : "no .tar file to train on"));
}

}  // namespace

Result<Found> open_webdataset(const DataConfig& config) {
  DETOL_ASSIGN(const Shards shards, shards_of(config));
  Found found;
  found.pictures = form_of(config);
  DETOL_ASSIGN(found.training, Listing(shards.training, config).read());
  if (!shards.validation.empty()) {
    DETOL_ASSIGN(found.validation, Listing(shards.validation, config).read());
  }
  if (!shards.test.empty()) {
    DETOL_ASSIGN(found.test, Listing(shards.test, config).read());
  }
  return found;
}

}  // namespace detol::inline trainer
