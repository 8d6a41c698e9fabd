// The grammar of a packed file (all numbers little-endian):
//
//   file     := head block*
//   head     := "DETOLDS" version  head_bytes  head_sum  length  header
//               mean  deviation  targets  block_sum*  zeros
//   version  := '1' | '2'         '2' if there are offsets
//   head_bytes := u64   a multiple of 4096: where the first block begins
//   head_sum := u64     XXH3 of the head from `length` on, zeros included
//   length   := u64     bytes of the header
//   header   := JSON    {"shape": [C, H, W], "pixels": "u8" | "f32", "task", "classes",
//                        "class_names", "training", "validation", "test": images; "split":
//                        data.split.validation; "offsets", "target_offsets": subtracted from
//                        pixels per channel, and from targets, if there are any; "fingerprint": 16
//                        digits; "block_bytes", "block_images"}
//   mean, deviation := f32{C}
//   targets  := i32{N}            of task "classification": labels; N = training + validation +
//             | f32{N x classes}  test, in this order; of "multi_label" and "regression": targets
//   block_sum := u64    XXH3 of a block, one for each
//   block    := image* zeros     `block_images` of them, fewer in the last; `block_bytes` long, a
//                                multiple of 4096
//   image    := pixel{C x H x W}
//
// A block holds as many whole images as fit into 1 MiB, at least one, at most all, and is padded to
// whole pages: so blocks begin on pages, are read at a disk's full speed, and waste less than a
// page each.

#include <algorithm>
#include <bit>
#include <cassert>
#include <nlohmann/json.hpp>

#include "core/durable_file.h"
#include "core/hash.h"
#include "core/json_text.h"
#include "trainer/data/formats/packed.h"
#include "trainer/data/formats/packed_layout.h"
#include "trainer/data/preprocessing.h"
#include "trainer/data/shuffle.h"

namespace detol::inline trainer {
namespace {

static_assert(std::endian::native == std::endian::little);

template <typename T>
std::string_view bytes_of(std::span<const T> all) {
  return {reinterpret_cast<const char*>(all.data()), all.size_bytes()};
}

void append_number(std::string& bytes, std::uint64_t number) {
  bytes += bytes_of(std::span<const std::uint64_t>(&number, 1));
}

// Blocks divides the pixels of a data set into blocks, which it makes one at a time.
class Blocks {
 public:
  explicit Blocks(const Dataset& data)
      : data_(data),
        image_bytes_(static_cast<std::size_t>(data.info.task.input.elements()) *
                     (data.has_bytes() ? 1 : sizeof(float))),
        images_(
            static_cast<std::size_t>(data.info.training + data.info.validation + data.info.test)),
        block_images_(std::min(detol::block_images(image_bytes_), images_)),
        block_(packed::whole_pages(block_images_ * image_bytes_), '\0') {}

  std::size_t count() const { return (images_ + block_images_ - 1) / block_images_; }
  std::size_t block_images() const { return block_images_; }
  std::size_t block_bytes() const { return block_.size(); }

  // Returns a block, valid until the next call.
  std::string_view block(std::size_t number) {
    const std::size_t first = number * block_images_;
    const std::size_t images = std::min(block_images_, images_ - first);
    for (std::size_t i = 0; i < images; ++i)
      image(first + i).copy(block_.data() + i * image_bytes_, image_bytes_);
    std::fill(block_.begin() + static_cast<std::ptrdiff_t>(images * image_bytes_), block_.end(),
              '\0');
    return block_;
  }

 private:
  std::string_view image(std::size_t index) const {
    const auto at = static_cast<std::int64_t>(index);
    return data_.has_bytes() ? bytes_of(data_.image(at)) : bytes_of(data_.values_of(at));
  }

  const Dataset& data_;
  const std::size_t image_bytes_;
  const std::size_t images_;
  const std::size_t block_images_;
  std::string block_;
};

std::string header_of(const Dataset& data, double validation, const Blocks& blocks) {
  const DatasetInfo& info = data.info;
  const Shape& shape = info.task.input;
  nlohmann::json header = {{"shape", {shape.channels, shape.height, shape.width}},
                           {"pixels", data.has_bytes() ? "u8" : "f32"},
                           {"task", row_of(info.task.kind).name},
                           {"classes", info.task.classes},
                           {"class_names", data.class_names},
                           {"training", info.training},
                           {"validation", info.validation},
                           {"test", info.test},
                           {"split", validation},
                           {"fingerprint", to_hex(info.fingerprint)},
                           {"block_bytes", blocks.block_bytes()},
                           {"block_images", blocks.block_images()}};
  if (data.pictures) header["pictures"] = json_of(*data.pictures);
  if (!data.offsets.inputs.empty()) header["offsets"] = data.offsets.inputs;
  if (!data.offsets.targets.empty()) header["target_offsets"] = data.offsets.targets;
  return compact(header);
}

std::string head_of(const Dataset& data, double validation, Blocks& blocks) {
  const std::string header = header_of(data, validation, blocks);
  std::string checked;  // the bytes that the checksum covers
  append_number(checked, header.size());
  checked += header;
  checked += bytes_of(std::span(data.mean));
  checked += bytes_of(std::span(data.deviation));
  checked += bytes_of(std::span(data.labels));
  checked += bytes_of(std::span(data.targets));
  for (std::size_t i = 0; i < blocks.count(); ++i) append_number(checked, hash64(blocks.block(i)));
  const std::size_t head_bytes = packed::whole_pages(packed::kLengthAt + checked.size());
  checked.resize(head_bytes - packed::kLengthAt, '\0');

  std::string head(packed::kMagic);
  head += data.offsets == Offsets() ? packed::kVersion : packed::kVersionWithOffsets;
  append_number(head, head_bytes);
  append_number(head, hash64(checked));
  return head + checked;
}

}  // namespace

Result<void> write_packed(const Dataset& data, double validation,
                          const std::filesystem::path& path) {
  assert(data.info.task.kind != TaskKind::kBinary);
  Blocks blocks(data);
  DETOL_ASSIGN(DurableFile file, DurableFile::create(path));
  DETOL_TRY(file.append(head_of(data, validation, blocks)));
  for (std::size_t i = 0; i < blocks.count(); ++i) DETOL_TRY(file.append(blocks.block(i)));
  return file.keep();
}

}  // namespace detol::inline trainer
