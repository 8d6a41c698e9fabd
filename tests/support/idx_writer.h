#pragma once

// write_idx(): a small data set in IDX files that is easy to learn: each class is a bright
// block at a place of its own, on noise. Equal arguments give equal bytes.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "core/rng.h"

namespace detol::testing_support {

struct IdxData {
  int classes = 4;     // up to 9
  int training = 400;  // images in the train files, class i % classes
  int test = 80;
  int side = 12;   // pixels; at least 6
  int noise = 64;  // pixels outside the block are below; the block is at least 160
  std::uint64_t seed = 1;
};

inline std::string idx_number(std::uint32_t number) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift & 0xff);
  return bytes;
}

inline std::string idx_labels(const IdxData& data, int count) {
  std::string bytes = idx_number(0x801) + idx_number(static_cast<std::uint32_t>(count));
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(i % data.classes);
  return bytes;
}

inline std::string idx_images(const IdxData& data, int count, std::uint64_t stream) {
  std::string bytes = idx_number(0x803);
  for (int size : {count, data.side, data.side}) {
    bytes += idx_number(static_cast<std::uint32_t>(size));
  }
  Rng rng = Rng(data.seed).split(stream);
  const int third = data.side / 3;
  for (int i = 0; i < count; ++i) {
    const int place = i % data.classes;  // on a grid of 3 x 3
    for (int y = 0; y < data.side; ++y) {
      for (int x = 0; x < data.side; ++x) {
        const bool inside = y / third == place / 3 && x / third == place % 3;
        const auto noise = static_cast<int>(rng.below(static_cast<std::uint64_t>(data.noise)));
        bytes += static_cast<char>(inside ? 160 + noise : noise);
      }
    }
  }
  return bytes;
}

inline void write_bytes(const std::filesystem::path& path, std::string_view bytes) {
  std::filesystem::remove(path);  // some file systems flush a file that is emptied and refilled
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// Creates the folder and its four files.
inline void write_idx(const std::filesystem::path& folder, const IdxData& data = {}) {
  std::filesystem::create_directories(folder);
  write_bytes(folder / "train-images-idx3-ubyte", idx_images(data, data.training, 0));
  write_bytes(folder / "train-labels-idx1-ubyte", idx_labels(data, data.training));
  write_bytes(folder / "t10k-images-idx3-ubyte", idx_images(data, data.test, 1));
  write_bytes(folder / "t10k-labels-idx1-ubyte", idx_labels(data, data.test));
}

}  // namespace detol::testing_support
