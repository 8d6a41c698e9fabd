#include "trainer/data/formats/files.h"

#include <fmt/format.h>

#include <algorithm>

namespace detol::inline trainer {

namespace fs = std::filesystem;

Result<void> check_folder(const fs::path& path, std::string_view kind, std::string_view source) {
  std::error_code error;
  const fs::file_type type = fs::status(path, error).type();
  if (type == fs::file_type::directory) return {};
  const std::string reason = type == fs::file_type::not_found ? "no such folder"
                             : error                          ? error.message()
                                                              : "it is not a folder";
  return fail(ErrorCode::kInput,
              fmt::format("{}: {}; name the folder of the {} files with data.path or --data ({})",
                          path.string(), reason, kind, source));
}

std::optional<fs::path> find_packed(const fs::path& folder, std::string_view name) {
  for (const std::string_view packing : {"", ".gz"}) {
    fs::path path = folder / (std::string(name) + std::string(packing));
    std::error_code ignored;
    if (fs::status(path, ignored).type() != fs::file_type::not_found) return path;
  }
  return std::nullopt;
}

tl::unexpected<Error> byte_error(const fs::path& path, std::uint64_t offset, std::string_view what,
                                 std::string_view remedy) {
  return fail(ErrorCode::kInput,
              fmt::format("{}: {}byte {}: {}; {}", path.string(),
                          path.extension() == ".gz" ? "unpacked " : "", offset, what, remedy));
}

Result<void> find_data(const std::string& path, const std::string& source) {
  std::error_code ignored;
  const bool is_there = !path.empty() && std::filesystem::exists(path, ignored);
  if (is_there || (source.empty() && !path.empty())) return {};
  const std::string what = path.empty() ? "no path is given" : path + ": there is nothing";
  std::string where = source;
  std::ranges::replace(where, '\n', ' ');
  return fail(ErrorCode::kInput,
              fmt::format("{}; say where the data is with --data PATH: {}", what, where));
}

}  // namespace detol::inline trainer
