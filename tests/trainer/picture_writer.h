#pragma once

// Small pictures of a plain colour or of noise, as the bytes of a JPEG or PNG file, and tar files.

#include <archive.h>
#include <archive_entry.h>
#include <png.h>
#include <turbojpeg.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace detol::testing_support {

// Pixels is an image of height x width x channels bytes.
struct Pixels {
  int height = 8;
  int width = 8;
  int channels = 3;
  std::vector<std::uint8_t> bytes = {};
};

inline Pixels plain(int height, int width, const std::vector<std::uint8_t>& colour) {
  Pixels pixels{height, width, static_cast<int>(colour.size())};
  for (int i = 0; i < height * width; ++i)
    pixels.bytes.insert(pixels.bytes.end(), colour.begin(), colour.end());
  return pixels;
}

inline std::string jpeg_of(const Pixels& pixels, int quality = 95) {
  const tjhandle handle = tjInitCompress();
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  const bool is_grey = pixels.channels == 1;
  tjCompress2(handle, pixels.bytes.data(), pixels.width, 0, pixels.height,
              is_grey ? TJPF_GRAY : TJPF_RGB, &bytes, &size, is_grey ? TJSAMP_GRAY : TJSAMP_444,
              quality, 0);
  std::string file(reinterpret_cast<char*>(bytes), size);
  tjFree(bytes);
  tjDestroy(handle);
  return file;
}

// Grey, grey with transparency, colour, or colour with transparency, by the number of channels.
inline std::string png_of(const Pixels& pixels) {
  constexpr png_uint_32 formats[] = {PNG_FORMAT_GRAY, PNG_FORMAT_GA, PNG_FORMAT_RGB,
                                     PNG_FORMAT_RGBA};
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(pixels.width);
  image.height = static_cast<png_uint_32>(pixels.height);
  image.format = formats[pixels.channels - 1];
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string file(size, '\0');
  png_image_write_to_memory(&image, file.data(), &size, 0, pixels.bytes.data(), 0, nullptr);
  file.resize(size);
  return file;
}

struct TarMember {
  std::string name;
  std::string bytes;
  std::string link = {};  // if not empty, the member is a symbolic link to it
};

inline void write_tar(const std::filesystem::path& path, const std::vector<TarMember>& members) {
  archive* writer = archive_write_new();
  archive_write_set_format_ustar(writer);
  if (path.extension() == ".gz") archive_write_add_filter_gzip(writer);
  archive_write_set_bytes_in_last_block(writer, 1);
  archive_write_open_filename(writer, path.c_str());
  for (const TarMember& member : members) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, member.name.c_str());
    archive_entry_set_filetype(entry, member.link.empty() ? AE_IFREG : AE_IFLNK);
    if (!member.link.empty()) archive_entry_set_symlink(entry, member.link.c_str());
    archive_entry_set_perm(entry, 0644);
    archive_entry_set_size(entry, static_cast<la_int64_t>(member.bytes.size()));
    archive_write_header(writer, entry);
    archive_write_data(writer, member.bytes.data(), member.bytes.size());
    archive_entry_free(entry);
  }
  archive_write_free(writer);
}

}  // namespace detol::testing_support
