#pragma once

// Shared by all formats: which files are there, and where in one something is wrong.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"

namespace detol::inline trainer {

// The most bytes that one byte of deflate unpacks to: 258 bytes from 2 bits.
inline constexpr std::uint64_t kLargestDeflateRatio = 1032;

inline constexpr std::string_view kGetAgain = "copy or download the file again";

// Errors (kInput): `path` is no folder. `kind` says whose files belong there ("IDX"), `source`
// where they are had.
Result<void> check_folder(const std::filesystem::path& path, std::string_view kind,
                          std::string_view source);

// The file of that name, or with .gz behind it.
std::optional<std::filesystem::path> find_packed(const std::filesystem::path& folder,
                                                 std::string_view name);

// "<path>: byte <offset>: <what>; <remedy>", as kInput; of a .gz file it is the unpacked byte.
tl::unexpected<Error> byte_error(const std::filesystem::path& path, std::uint64_t offset,
                                 std::string_view what, std::string_view remedy = kGetAgain);

// Errors (kInput): no path is given, or, where there is a `source`, nothing is there. They say
// where the data are had, and how to name them.
Result<void> find_data(const std::string& path, const std::string& source);

}  // namespace detol::inline trainer
