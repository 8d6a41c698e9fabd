#pragma once

// Small pictures of a plain colour or of noise, as the bytes of a JPEG or PNG file, and tar files.

#include <archive.h>
#include <archive_entry.h>
#include <png.h>
#include <turbojpeg.h>
#include <zlib.h>

#include <algorithm>
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

// Grey, colour, or the inks of CMYK that are left out, by the number of channels.
inline std::string jpeg_of(const Pixels& pixels, int quality = 95, int flags = 0) {
  constexpr int formats[] = {TJPF_GRAY, TJPF_UNKNOWN, TJPF_RGB, TJPF_CMYK};
  const tjhandle handle = tjInitCompress();
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  tjCompress2(handle, pixels.bytes.data(), pixels.width, 0, pixels.height,
              formats[pixels.channels - 1], &bytes, &size,
              pixels.channels == 1 ? TJSAMP_GRAY : TJSAMP_444, quality, flags);
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

// PngKind: a picture of one row, and what libpng is told of it.
struct PngKind {
  int type = PNG_COLOR_TYPE_GRAY;
  int bits = 8;
  int interlace = PNG_INTERLACE_NONE;
  int width = 1;
  std::vector<std::uint8_t> row = {};      // as PNG stores it
  std::vector<std::uint8_t> palette = {};  // 3 bytes a colour
  std::vector<std::uint8_t> clear = {};    // of a palette the alphas, else the transparent grey
};

inline std::string png_of_kind(PngKind kind) {
  std::string file;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &file,
      [](png_structp from, png_bytep bytes, png_size_t count) {
        static_cast<std::string*>(png_get_io_ptr(from))
            ->append(reinterpret_cast<const char*>(bytes), count);
      },
      [](png_structp) {});
  png_set_IHDR(png, info, static_cast<png_uint_32>(kind.width), 1, kind.bits, kind.type,
               kind.interlace, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (!kind.palette.empty())
    png_set_PLTE(png, info, reinterpret_cast<png_colorp>(kind.palette.data()),
                 static_cast<int>(kind.palette.size() / 3));
  if (!kind.clear.empty()) {
    png_color_16 grey{};
    grey.gray = kind.clear.front();
    png_set_tRNS(png, info, kind.clear.data(), static_cast<int>(kind.clear.size()), &grey);
  }
  png_write_info(png, info);
  const int passes = png_set_interlace_handling(png);
  for (int pass = 0; pass < passes; ++pass) png_write_row(png, kind.row.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return file;
}

inline std::string big_endian(std::uint32_t number, int bytes) {
  std::string text;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    text += static_cast<char>(number >> shift & 0xff);
  return text;
}

// A directory of two tags, of which the second is the orientation.
inline std::string exif_of(int orientation, bool is_little, int type = 3) {
  const auto number = [&](std::uint32_t value, int bytes) {
    std::string text = big_endian(value, bytes);
    if (is_little) std::reverse(text.begin(), text.end());
    return text;
  };
  const std::string value =
      type == 3 ? number(static_cast<std::uint32_t>(orientation), 2) + std::string(2, '\0')
                : number(static_cast<std::uint32_t>(orientation), 4);
  return (is_little ? "II" : "MM") + number(42, 2) + number(8, 4) + number(2, 2) +
         number(0x0100, 2) + number(4, 2) + number(1, 4) + number(99, 4) +  //
         number(0x0112, 2) + number(static_cast<std::uint32_t>(type), 2) + number(1, 4) + value +
         number(0, 4);
}

inline std::string with_exif(const std::string& file, const std::string& exif) {
  if (file[0] == '\xff') {  // behind the JFIF segment, as cameras and programs write it
    const std::size_t jfif = 4 + static_cast<unsigned char>(file[5]);
    const std::string body = std::string("Exif\0\0", 6) + exif;
    return file.substr(0, jfif) + "\xff\xe1" +
           big_endian(static_cast<std::uint32_t>(body.size() + 2), 2) + body + file.substr(jfif);
  }
  const std::string chunk = "eXIf" + exif;
  const auto sum =
      crc32(0, reinterpret_cast<const Bytef*>(chunk.data()), static_cast<uInt>(chunk.size()));
  const std::size_t end = file.size() - 12;  // before IEND, behind the pixels
  return file.substr(0, end) + big_endian(static_cast<std::uint32_t>(exif.size()), 4) + chunk +
         big_endian(static_cast<std::uint32_t>(sum), 4) + file.substr(end);
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
